"""Archived entries of stores that keep rows: their rows stay, what they say stands in segments, and is put back as rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from playhead.errors import StoreDamaged
from playhead.store.archiving.packing import MOST, MOST_BYTES, Said, damaged, fits, packed, unpacked
from playhead.store.archiving.retention import Moved
from playhead.store.condition.damage import missing
from playhead.store.rows.row import LAST_SEQ, RawRow, damage_of, is_sealed

IN_SEGMENT = 1
"""What `enc`, the column behind those of a row, says of an entry whose meta and body are in a segment."""

_KEPT = 6
_SMALL = MOST_BYTES // 2


class Packet(NamedTuple):
    """A segment: the places of its first entry and of its last, how many bytes these take, the digest of what they are compressed to, and how long that is."""

    low: int
    high: int
    size: int
    digest: bytes
    length: int


class OwnRows(Protocol):
    """The entries that a tape itself keeps, while nobody else archives them."""

    def last(self) -> Packet | None:
        """Return its last segment."""
        ...

    def rows(self, low: int, high: int) -> Iterable[RawRow]:
        """Return the first rows between two places, one after the other, with what they say: at least as many as fill a segment."""
        ...

    def keep(self, packet: Packet, data: bytes) -> None:
        """Write a segment, in place of one that begins where it does."""
        ...

    def prove(self, packet: Packet, rows: Sequence[RawRow]) -> None:
        """Read a segment back. Raises what undoes all of it where it does not say what the rows say."""
        ...

    def empty(self, packet: Packet) -> None:
        """Take what a segment says out of its rows."""
        ...


def move(own: OwnRows, *, before: int, stop: int, tape: str) -> Moved:
    """Move the next entries behind the place `before`, up to `stop`, to a segment; the last one is made anew together with them where it is small.

    Raises StoreDamaged where an entry is not as it was written.
    """
    last = own.last()
    done = before if last is None else last.high
    if done >= stop:
        return Moved(0 if last is None else done & LAST_SEQ)
    is_small = last is not None and done - last.low + 1 < MOST // 2 and last.size < _SMALL
    rows = _next(own, last.low if last is not None and is_small else done + 1, stop, tape=tape)
    if is_small and rows[-1][0] <= done:
        is_small, rows = False, _next(own, done + 1, stop, tape=tape)
    said = [row[4:] for row in rows]
    data = packed(said)
    packet = Packet(rows[0][0], rows[-1][0], sum(map(_size, said)), sha256(data).digest(), len(data))
    own.keep(packet, data)
    own.prove(packet, rows)
    own.empty(packet)
    replaced = last.length if last is not None and is_small else 0
    return Moved(packet.high & LAST_SEQ, packet.high - done, sum(_size(row[4:]) for row in rows if row[0] > done), packet.length - replaced)


def says(said: Callable[[int], Said | None], rows: Iterable[RawRow]) -> bool:
    """Return whether segments say of rows what these say."""
    try:
        return all(said(row[0]) == row[4:] for row in rows)
    except StoreDamaged:
        return False


def filled(rows: Iterable[tuple[Any, ...]], said: Callable[[int], Said | None]) -> Iterator[RawRow]:
    """Yield rows with what their entries say, wherever that is kept. One whose segment is gone is yielded as it is: its digest shows that."""
    for row in rows:
        found = said(row[0]) if row[_KEPT] == IN_SEGMENT else None
        yield row[:_KEPT] if found is None else (*row[:4], *found)


def opened(data: bytes, *, digest: bytes, ids: range, tape_no: int) -> list[Said]:
    """Return what the entries of a segment say. Raises StoreDamaged."""
    what = f"The segment of the archived entries {ids.start} to {ids.stop - 1} of tape no. {tape_no}"
    if sha256(data).digest() != digest:
        raise damaged(what, "its digest is another")
    said = unpacked(data, what=what)
    if len(said) != len(ids):
        raise damaged(what, f"it has {len(said)} entries")
    return said


def _next(own: OwnRows, low: int, stop: int, *, tape: str) -> list[RawRow]:
    """Return the rows that go into one segment, as they were written. Raises StoreDamaged where one is not."""
    rows, total = list[RawRow](), 0
    for place, row in enumerate(own.rows(low, stop), low):
        if not fits(size := _size(row[4:]), count=len(rows), total=total):
            break
        if row[0] != place:
            raise missing(tape, place & LAST_SEQ, (row[0] - 1) & LAST_SEQ)
        if not is_sealed(row):
            raise damage_of(row, tape=tape)
        rows.append(row)
        total += size
    if not rows:
        raise missing(tape, low & LAST_SEQ, stop & LAST_SEQ)
    return rows


def _size(said: Said) -> int:
    return len(said[0]) + len(said[1])
