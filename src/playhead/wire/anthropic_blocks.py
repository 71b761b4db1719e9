"""Content blocks of Anthropic messages that stand in any turn: text, pictures, documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Part, ProviderItem, Text
from playhead.wire import media as media_forms
from playhead.wire.bodies import text_of
from playhead.wire.extras import kept, own, rest, with_rest

PROVIDER = "anthropic"


def dump(parts: Iterable[Part], *, takes_media: bool) -> list[dict[str, Any]]:
    """Return the blocks of parts; blank text and other providers' items are left out.

    Where media is not taken, or is of a kind Anthropic does not take, a line of text names it.
    """
    return [block for part in parts if (block := _block(part, takes_media=takes_media)) is not None]


def _block(part: Part, *, takes_media: bool) -> dict[str, Any] | None:
    match part:
        case Text():
            return with_rest({"type": "text", "text": part.text}, own(part.extra, PROVIDER)) if part.text.strip() else None
        case ProviderItem():
            return dict(part.value) if part.provider == PROVIDER else None
        case Media():
            if takes_media:
                return _media(part)
            return {"type": "text", "text": media_forms.stub(part, why="it is shown to the model in a user's message only")}
    return None


def _media(part: Media) -> dict[str, Any]:
    part = media_forms.spelled_out(part)
    more = own(part.extra, PROVIDER)
    source = _source(part, more)
    if source is None:
        return {"type": "text", "text": media_forms.stub(part, why=f"Anthropic does not take this {part.kind}")}
    title = {"title": part.name} if part.kind == "document" and part.name is not None else {}
    return with_rest({"type": part.kind, "source": source, **title}, more)


def _source(part: Media, more: Mapping[str, Any]) -> dict[str, Any] | None:
    if part.kind not in ("image", "document"):
        return None
    if part.ref is not None and own(more, "source").get("file_id") == part.ref:
        return dict(own(more, "source"))
    if media_forms.is_picture(part) or media_forms.is_pdf(part):
        return {"type": "base64", "media_type": part.mime, "data": part.data}
    words = media_forms.words_of(part)
    if words is not None and words.strip():
        return {"type": "text", "media_type": "text/plain", "data": words}
    url = media_forms.web_address(part)
    if url is None or (part.kind == "document" and part.mime not in (None, media_forms.PDF)):
        return None
    return {"type": "url", "url": url}


def load(block: FrozenDict, *, path: str) -> Text | Media | ProviderItem:
    """Return the part a block is; a block of an unknown kind is kept word for word."""
    match block.get("type"):
        case "text":
            return Text(text=text_of(block, "text", path=path), extra=kept(PROVIDER, rest(block, "type", "text")))
        case "image" | "document":
            return _loaded_media(block)
    return ProviderItem(provider=PROVIDER, value=block)


def _loaded_media(block: FrozenDict) -> Media | ProviderItem:
    source = block.get("source")
    place = _place(source) if isinstance(source, Mapping) else None
    if place is None:
        return ProviderItem(provider=PROVIDER, value=block)
    kind = block["type"]
    name = block["title"] if kind == "document" and isinstance(block.get("title"), str) else None
    known = ("type", "source") if name is None else ("type", "source", "title")
    more = rest(block, *known)
    extra = kept(PROVIDER, {**more, "source": source} if "ref" in place else more)
    return Media(kind=kind, name=name, extra=extra, **place)


def _place(source: Mapping[str, Any]) -> dict[str, str] | None:
    """Return where media is, in neutral fields; None for a source that says more than those hold."""
    match dict(source):
        case {"type": "base64", "media_type": str(mime), "data": str(data)} if len(source) == 3 and mime in (*media_forms.IMAGES, media_forms.PDF):
            return {"mime": mime, "data": data}
        case {"type": "text", "media_type": "text/plain", "data": str(text)} if len(source) == 3:
            return {"mime": "text/plain", "data": media_forms.from_words(text)}
        case {"type": "url", "url": str(url)} if len(source) == 2:
            return {"url": url}
        case {"type": "file", "file_id": str(file_id)}:
            return {"ref": file_id}
    return None
