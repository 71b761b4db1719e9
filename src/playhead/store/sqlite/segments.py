"""What a tape shows: its own range of rows, and behind how many ranges of others it stands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from playhead.errors import BranchNotFound
from playhead.store.family import kin_of
from playhead.store.rows.row import BLOCK, LAST_SEQ, SEQ_BITS, eid
from playhead.store.rows.statements import statements


class Segment(NamedTuple):
    """A range of rows of one tape number, both ends included; the kinds and uids of those up to `indexed` are indexed."""

    low: int
    high: int
    indexed: int

    def within(self, ids: range) -> Segment:
        """Return the part of it whose ids lie in a range."""
        start = self.low >> SEQ_BITS << SEQ_BITS
        return Segment(max(self.low, start + ids.start), min(self.high, start + ids.stop - 1), self.indexed)

    def halves(self) -> tuple[Segment, Segment]:
        """Return the part whose kinds and uids are indexed, and the rest, shorter than a block."""
        low, high, indexed = self
        return Segment(low, min(high, indexed), indexed), Segment(max(low, indexed + 1), high, indexed)


class Shown(NamedTuple):
    """What a tape or branch shows, in the order of the ids, which are dense over all segments; the last segment is its own."""

    tape: str
    generation: int
    segments: tuple[Segment, ...]

    @property
    def last_id(self) -> int:
        """The id of the last entry, 0 where there is none."""
        return self.segments[-1].high & LAST_SEQ

    def pieces(self, ids: range, *, descending: bool = False) -> Iterator[Segment]:
        """Yield the parts of the segments whose ids lie in a range, from the end or from the front."""
        for segment in reversed(self.segments) if descending else self.segments:
            piece = segment.within(ids)
            if piece.low <= piece.high:
                yield piece


def shown(connection: sqlite3.Connection, tape: str) -> Shown | None:
    """Return what a tape shows, None where it was never written. Raises BranchNotFound where it belongs to a branch that was never made."""
    sql = statements("read")
    found = connection.execute(sql["tape"], (tape,)).fetchone()
    if found is None:
        kin = kin_of(tape)
        if kin.branch is not None and connection.execute(sql["is_named"], (kin.main,)).fetchone() is None:
            raise BranchNotFound(kin.main)
        return None
    tape_no, generation, before, indexed, lineage = found
    (place,) = connection.execute(sql["last_entry"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone()
    last = max(before, indexed, (place or 0) & LAST_SEQ)
    own = Segment(eid(tape_no, before + 1), eid(tape_no, last), eid(tape_no, indexed))
    return Shown(tape, generation, (*inherited(lineage), own))


@lru_cache(maxsize=1024)
def inherited(lineage: str) -> tuple[Segment, ...]:
    """Return the segments of a lineage, which never changes."""
    segments, before = [], 0
    for tape_no, last in json.loads(lineage):
        segments.append(Segment(eid(tape_no, before + 1), eid(tape_no, last), eid(tape_no, last // BLOCK * BLOCK)))
        before = last
    return tuple(segments)
