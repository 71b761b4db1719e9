"""LangChain messages: what `messages_to_dict` writes (`{"type": "human", "data": {...}}`), their serialised and their flat form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import arguments_from_json, call_from_json
from playhead.errors import WireError
from playhead.importers.certainty import Certainty
from playhead.importers.dialect import Dialect, Share
from playhead.importers.langchain_blocks import PROVIDER, Made, parts_of
from playhead.importers.told import Told, as_mapping, happened, said, text_in
from playhead.wire import anthropic
from playhead.wire.extras import kept

FORMAT = "langchain"
_TYPES = frozenset({"human", "ai", "system", "tool", "function", "chat", "remove"})
_ROLES = {"human": "user", "ai": "assistant", "user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_SPOKEN = ("content", "type", "name", "tool_calls", "invalid_tool_calls", "tool_call_id", "status", "usage_metadata", "role", "example", "tool_call_chunks", "chunk_position")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """A message's type, its data, and whether they are written as no other format does."""

    type: str
    data: Mapping[str, Any]
    is_marked: bool


def record_of(value: object) -> _Record | None:
    """Return the message that a JSON value writes in one of the three forms, None where it is none."""
    if not isinstance(value, Mapping):
        return None
    data, path = value.get("data"), value.get("id")
    kind = _type(text_in(value, "type"))
    if kind in _TYPES and isinstance(data, Mapping) and "content" in data:
        return _Record(type=kind, data=data, is_marked=True)
    if value.get("lc") == 1 and isinstance(path, list) and path and isinstance(value.get("kwargs"), Mapping):
        kind = _type(path[-1]) if isinstance(path[-1], str) else ""
        return _Record(type=kind, data=value["kwargs"], is_marked=True) if kind in _TYPES else None
    if kind in _TYPES and "content" in value and not {"message", "uuid", "timestamp"} & value.keys():
        return _Record(type=kind, data=value, is_marked=bool({"additional_kwargs", "response_metadata"} & value.keys()))
    return None


def _type(name: str) -> str:
    """Return the type that a name of a type or a class says: `AIMessageChunk` is `ai`."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def certainty(value: Mapping[str, Any]) -> Certainty:
    """Return how sure it is that a value is a message."""
    record = record_of(value)
    return Certainty.NONE if record is None else Certainty.SURE if record.is_marked else Certainty.MAYBE


class _Voice:
    def opening(self) -> tuple[Share, ...]:
        return ()

    def shares(self, value: Any, *, within: str | None) -> Iterator[Share]:
        record = record_of(value)
        if record is not None and record.type == "remove":
            yield Share(value=value, tell=lambda values: happened("langchain.remove", values[0]), beside=True)
        else:
            yield Share(value=value, tell=_tell)


def _tell(values: tuple[Any, ...]) -> Told:
    record = record_of(as_mapping(values[0]))
    if record is None:
        raise WireError(f"A message is of the type {', '.join(sorted(_TYPES))}, and has content", where="type")
    data = record.data
    more = data.get("response_metadata")
    noted: Mapping[str, Any] = more if isinstance(more, Mapping) else {}
    made = Made(provider=text_in(noted, "model_provider") or None, model=text_in(noted, "model_name") or text_in(noted, "model") or None)
    fields = {k: v for k, v in data.items() if k not in _SPOKEN}
    if record.type != "ai":
        return said(_messages(record, made), fields=fields)
    return said([_turn(data, made)], fields=fields, usage=data.get("usage_metadata"), model=made.model)


def _messages(record: _Record, made: Made) -> tuple[Message, ...]:
    data, name = record.data, text_in(record.data, "name") or None
    if record.type in ("tool", "function"):
        call_id = text_in(data, "tool_call_id") if record.type == "tool" else ""
        result = ToolResult(call_id=call_id, content=_answer(data.get("content"), made), is_error=data.get("status") == "error", name=name)
        return (Message(role="tool", content=(result,)),)
    content = data.get("content")
    if isinstance(content, list) and any(text_in(b, "type") == "tool_result" for b in content):
        return anthropic.load([{"role": "user", "content": content}])
    if record.type == "chat":
        role = _ROLES.get(text_in(data, "role").lower(), "user")
        name = name or (None if text_in(data, "role").lower() in _ROLES else text_in(data, "role") or None)
    else:
        role = _ROLES[record.type]
    return (Message(role=role, content=_content(content, made), name=name),)  # type: ignore[arg-type]


def _content(content: object, made: Made) -> str | tuple[Part, ...]:
    return content if isinstance(content, str) else tuple(parts_of(content, made=made))


def _answer(content: object, made: Made) -> str | tuple[Text | Media | ProviderItem, ...]:
    if isinstance(content, str):
        return content
    return tuple(p if isinstance(p, (Text, Media, ProviderItem)) else ProviderItem(provider=PROVIDER, value=_plain(p)) for p in parts_of(content, made=made))


def _plain(part: Part) -> dict[str, Any]:
    return {"type": part.type, "text": getattr(part, "text", getattr(part, "name", ""))}


def _turn(data: Mapping[str, Any], made: Made) -> Message:
    """Return the model's turn: its content, and behind it the calls that do not stand there."""
    more = data.get("additional_kwargs")
    kwargs: Mapping[str, Any] = more if isinstance(more, Mapping) else {}
    parts = [p for p in parts_of(data.get("content"), made=made) if not (isinstance(p, Text) and not p.text)]
    placed = {p.id for p in parts if isinstance(p, ToolCall) and p.id}
    calls = [c for c in _calls(data, kwargs) if c.id not in placed or not c.id]
    thought = text_in(kwargs, "reasoning_content")
    thinking = [Thinking(text=thought, provider=made.provider, model=made.model)] if thought else []
    whole: tuple[Part, ...] = (*thinking, *parts, *calls)
    only = whole[0] if len(whole) == 1 else None
    content = only.text if isinstance(only, Text) and not only.extra else whole or ""
    return Message(role="assistant", content=content, name=text_in(data, "name") or None)


def _calls(data: Mapping[str, Any], kwargs: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Yield the calls, also those whose arguments are no JSON; older files hold them in the provider's own form alone."""
    listed = [c for c in _list(data.get("tool_calls")) if text_in(c, "name")]
    broken = [c for c in _list(data.get("invalid_tool_calls")) if isinstance(c, Mapping)]
    for call in listed:
        yield ToolCall(id=text_in(call, "id"), name=call["name"], arguments=arguments_from_json(call.get("args"))[0])
    for call in broken:
        arguments, _ = arguments_from_json(call.get("args"))
        error = {"error": call["error"]} if call.get("error") is not None else {}
        yield ToolCall(id=text_in(call, "id"), name=text_in(call, "name") or "unknown", arguments=arguments, extra=kept(PROVIDER, FrozenDict(error)))
    if not listed and not broken:
        own = [*_list(kwargs.get("tool_calls")), *([kwargs["function_call"]] if isinstance(kwargs.get("function_call"), Mapping) else [])]
        yield from (call for c in own if (call := call_from_json(c)) is not None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


LANGCHAIN = Dialect(
    format=FORMAT,
    lists=("messages", "history", "chat_history"),
    names=("id", "thread_id", "session_id", "conversation_id"),
    is_message=lambda value: record_of(value) is not None,
    is_listed=lambda value: record_of(value) is not None,
    is_users=lambda value: (record := record_of(value)) is not None and record.type == "human",
    certainty=certainty,
    voice=lambda *_: _Voice(),
)
