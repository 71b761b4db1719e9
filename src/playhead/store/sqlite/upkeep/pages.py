"""The records in a database file, read page by page without SQLite: what a damaged page hides from it is found all the same.

Source: the SQLite database file format, https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR, _TABLE_INTERIOR = 0x0D, 0x0A, 0x02, 0x05
_HEADER, _WAL_HEADER, _FRAME_HEADER = 100, 32, 24
_USUAL_SIZE = 4096
_SIZES = frozenset(1 << power for power in range(9, 17))
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Unreadable(Exception):
    """Bytes are no record."""


class Record(NamedTuple):
    """The values of a row, with its row id in a table that has them."""

    rowid: int | None
    values: tuple[Any, ...]


class Pages:
    """The pages of a file as they are with all that its log has committed."""

    def __init__(self, path: str) -> None:
        self._raw = _mapped(path)
        log = _read(f"{path}-wal")
        self.size = _size(self._raw, log)
        reserved = self._raw[20] if len(self._raw) >= _HEADER and self._raw[20] <= 64 else 0
        self.usable = self.size - reserved
        self._newer = _committed(log, self.size)
        self.count = max(-(-len(self._raw) // self.size), max(self._newer, default=0))

    def page(self, number: int) -> bytes:
        """Return a page by its number, from 1. Raises Unreadable where there is none."""
        if not 1 <= number <= self.count:
            raise Unreadable
        found = self._newer.get(number)
        return self._raw[(number - 1) * self.size : number * self.size] if found is None else found

    def records(self) -> Iterator[Record]:
        """Yield every record of every page that holds some, also of pages that nothing points to any more; the same row may come twice."""
        for number in range(1, self.count + 1):
            page = self.page(number)
            start = _HEADER if number == 1 else 0
            kind = page[start] if len(page) > start else 0
            if kind in (0, _TABLE_INTERIOR):
                continue
            for cell in _cells(page, start, is_interior=kind == _INDEX_INTERIOR):
                with suppress(Unreadable, IndexError, struct.error):
                    yield self._record(page, cell, kind)

    def _record(self, page: bytes, at: int, kind: int) -> Record:
        """Return the record of a cell; a page whose kind is damaged is read as one of a table."""
        is_index = kind in (_INDEX_LEAF, _INDEX_INTERIOR)
        length, at = _varint(page, at + 4 if kind == _INDEX_INTERIOR else at)
        rowid = None
        if not is_index:
            number, at = _varint(page, at)
            rowid = number - (1 << 64) if number >= 1 << 63 else number
        return Record(rowid, _values(self._payload(page, at, length, most=self._most(is_index=is_index))))

    def _most(self, *, is_index: bool) -> int:
        """Return how many bytes of a record stand on its own page at most."""
        return (self.usable - 12) * 64 // 255 - 23 if is_index else self.usable - 35

    def _payload(self, page: bytes, at: int, length: int, *, most: int) -> bytes:
        if not 0 < length <= self.count * self.size:
            raise Unreadable
        if length <= most:
            return _exactly(page[at : at + length], length)
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (self.usable - 4)
        local = local if local <= most else least
        parts, have = [_exactly(page[at : at + local], local)], local
        (following,) = struct.unpack_from(">I", page, at + local)
        while have < length:
            overflow = self.page(following)
            (following,) = struct.unpack_from(">I", overflow)
            part = overflow[4 : min(self.usable, 4 + length - have)]
            parts.append(part)
            have += len(part)
            if len(part) == 0:
                raise Unreadable
        return b"".join(parts)


def _cells(page: bytes, start: int, *, is_interior: bool) -> Iterator[int]:
    """Yield where the cells of a page begin, as far as they may be any."""
    with suppress(struct.error):
        (count,) = struct.unpack_from(">H", page, start + 3)
        first = start + (12 if is_interior else 8)
        for number in range(min(count, len(page) // 4)):
            (at,) = struct.unpack_from(">H", page, first + 2 * number)
            if first <= at < len(page):
                yield at


def _values(payload: bytes) -> tuple[Any, ...]:
    """Return the values of a record."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, at = _value(payload, end, kind)
        values.append(value)
        end = at
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], at
    if kind in _INTEGERS:
        size = _INTEGERS[kind]
        return int.from_bytes(_exactly(payload[at : at + size], size), signed=True), at + size
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if kind < 12:
        raise Unreadable
    size = (kind - 12) // 2
    raw = _exactly(payload[at : at + size], size)
    return (raw.decode("utf-8", "surrogateescape") if kind % 2 else raw), at + size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        byte = raw[at + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + step + 1
    return value << 8 | raw[at + 8], at + 9


def _exactly(part: bytes, size: int) -> bytes:
    if len(part) != size:
        raise Unreadable
    return part


def _size(raw: bytes | mmap, log: bytes) -> int:
    """Return the size of a page as the file says, else as its log does, else the usual one."""
    said = int.from_bytes(raw[16:18]) if len(raw) >= _HEADER else 0
    said = 1 << 16 if said == 1 else said
    if said in _SIZES:
        return said
    logged = int.from_bytes(log[8:12])
    return logged if logged in _SIZES else _USUAL_SIZE


def _committed(log: bytes, size: int) -> dict[int, bytes]:
    """Return the newest pages of a log up to its last commit."""
    if len(log) < _WAL_HEADER or int.from_bytes(log[:4]) not in _WAL_MAGIC or int.from_bytes(log[8:12]) != size:
        return {}
    salts, committed, waiting = log[16:24], dict[int, bytes](), dict[int, bytes]()
    for at in range(_WAL_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number, pages, salt = int.from_bytes(log[at : at + 4]), int.from_bytes(log[at + 4 : at + 8]), log[at + 8 : at + 16]
        if salt != salts or not number:
            break
        waiting[number] = log[at + _FRAME_HEADER : at + _FRAME_HEADER + size]
        if pages:
            committed |= waiting
            waiting = {}
    return committed


def _mapped(path: str) -> bytes | mmap:
    """Return the bytes of a file, of which only those that are looked at are read."""
    with open(path, "rb") as file:
        try:
            return mmap(file.fileno(), 0, access=ACCESS_READ)
        except ValueError:  # it is empty
            return b""


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
