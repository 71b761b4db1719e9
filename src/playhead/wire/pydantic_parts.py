"""Parts of pydantic-ai messages: what users, tools and models say in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Media, MediaKind, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import arguments_from_json
from playhead.wire.extras import kept, rest

PROVIDER = "pydantic-ai"
RETRIED = "Fix the errors and try again."
_URLS: Mapping[str, MediaKind] = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "document"}
_REDACTED = "redacted_thinking"
_ERRORS = frozenset({"failed", "retried"})


def text_in(value: Mapping[str, Any], key: str) -> str:
    """Return a text member of a part, "" where it has none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def content_of(content: object) -> str | tuple[Part, ...]:
    """Return what a user's prompt says: a text, or texts and media."""
    if isinstance(content, str):
        return content
    return tuple(_user_part(p) for p in (content if isinstance(content, list) else [content]) if p is not None)


def _user_part(value: object) -> Part:
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, Mapping):
        return Text(text=codec.encode(value).decode())
    kind = text_in(value, "kind")
    if kind in ("text-content", "structured-content") and text_in(value, "content"):
        return Text(text=value["content"], extra=kept(PROVIDER, rest(value, "content")))
    return media_of(value) or ProviderItem(provider=PROVIDER, value=freeze_dict(value))


def media_of(value: Mapping[str, Any]) -> Media | None:
    """Return the media a value is, by its `kind`, None where it is none."""
    kind, mime = text_in(value, "kind"), text_in(value, "media_type") or None
    if kind in _URLS and text_in(value, "url"):
        return Media(kind=_URLS[kind], mime=mime, url=value["url"], extra=kept(PROVIDER, rest(value, "kind", "media_type", "url")))
    if kind == "binary" and text_in(value, "data") and mime is not None:
        # The adapter writes bytes in the alphabet of base64 that is safe in URLs.
        data = value["data"].translate(str.maketrans("-_", "+/"))
        return Media(kind=_kind_of(mime), mime=mime, data=data, extra=kept(PROVIDER, rest(value, "kind", "media_type", "data")))
    if kind == "uploaded-file" and text_in(value, "file_id"):
        return Media(kind=_kind_of(mime or ""), mime=mime, ref=value["file_id"], extra=kept(PROVIDER, rest(value, "kind", "media_type", "file_id")))
    return None


def _kind_of(mime: str) -> MediaKind:
    family = mime.partition("/")[0]
    return "image" if family == "image" else "audio" if family == "audio" else "video" if family == "video" else "document"


def result_of(part: Mapping[str, Any]) -> ToolResult:
    """Return a tool's answer, or what a tool was told to do better."""
    is_retry = part.get("part_kind") == "retry-prompt"
    content = part.get("content")
    answer: str | tuple[Text | Media | ProviderItem, ...] = retry_text(content) if is_retry else _answer(content)
    return ToolResult(
        call_id=text_in(part, "tool_call_id"),
        content=answer,
        is_error=is_retry or text_in(part, "outcome") in _ERRORS,
        name=text_in(part, "tool_name") or None,
        extra=kept(PROVIDER, {k: v for k, v in rest(part, "part_kind", "content", "tool_call_id", "tool_name", "timestamp").items() if v is not None}),
    )


def retry_text(content: object) -> str:
    """Return what a model is told whose answer was not accepted."""
    words = content if isinstance(content, str) else codec.encode(content).decode()
    return f"{words}\n\n{RETRIED}" if words else RETRIED


def _answer(content: object) -> str | tuple[Text | Media | ProviderItem, ...]:
    """Return a tool's answer: a text as it is, media as such, any other value as its JSON."""
    if isinstance(content, str):
        return content
    values = content if isinstance(content, list) else [content]
    media = [media_of(v) if isinstance(v, Mapping) else None for v in values]
    if any(media):
        return tuple(m if m is not None else Text(text=v if isinstance(v, str) else codec.encode(v).decode()) for m, v in zip(media, values, strict=True))
    return "" if content is None else codec.encode(content).decode()


def turn_parts(response: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the parts of a model's response."""
    for value in response["parts"]:
        if isinstance(value, Mapping):
            yield _turn_part(value, response)


def _turn_part(value: Mapping[str, Any], response: Mapping[str, Any]) -> Part:
    content = value.get("content")
    match value.get("part_kind"):
        case "text" | "speech":
            words = content if isinstance(content, str) else text_in(value, "transcript")
            return Text(text=words, extra=kept(PROVIDER, _known(value, "content", "part_kind", "transcript")))
        case "thinking":
            return _thinking(value, response)
        case "tool-call" if text_in(value, "tool_name"):
            arguments, spelling = arguments_from_json(value.get("args"))
            more = {**_known(value, "tool_name", "args", "tool_call_id", "part_kind"), **({"args": spelling} if spelling is not None else {})}
            return ToolCall(id=text_in(value, "tool_call_id"), name=value["tool_name"], arguments=arguments, extra=kept(PROVIDER, more))
        case "file" if isinstance(content, Mapping) and (media := media_of(content)) is not None:
            return media
    return ProviderItem(provider=PROVIDER, value=freeze_dict(value))


def _thinking(value: Mapping[str, Any], response: Mapping[str, Any]) -> Thinking:
    """Return reasoning, bound to the provider that the part names, else to the one that answered."""
    is_redacted = text_in(value, "id") == _REDACTED
    signature = text_in(value, "signature") or None
    return Thinking(
        text=text_in(value, "content"),
        signature=None if is_redacted else signature,
        redacted=signature if is_redacted else None,
        provider=text_in(value, "provider_name") or text_in(response, "provider_name") or None,
        model=text_in(response, "model_name") or None,
        extra=kept(PROVIDER, _known(value, "content", "signature", "provider_name", "part_kind")),
    )


def _known(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k not in names and v is not None}
