"""Hooks: what plug-ins may see and change of a run, in which order, and what becomes of their failures.

docs/reference/hooks.md is the table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, cast, get_args

from anyio import get_cancelled_exc_class

from playhead.agent.decisions import Admission, Deny, Finish, Proceed, Replace, RunFacts, ToolOutcome
from playhead.agent.plugins import HOOKS, Hook, hooks_of
from playhead.agent.provided import ProvidedStore
from playhead.agent.running import is_cancelled
from playhead.entry.message import Message, ToolCall
from playhead.errors import BadPlugin, InvalidInput, PlayheadError
from playhead.model.protocol import ModelRequest, Reply
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.tape.sidecar import Mounts
from playhead.view.context import TapeContext

if TYPE_CHECKING:
    from playhead.agent.tools import ToolContext

_log = logging.getLogger("playhead")


class Hooks:
    """The hooks of some plug-ins, called one after the other; without a plug-in that has one, a hook does nothing.

    `before_*` hooks run last-registered first, each on what the one before it made; `after_*` hooks run first-registered first. Of
    the others the last registered answers first. What a hook raises is logged under `playhead` and the hook is skipped, but for
    a PlayheadError of `task_start` and for what `build_tape_context` and `provide_tape_store` raise. Raises BadPlugin for what is none.
    """

    def __init__(self, plugins: Iterable[object] = ()) -> None:
        self.plugins = tuple(plugins)
        found = [hook for plugin in reversed(self.plugins) for hook in hooks_of(plugin)]
        self._hooks = {name: tuple(hook for hook in found if hook.name == name) for name in HOOKS}
        self._provided = ProvidedStore(self._hooks["provide_tape_store"])
        self._sidecars: tuple[object, ...] | None = None

    # -- what an agent is made of

    def context(self) -> TapeContext | None:
        """Return the first context that a plug-in builds, None where none does. Raises BadPlugin, a TypeError, for anything else."""
        for hook in self._hooks["build_tape_context"]:
            context = hook.call()
            if isinstance(context, TapeContext):
                return context
            if context is not None:
                _dismiss(context)
                raise BadPlugin("hook.build_tape_context must return TapeContext", plugin=hook.plugin)
        return None

    def store(self) -> TapeStore | AsyncTapeStore | WholeStore | None:
        """Return the first store that a plug-in provides, None where none does.

        Raises StoreUnavailable where it must be waited for (await `open_store()` first), and once it was closed.
        """
        return self._provided.now()

    async def open_store(self) -> TapeStore | AsyncTapeStore | WholeStore | None:
        """Return the first store that a plug-in provides, entered where it is a context manager, once for all callers."""
        return await self._provided.opened()

    def sidecars(self) -> tuple[object, ...]:
        """Return what plug-ins mount beside each tape; of two with one name the last registered counts. They are asked once."""
        if self._sidecars is None:
            self._sidecars = tuple(self._asked_sidecars().values())
        return self._sidecars

    def _asked_sidecars(self) -> Mapping[str, object]:
        mounts = Mounts()
        for hook in self._hooks["provide_tape_sidecar"]:
            sidecar = None
            try:
                sidecar = hook.call()
                if sidecar is not None and getattr(sidecar, "name", None) not in mounts:
                    mounts.mount(sidecar)
            except Exception as exc:  # noqa: BLE001 - a plug-in may raise anything
                _skip(hook, exc)
            finally:
                _dismiss(sidecar)
        return mounts

    async def aclose(self) -> None:
        """Close the store that was entered; closing twice is fine."""
        await self._provided.aclose()

    # -- the course of a run

    async def task_start(self, run: RunFacts) -> None:
        """Tell that a run starts; a PlayheadError that a plug-in raises ends it before anything is written."""
        for hook in self._hooks["task_start"]:
            try:
                await hook.answer(run=run)
            except PlayheadError:
                raise
            except Exception as exc:  # noqa: BLE001 - a plug-in may raise anything
                _skip(hook, exc)

    async def step_start(self, run: RunFacts) -> None:
        """Tell that a step starts, before anything of it is written and before its prompt is compiled."""
        for hook in self._hooks["step_start"]:
            await _attempt(hook, run=run)

    async def continue_prompt(self, state: dict[str, Any], *, run: RunFacts | None = None) -> str | None:
        """Return the first words that a plug-in has for the model behind a step with tools, None where none has any."""
        for hook in self._hooks["continue_prompt"]:
            words = await _attempt(hook, state=state, run=run)
            if isinstance(words, str) and words:
                return words
            _complain_unless(isinstance(words, str | None), hook, words)
        return None

    async def admit(self, message: Message, state: dict[str, Any]) -> Admission:
        """Return what the first plug-in that has a say does with a message that comes in; "process" where none has."""
        for hook in self._hooks["admit"]:
            admission = await _attempt(hook, message=message, state=state)
            if admission in get_args(Admission):
                return cast("Admission", admission)
            _complain_unless(admission is None, hook, admission)
        return "process"

    # -- models

    async def before_llm_call(self, request: ModelRequest, state: dict[str, Any], *, run: RunFacts | None = None) -> ModelRequest | Finish:
        """Return the request as the plug-ins leave it, or what finishes the run without a call."""
        for hook in self._hooks["before_llm_call"]:
            changed = await _attempt(hook, request=request, state=state, run=run)
            if isinstance(changed, Finish):
                return changed
            if isinstance(changed, ModelRequest):
                request = changed
            _complain_unless(isinstance(changed, ModelRequest | None), hook, changed)
        return request

    async def after_llm_call(self, request: ModelRequest, reply: Reply | None, error: Exception | None, state: dict[str, Any], *, run: RunFacts | None = None) -> None:
        """Tell what became of the request that was sent: a reply or an error."""
        for hook in reversed(self._hooks["after_llm_call"]):
            await _attempt(hook, request=request, reply=reply, error=error, state=state, run=run)

    # -- tools

    async def before_tool_call(self, call: ToolCall, context: ToolContext) -> Proceed | Replace | Deny:
        """Return what becomes of a call: it proceeds with the arguments as the plug-ins leave them, is answered for the tool, or is denied."""
        for hook in self._hooks["before_tool_call"]:
            decision = await _attempt(hook, call=call, context=context)
            if isinstance(decision, Replace | Deny):
                return decision
            if isinstance(decision, Proceed):
                call = _with_arguments(call, decision, hook)
            _complain_unless(isinstance(decision, Proceed | None), hook, decision)
        return Proceed(call.arguments)

    async def after_tool_call(self, outcome: ToolOutcome, context: ToolContext) -> None:
        """Show what a tool answered; assigning `outcome.result` changes what the model and the tape see."""
        for hook in reversed(self._hooks["after_tool_call"]):
            await _attempt(hook, outcome=outcome, context=context)


async def _attempt(hook: Hook, **offered: object) -> object:
    """Return what a hook answers; where it raises that is logged, and the answer None."""
    try:
        return await hook.answer(**offered)
    except Exception as exc:  # noqa: BLE001 - a plug-in may raise anything
        _skip(hook, exc)
    except get_cancelled_exc_class() as exc:  # that of something the hook waited for
        if is_cancelled():
            raise
        _skip(hook, exc)
    return None


def _with_arguments(call: ToolCall, decision: Proceed, hook: Hook) -> ToolCall:
    try:
        return replace(call, arguments=decision.arguments)
    except InvalidInput as exc:
        _skip(hook, exc)
        return call


def _skip(hook: Hook, error: BaseException) -> None:
    _log.error("The hook %s of the plug-in %s failed and is skipped.", hook.name, hook.plugin, exc_info=error)


def _complain_unless(fits: bool, hook: Hook, answer: object) -> None:  # noqa: FBT001 - a claim about the answer, not a switch
    if not fits:
        _log.error("The hook %s of the plug-in %s returned %.200r, which it may not, and is skipped; see docs/reference/hooks.md.", hook.name, hook.plugin, answer)


def _dismiss(value: object) -> None:
    """Close a coroutine that nobody will wait for."""
    if iscoroutine(value):
        value.close()
