"""Records of pi sessions: what each says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult, user
from playhead.entry.payload import arguments_from_json
from playhead.errors import WireError
from playhead.importers.certainty import Certainty
from playhead.importers.claude_records import COMPACTION
from playhead.importers.told import Told, begun_anew, failed, happened, said, text_in
from playhead.wire.extras import kept, rest

FORMAT = "pi"
PROVIDER = "pi"
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary")
_NOTES = ("model_change", "thinking_level_change", "branch_summary", "custom_message", "custom", "label", "session_info", "compaction")
_MESSAGE = ("role", "content", "timestamp", "usage", "model", "provider", "stopReason", "toolCallId", "toolName", "isError", "customType")
_SUMMARY = "The conversation was continued from another branch. What was done there:\n\n{}"
_PLACED = ("type", "id", "parentId", "timestamp", "message")


def judge(value: object) -> Certainty:
    """Return how sure it is that a value is a record: no other format writes it so."""
    if not isinstance(value, dict):
        return Certainty.NONE
    kind = text_in(value, "type")
    if kind == "message":
        return Certainty.SURE if text_in(value.get("message"), "role") in _ROLES else Certainty.NONE
    if kind == "session":
        return Certainty.SURE if text_in(value, "id") and {"cwd", "version"} & value.keys() else Certainty.NONE
    return Certainty.SURE if kind in _NOTES and text_in(value, "timestamp") and not {"uuid", "sessionId"} & value.keys() else Certainty.NONE


def tell(values: tuple[Any, ...]) -> Told:
    """Return what a record says; what is no part of the conversation is an event."""
    (record,) = values
    ids = {"id": record.get("id"), "parent": record.get("parentId")}
    match record.get("type"):
        case "message" if isinstance(record.get("message"), dict):
            told = _message(record["message"], ids)
            return replace(told, fields={**told.fields, **_rest(record)})
        case "custom_message":
            return said([_spoken("user", record.get("content"))], ids={**ids, "note": True}, fields=_rest(record, "content"))
        case "branch_summary" if text_in(record, "summary"):
            return said([user(_SUMMARY.format(record["summary"]))], ids={**ids, "note": True}, fields=_rest(record, "summary"))
    kept_ = {k: v for k, v in record.items() if k not in ("id", "parentId", "timestamp")}
    return happened(f"pi.{text_in(record, 'type') or 'unknown'}", kept_, ids=ids)


def _rest(record: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in _PLACED and k not in known}


def tell_compaction(values: tuple[Any, ...]) -> Told:
    """Return a compaction as the anchor behind which reading starts, with the summary as its state."""
    (record,) = values
    state: dict[str, Any] = {"summary": text_in(record, "summary")} if text_in(record, "summary") else {}
    tokens = record.get("tokensBefore")
    state |= {"pre_tokens": tokens} if isinstance(tokens, int) else {}
    ids = {"id": record.get("id"), "parent": record.get("parentId"), "fields": _rest(record, "summary", "tokensBefore")}
    return begun_anew(COMPACTION, state, ids=ids)


def _message(message: Mapping[str, Any], ids: Mapping[str, Any]) -> Told:
    fields = {k: v for k, v in message.items() if k not in _MESSAGE}
    match message.get("role"):
        case "user":
            return said([_spoken("user", message.get("content"))], ids=ids, fields=fields)
        case "assistant":
            return _turn(message, ids, fields)
        case "toolResult":
            return said([Message(role="tool", content=(_result(message),))], ids=ids, fields=fields)
        case "bashExecution":
            fields = {k: v for k, v in fields.items() if k not in ("command", "output")}
            return said([user(_bash(message))], ids={**ids, "note": True}, fields=fields, hidden=message.get("excludeFromContext") is True)
        case "custom" | "hookMessage":
            return said([_spoken("user", message.get("content"))], ids={**ids, "note": True}, fields={**fields, "customType": message.get("customType")})
        case "branchSummary" | "compactionSummary" if text_in(message, "summary"):
            return said([user(message["summary"])], ids={**ids, "note": True}, fields={k: v for k, v in fields.items() if k != "summary"})
    raise WireError(f"Nobody is known by the role {message.get('role')!r}", where="message.role")


def _turn(message: Mapping[str, Any], ids: Mapping[str, Any], fields: Mapping[str, Any]) -> Told:
    """Return the model's turn; one that failed, or was broken off, before it said anything is an error."""
    model, stop = text_in(message, "model") or None, text_in(message, "stopReason") or None
    parts = tuple(_parts(message.get("content"), message))
    error = text_in(message, "errorMessage")
    if not parts and stop in ("aborted", "error"):
        return failed(stop, error or f"The request was {stop}.", {k: v for k, v in message.items() if k in ("api", "provider", "model")}, ids=ids)
    return said([Message(role="assistant", content=parts)], ids={**ids, "stop_reason": stop, "provider": message.get("provider")}, fields=fields, usage=message.get("usage"), model=model)


def _result(message: Mapping[str, Any]) -> ToolResult:
    spoken = message.get("content")
    parts = tuple(p if isinstance(p, (Text, Media, ProviderItem)) else ProviderItem(provider=PROVIDER, value={}) for p in _parts(spoken, {}))
    only = parts[0] if len(parts) == 1 else None
    content: Any = spoken if isinstance(spoken, str) else only.text if isinstance(only, Text) and not only.extra else parts
    return ToolResult(call_id=call_id(text_in(message, "toolCallId")), content=content, is_error=message.get("isError") is True, name=text_in(message, "toolName") or None)


def _spoken(role: Any, content: object) -> Message:
    if isinstance(content, str):
        return Message(role=role, content=content)
    parts = tuple(_parts(content, {}))
    only = parts[0] if len(parts) == 1 else None
    return Message(role=role, content=only.text if isinstance(only, Text) and not only.extra else parts)


def _bash(message: Mapping[str, Any]) -> str:
    """Return what a user ran, and what it printed, as words."""
    ended = "It was cancelled." if message.get("cancelled") is True else f"Exit code {message['exitCode']}." if isinstance(message.get("exitCode"), int) else ""
    lines = (f"Ran `{text_in(message, 'command')}`", f"```\n{text_in(message, 'output')}\n```" if text_in(message, "output") else "(no output)", ended)
    return "\n".join(filter(None, lines))


def call_id(name: str) -> str:
    """Return a call's id without the id of the server's item that pi puts behind it."""
    return name.partition("|")[0]


def _parts(content: object, made: Mapping[str, Any]) -> Iterator[Part]:
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield Text(text=block)
        elif isinstance(block, Mapping):
            yield _part(block, made)
        elif block is not None:
            raise WireError(f"A block is an object, not {type(block).__name__}", where="message.content")


def _part(block: Mapping[str, Any], made: Mapping[str, Any]) -> Part:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return Text(text=block["text"], extra=kept(PROVIDER, rest(block, "type", "text")))
        case "image" if text_in(block, "data"):
            return Media(kind="image", mime=text_in(block, "mimeType") or None, data=block["data"])
        case "thinking":
            return _thinking(block, made)
        case "toolCall" if text_in(block, "name"):
            arguments, spelling = arguments_from_json(block.get("arguments"))
            more = {**rest(block, "type", "id", "name", "arguments"), **({"arguments": spelling} if spelling is not None else {})}
            if call_id(text_in(block, "id")) != text_in(block, "id"):
                more["id"] = block["id"]
            return ToolCall(id=call_id(text_in(block, "id")), name=block["name"], arguments=arguments, extra=kept(PROVIDER, more))
    return ProviderItem(provider=PROVIDER, value=freeze_dict(block))


def _thinking(block: Mapping[str, Any], made: Mapping[str, Any]) -> Thinking:
    """Return reasoning; Anthropic's signature is as it came, of other providers pi keeps what it needs in words of its own."""
    is_anthropic = made.get("api") == "anthropic-messages" and made.get("provider") == "anthropic"
    signature = text_in(block, "thinkingSignature") or None
    redacted = signature if is_anthropic and block.get("redacted") is True else None
    return Thinking(
        text="" if redacted else text_in(block, "thinking"),
        signature=None if redacted else signature,
        redacted=redacted,
        provider="anthropic" if is_anthropic else f"{PROVIDER}:{text_in(made, 'provider')}",
        model=text_in(made, "model") or None,
        extra=kept(PROVIDER, rest(block, "type", "thinking", "thinkingSignature")),
    )
