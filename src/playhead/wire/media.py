"""Pictures, sounds, films and documents: data URLs, what a provider takes, and a line of text for what it does not."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playhead.entry.message import Media

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The picture types that both OpenAI and Anthropic take."""

PDF = "application/pdf"
KEPT = "playhead"
"""Under what `extra` holds the facts of bytes that are kept elsewhere."""

_DATA_URL = re.compile(r"data:([^;,\s]+);base64,([A-Za-z0-9+/=_-]+)")
_MISSPELLED = {"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/mp3": "audio/mpeg"}
_BEGINNINGS = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp", "JVBERi0": PDF}
_WEBP = "XRUJQ"
"""How a WebP goes on behind the eleventh character, where other RIFF files, such as sounds, do not."""

_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_WORDS = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/toml"})


def from_data_url(url: str) -> tuple[str, str] | None:
    """Return the type and the base64 data a data URL holds, None where it is no such URL."""
    found = _DATA_URL.fullmatch(url)
    return (found[1], found[2]) if found else None


def to_data_url(media: Media) -> str:
    """Return the data URL of inline media."""
    return f"data:{media.mime};base64,{media.data}"


def spelled_out(media: Media) -> Media:
    """Return media with its type named as providers name it, and with inline data where its URL holds it.

    What is called a picture has the type of IMAGES that its first bytes are of: under another a provider refuses it, and every
    request with it. A missing type is read off the first bytes, too.
    """
    if media.data is None and media.url is not None and (held := from_data_url(media.url)):
        media = replace(media, mime=held[0], data=held[1], url=None)
    seen = _seen(media.data) if media.data else None
    mime = seen if seen in IMAGES and (media.mime or "").startswith("image/") else media.mime or seen
    mime = _MISSPELLED.get(mime.lower(), mime) if mime else None
    return media if mime == media.mime else replace(media, mime=mime)


def _seen(data: str) -> str | None:
    """Return the type that base64 data begins like, None for one that is not known."""
    mime = next((m for start, m in _BEGINNINGS.items() if data.startswith(start)), None)
    return None if mime == "image/webp" and not data.startswith(_WEBP, 11) else mime


def is_picture(media: Media) -> bool:
    """Tell whether media is an inline picture of a type that providers take."""
    return media.kind == "image" and bool(media.data) and media.mime in IMAGES


def is_pdf(media: Media) -> bool:
    """Tell whether media is an inline PDF."""
    return media.kind == "document" and bool(media.data) and media.mime == PDF


def web_address(media: Media) -> str | None:
    """Return the URL a provider can fetch, None where there is none."""
    if media.url is not None and media.url.startswith(("https://", "http://")) and not media.data:
        return media.url
    return None


def picture_url(media: Media) -> str | None:
    """Return the URL OpenAI takes a picture by, None where media is none that it takes."""
    if media.kind != "image":
        return None
    if media.url is not None and media.url.startswith("data:image/"):
        return media.url
    return to_data_url(media) if is_picture(media) else web_address(media)


def sound_format(media: Media) -> str | None:
    """Return the format OpenAI calls an inline sound by, None for those it does not take."""
    return _SOUNDS.get(media.mime or "") if media.kind == "audio" and media.data else None


def sound_mime(sound: str) -> str | None:
    """Return the type of a sound OpenAI calls by a format, None for other formats."""
    return next((mime for mime, name in _SOUNDS.items() if name == sound), None)


def words_of(media: Media) -> str | None:
    """Return the text of an inline text document, None where it is no text."""
    mime = media.mime or ""
    if media.kind != "document" or not media.data or not (mime.startswith("text/") or mime in _WORDS or mime.endswith(("+json", "+xml"))):
        return None
    try:
        return base64.b64decode(media.data, validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        return None


def from_words(text: str) -> str:
    """Return a text as the base64 data of a text document."""
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")


def document_text(media: Media, words: str) -> str:
    """Return a text document as labelled words, for a provider that takes no such file."""
    title = f' title="{media.name}"' if media.name else ""
    return f"<document{title}>\n{words}\n</document>"


def stub(media: Media, *, why: str) -> str:
    """Return the line that stands for media a provider does not get: what it is, and why it is not shown."""
    reason = "kept by reference" if media.ref is not None and not media.data and not media.url else why
    return f"[{media.kind} not shown: {'; '.join(filter(None, (_facts(media), reason)))}]"


def pointer(media: Media, *, where: str) -> str:
    """Return the line that stands for media shown elsewhere."""
    return f"[{media.kind}: {'; '.join(filter(None, (_facts(media), where)))}]"


def kept_facts(media: Media) -> Mapping[str, Any]:
    """Return what is known of the bytes that a reference stands for: their `size`, and how many `tokens` they cost."""
    facts = media.extra.get(KEPT)
    return facts if media.ref is not None and not media.data and isinstance(facts, Mapping) else {}


def _facts(media: Media) -> str:
    place = media.url if media.ref is None else media.ref
    size = kept_facts(media).get("size")
    return ", ".join(fact for fact in (media.name, media.mime, size_text(size) if isinstance(size, int) else "", place) if fact and not fact.startswith("data:"))


def size_text(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size:,} byte{'' if size == 1 else 's'}"
