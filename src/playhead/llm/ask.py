"""What a call asks: checked before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.agent.given import Prompt, checked_model, checked_prompt, checked_text
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message
from playhead.errors import ErrorKind, InvalidInput, LLMError, WireError
from playhead.llm.failures import told
from playhead.model.protocol import Model, ToolSpec
from playhead.wire.providers import messages_from

Messages = Sequence[Message | Mapping[str, Any]]
"""A conversation: messages, or mappings in chat form."""

Tools = Iterable[Tool | Callable[..., Any] | ToolSpec | Mapping[str, Any]]
"""Tools: functions that can run, or what a model is told of one alone, as a ToolSpec or in chat form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One call: what is asked, of whom, with which tools.

    `prompt` goes behind what the tape shows; without one `messages` are the whole conversation. `specs` are what the model is told
    of tools, `tools` those of them that can run, `runs` whether those it asks for do.
    """

    prompt: Message | None
    messages: tuple[Message, ...] = ()
    system_prompt: str = ""
    models: tuple[str | Model, ...]
    tools: Toolbox = field(default_factory=Toolbox)
    specs: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    tool_choice: str = "auto"
    extra: Mapping[str, Any] = field(default_factory=FrozenDict)
    runs: bool = False


def ask_of(
    prompt: Prompt | None,
    *,
    messages: Messages | None,
    system_prompt: str | None,
    on_tape: bool,
    models: Sequence[str | Model],
    tools: Tools = (),
    max_tokens: int | None,
    options: Mapping[str, Any],
) -> Ask:
    """Return a call, checked. Raises LLMError of kind "invalid_input"."""
    if prompt is not None and messages is not None:
        raise LLMError(ErrorKind.INVALID_INPUT, "Provide either prompt or messages, not both.")
    if prompt is None and messages is None:
        raise LLMError(ErrorKind.INVALID_INPUT, "Either prompt or messages is required.")
    if messages is not None and (on_tape or system_prompt is not None):
        raise LLMError(ErrorKind.INVALID_INPUT, "system_prompt and tape are not supported with messages input.")
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1):
        raise LLMError(ErrorKind.INVALID_INPUT, f"max_tokens is a whole number from 1, or None, not {max_tokens!r}.")
    runnable, specs = _split(tools)
    extra = dict(options)
    try:
        return Ask(
            prompt=None if prompt is None else checked_prompt(prompt),
            messages=() if messages is None else _conversation(messages),
            system_prompt=checked_text(system_prompt or "", "A system prompt"),
            models=tuple(checked_model(model) for model in models),
            tools=runnable,
            specs=specs,
            max_tokens=max_tokens,
            reasoning_effort=extra.pop("reasoning_effort", None),
            tool_choice=extra.pop("tool_choice", "auto"),
            extra=extra,
            runs=bool(specs) and len(runnable) == len(specs),
        )
    except (InvalidInput, WireError) as exc:
        raise told(exc) from exc


def _conversation(messages: Messages) -> tuple[Message, ...]:
    """Return messages of ours; mappings are read in chat form. Raises InvalidInput for what is none, or no message at all."""
    found: list[Message] = []
    pending: list[Mapping[str, Any]] = []
    for message in messages:
        if not isinstance(message, Message):
            pending.append(message)
            continue
        found += [*_read(pending), message]
        pending = []
    found += _read(pending)
    if not found:
        raise InvalidInput("A conversation is asked with at least one message.")
    return tuple(found)


def _read(mappings: list[Mapping[str, Any]]) -> tuple[Message, ...]:
    return messages_from("openai", mappings) if mappings else ()


def _split(tools: Tools) -> tuple[Toolbox, tuple[ToolSpec, ...]]:
    """Return the tools that can run, and what the model is told of all of them."""
    given = list(tools)
    try:
        runnable = {index: tool for index, tool in enumerate(given) if callable(tool)}
        box = Toolbox(runnable.values())
        specs = dict(zip(runnable, box.specs, strict=True))
        shown = tuple(specs[index] if index in specs else _spec(tool) for index, tool in enumerate(given))
    except InvalidInput as exc:
        raise told(exc) from exc
    return box, shown


def _spec(tool: object) -> ToolSpec:
    if isinstance(tool, ToolSpec):
        return tool
    facts = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    name = facts.get("name") if isinstance(facts, Mapping) else None
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"A tool is a function, a ToolSpec, or a mapping with name, description and parameters, not {tool!r:.200}.")
    return ToolSpec(name=name, description=str(facts.get("description") or ""), parameters=facts.get("parameters") or {"type": "object", "properties": {}})
