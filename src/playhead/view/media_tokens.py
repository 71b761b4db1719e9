"""What pictures, sounds, films and documents cost in tokens: by what they show, never by the length of their base64.

Rules: https://docs.claude.com/en/docs/build-with-claude/vision and .../pdf-support, https://platform.openai.com/docs/guides/images-vision
and .../audio; where providers differ, the dearer one is asked.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from math import ceil

from playhead.entry.message import Media
from playhead.wire import media as media_forms

PICTURE = 1_600
"""The most a picture costs, and the price of one whose size is not known."""

PIXELS = 750
"""How many pixels are a token (Anthropic)."""

TILE, TILES = 170, 85
"""What a tile of 512 by 512 pixels costs, and what comes with them (OpenAI)."""

PAGE = 3_000
"""What a page of a PDF costs at most: its text, and its picture."""

SECOND = 10
"""What a second of sound costs."""

UNKNOWN = 1_000
"""The price of sound of unknown length, of a film, of a document of no known form."""

OPAQUE = 8_000
"""The most that base64 of unknown content costs."""

_CHARACTERS = 4
_WHY = "it is shown to the model in a user's message only"
_PREFIX = 1 << 19
_PAGES = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_LINEAR = re.compile(rb"/Linearized\b[^>]*?/N\s+(\d{1,6})")
_RATES = {3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320), 2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)}
"""Kilobits a second of MPEG layer III by version bits (3 is version 1) and index from 1 (ISO/IEC 11172-3 and 13818-3)."""


def media_tokens(media: Media, *, count: Callable[[str], int]) -> int:
    """Return the price of media, with the line of text that stands for it where a provider does not take it; `count` prices words.

    What is kept by reference costs what its bytes did, so that it may be sent again.
    """
    media = media_forms.spelled_out(media)
    line = count(media_forms.stub(media, why=_WHY))
    if isinstance(known := media_forms.kept_facts(media).get("tokens"), int):
        return line + max(known, 0)
    if media.kind == "image":
        return line + picture_tokens(pixels(media.data or ""))
    if media.kind == "document":
        words = media_forms.words_of(media)
        return line + (count(words) if words is not None else _pdf(media.data or "") if media.mime == media_forms.PDF else UNKNOWN)
    return line + (_sound(media.data or "") if media.kind == "audio" else UNKNOWN)


def opaque_tokens(data: str) -> int:
    """Return the price of base64 that nobody says what it is: pictures and PDFs are known by their beginning."""
    held = media_forms.from_data_url(data)
    media = media_forms.spelled_out(Media(kind="image", mime=held[0] if held else None, data=held[1] if held else data))
    if media.mime in media_forms.IMAGES:
        return picture_tokens(pixels(media.data or ""))
    if media.mime == media_forms.PDF:
        return _pdf(media.data or "")
    return min(OPAQUE, ceil(len(data) / _CHARACTERS))


def picture_tokens(shape: tuple[int, int] | None) -> int:
    """Return the price of a picture of so many pixels across and down; None where its size is not known."""
    if shape is None:
        return PICTURE
    return min(PICTURE, max(ceil(shape[0] * shape[1] / PIXELS), _tiled(*shape)))


def _tiled(width: float, height: float) -> int:
    """Scale down into 2048 by 2048, then to 768 on the shorter side, and pay by the tile."""
    down = min(1.0, 2048 / max(width, height))
    down *= min(1.0, 768 / (min(width, height) * down))
    return TILES + TILE * ceil(width * down / 512) * ceil(height * down / 512)


def pixels(data: str) -> tuple[int, int] | None:
    """Return the pixels across and down of a base64 PNG, GIF, WebP or JPEG, None where they cannot be read."""
    head = _bytes(data[:_PREFIX])
    try:
        found = _png(head) or _gif(head) or _webp(head) or _jpeg(head)
    except (struct.error, IndexError):
        return None
    return found if found and min(found) > 0 else None


def _png(head: bytes) -> tuple[int, int] | None:
    return struct.unpack_from(">II", head, 16) if head.startswith(b"\x89PNG\r\n\x1a\n") else None


def _gif(head: bytes) -> tuple[int, int] | None:
    return struct.unpack_from("<HH", head, 6) if head.startswith((b"GIF87a", b"GIF89a")) else None


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 25:
        return None
    match head[12:16]:
        case b"VP8X":
            across, down = struct.unpack_from("<3s3s", head, 24)
            return int.from_bytes(across, "little") + 1, int.from_bytes(down, "little") + 1
        case b"VP8L":
            bits = struct.unpack_from("<I", head, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """Walk the segments to the one that starts the frame."""
    if head[:2] != b"\xff\xd8":
        return None
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        at += 1 if marker == 0xFF else 2 + struct.unpack_from(">H", head, at + 2)[0]
    return None


def _pdf(data: str) -> int:
    body = _bytes(data)
    linear = _LINEAR.search(body, 0, 2_048)
    return PAGE * max(1, len(_PAGES.findall(body)), int(linear[1]) if linear else 0)


def _sound(data: str) -> int:
    head = _bytes(data[:_PREFIX])
    rate = _wave_rate(head) or _mpeg_rate(head)
    return max(1, ceil(len(data) * 3 / 4 / rate * SECOND)) if rate else UNKNOWN


def _wave_rate(head: bytes) -> int:
    """Return the bytes a second of a WAV file, 0 for others."""
    at = head.find(b"fmt ", 12, 4_096)
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE" or at < 0 or len(head) < at + 20:
        return 0
    return int.from_bytes(head[at + 16 : at + 20], "little")


def _mpeg_rate(head: bytes) -> int:
    """Return the bytes a second of an MP3 file by its first frame, 0 for others."""
    at = 0
    if head[:3] == b"ID3" and len(head) > 10:
        at = 10 + (head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9])
    frame = head[at : at + 3]
    if len(frame) < 3 or frame[0] != 0xFF or frame[1] & 0xE6 != 0xE2 or not 0 < frame[2] >> 4 < 15:
        return 0
    return _RATES[3 if frame[1] >> 3 & 3 == 3 else 2][(frame[2] >> 4) - 1] * 125


def _bytes(data: str) -> bytes:
    """Return what base64 holds, in either alphabet, as far as it is whole; nothing where it is none."""
    try:
        plain = data.encode("ascii").translate(bytes.maketrans(b"-_", b"+/"), b"\r\n =")
        plain = plain[:-1] if len(plain) % 4 == 1 else plain
        return base64.b64decode(plain + b"=" * (-len(plain) % 4))
    except (UnicodeEncodeError, binascii.Error):
        return b""
