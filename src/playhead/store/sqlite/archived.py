"""Archived entries of a SQLite store: what they say stands in segments, each found by the row id of its first entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from playhead.store.archiving import archived
from playhead.store.archiving.archived import Packet, opened, says
from playhead.store.archiving.packing import Said
from playhead.store.archiving.retention import Moved
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, RawRow, eid
from playhead.store.rows.statements import statements
from playhead.store.rules.tails import main_of
from playhead.store.sqlite.tails import Tails


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
            self._said = opened(data, digest=digest, ids=range(low & LAST_SEQ, (high & LAST_SEQ) + 1), tape_no=low >> SEQ_BITS)
            self._low, self._high = low, high
        return self._said[place - self._low]


def filled(source: Source, rows: Iterable[tuple[Any, ...]]) -> Iterator[RawRow]:
    """Yield rows with what their entries say, wherever that is kept. One whose segment is gone is yielded as it is: its digest shows that."""
    return archived.filled(rows, Segments(source).said)


def archive(tails: Tails, tape: str, upto: int) -> Moved:
    """Move the next own entries of a tape, up to an id, to a segment. Raises StoreDamaged where an entry is not as it was written, BranchNotFound."""
    tail = tails.tail(tape) if main_of(tails, tape) is not None else None
    if tail is None:
        return Moved()
    return archived.move(_Own(tails, tail.tape_no), before=eid(tail.tape_no, tail.before), stop=eid(tail.tape_no, min(upto, tail.seq)), tape=tape)


class _Own:
    """The rows of a tape number, in the transaction of the writer."""

    def __init__(self, tails: Tails, tape_no: int) -> None:
        self._tails = tails
        self._tape_no = tape_no
        self._sql = statements("write")

    def last(self) -> Packet | None:
        found = self._tails.execute(self._sql["last_segment"], (eid(self._tape_no, 0), eid(self._tape_no, LAST_SEQ))).fetchone()
        return None if found is None else Packet(*found)

    def rows(self, low: int, high: int) -> Iterator[RawRow]:
        return filled(self._tails, self._tails.execute(self._sql["to_archive"], (low, high)))

    def keep(self, packet: Packet, data: bytes) -> None:
        self._tails.execute(self._sql["insert_segment"], (*packet[:4], data))

    def prove(self, packet: Packet, rows: Sequence[RawRow]) -> None:
        """Raise sqlite3.DatabaseError where a segment does not say what its rows say."""
        if not says(Segments(self._tails).said, rows):
            raise sqlite3.DatabaseError(f"what was archived of tape no. {self._tape_no} up to {packet.high & LAST_SEQ} is not read back as it was written")

    def empty(self, packet: Packet) -> None:
        self._tails.execute(self._sql["empty_entries"], (packet.low, packet.high))
