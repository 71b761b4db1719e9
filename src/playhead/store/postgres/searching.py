"""Searching a PostgreSQL store: the volumes of what a tape shows, and the words of what no volume has yet, answer as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.parts import Part, answered
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.postings import SpoiltVolume, VolumeGone
from playhead.store.postgres.address import Address, Segment, part_of
from playhead.store.postgres.blobs import got
from playhead.store.postgres.reader import ask_of
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.rows import rows, rows_at
from playhead.store.postgres.volumes import Shelves, kept, opened
from playhead.store.postgres.windows import view_of
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import Question, question_of
from playhead.store.ranked.best import Ranked
from playhead.store.ranked.hit import Hit
from playhead.store.rows.row import entry_of
from playhead.store.rows.statements import statements

_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for in what a query leaves of its tape.

    `uses_volumes` says whether those of the database are read. `patience` is how many entries of a part are read at most that are in
    none, None where all are.
    """

    query: TapeQuery
    text: str
    smoothed: bool
    shelves: Shelves
    uses_volumes: bool
    patience: int | None

    def __call__(self, reading: Reading) -> list[Hit] | Behind[Address]:
        """Return the entries found, the best first, or what must be done first. Raises what a query raises."""
        found = ask_of(reading, self.query.tape, partial(self._found, reading), none=None)
        if found is None:
            self.query.apply(())
            question_of(self.query, self.text, range(0), smoothed=self.smoothed)
            return []
        return found

    def _found(self, reading: Reading, address: Address) -> list[Hit] | Behind[Address]:
        end, ids = view_of(reading, address, self.query)
        question = question_of(self.query, self.text, ids, smoothed=self.smoothed)
        last = end if self.query.ceiling is None else min(end, self.query.ceiling)
        pieces = list(address.pieces(range(1, last + 1), head=end))
        try:
            ranked = self._ranked(reading, address, pieces, question)
        except SpoiltVolume as exc:
            if self.patience is not None and not isinstance(exc, VolumeGone):
                return Behind(_parts_of(address, pieces), is_spoilt=True)
            return replace(self, uses_volumes=False, patience=None)._found(reading, address)
        return Behind(_parts_of(address, pieces)) if ranked is None else self._hits(reading, address, pieces, ranked)

    def _ranked(self, reading: Reading, address: Address, pieces: Sequence[Segment], question: Question) -> list[Ranked] | None:
        """Return which entries are found, None where too much is in no volume; asked once more where a volume became part of another meanwhile. Raises SpoiltVolume."""
        tries = 0
        while True:
            parts = list(self._parts(reading, address, pieces))
            if self.patience is not None and any(part.last - part.reach > self.patience for part in parts):
                return None
            try:
                return answered(parts, question, self.shelves.library)
            except VolumeGone:
                tries += 1
                if tries == _TRIES:
                    raise

    def _parts(self, reading: Reading, address: Address, pieces: Sequence[Segment]) -> Iterator[Part[Address]]:
        found = kept(reading.session, address, {piece.tape_no: piece.low - 1 for piece in pieces}) if self.uses_volumes else {}
        for tape_no, first, last in pieces:
            part, standing = part_of(address.root_id, tape_no), found.get(tape_no, [])
            yield Part(
                name=part,
                first=first,
                last=last,
                volumes=[partial(opened, reading.session, part, row, self.shelves) for row in standing if row.first <= last],
                reach=standing[-1].last if standing else first - 1,
                source=Rows(reading, address, tape_no, self.query.tape),
            )

    def _hits(self, reading: Reading, address: Address, pieces: Sequence[Segment], ranked: Sequence[Ranked]) -> list[Hit]:
        places = {found.id: next(piece.tape_no for piece in pieces if found.id <= piece.high) for found in ranked}
        there = rows_at(reading, address, places, tape=self.query.tape)
        return [Hit(entry=entry_of(there[found.id], tape=self.query.tape, load=reading.load), score=found.score) for found in ranked]


class Rows:
    """The entries of a part of a tape."""

    def __init__(self, reading: Reading, address: Address, tape_no: int, tape: str) -> None:
        self._reading = reading
        self._address = address
        self._tape_no = tape_no
        self._query = TapeQuery(tape=tape)
        self._marks: dict[int, bytes] = {}

    def entries(self, first: int, last: int) -> Iterator[TapeEntry]:
        """Yield all entries from one id to another. Raises StoreDamaged where one is missing."""
        for row in rows(self._reading, self._address, Segment(self._tape_no, first, last), self._query):
            yield entry_of(row, tape=self._query.tape, load=lambda digest: got(self._reading, digest=digest, path=f"the store of '{self._query.tape}'"))

    def mark(self, id: int) -> bytes:
        """Return the digest of an entry."""
        if id not in self._marks:
            values = {"root": self._address.root_id, "tape": self._tape_no, "seq": id}
            found = self._reading.session.row(statements("postgres/search")["digest"], values)
            self._marks[id] = b"" if found is None else bytes(found[0])
        return self._marks[id]


def _parts_of(address: Address, pieces: Sequence[Segment]) -> tuple[Address, ...]:
    return tuple(part_of(address.root_id, piece.tape_no) for piece in pieces)
