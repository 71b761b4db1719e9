"""SWE-agent trajectories: `{"history": [...], "trajectory": [...], "info": {...}}`.

The history is what the model read; the steps of the trajectory repeat it with what the environment knew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playhead.entry.message import Message, Part, Thinking, ToolResult, assistant, user
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.openai_chat import ROLES, is_users
from playhead.importers.told import Told, as_mapping, happened, said, text_in
from playhead.wire import openai_chat

FORMAT = "swe-agent"
HISTORY = "history"
_SPOKEN = ("role", "content", "tool_calls", "tool_call_ids", "tool_call_id", "thinking_blocks")


def is_turn(value: object) -> bool:
    """Tell whether a JSON value is a message of a history."""
    return text_in(value, "role") in ROLES and isinstance(value, dict) and ("content" in value or "thought" in value)


def is_step(value: object) -> bool:
    """Tell whether a JSON value is a step of a trajectory."""
    return isinstance(value, dict) and {"action", "observation"} <= value.keys() and bool({"response", "thought", "state"} & value.keys())


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message or a step."""
    return is_turn(value) or is_step(value)


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message of a history, a step, or a whole trajectory."""
    if is_step(value) or (isinstance(value.get("trajectory"), list) and any(map(is_step, value["trajectory"]))):
        return Certainty.SURE
    if is_turn(value) and (text_in(value, "agent") or text_in(value, "message_type")):
        return Certainty.SURE
    return Certainty.MAYBE if is_turn(value) else Certainty.NONE


@dataclass(frozen=True, slots=True)
class _Voice:
    has_history: bool

    def opening(self) -> tuple[Share, ...]:
        return ()

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        if not is_step(value):
            yield Share(value=value, tell=_tell)
        elif self.has_history:
            yield Share(value=value, tell=_tell_repeated, beside=True)
        else:
            yield Share(value=value, tell=_tell_step, second=True)


def _tell(values: tuple[Any, ...]) -> Told:
    value = as_mapping(values[0])
    fields = {k: v for k, v in value.items() if k not in _SPOKEN}
    if value.get("role") == "tool":
        return said([_results(value)], fields=fields)
    content = value.get("content")
    spoken = {"role": value.get("role"), "content": content if content is not None else value.get("thought")}
    (message,) = openai_chat.load([{**spoken, "tool_calls": value["tool_calls"]} if value.get("tool_calls") else spoken])
    thoughts = tuple(_thoughts(value.get("thinking_blocks")))
    if thoughts:
        message = Message(role=message.role, content=(*thoughts, *message.parts), extra=message.extra)
    return said([message], fields=fields)


def _results(value: Mapping[str, Any]) -> Message:
    """Return the observation as the answer to the calls it names; to several, the first has the words."""
    ids = value.get("tool_call_ids") or [value.get("tool_call_id")]
    named = [i if isinstance(i, str) else "" for i in (ids if isinstance(ids, list) else [ids])]
    (message,) = openai_chat.load([{"role": "tool", "tool_call_id": named[0], "content": value.get("content")}])
    return Message(role="tool", content=(*message.parts, *(ToolResult(call_id=i) for i in named[1:])))


def _thoughts(blocks: object) -> Iterator[Part]:
    """Yield reasoning; which provider made it the file does not say, so it goes to none."""
    for block in blocks if isinstance(blocks, list) else ():
        if text_in(block, "thinking") or text_in(block, "data"):
            yield Thinking(text=text_in(block, "thinking"), signature=text_in(block, "signature") or None, redacted=text_in(block, "data") or None)


def _tell_repeated(values: tuple[Any, ...]) -> Told:
    return happened("swe_agent.step", values[0])


def _tell_step(values: tuple[Any, ...]) -> Told:
    value = values[0]
    fields = {k: v for k, v in value.items() if k not in ("response", "observation")}
    return said([assistant(text_in(value, "response") or text_in(value, "thought")), user(text_in(value, "observation"))], fields=fields)


SWE_AGENT = Dialect(
    format=FORMAT,
    lists=("trajectory", HISTORY),
    names=("instance_id", "environment"),
    is_message=is_message,
    is_listed=lambda value: isinstance(value, dict),
    is_users=is_users,
    certainty=certainty,
    voice=lambda _, lists: _Voice(HISTORY in lists),
)
