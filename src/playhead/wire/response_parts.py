"""Content parts of OpenAI Responses items: text in, pictures, files, sounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Part, ProviderItem, Text
from playhead.wire import media as media_forms
from playhead.wire.bodies import text_of
from playhead.wire.extras import kept, own, rest, with_rest

PROVIDER = "openai-responses"
UNTITLED = "document.pdf"
"""The file name of an inline document that has none; OpenAI asks for one."""

_FILE_PLACES = ("file_id", "file_url", "file_data")


def dump(parts: Iterable[Part], *, takes_media: bool) -> list[dict[str, Any]]:
    """Return the content list of a user's or system's message, or of a tool's output.

    Empty text and other providers' items are left out; a line of text names media that is not taken.
    """
    return [block for part in parts if (block := _block(part, takes_media=takes_media)) is not None]


def _block(part: Part, *, takes_media: bool) -> dict[str, Any] | None:
    match part:
        case Text():
            return with_rest({"type": "input_text", "text": part.text}, own(part.extra, PROVIDER)) if part.text else None
        case ProviderItem():
            return dict(part.value) if part.provider == PROVIDER else None
        case Media():
            return _media(part) if takes_media else {"type": "input_text", "text": not_taken_here(part)}
    return None


def not_taken_here(part: Media) -> str:
    """Return the line that stands for media where only the user may show it."""
    return media_forms.stub(part, why="it is shown to the model in a user's message only")


def _media(part: Media) -> dict[str, Any]:
    part = media_forms.spelled_out(part)
    more = own(part.extra, PROVIDER)
    if part.ref is not None and more.get("file_id") == part.ref:
        return with_rest({"type": "input_image" if part.kind == "image" else "input_file", "file_id": part.ref, **_filename(part)}, more)
    url = media_forms.picture_url(part)
    if url is not None:
        return with_rest({"type": "input_image", "image_url": url}, more)
    sound = media_forms.sound_format(part)
    if sound is not None and "input_audio" in more:
        return with_rest({"type": "input_audio", "input_audio": with_rest({"data": part.data, "format": sound}, own(more, "input_audio"))}, more)
    address = media_forms.web_address(part)
    if part.kind == "document" and address is not None:
        return with_rest({"type": "input_file", "file_url": address, **_filename(part)}, more)
    if part.kind == "document" and part.data and part.mime:
        return with_rest({"type": "input_file", "filename": part.name or UNTITLED, "file_data": media_forms.to_data_url(part)}, more)
    return {"type": "input_text", "text": media_forms.stub(part, why=f"OpenAI Responses does not take this {part.kind}")}


def _filename(part: Media) -> dict[str, str]:
    return {"filename": part.name} if part.name is not None and part.kind == "document" else {}


def load(block: FrozenDict, *, path: str) -> Text | Media | ProviderItem:
    """Return the part a content block is; a block of an unknown kind is kept word for word."""
    match block.get("type"):
        case "input_text" | "text":
            return Text(text=text_of(block, "text", path=path), extra=kept(PROVIDER, rest(block, "type", "text")))
        case "input_image":
            return _image(block)
        case "input_file":
            return _file(block)
        case "input_audio":
            return _sound(block)
    return ProviderItem(provider=PROVIDER, value=block)


def _image(block: FrozenDict) -> Media | ProviderItem:
    url, file_id = block.get("image_url"), block.get("file_id")
    if isinstance(url, str) and file_id is None:
        held = media_forms.from_data_url(url)
        extra = kept(PROVIDER, rest(block, "type", "image_url"))
        return Media(kind="image", url=url, extra=extra) if held is None else Media(kind="image", mime=held[0], data=held[1], extra=extra)
    if isinstance(file_id, str) and url is None:
        return Media(kind="image", ref=file_id, extra=kept(PROVIDER, rest(block, "type")))
    return ProviderItem(provider=PROVIDER, value=block)


def _file(block: FrozenDict) -> Media | ProviderItem:
    places = [key for key in _FILE_PLACES if block.get(key) is not None]
    place = block[places[0]] if len(places) == 1 else None
    if not isinstance(place, str):
        return ProviderItem(provider=PROVIDER, value=block)
    name = block["filename"] if isinstance(block.get("filename"), str) else None
    known = ("type", "filename") if name is not None else ("type",)
    if places == ["file_id"]:
        return Media(kind="document", ref=place, name=name, extra=kept(PROVIDER, rest(block, *known)))
    extra = kept(PROVIDER, rest(block, places[0], *known))
    if places == ["file_url"]:
        return Media(kind="document", url=place, name=name, extra=extra)
    held = media_forms.from_data_url(place)
    if held is None or name is None:
        return ProviderItem(provider=PROVIDER, value=block)
    return Media(kind="document", mime=held[0], data=held[1], name=name, extra=extra)


def _sound(block: FrozenDict) -> Media | ProviderItem:
    sound = block.get("input_audio")
    mime = media_forms.sound_mime(sound["format"]) if isinstance(sound, Mapping) and isinstance(sound.get("format"), str) else None
    if not isinstance(sound, Mapping) or mime is None or not isinstance(sound.get("data"), str):
        return ProviderItem(provider=PROVIDER, value=block)
    more = FrozenDict({**rest(block, "type", "input_audio"), "input_audio": rest(sound, "data", "format")})
    return Media(kind="audio", mime=mime, data=sound["data"], extra=kept(PROVIDER, more))
