"""Messages as payloads: how what was said is written as an entry, and read back.

docs/reference/message.md is the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard, cast

from playhead.entry import codec
from playhead.entry.entry import MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.frozen import FrozenDict, freeze, freeze_dict
from playhead.entry.message import MEDIA_KINDS, NOTHING, ROLES, Media, MediaKind, Message, Part, ProviderItem, Role, Text, Thinking, ToolCall, ToolResult
from playhead.errors import InvalidInput

CONTENT_RESULT = "content_result"
"""The type of a JSON object that says it is a tool's answer in parts, which stand in its `content`."""


def part_to_json(part: Part) -> dict[str, Any]:
    """Return a part as plain JSON, absent fields left out."""
    match part:
        case Text():
            fields: dict[str, Any] = {"type": "text", "text": part.text}
        case Thinking():
            fields = {"type": "thinking", "text": part.text, "signature": part.signature, "redacted": part.redacted, "provider": part.provider, "model": part.model}
        case ToolCall():
            fields = {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case ToolResult():
            fields = {"type": "tool_result", "call_id": part.call_id, "content": _content_to_json(part.content), "is_error": part.is_error or None, "name": part.name}
        case Media():
            fields = {"type": part.kind, "mime": part.mime, "data": part.data, "url": part.url, "ref": part.ref, "name": part.name}
        case ProviderItem():
            return {"type": "provider", "provider": part.provider, "value": part.value}
    fields = {k: v for k, v in fields.items() if v is not None}
    return {**fields, "extra": part.extra} if part.extra else fields


def _content_to_json(content: str | Iterable[Part]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [part_to_json(p) for p in content]


def part_from_json(value: object, *, path: str = "content") -> Part:
    """Return the part a JSON object describes; a plain text is a Text. Raises InvalidInput with its path.

    A block of an unknown type becomes a ProviderItem of provider "unknown", kept word for word.
    """
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, Mapping):
        raise InvalidInput(f"A part at {path} is a mapping with a type, not {type(value).__name__}.", path=path)
    kind = value.get("type")
    extra = _mapping(value.get("extra"))
    match kind:
        case "text" if isinstance(value.get("text"), str):
            return Text(text=value["text"], extra=extra)
        case "thinking" if isinstance(value.get("text", ""), str):
            return Thinking(
                text=value.get("text", ""),
                signature=_str(value.get("signature")),
                redacted=_str(value.get("redacted")),
                provider=_str(value.get("provider")),
                model=_str(value.get("model")),
                extra=extra,
            )
        case "tool_call" if isinstance(value.get("name"), str):
            return ToolCall(id=_str(value.get("id")) or "", name=value["name"], arguments=_mapping(value.get("arguments")), extra=extra)
        case "tool_result" if isinstance(value.get("call_id"), str):
            content = answer_from_json(value.get("content", ""), path=f"{path}.content")
            return ToolResult(call_id=value["call_id"], content=content, is_error=value.get("is_error") is True, name=_str(value.get("name")), extra=extra)
        case "provider" if isinstance(value.get("provider"), str) and isinstance(value.get("value"), Mapping):
            return ProviderItem(provider=value["provider"], value=_mapping(value["value"]))
        case str() if kind in MEDIA_KINDS and any(isinstance(value.get(k), str) for k in ("data", "url", "ref")):
            texts = {k: _str(value.get(k)) for k in ("mime", "data", "url", "ref", "name")}
            return Media(kind=cast(MediaKind, kind), extra=extra, **texts)
    return ProviderItem(provider="unknown", value=freeze_dict(value, path=path))


def answer_from_json(value: object, *, path: str = "content") -> str | tuple[Text | Media | ProviderItem, ...]:
    """Return a tool's answer: text, lists of parts and content results as they are, any other value as its JSON text (non-ASCII kept)."""
    if isinstance(value, str):
        return value
    if is_content_result(value):
        return answer_from_json(value["content"], path=f"{path}.content") if value["content"] else ""
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, Mapping) and isinstance(v.get("type"), str) for v in value):
        parts = [part_from_json(v, path=f"{path}[{i}]") for i, v in enumerate(value)]
        if all(isinstance(p, (Text, Media, ProviderItem)) for p in parts):
            return tuple(cast("list[Text | Media | ProviderItem]", parts))
    return codec.encode(freeze(value, path=path)).decode()


def is_content_result(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a JSON value says of itself that it is a tool's answer in parts."""
    return isinstance(value, Mapping) and value.get("type") == CONTENT_RESULT and isinstance(value.get("content"), (list, tuple))


def _mapping(value: object) -> FrozenDict:
    return freeze_dict(value, path="content") if isinstance(value, Mapping) else NOTHING


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


def message_to_entries(message: Message, **meta: object) -> tuple[TapeEntry, ...]:
    """Return the entries a message is written as: mostly one.

    An assistant's turn with calls is one `tool_call`; results are one `tool_result`; a user's message that
    holds results and words becomes a `tool_result` and a `message` behind it.
    """
    if message.calls:
        if message.role != "assistant":
            raise InvalidInput(f"Only an assistant calls tools, not a message of role '{message.role}'.")
        return (TapeEntry(0, TOOL_CALL, _turn_payload(message), freeze_dict(meta, path="meta")),)
    if message.role == "tool" and not message.results:
        raise InvalidInput("A tool's message holds what a tool answered; make it with tool_result_message(call_id, content).")
    if not message.results:
        return (TapeEntry(0, MESSAGE, _message_payload(message), freeze_dict(meta, path="meta")),)
    results = TapeEntry(0, TOOL_RESULT, _results_payload(message.results), freeze_dict(meta, path="meta"))
    rest = tuple(p for p in message.parts if not isinstance(p, ToolResult))
    if not rest:
        return (results,)
    return (results, TapeEntry(0, MESSAGE, _message_payload(Message(role="user", content=rest, name=message.name, extra=message.extra)), freeze_dict(meta, path="meta")))


def _message_payload(message: Message) -> FrozenDict:
    return freeze_dict({"role": message.role, "content": _content_to_json(message.content), **_named(message)})


def _turn_payload(message: Message) -> FrozenDict:
    calls = [{k: v for k, v in part_to_json(c).items() if k != "type"} for c in message.calls]
    content = [{"type": "tool_call", "id": p.id} if isinstance(p, ToolCall) else part_to_json(p) for p in message.parts]
    return freeze_dict({"calls": calls, "content": content, **_named(message)})


def _results_payload(results: Sequence[ToolResult]) -> FrozenDict:
    payload: dict[str, object] = {"results": [_content_to_json(r.content or "") for r in results], "call_ids": [r.call_id for r in results]}
    for key, values in (("is_error", [r.is_error for r in results]), ("names", [r.name for r in results]), ("extra", [r.extra or None for r in results])):
        if any(values):
            payload[key] = values
    return freeze_dict(payload)


def _named(message: Message) -> dict[str, object]:
    named: dict[str, object] = {"name": message.name} if message.name is not None else {}
    return {**named, "extra": message.extra} if message.extra else named


def turn_from_payload(payload: Mapping[str, Any], *, sources: tuple[str, ...] = ()) -> Message:
    """Return the assistant's turn a `tool_call` payload holds; calls in OpenAI form are read too, what is no call is left out.

    Calls that have no id get none here; the view gives them one.
    """
    calls = tuple(c for c in map(call_from_json, payload.get("calls") or ()) if c is not None)
    content = payload.get("content")
    if not isinstance(content, (list, tuple)):
        words: tuple[Part, ...] = (Text(text=content),) if isinstance(content, str) and content else ()
        return Message(role="assistant", content=(*words, *calls), name=_str(payload.get("name")), extra=_mapping(payload.get("extra")), sources=sources)
    waiting = list(calls)
    parts: list[Part] = []
    for i, item in enumerate(content):
        if isinstance(item, Mapping) and item.get("type") == "tool_call":
            named = next((c for c in waiting if c.id == item.get("id")), None)
            if named is not None:
                waiting.remove(named)
                parts.append(named)
            continue
        parts.append(part_from_json(item, path=f"content[{i}]"))
    return Message(role="assistant", content=(*parts, *waiting), name=_str(payload.get("name")), extra=_mapping(payload.get("extra")), sources=sources)


def call_from_json(value: object) -> ToolCall | None:
    """Return the call a mapping describes, in our form or OpenAI's `{id, function: {name, arguments}}`; None where it is none."""
    if not isinstance(value, Mapping):
        return None
    function = value.get("function")
    spoken: Mapping[str, Any] = function if isinstance(function, Mapping) else value
    name = spoken.get("name")
    if not isinstance(name, str) or not name:
        return None
    arguments, raw = arguments_from_json(spoken.get("arguments"))
    extra = _mapping(value.get("extra"))
    return ToolCall(id=_str(value.get("id")) or "", name=name, arguments=arguments, extra=FrozenDict({"openai": FrozenDict({"arguments": raw}), **extra}) if raw is not None else extra)


def arguments_from_json(value: object) -> tuple[FrozenDict, str | None]:
    """Return a call's arguments as an object, and their own spelling where writing them again would change it.

    Arguments that are no JSON object are kept under the key `_unparsed`.
    """
    if isinstance(value, Mapping):
        return freeze_dict(value, path="arguments"), None
    if value is None:
        return NOTHING, None
    text = value if isinstance(value, str) else codec.encode(freeze(value, path="arguments")).decode()
    if not text.strip():
        return NOTHING, freeze(text)
    try:
        parsed = codec.decode(text)
        arguments = freeze_dict(parsed, path="arguments") if isinstance(parsed, dict) else FrozenDict({"_unparsed": text})
    except (ValueError, RecursionError, InvalidInput):
        arguments = FrozenDict({"_unparsed": freeze(text)})
    return arguments, None if codec.encode(arguments).decode() == text else freeze(text)


def results_from_payload(payload: Mapping[str, Any]) -> tuple[ToolResult, ...]:
    """Return the results a `tool_result` payload holds; `call_id` is "" where it is paired by position."""
    results = payload.get("results")
    if not isinstance(results, (list, tuple)):
        return ()

    def at(key: str, i: int) -> Any:
        values = payload.get(key)
        return values[i] if isinstance(values, (list, tuple)) and i < len(values) else None

    return tuple(
        ToolResult(
            call_id=_str(at("call_ids", i)) or "",
            content=answer_from_json(result, path=f"results[{i}]"),
            is_error=at("is_error", i) is True,
            name=_str(at("names", i)),
            extra=_mapping(at("extra", i)),
        )
        for i, result in enumerate(results)
    )


def message_from_payload(payload: Mapping[str, Any], *, sources: tuple[str, ...] = ()) -> Message | None:
    """Return the message a `message` payload (or a selector's mapping in chat form) holds, None where it is none.

    Chat form in OpenAI's spelling is read too: `tool_calls`, role `tool` with `tool_call_id`, role `developer`.
    """
    role = payload.get("role")
    role = "system" if role == "developer" else role
    if role not in ROLES:
        return None
    content = payload.get("content")
    name = _str(payload.get("name"))
    extra = _mapping(payload.get("extra"))
    if role == "tool" and isinstance(payload.get("tool_call_id"), str):
        result = ToolResult(call_id=payload["tool_call_id"], content=answer_from_json(content if content is not None else ""), name=name)
        return Message(role="tool", content=(result,), extra=extra, sources=sources)
    if payload.get("tool_calls") or payload.get("calls"):
        turn = {"calls": payload.get("tool_calls") or payload["calls"], "content": content, "name": name, "extra": extra}
        return turn_from_payload(turn, sources=sources)
    if content is None:
        content = ()
    if not isinstance(content, (str, list, tuple)):
        content = codec.encode(freeze(content)).decode()
    parts = content if isinstance(content, str) else tuple(part_from_json(p, path=f"content[{i}]") for i, p in enumerate(content))
    return Message(role=cast(Role, role), content=parts, name=name, extra=extra, sources=sources)


def message_to_json(message: Message) -> dict[str, Any]:
    """Return a message as plain JSON, whole: calls and results stand in its content."""
    return {"role": message.role, "content": _content_to_json(message.content), **_named(message)}
