"""Plug-ins: objects with hook methods, given to an agent or installed as packages, and the names of the hooks."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter
from types import MappingProxyType
from typing import Any

from playhead.errors import BadPlugin

GROUP = "playhead.plugins"
"""The entry points that `load_plugins` loads."""

HOOKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "build_tape_context": (),
        "provide_tape_store": (),
        "provide_tape_sidecar": (),
        "admit": ("message", "state"),
        "task_start": ("run",),
        "step_start": ("run",),
        "before_llm_call": ("request", "state", "run"),
        "after_llm_call": ("request", "reply", "error", "state", "run"),
        "before_tool_call": ("call", "context"),
        "after_tool_call": ("outcome", "context"),
        "continue_prompt": ("state", "run"),
    }
)
"""Each hook and the arguments it may ask for, by their names."""

_LIKENESS = 0.88

_log = logging.getLogger("playhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A hook method of a plug-in and the arguments that it asks for."""

    name: str
    plugin: str
    method: Callable[..., Any]
    asks: tuple[str, ...]

    def call(self, **offered: object) -> Any:
        """Call the method with those of the arguments that it asks for."""
        return self.method(**{name: offered[name] for name in self.asks})

    async def answer(self, **offered: object) -> Any:
        """Call the method, and wait for it where it is to be waited for."""
        value = self.call(**offered)
        return await value if inspect.isawaitable(value) else value


def load_plugins(group: str = GROUP) -> tuple[object, ...]:
    """Load the installed plug-ins, sorted by name: `Agent(plugins=load_plugins())`. Nothing is loaded unless this is called.

    An entry point names an object with hook methods, or a class or function that returns one when called without arguments.
    Raises BadPlugin where one cannot be loaded or is none.
    """
    return tuple(_loaded(point) for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)))


def hooks_of(plugin: object) -> Iterator[Hook]:
    """Yield the hooks that a plug-in has. Raises BadPlugin where it has none, or one that asks for what there is not."""
    label = _label(plugin)
    if isinstance(plugin, type):
        raise BadPlugin(f"{plugin.__qualname__} is a class; give the agent an instance of it", plugin=label)
    found = [(name, method) for name in HOOKS if callable(method := getattr(plugin, name, None))]
    if not found:
        raise BadPlugin(f"{plugin!r:.200} has no hook method; it has one or more of {', '.join(HOOKS)}", plugin=label)
    _warn_of_misspellings(plugin, label)
    for name, method in found:
        yield Hook(name=name, plugin=label, method=method, asks=_asked(name, method, label))


def _asked(name: str, method: Callable[..., Any], label: str) -> tuple[str, ...]:
    """Return the arguments a hook method asks for."""
    offered = HOOKS[name]
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError) as exc:
        raise BadPlugin(f"Nobody can tell what the hook {name} asks for; write it as a function or a method", plugin=label) from exc
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return offered
    asked = [p for p in parameters if p.kind is not Parameter.VAR_POSITIONAL]
    for parameter in asked:
        is_known = parameter.name in offered and parameter.kind is not Parameter.POSITIONAL_ONLY
        if not is_known and parameter.default is Parameter.empty:
            raise BadPlugin(f"The hook {name} asks for '{parameter.name}'; it may ask, by name, for {', '.join(offered) or 'nothing'}", plugin=label)
    return tuple(p.name for p in asked if p.name in offered and p.kind is not Parameter.POSITIONAL_ONLY)


def _warn_of_misspellings(plugin: object, label: str) -> None:
    for name in dir(plugin):
        if name.startswith("_") or name in HOOKS:
            continue
        near = get_close_matches(name, HOOKS, n=1, cutoff=_LIKENESS)
        if near:
            _log.warning("The plug-in %s has '%s', which is no hook and is never called; is it meant to be '%s'?", label, name, near[0])


def _loaded(point: EntryPoint) -> object:
    where = f"The plug-in '{point.name}' ({point.value})"
    try:
        loaded = point.load()
        is_factory = isinstance(loaded, type) or inspect.isroutine(loaded)
        plugin = loaded() if is_factory else loaded
    except Exception as exc:
        raise BadPlugin(f"{where} cannot be loaded: {type(exc).__name__}: {exc}; mend or uninstall its package", plugin=point.name) from exc
    try:
        list(hooks_of(plugin))
    except BadPlugin as exc:
        raise BadPlugin(f"{where} cannot be used: {exc.message}", plugin=point.name) from exc
    return plugin


def _label(plugin: object) -> str:
    return getattr(plugin, "__name__", None) or type(plugin).__qualname__
