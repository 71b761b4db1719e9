"""claude.ai: the export of all chats, `conversations.json`: a list of `{"uuid", "name", "chat_messages": [{"sender": "human", ...}]}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, user
from playhead.entry.payload import arguments_from_json
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.gemini_parts import Calls
from playhead.importers.told import Told, as_mapping, happened, said, text_in
from playhead.wire.anthropic import PROVIDER as ANTHROPIC

FORMAT = "claude-ai"
_LIST = "chat_messages"
_SENDERS = ("human", "assistant")
_TOLD = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "name", "content", "is_error"}),
}
"""What a block of each kind says; a block of another kind is kept word for word."""


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message of a chat."""
    return isinstance(value, dict) and value.get("sender") in _SENDERS and isinstance(value.get("uuid"), str) and ("text" in value or "content" in value)


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message: no other format writes it so."""
    return Certainty.SURE if is_message(value) else Certainty.NONE


@dataclass(slots=True)
class _Voice:
    """Gives calls and results without ids some, and knows which messages were edited away."""

    current: frozenset[str] | None
    calls: Calls = field(default_factory=Calls)

    def opening(self) -> tuple[Share, ...]:
        return ()

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        if not is_message(value):
            yield Share(value=value, tell=_tell_other, beside=True)
            return
        hidden = self.current is not None and value["uuid"] not in self.current
        first, *more = _stretches(list(map(self._named, _blocks(value))))
        yield Share(value=value, tell=partial(_tell, blocks=first, hidden=hidden))
        for blocks in more:
            rest = freeze_dict({"sender": value["sender"], "content": blocks})
            yield Share(value=rest, tell=partial(_tell, blocks=blocks, hidden=hidden))

    def _named(self, block: Any) -> Any:
        kind = text_in(block, "type")
        if kind == "tool_use":
            return {**block, "id": self.calls.ask(block)}
        if kind == "tool_result":
            return {**block, "tool_use_id": self.calls.answer({"name": text_in(block, "name"), "id": text_in(block, "tool_use_id")})}
        return block


def _blocks(value: Mapping[str, Any]) -> list[Any]:
    """Return what a message holds: its blocks, in older exports its text; behind them the texts of what was attached."""
    content, text = value.get("content"), text_in(value, "text")
    blocks = [*content] if isinstance(content, list) and content else [{"type": "text", "text": text}] if text else []
    attached = value.get("attachments")
    return [*blocks, *(_attached(one) for one in (attached if isinstance(attached, list) else ()) if text_in(one, "extracted_content"))]


def _attached(file: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": f"[Attached: {text_in(file, 'file_name') or 'a text'}]\n{text_in(file, 'extracted_content')}"}


def _stretches(blocks: list[Any]) -> list[list[Any]]:
    """Return the blocks of a message, the results of tools apart from what the model says before and behind them."""
    found: list[list[Any]] = [[]]
    for block in blocks:
        if found[-1] and _is_result(block) != _is_result(found[-1][-1]):
            found.append([])
        found[-1].append(block)
    return found


def _is_result(block: object) -> bool:
    return text_in(block, "type") == "tool_result"


def _tell(values: tuple[Any, ...], *, blocks: list[Any], hidden: bool) -> Told:
    value = as_mapping(values[0])
    parts = tuple(map(_part, blocks))
    message = _message(text_in(value, "sender"), parts)
    fields = {k: v for k, v in value.items() if k not in ("sender", "uuid", "content")}
    fields["content"] = [left for block in blocks if (left := _unsaid(block))]
    return said([message], fields=fields, ids={"message": value.get("uuid")}, hidden=hidden)


def _tell_other(values: tuple[Any, ...]) -> Told:
    return happened("claude_ai.other", values[0])


def _message(sender: str, parts: tuple[Part, ...]) -> Message:
    if any(isinstance(p, ToolResult) for p in parts):
        return Message(role="tool", content=parts)
    return user(parts) if sender == "human" else assistant(parts)


def _part(block: Any) -> Part:
    match text_in(block, "type"):
        case "text":
            return Text(text=text_in(block, "text"))
        case "thinking":
            return Thinking(text=text_in(block, "thinking"), provider=ANTHROPIC)
        case "tool_use":
            return ToolCall(id=block["id"], name=text_in(block, "name"), arguments=arguments_from_json(block.get("input"))[0])
        case "tool_result":
            return ToolResult(call_id=block["tool_use_id"], content=_answer(block.get("content")), is_error=block.get("is_error") is True, name=text_in(block, "name") or None)
        case _:
            return ProviderItem(provider=FORMAT, value=as_mapping(block))


def _answer(content: Any) -> str:
    """Return what a tool said: texts as they are, anything else as JSON."""
    if isinstance(content, list):
        return "\n".join(text_in(c, "text") if text_in(c, "type") == "text" else codec.encode(c).decode() for c in content)
    return content if isinstance(content, str) else "" if content is None else codec.encode(content).decode()


def _unsaid(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a block holds beside what it says."""
    left = _beside(block, _TOLD.get(text_in(block, "type"), frozenset(block)))
    answer = block.get("content")
    if _is_result(block) and isinstance(answer, list):
        left |= {"content": found} if (found := [b for one in answer if (b := _beside(one, _TOLD["text"]))]) else {}
    return {"type": block["type"], **left} if left else {}


def _beside(block: Any, told: frozenset[str]) -> dict[str, Any]:
    found = {k: v for k, v in block.items() if k not in told} if text_in(block, "type") else {}
    return {k: v for k, v in found.items() if v not in (None, [], {}, "", False)}


def _current(facts: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the messages from the newest one back to the first, None where nothing tells which follows which."""
    messages = facts.get(_LIST)
    parents = {m["uuid"]: text_in(m, "parent_message_uuid") for m in messages if is_message(m)} if isinstance(messages, list) else {}
    if not any(parent in parents for parent in parents.values()):
        return None
    newest = text_in(facts, "current_leaf_message_uuid")
    found: set[str] = set()
    at = newest if newest in parents else list(parents)[-1]
    while at in parents and at not in found:
        found.add(at)
        at = parents[at]
    return frozenset(found)


CLAUDE_AI = Dialect(
    format=FORMAT,
    lists=(_LIST,),
    names=("uuid",),
    is_message=is_message,
    is_listed=is_message,
    is_users=lambda value: value.get("sender") == "human",
    certainty=certainty,
    voice=lambda facts, _: _Voice(_current(facts)),
)
