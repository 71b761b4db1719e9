"""Records of Codex rollouts: what each is, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Message, Part, Thinking, ToolResult, user
from playhead.importers.certainty import Certainty
from playhead.importers.claude_records import COMPACTION
from playhead.importers.openai_responses import is_item, is_of_model
from playhead.importers.told import Told, begun_anew, failed, happened, said, text_in
from playhead.wire import openai_responses

FORMAT = "codex"
ITEM, EVENT, META, CONTEXT, COMPACTED = "response_item", "event_msg", "session_meta", "turn_context", "compacted"
_KINDS = frozenset({ITEM, EVENT, META, CONTEXT, COMPACTED})
_HARNESS = ("ghost_snapshot", "other")
_OPENAI = ("", "openai")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a line holds: its kind, its payload, and what stands beside them."""

    kind: str
    payload: Mapping[str, Any]
    rest: Mapping[str, Any]

    @property
    def type(self) -> str:
        """The payload's own type; a message may do without."""
        return text_in(self.payload, "type") or ("message" if self.kind == ITEM else "")


def record_of(value: Mapping[str, Any]) -> Record:
    """Return the record of a line, also of the first rollouts, which wrote payloads without an envelope."""
    payload = value.get("payload")
    if isinstance(payload, dict) and text_in(value, "type"):
        return Record(kind=value["type"], payload=payload, rest={k: v for k, v in value.items() if k not in ("type", "payload", "timestamp")})
    if is_item(value):
        return Record(kind=ITEM, payload=value, rest={})
    if is_bare_meta(value):
        return Record(kind=META, payload=value, rest={})
    return Record(kind="state" if "record_type" in value else "unknown", payload=value, rest={})


def is_bare_meta(value: Mapping[str, Any]) -> bool:
    """Tell whether a value is how the first rollouts began."""
    return bool(text_in(value, "id") and text_in(value, "timestamp")) and "instructions" in value and "type" not in value


def judge(value: object) -> Certainty:
    """Return how sure it is that a value is a record: no other format writes it so.

    The items of the first rollouts, which had no envelope, are those of OpenAI Responses and tell nothing.
    """
    if not isinstance(value, dict):
        return Certainty.NONE
    if text_in(value, "type") in _KINDS and isinstance(value.get("payload"), dict):
        return Certainty.SURE
    return Certainty.SURE if is_bare_meta(value) or value.get("record_type") == "state" else Certainty.NONE


def is_spoken(record: Record) -> bool:
    """Tell whether a record is an item that the model wrote or read."""
    return record.kind == ITEM and record.type not in _HARNESS


def is_in_turn(payload: Mapping[str, Any]) -> bool:
    """Tell whether an item is a part of the model's turn."""
    return is_of_model(payload) and text_in(payload, "type") != "agent_message"


def words_of(payload: Mapping[str, Any]) -> str:
    """Return the words of a message, its texts joined."""
    content = payload.get("content")
    return content if isinstance(content, str) else "\n".join(text_in(b, "text") for b in content) if isinstance(content, list) else ""


def neutral(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item in the forms that every reader of OpenAI Responses knows: a shell call is a call like any other."""
    kind = text_in(payload, "type")
    if kind == "local_shell_call":
        call_id = text_in(payload, "call_id") or text_in(payload, "id")
        more = {k: v for k, v in payload.items() if k not in ("type", "call_id", "action")}
        return FrozenDict({"type": "function_call", "name": "local_shell", "call_id": call_id, "arguments": payload.get("action"), **more})
    if kind.endswith("_call_output") and isinstance(payload.get("output"), Mapping):
        output = payload["output"]
        content = output.get("content_items") or output.get("content", output)
        readable = content if isinstance(content, (str, list)) else codec.encode(content).decode()
        return FrozenDict({**payload, "output": readable})
    return payload


def tell_items(values: tuple[Any, ...], *, model: str | None, provider: str) -> Told:
    """Return what items say; reasoning is bound to the provider that the session names."""
    payloads = [neutral(v) for v in values]
    if text_in(payloads[0], "type") == "agent_message":
        return said([user(words_of(payloads[0]), name=text_in(payloads[0], "author") or None)], fields={k: v for k, v in payloads[0].items() if k not in ("type", "content")})
    messages = openai_responses.load(payloads, model=model)
    by_model = any(m.role == "assistant" for m in messages)
    failures = {text_in(v, "call_id") for v in values if isinstance(v.get("output"), Mapping) and v["output"].get("success") is False}
    return said([_bound(m, provider, failures) for m in messages], model=model if by_model else None)


def _bound(message: Message, provider: str, failures: set[str]) -> Message:
    if isinstance(message.content, str) or (provider in _OPENAI and not failures):
        return message
    return replace(message, content=tuple(_part(p, provider, failures) for p in message.content))


def _part(part: Part, provider: str, failures: set[str]) -> Part:
    if isinstance(part, Thinking) and provider not in _OPENAI:
        return replace(part, provider=provider)
    if isinstance(part, ToolResult) and part.call_id in failures:
        return replace(part, is_error=True)
    return part


def tell_compaction(values: tuple[Any, ...]) -> Told:
    """Return a compaction as the anchor behind which reading starts, with the summary as its state."""
    payload, anchors = values[0]["payload"], values[0]["anchors"]
    fields = {k: v for k, v in payload.items() if k not in ("message", "replacement_history")}
    if not anchors:
        return happened("codex.compacted", {k: v for k, v in payload.items() if k != "replacement_history"})
    summary = text_in(payload, "message")
    return begun_anew(COMPACTION, {"summary": summary} if summary.strip() else {}, ids={"fields": fields} if fields else {})


def tell_event(values: tuple[Any, ...]) -> Told:
    """Return what the client noted."""
    payload = values[0]
    if text_in(payload, "type") == "error":
        details = {k: v for k, v in payload.items() if k not in ("type", "message")}
        return failed("codex_error", text_in(payload, "message"), details)
    return happened(f"codex.{text_in(payload, 'type') or 'event'}", payload)


def tell_prompt(values: tuple[Any, ...]) -> Told:
    """Return what a user said, from the note of it: in a file that holds no items for it."""
    payload = values[0]
    return said([user(text_in(payload, "message"))], fields={k: v for k, v in payload.items() if k not in ("type", "message")})


def tell_other(values: tuple[Any, ...], *, name: str) -> Told:
    """Return what is no part of the conversation."""
    return happened(name, values[0])
