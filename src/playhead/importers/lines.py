"""A file as lines, read in a stream: no line takes more memory than the limit, none is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from playhead.entry import codec
from playhead.entry.frozen import MAX_DEPTH, FrozenDict, FrozenList, freeze
from playhead.errors import UnstorableValue

LINE_LIMIT = 64 << 20
"""The longest line, or element of a document, that is read as one value, in bytes; providers take requests of half that."""

CHUNK = 1 << 20
"""How much is read at a time, and how much raw text one event keeps, in bytes."""

DEEPEST = MAX_DEPTH - 8
"""How deep a line may nest: an entry's payload puts a few levels around it."""

BOM = b"\xef\xbb\xbf"
SPACE = b" \t\r\n"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """One line of a file, or one element of a JSON document, as it stands there.

    `position` counts them from 0, `line` is the number of the line it starts on, `end` how many bytes of the file
    are read with it. `fault` says why it was not read whole: it then comes in parts, the last of which `ends` it.
    `member` is the key of a document's member that stands beside its lists, `within` that of the list an element is in.
    """

    position: int
    line: int
    end: int
    body: bytes
    fault: str | None = None
    part: int = 0
    ends: bool = True
    member: str | None = None
    within: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is not a value."""

    why: str


_TOO_LONG = "a whole number of more digits than Python reads"
TOO_DEEP = Fault(f"nested deeper than {DEEPEST} levels")


class LineReader:
    """Reads the first `size` bytes of a file as lines that hold anything, from its start.

    Line ends (also CRLF), white space around a line and a byte order mark are not part of it.
    """

    def __init__(self, file: BinaryIO, *, size: int, limit: int = LINE_LIMIT, chunk: int = CHUNK) -> None:
        self._file = file
        self._size = size
        self._limit = limit
        self._chunk = chunk
        self._left = size

    def __iter__(self) -> Iterator[Raw]:
        self._file.seek(0)
        self._left = self._size
        line = position = 0
        while head := self._piece():
            line += 1
            body = head
            if not head.endswith(b"\n") and len(head) == self._chunk:
                pieces = self._long(head)
                if sum(map(len, pieces)) > self._limit:
                    yield from in_parts(self._through(pieces), Raw(position=position, line=line, end=self._size - self._left, body=b"", fault=too_long(self._limit)))
                    position += 1
                    continue
                body = b"".join(pieces)
            body = (body.removeprefix(BOM) if line == 1 else body).strip(SPACE)
            if body:
                yield Raw(position=position, line=line, end=self._size - self._left, body=body)
                position += 1

    def _long(self, head: bytes) -> list[bytes]:
        """Read on to the end of a line, or until it is above the limit."""
        pieces, length = [head], len(head)
        while pieces[-1] and not pieces[-1].endswith(b"\n") and length <= self._limit:
            pieces.append(self._piece())
            length += len(pieces[-1])
        return pieces

    def _piece(self) -> bytes:
        """Read on to the end of the line, or a chunk of it."""
        piece = self._file.readline(min(self._chunk, self._left)) if self._left > 0 else b""
        self._left -= len(piece)
        return piece

    def _through(self, pieces: list[bytes]) -> Iterator[bytes]:
        yield from pieces
        last = pieces[-1]
        pieces.clear()
        while last and not last.endswith(b"\n"):
            last = self._piece()
            yield last


def too_long(limit: int) -> str:
    """Return the fault of a line above the limit."""
    return f"longer than {limit:,} bytes" if limit < 1 << 20 else f"longer than {limit >> 20} MiB"


def in_parts(pieces: Iterable[bytes], whole: Raw) -> Iterator[Raw]:
    """Yield a text that was not read as one value in parts like `whole`, none of which tears a UTF-8 character."""
    held = torn = b""
    part = 0
    for piece in pieces:
        if held:
            yield replace(whole, body=held, part=part, ends=False)
            part += 1
        text = torn + piece
        cut = len(text) - _torn_bytes(text)
        held, torn = text[:cut], text[cut:]
    yield replace(whole, body=(held + torn).rstrip(SPACE), part=part)


def in_chunks(body: bytes) -> Iterator[bytes]:
    """Yield a text in chunks of CHUNK bytes."""
    for start in range(0, len(body), CHUNK):
        yield body[start : start + CHUNK]


def _torn_bytes(text: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character without ending it."""
    for back in range(1, min(4, len(text) + 1)):
        byte = text[-back]
        if byte & 0xC0 != 0x80:
            needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return back if needs > back else 0
    return 0


def read_value(body: bytes) -> Any:
    """Return the frozen JSON value of a text, or the Fault that says why it has none."""
    value = decode_value(body)
    if isinstance(value, Fault):
        return value
    try:
        return freeze(value, path="value") if _SURROGATE.search(body) else _frozen(value)
    except UnstorableValue as exc:
        return Fault(exc.message.rstrip("."))


def decode_value(body: bytes) -> Any:
    """Return the plain JSON value of a text, or the Fault that says why it has none; numbers too large are not noticed."""
    if b"\0" in body:
        return Fault("a NUL byte in it")
    try:
        if not body.isascii():
            body.decode()
        value = codec.decode(body)
    except RecursionError:
        return TOO_DEEP
    except UnicodeDecodeError as exc:
        return Fault(f"no valid UTF-8 at byte {exc.start}")
    except ValueError as exc:
        return Fault(_TOO_LONG if "integer string conversion" in str(exc) else f"no valid JSON: {exc}")
    brackets = body.count(b"[") + body.count(b"{")
    return TOO_DEEP if brackets > DEEPEST and _is_deeper(value, DEEPEST) else value


def _is_deeper(value: Any, levels: int) -> bool:
    if type(value) is dict:
        return levels <= 0 or any(_is_deeper(v, levels - 1) for v in value.values() if type(v) is dict or type(v) is list)
    return type(value) is list and (levels <= 0 or any(_is_deeper(v, levels - 1) for v in value if type(v) is dict or type(v) is list))


def _frozen(value: Any) -> Any:
    """Freeze what was decoded from JSON: nothing to check but that no number became infinite."""
    kind = type(value)
    if kind is dict:
        return FrozenDict({k: v if type(v) is str else _frozen(v) for k, v in value.items()})
    if kind is list:
        return FrozenList([v if type(v) is str else _frozen(v) for v in value])
    return freeze(value, path="value") if kind is float else value
