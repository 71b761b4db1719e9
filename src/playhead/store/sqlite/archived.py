"""Archived entries of a SQLite store: their rows stay, what they say stands in segments, and is put back as rows are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, Protocol

from playhead.errors import StoreDamaged
from playhead.store.damage import missing
from playhead.store.packing import MOST, MOST_BYTES, Said, damaged, fitting, packed, unpacked
from playhead.store.row import LAST_SEQ, SEQ_BITS, RawRow, damage_of, eid, is_sealed
from playhead.store.sqlite.tails import Tails
from playhead.store.statements import statements

IN_SEGMENT = 1
"""What `enc` says of an entry whose meta and body are in a segment."""

_KEPT = 6
_SMALL = MOST_BYTES // 2


class Source(Protocol):
    """What statements are run on: a connection, or the tails of its writer."""

    @property
    def execute(self) -> Callable[..., sqlite3.Cursor]:
        """Run a statement."""
        ...


class Segments:
    """Finds what archived entries say; the segment read last is kept, as entries are mostly read one behind the other."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._low = self._high = -1
        self._said: list[Said] = []

    def said(self, place: int) -> Said | None:
        """Return what the entry at a place says, None where no segment has it. Raises StoreDamaged where its segment is not as it was written."""
        if not self._low <= place <= self._high:
            found = self._source.execute(statements("read")["segment"], (place,)).fetchone()
            if found is None or not found[0] <= place <= found[1]:
                return None
            low, high, digest, data = found
            self._said, self._low, self._high = opened(low, high, digest, data), low, high
        return self._said[place - self._low]


def opened(low: int, high: int, digest: bytes, data: bytes) -> list[Said]:
    """Return what the entries of a segment say. Raises StoreDamaged."""
    what = f"The segment of the archived entries {low & LAST_SEQ} to {high & LAST_SEQ} of tape no. {low >> SEQ_BITS}"
    if sha256(data).digest() != digest:
        raise damaged(what, "its digest is another")
    said = unpacked(data, what=what)
    if len(said) != high - low + 1:
        raise damaged(what, f"it has {len(said)} entries")
    return said


def filled(source: Source, rows: Iterable[tuple[Any, ...]]) -> Iterator[RawRow]:
    """Yield rows with what their entries say, wherever that is kept. One whose segment is gone is yielded as it is: its digest shows that."""
    segments = None
    for row in rows:
        if row[_KEPT] != IN_SEGMENT:
            yield row[:_KEPT]
            continue
        segments = segments or Segments(source)
        said = segments.said(row[0])
        yield (*row[:4], *said) if said is not None else row[:_KEPT]


class Moved(NamedTuple):
    """What one step of archiving did: up to which id a tape is archived now, how many entries were moved, and the bytes before and after."""

    upto: int = 0
    entries: int = 0
    before: int = 0
    after: int = 0


def archive(tails: Tails, tape: str, upto: int) -> Moved:
    """Move the next own entries of a tape, up to an id, to a segment; the last segment is made anew together with them where it is small.

    Raises StoreDamaged where an entry is not as it was written, BranchNotFound.
    """
    tail = tails.tail(tape) if tails.main(tape) is not None else None
    if tail is None:
        return Moved()
    sql = statements("write")
    last = tails.execute(sql["last_segment"], (eid(tail.tape_no, 0), eid(tail.tape_no, LAST_SEQ))).fetchone()
    done, stop = (eid(tail.tape_no, tail.before) if last is None else last[1]), eid(tail.tape_no, min(upto, tail.seq))
    if done >= stop:
        return Moved(0 if last is None else done & LAST_SEQ)
    is_small = last is not None and done - last[0] + 1 < MOST // 2 and last[2] < _SMALL
    rows = _next(tails, last[0] if is_small else done + 1, stop, tape=tape)
    if is_small and rows[-1][0] <= done:
        is_small, rows = False, _next(tails, done + 1, stop, tape=tape)
    said = [row[4:] for row in rows]
    data, first, end = packed(said), rows[0][0], rows[-1][0]
    tails.execute(sql["insert_segment"], (first, end, sum(map(_size, said)), sha256(data).digest(), data))
    _read_back(tails, rows)
    tails.execute(sql["empty_entries"], (first, end))
    return Moved(end & LAST_SEQ, end - done, sum(_size(row[4:]) for row in rows if row[0] > done), len(data) - (last[3] if is_small else 0))


def _next(tails: Tails, first: int, stop: int, *, tape: str) -> list[RawRow]:
    """Return the rows that go into one segment, as they were written. Raises StoreDamaged where one is not."""
    rows = list(islice(filled(tails, tails.execute(statements("write")["to_archive"], (first, stop))), MOST))
    for place, row in enumerate(rows, first):
        if row[0] != place:
            raise missing(tape, place & LAST_SEQ, (row[0] - 1) & LAST_SEQ)
        if not is_sealed(row):
            raise damage_of(row, tape=tape)
    if not rows:
        raise missing(tape, first & LAST_SEQ, stop & LAST_SEQ)
    return rows[: fitting(_size(row[4:]) for row in rows)]


def _read_back(source: Source, rows: list[RawRow]) -> None:
    """Prove that a segment that was written says what the rows say. Raises sqlite3.DatabaseError, which undoes all of it."""
    segments = Segments(source)
    try:
        is_same = all(segments.said(row[0]) == row[4:] for row in rows)
    except StoreDamaged:
        is_same = False
    if not is_same:
        raise sqlite3.DatabaseError("what was archived is not read back as it was written")


def _size(said: Said) -> int:
    return len(said[0]) + len(said[1])
