"""What is said, in whatever form a host has it: text, parts, a message, or blocks as providers and stored conversations write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from playhead.entry.message import MEDIA_KINDS, Media, MediaKind, Message, Part, ProviderItem, Text, ToolResult
from playhead.entry.payload import part_from_json
from playhead.errors import InvalidInput, WireError
from playhead.wire import media as media_forms
from playhead.wire.providers import messages_from

Content = str | Message | Part | Iterable[Part | str | Mapping[str, Any]]
"""What a message may be made from."""

_CAMEL = {"toolUseId": "tool_use_id", "isError": "is_error", "mediaType": "media_type", "mimeType": "mime_type", "cacheControl": "cache_control"}
_ESTIMATES = ("tokenEstimate", "token_estimate")
_OWN_MARKS = {"text": ("extra",), "thinking": ("text", "redacted"), "tool_result": ("call_id",), "tool_call": ("name",), "provider": ("provider",)}
_PLACES = ("data", "url", "ref")
_TYPES = ("media_type", "mime_type", "mime")


def parts_of(content: Content) -> tuple[Part, ...]:
    """Return what is said as parts, empty texts left out; pictures have the type that their bytes are of.

    A block is a mapping with a `type`: as Anthropic writes it, with names in snake_case or camelCase, or as a part is written as
    JSON. Estimates of its tokens are left out, as every part is priced anew. Raises InvalidInput with the path of what is none.
    """
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if isinstance(content, Message):
        return _checked(content.parts)
    if isinstance(content, Part | Mapping):
        return _checked((_part(content, path="content"),))
    if not isinstance(content, Iterable):
        raise InvalidInput(f"A message is made from text, parts, a Message or blocks such as {{'type': 'text', 'text': ...}}, not {type(content).__name__}.")
    return _checked(_part(block, path=f"content[{i}]") for i, block in enumerate(content))


def _checked(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(_well_typed(part) for part in parts if not (isinstance(part, Text) and not part.text))


def _well_typed(part: Part) -> Part:
    """Return a part with inline pictures named by what their bytes are; a wrong name would have every later request refused."""
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        return replace(part, content=tuple(_media_typed(inner) if isinstance(inner, Media) else inner for inner in part.content))
    return _media_typed(part) if isinstance(part, Media) else part


def _media_typed(media: Media) -> Media:
    return replace(media, mime=media_forms.spelled_out(media).mime) if media.data else media


def _part(block: object, *, path: str) -> Part:
    if isinstance(block, Part):
        return block
    if isinstance(block, str):
        return Text(text=block)
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise InvalidInput(f"A block at {path} is a text, a part, or a mapping with a type, not {block!r:.100}.", path=path)
    plain = _plain(block)
    kind = plain["type"]
    if _is_own(plain):
        return _own(plain, path=path)
    if kind in (*MEDIA_KINDS, "generated_image"):
        return _media(plain, path=path)
    return _of_provider(plain, path=path)


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block with its fields named in one way, those of the blocks inside it too."""
    plain = {_CAMEL.get(key, key): value for key, value in block.items() if key not in _ESTIMATES}
    source, content = plain.get("source"), plain.get("content")
    if isinstance(source, Mapping):
        plain["source"] = _plain(source)
    if plain.get("type") == "tool_result" and isinstance(content, list | tuple):
        plain["content"] = [_plain(inner) if isinstance(inner, Mapping) else inner for inner in content]
    return plain


def _is_own(block: Mapping[str, Any]) -> bool:
    """Return whether a block is a part as our own JSON has it."""
    kind = block["type"]
    marks = _PLACES if kind in MEDIA_KINDS else _OWN_MARKS.get(kind, ())
    return any(mark in block for mark in marks) and "source" not in block


def _own(block: Mapping[str, Any], *, path: str) -> Part:
    part = part_from_json(block, path=path)
    if isinstance(part, ProviderItem) and block["type"] != "provider":
        raise InvalidInput(f"The block at {path} is no {block['type']}: a field of it is missing or of another type; docs/reference/message.md has them.", path=path)
    return part


def _of_provider(block: Mapping[str, Any], *, path: str) -> Part:
    """Return the part that a block of Anthropic's form is; a block of an unknown type is kept word for word, for that provider."""
    try:
        (message,) = messages_from("anthropic", {"role": "assistant", "content": [block]})
    except WireError as exc:
        raise InvalidInput(f"The block at {path} cannot be read: {exc}", path=path) from exc
    part = message.parts[0]
    if isinstance(part, ToolResult) and not part.call_id:
        raise InvalidInput(f"The result at {path} names no call; give the id of the call that it answers as tool_use_id.", path=path)
    return part


def _media(block: Mapping[str, Any], *, path: str) -> Part:
    """Return the picture, sound, film or document of a block: as Anthropic has them, or of any type that says where its bytes are."""
    kind: MediaKind = "image" if block["type"] == "generated_image" else block["type"]
    if kind in ("image", "document") and "source" in block:
        part = _of_provider(block, path=path)
        if isinstance(part, Media):
            return part
    source = block.get("source")
    held = source if isinstance(source, Mapping) else block
    places = {key: held[key] for key in _PLACES if isinstance(held.get(key), str) and held[key]}
    if not places:
        raise InvalidInput(
            f"The {kind} at {path} says neither its data (base64) nor a url; write it as {{'type': '{kind}', 'source': {{'type': 'base64', 'media_type': ..., 'data': ...}}}}.", path=path
        )
    mime = next((held[key] for key in _TYPES if isinstance(held.get(key), str)), None)
    name = next((block[key] for key in ("title", "name") if isinstance(block.get(key), str)), None)
    return Media(kind=kind, mime=mime, name=name, **places)
