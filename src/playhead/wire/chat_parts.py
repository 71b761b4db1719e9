"""Content parts of OpenAI Chat messages: text, refusals, pictures, sounds, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.entry.message import Media, Part, ProviderItem, Text
from playhead.wire import media as media_forms
from playhead.wire.bodies import text_of
from playhead.wire.extras import kept, own, rest, with_rest

PROVIDER = "openai"
UNTITLED = "document.pdf"
"""The file name of a document that has none; OpenAI asks for one."""


def dump(parts: Iterable[Part], *, takes_media: bool) -> list[dict[str, Any]]:
    """Return the content list of a message; empty text and other providers' items are left out.

    Where media is not taken, or is of a kind OpenAI does not take, a line of text names it.
    """
    written = [block for part in parts if (block := _block(part, takes_media=takes_media)) is not None]
    if len(written) > 1:
        return [_plain(block) if block.get("type") == "refusal" else block for block in written]
    return written


def _plain(refusal: Mapping[str, Any]) -> dict[str, Any]:
    return with_rest({"type": "text", "text": refusal["refusal"]}, refusal, "refusal")


def dump_answer(parts: Iterable[Text | Media | ProviderItem]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a tool's answer as text parts, and apart from them the media a tool's message cannot hold."""
    answer: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for part in parts:
        block = _block(part, takes_media=True)
        if isinstance(part, Media) and block is not None and block["type"] != "text":
            shown.append(block)
            block = {"type": "text", "text": media_forms.pointer(part, where="shown in the user's message behind the results")}
        answer.extend([block] if block is not None else [])
    return answer, shown


def _block(part: Part, *, takes_media: bool) -> dict[str, Any] | None:
    match part:
        case Text():
            return _text(part) if part.text else None
        case ProviderItem():
            return dict(part.value) if part.provider == PROVIDER else None
        case Media():
            if takes_media:
                return _media(part)
            return {"type": "text", "text": media_forms.stub(part, why="it is shown to the model in a user's message only")}
    return None


def _text(part: Text) -> dict[str, Any]:
    more = own(part.extra, PROVIDER)
    if more.get("type") == "refusal":
        return with_rest({"type": "refusal", "refusal": part.text}, more)
    return with_rest({"type": "text", "text": part.text}, more)


def _media(part: Media) -> dict[str, Any]:
    part = media_forms.spelled_out(part)
    more = own(part.extra, PROVIDER)
    url = media_forms.picture_url(part)
    if url is not None:
        return with_rest({"type": "image_url", "image_url": with_rest({"url": url}, own(more, "image_url"))}, more)
    sound = media_forms.sound_format(part)
    if sound is not None:
        return with_rest({"type": "input_audio", "input_audio": with_rest({"data": part.data, "format": sound}, own(more, "input_audio"))}, more)
    if part.kind == "document":
        return _document(part, more)
    return {"type": "text", "text": media_forms.stub(part, why=f"OpenAI Chat does not take this {part.kind}")}


def _document(part: Media, more: Mapping[str, Any]) -> dict[str, Any]:
    file = own(more, "file")
    if part.ref is not None and file.get("file_id") == part.ref:
        return with_rest({"type": "file", "file": dict(file)}, more)
    if part.data and (media_forms.is_pdf(part) or "file" in more):
        return with_rest({"type": "file", "file": with_rest({"filename": part.name or UNTITLED, "file_data": media_forms.to_data_url(part)}, file)}, more)
    words = media_forms.words_of(part)
    if words is not None:
        return {"type": "text", "text": media_forms.document_text(part, words)}
    return {"type": "text", "text": media_forms.stub(part, why="OpenAI Chat takes documents as inline PDF or text only")}


def load(block: FrozenDict, *, path: str) -> Text | Media | ProviderItem:
    """Return the part a content block is; a block of an unknown kind is kept word for word."""
    match block.get("type"):
        case "text":
            return Text(text=text_of(block, "text", path=path), extra=kept(PROVIDER, rest(block, "type", "text")))
        case "refusal":
            return Text(text=text_of(block, "refusal", path=path), extra=kept(PROVIDER, rest(block, "refusal")))
        case "image_url":
            return _image(block)
        case "input_audio":
            return _sound(block)
        case "file":
            return _file(block)
    return ProviderItem(provider=PROVIDER, value=block)


def _image(block: FrozenDict) -> Media | ProviderItem:
    image = block.get("image_url")
    if not isinstance(image, Mapping) or not isinstance(image.get("url"), str):
        return ProviderItem(provider=PROVIDER, value=block)
    held = media_forms.from_data_url(image["url"])
    extra = _extra(block, "image_url", rest(image, "url"))
    if held is None:
        return Media(kind="image", url=image["url"], extra=extra)
    return Media(kind="image", mime=held[0], data=held[1], extra=extra)


def _sound(block: FrozenDict) -> Media | ProviderItem:
    sound = block.get("input_audio")
    mime = media_forms.sound_mime(sound["format"]) if isinstance(sound, Mapping) and isinstance(sound.get("format"), str) else None
    if not isinstance(sound, Mapping) or mime is None or not isinstance(sound.get("data"), str):
        return ProviderItem(provider=PROVIDER, value=block)
    return Media(kind="audio", mime=mime, data=sound["data"], extra=_extra(block, "input_audio", rest(sound, "data", "format")))


def _file(block: FrozenDict) -> Media | ProviderItem:
    file = block.get("file")
    if not isinstance(file, Mapping):
        return ProviderItem(provider=PROVIDER, value=block)
    name = file["filename"] if isinstance(file.get("filename"), str) else None
    held = media_forms.from_data_url(file["file_data"]) if isinstance(file.get("file_data"), str) else None
    if held is not None and name is not None and "file_id" not in file:
        inner = rest(file, "file_data", "filename")
        more = FrozenDict({**rest(block, "type", "file"), **({"file": inner} if inner or held[0] != media_forms.PDF else {})})
        return Media(kind="document", mime=held[0], data=held[1], name=name, extra=kept(PROVIDER, more))
    if isinstance(file.get("file_id"), str) and "file_data" not in file:
        return Media(kind="document", ref=file["file_id"], name=name, extra=kept(PROVIDER, rest(block, "type")))
    return ProviderItem(provider=PROVIDER, value=block)


def _extra(block: FrozenDict, key: str, inner: Mapping[str, Any]) -> FrozenDict:
    more = rest(block, "type", key)
    return kept(PROVIDER, {**more, key: inner} if inner else more)
