"""The volumes of terms in a SQLite file: each a row, and its bytes a page of the file at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple
from zlib import crc32

from playhead.store.concordance.chain import linked
from playhead.store.concordance.library import Library
from playhead.store.concordance.volume import Volume
from playhead.store.ranked.tokens import RULES
from playhead.store.rows.statements import statements

_PAGE_BITS = 24
_PAGE = 4032
"""How many bytes of a volume a row has: with what stands around them they fill a page of 4096 bytes."""

Execute = Callable[..., sqlite3.Cursor]


class Kept(NamedTuple):
    """A volume's row, without the tape number it is of."""

    volume_no: int
    first: int
    last: int
    size: int
    mark: int


class Pages:
    """The bytes of a volume."""

    def __init__(self, execute: Execute, volume_no: int) -> None:
        self._execute = execute
        self._start = volume_no << _PAGE_BITS

    def read(self, start: int, stop: int) -> bytes:
        """Return a part of them, less where a page is missing."""
        if start >= stop:
            return b""
        first, last = start // _PAGE, (stop - 1) // _PAGE
        found = self._execute(statements("search")["pages"], (self._start + first, self._start + last)).fetchall()
        return b"".join(content for (content,) in found)[start - first * _PAGE : stop - first * _PAGE]


def kept(execute: Execute, tape_no: int, *, before: int) -> list[Kept]:
    """Return the volumes of a tape number from its first own entry on, without a gap."""
    return linked(map(Kept._make, execute(statements("search")["volumes"], (tape_no, RULES))), before=before)


def opened(execute: Execute, row: Kept, library: Library) -> Volume:
    """Return a volume to read from. Raises SpoiltVolume."""
    return library.volume((row.volume_no, row.mark, row.size), Pages(execute, row.volume_no), size=row.size)


def keep(connection: sqlite3.Connection, tape_no: int, raw: bytes, *, first: int, last: int) -> None:
    """Write a volume, in a transaction of the caller's."""
    sql = statements("search")
    (volume_no,) = connection.execute(sql["next_volume_no"]).fetchone()
    connection.execute(sql["insert_volume"], (volume_no, tape_no, first, last, len(raw), crc32(raw), RULES))
    pages = ((volume_no << _PAGE_BITS | number, raw[start : start + _PAGE]) for number, start in enumerate(range(0, len(raw), _PAGE)))
    connection.executemany(sql["insert_page"], pages)


def forget(execute: Execute, volume_nos: Iterable[int]) -> None:
    """Remove volumes, in a transaction of the caller's."""
    sql = statements("search")
    for volume_no in volume_nos:
        execute(sql["forget_pages"], (volume_no << _PAGE_BITS, (volume_no + 1 << _PAGE_BITS) - 1))
        execute(sql["forget_volume"], (volume_no,))


def of_tape(execute: Execute, tape_no: int) -> list[int]:
    """Return the numbers of all volumes of a tape number."""
    return [volume_no for (volume_no,) in execute(statements("search")["of_tape"], (tape_no,))]
