"""Records of Gemini CLI's sessions: what each says, in pieces that stay when the client writes it again, more complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.importers.certainty import Certainty
from playhead.importers.gemini_parts import PROVIDER, Calls, call_of, parts_of, spoken_by_user
from playhead.importers.told import Told, failed, happened, said, text_in
from playhead.wire.extras import kept

FORMAT = "gemini-cli"
_TYPES = ("user", "gemini", "info", "error", "warning")
_SPOKEN = ("id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens", "model")
_CALL = ("id", "name", "args", "result", "status")
_ENDED = ("success", "error", "cancelled")


def is_record(value: object) -> bool:
    """Tell whether a JSON value is a message of a session."""
    if not isinstance(value, dict) or text_in(value, "type") not in _TYPES or {"uuid", "message", "role", "data"} & value.keys():
        return False
    return "content" in value and (text_in(value, "type") == "gemini" or bool(text_in(value, "id")))


def is_logged(value: object) -> bool:
    """Tell whether a JSON value is a line of the log of prompts."""
    return isinstance(value, dict) and isinstance(value.get("message"), str) and {"sessionId", "messageId", "type"} <= value.keys()


def is_about(value: object) -> bool:
    """Tell whether a JSON value says something of the session."""
    return isinstance(value, dict) and ("$set" in value or "$rewindTo" in value or {"sessionId", "projectHash"} <= value.keys())


def judge(value: object) -> Certainty:
    """Return how sure it is that a value is of a session: no other format writes it so."""
    if not isinstance(value, dict):
        return Certainty.NONE
    messages = value.get("messages")
    is_session = is_about(value) or (isinstance(messages, list) and any(map(is_record, messages[:10])))
    return Certainty.SURE if is_session or is_record(value) or is_logged(value) else Certainty.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A part of a record that is a piece of its own: its name within the record, and its value."""

    name: str
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Portions:
    """A record as two items: what is said, and what the tools that it calls answer."""

    spoken: tuple[Portion, ...]
    answers: tuple[Portion, ...] = ()


def portions_of(record: Mapping[str, Any]) -> Portions:
    """Return the portions of a record. A call without an id is named by its place."""
    head = {k: v for k, v in record.items() if k not in ("toolCalls", "tokens")}
    if record.get("type") != "gemini":
        return Portions(spoken=(Portion(name="", value=head),))
    calls = [_named(c, f"{text_in(record, 'id')}-{i}") for i, c in enumerate(_list(record.get("toolCalls"))) if isinstance(c, Mapping) and text_in(c, "name")]
    odd = [c for c in _list(record.get("toolCalls")) if not (isinstance(c, Mapping) and text_in(c, "name"))]
    if odd:
        head["toolCalls"] = odd
    asked = tuple(Portion(name=f"/call/{c['id']}", value={"id": c["id"], "name": c["name"], "args": c.get("args")}) for c in calls)
    answers = tuple(Portion(name=f"/result/{c['id']}", value=c) for c in calls if _has_ended(c))
    return Portions(spoken=(Portion(name="", value=head), *asked), answers=answers)


def _named(call: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**call, "id": text_in(call, "id") or name}


def _has_ended(call: Mapping[str, Any]) -> bool:
    return bool(call.get("result")) or call.get("status") in _ENDED


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def tell_spoken(values: tuple[Any, ...], *, usage: Any, model: str | None) -> Told:
    """Return what the portions of a record's first item tell; those that are known already are not among them."""
    head = values[0] if "type" in values[0] else {}
    kind = text_in(head, "type") or "gemini"
    fields = {k: v for k, v in head.items() if k not in _SPOKEN}
    ids = {"id": head.get("id")}
    if kind == "user":
        return said(spoken_by_user(Calls().resolved(head.get("content"))), fields=fields, ids=ids)
    if kind == "error":
        return failed("client_error", "\n".join(p.text for p in parts_of(head.get("content"), model=None) if isinstance(p, Text)), fields, ids=ids)
    if kind != "gemini":
        return happened(f"gemini_cli.{kind}", head)
    calls = tuple(call_of(v, more={}) for v in values if "type" not in v)
    asked = {"", *(c.id for c in calls)} if calls else set()
    content = parts_of(head.get("content"), model=model) if head.get("content") else ()
    spoken = [p for p in content if not (isinstance(p, ToolCall) and p.id in asked)]
    parts: tuple[Part, ...] = (*_thoughts(head, model), *spoken, *calls)
    return said([Message(role="assistant", content=parts)], fields=fields, ids=ids, usage=usage, model=model)


def _thoughts(head: Mapping[str, Any], model: str | None) -> Iterator[Thinking]:
    """Yield the summaries of the model's thoughts, which the client keeps without their signatures."""
    for thought in _list(head.get("thoughts")):
        subject, description = text_in(thought, "subject"), text_in(thought, "description")
        words = "\n".join(filter(None, (f"**{subject}**" if subject else "", description)))
        yield Thinking(text=words, provider=PROVIDER, model=model)


def tell_answers(values: tuple[Any, ...]) -> Told:
    """Return what the tools answered that a record calls."""
    results = tuple(_answer(v) for v in values)
    return said([Message(role="tool", content=results)])


def _answer(call: Mapping[str, Any]) -> ToolResult:
    """Return a tool's answer with all that came with it; what the client showed instead, where the answer was not kept."""
    found = list(parts_of(call.get("result"), model=None)) if call.get("result") else []
    own = next((p for p in found if isinstance(p, ToolResult)), None)
    beside = tuple(p for p in found if isinstance(p, (Text, Media, ProviderItem)))
    content: str | tuple[Text | Media | ProviderItem, ...] = own.content if own is not None else ""
    if beside:
        content = (*((Text(text=content),) if isinstance(content, str) and content else ()), *beside)
    elif own is None:
        content = text_in(call, "resultDisplay")
    more = {k: v for k, v in call.items() if k not in _CALL and v is not None}
    is_error = text_in(call, "status") in ("error", "cancelled") or (own is not None and own.is_error)
    return ToolResult(call_id=call["id"], name=call["name"], content=content, is_error=is_error, extra=kept(PROVIDER, more))
