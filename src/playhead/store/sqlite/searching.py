"""Searching a SQLite store: the volumes of what a tape shows, and the words of what no volume has yet, answer as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.library import Library
from playhead.store.concordance.parts import Part, answered
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.postings import SpoiltVolume
from playhead.store.parting import Load
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import question_of
from playhead.store.ranked.hit import Hit
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, eid, entry_of
from playhead.store.rows.statements import statements
from playhead.store.sqlite.blobs import get
from playhead.store.sqlite.rows import row_at, rows
from playhead.store.sqlite.segments import Segment, shown
from playhead.store.sqlite.volumes import kept, opened
from playhead.store.sqlite.windows import ids_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for in what a query leaves of its tape.

    `load` returns the blobs of a payload that is kept in parts. `uses_volumes` says whether those of the file are read. `patience` is how many entries of a part are read at most that are in
    none, None where all are.
    """

    query: TapeQuery
    text: str
    smoothed: bool
    library: Library
    load: Load
    uses_volumes: bool
    patience: int | None

    def __call__(self, connection: sqlite3.Connection) -> list[Hit] | Behind[int]:
        """Return the entries found, the best first, or what must be done first. Raises what a query raises."""
        query = self.query
        tape = shown(connection, query.tape)
        if tape is None:
            query.apply(())
        question = question_of(query, self.text, range(0) if tape is None else ids_of(connection, tape, query), smoothed=self.smoothed)
        if tape is None:
            return []
        end = tape.last_id if query.ceiling is None else min(tape.last_id, query.ceiling)
        parts = [self._part(connection, piece) for piece in tape.pieces(range(1, end + 1))]
        if self.patience is not None and any(part.last - part.reach > self.patience for part in parts):
            return Behind(tuple(part.name for part in parts))
        try:
            found = answered(parts, question, self.library)
        except (SpoiltVolume, sqlite3.DatabaseError):
            if not self.uses_volumes:
                raise
            if self.patience is not None:
                return Behind(tuple(part.name for part in parts), is_spoilt=True)
            return replace(self, uses_volumes=False)(connection)
        return [Hit(entry=self._entry(connection, parts, ranked.id), score=ranked.score) for ranked in found]

    def _entry(self, connection: sqlite3.Connection, parts: Sequence[Part[int]], id: int) -> TapeEntry:
        tape_no = next(part.name for part in parts if id <= part.last)
        return entry_of(row_at(connection, eid(tape_no, id), self.query.tape), tape=self.query.tape, load=self.load)

    def _part(self, connection: sqlite3.Connection, piece: Segment) -> Part[int]:
        tape_no, first = piece.low >> SEQ_BITS, piece.low & LAST_SEQ
        found = kept(connection.execute, tape_no, before=first - 1) if self.uses_volumes else []
        return Part(
            name=tape_no,
            first=first,
            last=piece.high & LAST_SEQ,
            volumes=[partial(opened, connection.execute, row, self.library) for row in found if row.first <= piece.high & LAST_SEQ],
            reach=found[-1].last if found else first - 1,
            source=Rows(connection, self.query.tape, piece),
        )


class Rows:
    """The entries of a part of a tape."""

    def __init__(self, connection: sqlite3.Connection, tape: str, piece: Segment) -> None:
        self._connection = connection
        self._load = lambda digest: get(connection, digest=digest, path=f"the store of '{tape}'")
        self._query = TapeQuery(tape=tape)
        self._piece = piece

    def entries(self, first: int, last: int) -> Iterator[TapeEntry]:
        """Yield all entries from one id to another. Raises StoreDamaged where one is missing."""
        for row in rows(self._connection, self._piece.within(range(first, last + 1)), self._query):
            yield entry_of(row, tape=self._query.tape, load=self._load)

    def mark(self, id: int) -> bytes:
        """Return the digest of an entry."""
        found = self._connection.execute(statements("search")["digest"], (eid(self._piece.low >> SEQ_BITS, id),)).fetchone()
        return found[0] if found is not None and isinstance(found[0], bytes) else b""
