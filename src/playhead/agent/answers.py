"""What a tool returned, as the answer a model reads: text, parts, or a value of JSON; and its failures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import msgspec

from playhead.entry import codec
from playhead.entry.frozen import freeze, thaw
from playhead.entry.message import Media, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import CONTENT_RESULT, answer_from_json, is_content_result, part_from_json, part_to_json
from playhead.errors import InvalidInput, PlayheadError, ToolFailed, UnstorableValue

_BYTES = (bytes, bytearray, memoryview)
_PARTS = (Text, Media, ProviderItem)


def content_result(text: str, *media: Media | Text) -> dict[str, Any]:
    """Return a tool's answer of text and media as a JSON value that says what it is; `result_content` gives its parts back.

    Raises InvalidInput for anything but text and Media.
    """
    content: list[Any] = []
    for part in ((Text(text=text),) if text else ()) + media:
        kept = _kept(part) if isinstance(part, (Text, Media)) else None
        if kept is None:
            raise InvalidInput(f"content_result(text, *media) takes text, and Media whose data is base64 text or whose url or ref is text, not {part!r:.100}.")
        content.append(thaw(part_to_json(kept)))
    return {"type": CONTENT_RESULT, "content": content}


def result_content(value: object) -> tuple[Text | Media, ...]:
    """Return the parts of what `content_result` made; any other JSON value is one Text. Raises UnstorableValue for what is no JSON."""
    content = answer_from_json(value)
    parts = (Text(text=content),) if isinstance(content, str) and not (is_content_result(value) and not content) else content
    return tuple(part if isinstance(part, (Text, Media)) else Text(text=codec.encode(part.value).decode()) for part in parts if not isinstance(part, str))


def result_of(value: object, *, call: ToolCall) -> ToolResult:
    """Return the answer that a tool's value is: text as it is, parts, a ToolResult under the call's id, any other value as its JSON.

    Raises ToolFailed where it is nothing that a model reads or a tape keeps.
    """
    if isinstance(value, ToolResult):
        answer = replace(value, call_id=call.id, name=value.name or call.name or None)
        return replace(answer, content=_answer(answer.content, call.name))
    return ToolResult(call_id=call.id, content=_answer(value, call.name), name=call.name or None)


def failure(error: PlayheadError, *, call: ToolCall) -> ToolResult:
    """Return an error as the answer to a call: its kind, message and details as JSON, marked as an error."""
    try:
        details = freeze(error.details)
    except UnstorableValue:
        details = {str(key): repr(value) for key, value in error.details.items()}
    told = {"kind": error.kind, "message": error.message, "details": details}
    return ToolResult(call_id=call.id, content=codec.encode(told).decode(), is_error=True, name=call.name or None)


def _answer(value: object, tool: str) -> str | tuple[Text | Media | ProviderItem, ...]:
    if isinstance(value, _BYTES):
        raise ToolFailed(f"Tool '{tool}' returned bytes, which no model reads; return text, or content_result(text, Media(kind=..., mime=..., data=BASE64)).", tool=tool)
    parts = _parts(value)
    if parts is None:
        return _json_text(value, tool)
    kept = tuple(_kept(part) for part in parts)
    if None in kept:
        raise ToolFailed(f"Tool '{tool}' returned a part that cannot be kept: {parts[kept.index(None)]!r:.200}; the data of media is base64 text.", tool=tool)
    return tuple(part for part in kept if part is not None)


def _parts(value: object) -> tuple[Text | Media | ProviderItem, ...] | None:
    """Return a value that is made of parts as such, None for one that is not; words between parts are parts too."""
    if isinstance(value, _PARTS):
        return (value,)
    if is_content_result(value):
        return result_content(value)
    if not isinstance(value, (list, tuple)) or not any(isinstance(item, _PARTS) for item in value):
        return None
    spoken = tuple(Text(text=item) if isinstance(item, str) else item for item in value)
    return spoken if all(isinstance(item, _PARTS) for item in spoken) else None


def _kept(part: Text | Media | ProviderItem) -> Text | Media | ProviderItem | None:
    """Return a part as a tape keeps it, None where it does not come back from JSON as what it is."""
    try:
        written = freeze(part_to_json(part))
        back = part_from_json(written)
    except InvalidInput:
        return None
    return back if isinstance(back, _PARTS) and part_to_json(back) == written else None


def _json_text(value: object, tool: str) -> str:
    if isinstance(value, str):
        text: str = freeze(value)
        return text
    try:
        try:
            frozen = freeze(value, path="result")
        except UnstorableValue:
            frozen = freeze(_plain(value), path="result")
    except (UnstorableValue, RecursionError) as exc:
        why = exc.message if isinstance(exc, UnstorableValue) else "It holds itself."
        raise ToolFailed(f"Tool '{tool}' ran, but returned what JSON cannot hold. {why} Return text, numbers, lists, dicts or parts.", tool=tool) from exc
    return codec.encode(frozen).decode()


def _plain(value: Any) -> Any:
    """Return a value in JSON's types where it has a usual form in them: dataclasses, models, dates, sets; what has none is left as it is."""
    if value is None or isinstance(value, (str, int, float, *_BYTES, *_PARTS, Thinking, ToolCall, ToolResult)):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value))
    if isinstance(value, PurePath):
        return str(value)
    try:
        return msgspec.to_builtins(value, builtin_types=_BYTES)
    except TypeError:
        return value
