"""Media beside the tape: what the tape keeps in place of pictures, sounds and files, and how they come back."""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast
from urllib.parse import unquote_to_bytes

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, MediaKind, Message, Part, ProviderItem, Text, ToolResult
from playhead.errors import BlobNotFound, StoreDamaged
from playhead.store.blobs import BlobStore, digest_of, is_digest
from playhead.view.media_tokens import media_tokens
from playhead.view.tokens import default_counter, text_tokens
from playhead.wire import media as media_forms

_log = logging.getLogger("playhead")
_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,]*)?),(.*)", re.DOTALL)
_HELD = re.compile(r"\s*data:[^,]{0,200};base64,")
_LEAST = 64
"""How many characters a base64 text in a provider's block has at least, to be taken for media."""

Answer = Text | Media | ProviderItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A message as a tape keeps it: `message` holds no bytes of media; `is_changed` says whether it held some."""

    message: Message
    is_changed: bool = False


class _Held(NamedTuple):
    """Bytes that stand in a part: of what kind and type, called what."""

    kind: MediaKind
    data: bytes
    mime: str | None
    name: str | None = None

    @property
    def line(self) -> str:
        """What stands for them where nobody keeps them."""
        facts = (self.name, self.mime, media_forms.size_text(len(self.data)), digest_of(self.data))
        return f"[{self.kind} not kept: {', '.join(filter(None, facts))}]"


async def without_media(message: Message, *, blobs: BlobStore | None) -> Recorded:
    """Return a message as a tape keeps it: no bytes of media are in it, wherever they stood; the message itself stays as it is.

    Where blobs are kept, each part refers to one by its hash and says type and size; else a line of text says type, size and hash.
    Without blobs, media in the results of tools stays, as nothing else holds it. What is there by URL stays, too.
    """
    if isinstance(message.content, str):
        return Recorded(message=message)
    parts = [await _without(part, blobs) for part in message.content]
    if all(new is old for new, old in zip(parts, message.content, strict=True)):
        return Recorded(message=message)
    return Recorded(message=replace(message, content=tuple(parts)), is_changed=True)


async def kept_result(result: ToolResult, *, blobs: BlobStore | None) -> ToolResult:
    """Return a tool's result as a tape keeps it; without blobs it stays as it is."""
    if blobs is None or isinstance(result.content, str):
        return result
    parts = [cast(Answer, await _without(part, blobs)) for part in result.content]
    return result if all(new is old for new, old in zip(parts, result.content, strict=True)) else replace(result, content=tuple(parts))


async def kept_answer(message: Message, *, blobs: BlobStore | None) -> Message:
    """Return a model's answer as a tape keeps it: of media that it made there is the reference; without blobs it stays as it is.

    A block that only its provider knows stays word for word, as it has to go back so.
    """
    if blobs is None or not any(isinstance(part, Media) for part in message.parts):
        return message
    parts = [await _without(part, blobs) if isinstance(part, Media) else part for part in message.parts]
    return replace(message, content=tuple(parts))


async def resolved(message: Message, *, blobs: BlobStore | None) -> Message:
    """Return a message with the media that it refers to, for a request; what is not there, or damaged, stays a reference.

    A provider is shown a reference as a line of text.
    """
    if blobs is None or isinstance(message.content, str) or not any(map(_is_kept, _media_in(message.content))):
        return message
    return replace(message, content=tuple([await _with(part, blobs) for part in message.content]))


async def _without(part: Part, blobs: BlobStore | None) -> Part:
    match part:
        case ToolResult():
            return await kept_result(part, blobs=blobs)
        case Media() if (held := _held(part)) is not None:
            return Text(text=held.line) if blobs is None else await _referring(part, held, blobs)
        case Media() if part.data is not None:
            return Text(text=f"[{part.kind} not kept: {len(part.data):,} characters that are no base64]")
        case ProviderItem() if found := tuple(_held_in(part.value)):
            if blobs is None:
                return Text(text="\n".join(held.line for held in found))
            kept = [await _referring(Media(kind=held.kind), held, blobs) for held in found]
            return kept[0] if len(kept) == 1 else Text(text="\n".join(media_forms.stub(media, why="") for media in kept))
    return part


async def _referring(part: Media, held: _Held, blobs: BlobStore) -> Media:
    blob = await blobs.put_blob(held.data, mime=held.mime)
    shown = replace(part, mime=held.mime) if part.data is not None else replace(part, mime=held.mime, data=base64.b64encode(held.data).decode("ascii"), url=None)
    tokens = media_tokens(shown, count=partial(text_tokens, counter=default_counter()))
    facts = FrozenDict({**part.extra, media_forms.KEPT: {"size": blob.size, "tokens": tokens}})
    return replace(part, mime=held.mime, data=None, url=None, ref=blob.digest, extra=facts)


async def _with(part: Part, blobs: BlobStore) -> Part:
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        return replace(part, content=tuple([cast(Answer, await _with(inner, blobs)) for inner in part.content]))
    if not isinstance(part, Media) or not _is_kept(part):
        return part
    try:
        data = await blobs.get_blob(part.ref or "")
    except (BlobNotFound, StoreDamaged) as exc:
        _log.warning("Media that the tape refers to is not shown: %s", exc.message)
        return part
    extra = FrozenDict({provider: fields for provider, fields in part.extra.items() if provider != media_forms.KEPT})
    return replace(part, data=base64.b64encode(data).decode("ascii"), ref=None, extra=extra)


def _is_kept(media: Media) -> bool:
    return media.data is None and media.url is None and is_digest(media.ref)


def _media_in(parts: Iterable[Part]) -> Iterator[Media]:
    for part in parts:
        if isinstance(part, Media):
            yield part
        elif isinstance(part, ToolResult) and not isinstance(part.content, str):
            yield from _media_in(part.content)


def _held(media: Media) -> _Held | None:
    """Return the bytes that stand in a part, None where there are none that can be read."""
    media = media_forms.spelled_out(media)
    if media.data is not None:
        data = _decoded(media.data)
        return None if data is None else _Held(media.kind, data, media.mime, media.name)
    found = _DATA_URL.fullmatch(media.url) if media.url is not None and media.url.startswith("data:") else None
    if found is None:
        return None
    data = _decoded(found[3]) if found[2].endswith(";base64") else unquote_to_bytes(found[3])
    return None if data is None else _Held(media.kind, data, media.mime or found[1] or None, media.name)


def _decoded(text: str) -> bytes | None:
    """Return the bytes of base64 in either alphabet, with or without its padding, None where it is none."""
    try:
        plain = text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/"), b"\r\n\t =")
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None


def _held_in(value: object) -> Iterator[_Held]:
    """Yield the media in a block of a provider that has no neutral form: data URLs, and base64 that is said to be of a type."""
    if isinstance(value, str):
        if _HELD.match(value):
            yield from _named(_held(Media(kind="document", url=value.strip())))
    elif isinstance(value, Mapping):
        mime, data = _said_type(value), value.get("data")
        is_media = mime is not None and isinstance(data, str) and len(data) >= _LEAST
        if is_media:
            yield from _named(_held(Media(kind="document", mime=mime, data=data)))
        for key, item in value.items():
            if not (is_media and key == "data"):
                yield from _held_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _held_in(item)


def _said_type(value: Mapping[str, object]) -> str | None:
    said = next((found for key in ("media_type", "mime_type", "mimeType") if isinstance(found := value.get(key), str)), None)
    sound = value.get("format")
    return said or (media_forms.sound_mime(sound) or f"audio/{sound}" if isinstance(sound, str) else None)


def _named(held: _Held | None) -> Iterator[_Held]:
    """Yield what is held, as the kind that its type says."""
    if held is not None:
        kinds: tuple[MediaKind, ...] = ("image", "audio", "video")
        yield held._replace(kind=next((kind for kind in kinds if (held.mime or "").startswith(f"{kind}/")), held.kind))
