"""A JSON document as the elements of its list, read in a stream: a list of any length takes the memory of one element."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

from playhead.importers.lines import BOM, CHUNK, LINE_LIMIT, SPACE, Fault, Raw, in_parts, read_value, too_long

BROKEN = "no JSON document from here on"
CUT = "the document ends before its list does"
_LONGEST_KEY = 1 << 16
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+", re.DOTALL)
_TO_MARK = re.compile(rb'(?:[^"\[\]{},:]++|' + _STRING + rb")*+", re.DOTALL)
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")


class DocumentReader:
    """Reads the first `size` bytes of a file as the elements of a JSON list.

    The list is the whole document, or a member of its object that is named in `lists`; other members come as they
    are, with their key. What is no JSON from some point on comes in parts with its fault.
    """

    def __init__(self, file: BinaryIO, *, size: int, lists: Collection[str], limit: int = LINE_LIMIT, chunk: int = CHUNK) -> None:
        self._file = file
        self._size = size
        self._lists = lists
        self._limit = limit
        self._chunk = chunk

    def __iter__(self) -> Iterator[Raw]:
        text = _Text(self._file, self._size, self._chunk)
        if text.peek() == b"[":
            yield from self._elements(text)
        elif text.peek() == b"{":
            yield from self._members(text)
        if text.peek():
            yield from in_parts(text.rest(), text.raw(b"", fault=BROKEN))
        elif text.is_open:
            yield text.raw(b"", fault=CUT)

    def _members(self, text: _Text) -> Iterator[Raw]:
        text.take()
        while text.peek() == b'"':
            value = text.value(stops=b":")
            pieces = _up_to(_LONGEST_KEY, value)
            key = read_value(b"".join(pieces))
            if isinstance(key, Fault) or text.peek() != b":":
                yield from in_parts(_chained(pieces, chain(value, text.rest())), text.raw(b"", fault=BROKEN))
                return
            text.take()
            if text.peek() == b"[" and key in self._lists:
                yield from self._elements(text, within=key)
            else:
                yield from self._whole(text, member=key)
            if text.peek() == b",":
                text.take()
        if text.peek() == b"}":
            text.take()

    def _elements(self, text: _Text, *, within: str | None = None) -> Iterator[Raw]:
        text.take()
        while (mark := text.peek()) and mark != b"]":
            if mark == b",":
                text.take()
                continue
            before = text.read_bytes
            yield from self._whole(text, within=within)
            if text.read_bytes == before:
                return
        if mark == b"]":
            text.take()

    def _whole(self, text: _Text, *, member: str | None = None, within: str | None = None) -> Iterator[Raw]:
        """Yield a value as one Raw, or in parts where it is longer than the limit."""
        first = text.raw(b"", member=member, within=within)
        value = text.value(stops=b",]}")
        pieces = _up_to(self._limit, value)
        if sum(map(len, pieces)) > self._limit:
            yield from in_parts(_chained(pieces, value), replace(first, end=text.read_bytes, fault=too_long(self._limit)))
        else:
            yield replace(first, end=text.read_bytes, body=b"".join(pieces).strip(SPACE))


def _up_to(length: int, pieces: Iterator[bytes]) -> list[bytes]:
    taken: list[bytes] = []
    for piece in pieces:
        taken.append(piece)
        length -= len(piece)
        if length < 0:
            break
    return taken


def _chained(pieces: list[bytes], more: Iterable[bytes]) -> Iterator[bytes]:
    yield from pieces
    pieces.clear()
    yield from more


class _Text:
    """The text of a document from where reading is, a chunk at a time."""

    def __init__(self, file: BinaryIO, size: int, chunk: int) -> None:
        file.seek(0)
        self._file = file
        self._chunk = chunk
        self._left = size
        self._size = size
        self._text = b""
        self._at = 0
        self._line = 1
        self._counted = 0
        self.is_open = 0
        """How many brackets were stepped over that are still open."""
        self._position = 0
        self._fill()
        while len(self._text) < len(BOM) and self._fill():
            pass
        if self._text.startswith(BOM):
            self._at = len(BOM)

    @property
    def read_bytes(self) -> int:
        """How many bytes of the file lie before where reading is."""
        return self._size - self._left - len(self._text) + self._at

    def raw(self, body: bytes, *, fault: str | None = None, member: str | None = None, within: str | None = None) -> Raw:
        """Return a Raw that starts here, with the next position."""
        self.peek()
        self._count_lines()
        raw = Raw(position=self._position, line=self._line, end=self.read_bytes, body=body, fault=fault, member=member, within=within)
        self._position += 1
        return raw

    def peek(self) -> bytes:
        """Return the next byte that is no space, b"" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._fill():
                return self._text[self._at : self._at + 1]

    def take(self) -> None:
        """Step over one byte."""
        mark = self._text[self._at : self._at + 1]
        self.is_open += (mark in b"[{") - (mark in b"]}")
        self._at += 1

    def rest(self) -> Iterator[bytes]:
        """Yield what is left, to the end."""
        while self._at < len(self._text) or self._fill():
            piece = self._text[self._at :]
            self._at = len(self._text)
            yield piece

    def value(self, *, stops: bytes) -> Iterator[bytes]:
        """Yield the text of the value that starts here, in pieces, up to its end or one of the `stops` behind it."""
        begin, depth, in_string = self._at, 0, False
        while True:
            skipped = (_IN_STRING if in_string else _TO_BRACKET if depth else _TO_MARK).match(self._text, self._at)
            self._at = skipped.end() if skipped else self._at
            mark = self._text[self._at : self._at + 1]
            if not mark or (in_string and mark != b'"'):
                piece = self._text[begin : self._at]
                begin = 0
                more = self._fill()
                if piece:
                    yield piece
                if not more:
                    return
            elif not depth and not in_string and mark in stops:
                break
            else:
                self._at += 1
                in_string = mark == b'"' and not in_string
                depth += (mark in b"[{") - (mark in b"]}")
                if mark in b"]}" and depth <= 0:
                    break
        if begin < self._at:
            yield self._text[begin : self._at]

    def _fill(self) -> bool:
        """Read on, letting go of the text before where reading is; returns whether there was more."""
        chunk = self._file.read(min(self._chunk, self._left)) if self._left > 0 else b""
        self._left -= len(chunk)
        if chunk:
            self._count_lines()
            self._text = self._text[self._at :] + chunk
            self._at = self._counted = 0
        return bool(chunk)

    def _count_lines(self) -> None:
        self._line += self._text.count(b"\n", self._counted, self._at)
        self._counted = self._at
