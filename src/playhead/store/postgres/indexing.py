"""Keeping the volumes of a PostgreSQL store near the end of its tapes: a thread with a connection of its own, so that no append waits for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from playhead.entry.entry import TapeEntry
from playhead.errors import PlayheadError
from playhead.store.concordance.backlog import LEAST, Backlog, Steps
from playhead.store.concordance.filling import Said, Standing, filled
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.postings import SpoiltVolume
from playhead.store.concordance.spare import PATIENCE, Spare
from playhead.store.concordance.volume import Volume
from playhead.store.concurrency.hop import Job, deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.family import kin_of
from playhead.store.postgres import volumes
from playhead.store.postgres.address import Address, Book, Segment, part_of
from playhead.store.postgres.blobs import get
from playhead.store.postgres.failures import needs_another_session, typed
from playhead.store.postgres.keys import name_key
from playhead.store.postgres.reading import Moved, Reading
from playhead.store.postgres.rows import rows
from playhead.store.postgres.session import Link
from playhead.store.postgres.volumes import Kept, Shelves
from playhead.store.query import TapeQuery
from playhead.store.rows.row import entry_of
from playhead.store.rows.statements import statements
from playhead.store.rules.work import Work

_GROUP = 64
_LINGER = 10.0
_FEW = 32

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Grown:
    """A tape on which enough was written for a volume."""

    tape: str


def grown(work: Work, made: Sequence[Sequence[TapeEntry]]) -> Iterator[Grown]:
    """Yield the tapes on which a piece of work wrote an entry whose id says that a volume is due: of all who write to a tape, one is told."""
    for step, entries in zip(work.steps, made, strict=True):
        if entries and entries[-1].id // LEAST > (entries[0].id - 1) // LEAST:
            yield Grown(step.tape)


class Indexer:
    """Makes volumes of the tapes that grew while nothing is written, and at once of what a search waits for. What fails is left to the searches, which need no volume."""

    def __init__(self, link: Link, *, spare: Spare) -> None:
        self._shelves = volumes.shelves(most=_FEW)
        self._link = link
        self._spare = spare
        self._backlog = Backlog(self._steps)
        self._is_linked = False

    def serve(self, queue: Queue) -> None:
        """Do what the queue asks for until it ends, and what nobody waits for in between."""
        try:
            for jobs in queue.groups(_GROUP, patience=self._patience):
                for job in jobs:
                    self._do(job)
                deliver(jobs)
                if self._backlog.is_done:
                    self._rest(is_idle=not jobs)
                elif self._spare.is_pause:
                    self._spare.use(self._step, is_pause=True, goes_on=lambda: not len(queue) and self._spare.is_pause)
                else:
                    self._spare.use(self._step, is_pause=False, goes_on=lambda: not len(queue))
        finally:
            self._link.drop()

    def _patience(self) -> float | None:
        """Return after how many seconds without anything asked for there is something to do, None where there is nothing."""
        if not self._backlog.is_done:
            return PATIENCE
        return _LINGER if self._is_linked else None

    def _rest(self, *, is_idle: bool) -> None:
        """Let go of the connection once it was of no use for a while."""
        if is_idle:
            self._link.drop()
            self._is_linked = False

    def _do(self, job: Job) -> None:
        """Do a job; the result of one that somebody waits for is whether there is more to do."""
        if isinstance(job.work, Grown):
            self._backlog.grew(job.work.tape)
            return
        behind: Behind[Address] = job.work
        try:
            job.result = self._done(lambda: self._hurry(behind))
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            job.error = typed(exc, server=self._link.server)

    def _hurry(self, behind: Behind[Address]) -> bool:
        for part in behind.names if behind.is_spoilt else ():
            volumes.forget(self._link.session(), part)
        return self._backlog.hurry(behind.names)

    def _step(self) -> bool:
        """Do a little of what nobody waits for; False where it failed or there is no more of it."""
        with suppress(PlayheadError, SpoiltVolume):
            return self._done(self._backlog.step)
        return False

    def _done(self, do: Callable[[], Result]) -> Result:
        """Return what is done on the connection. Raises PlayheadError where it failed, SpoiltVolume."""
        self._is_linked = True
        try:
            return do()
        except psycopg.Error as exc:
            if needs_another_session(exc):
                self._link.drop()
            raise typed(exc, server=self._link.server) from exc

    def _steps(self, name: Hashable) -> Steps:
        """Make volumes of a tape number, or of the tape of a name where enough stands on it."""
        if isinstance(name, Address):
            yield from filled(_Shelf(self._link, name, self._shelves))
            return
        tape = str(name)
        values = {"tenant": self._link.server.tenant, "root_name": name_key(kin_of(tape).root), "name": name_key(tape)}
        for root_id, tape_no, _, before, _, _, head, _ in self._link.session().rows(statements("postgres/read")["tape"], values):
            if head - before >= LEAST:
                yield from filled(_Shelf(self._link, part_of(root_id, tape_no), self._shelves))


class _Shelf:
    """The entries of a tape number, and its volumes."""

    def __init__(self, link: Link, part: Address, shelves: Shelves) -> None:
        self._link = link
        self._part = part
        self._shelves = shelves
        self._end = 0

    def standing(self) -> Standing[Kept] | None:
        """Return the volumes that stand, None where the tape was removed."""
        part, before = self._part, self._looked()
        return None if before is None else Standing(before, volumes.kept(self._link.session(), part, {part.tape_no: before})[part.tape_no])

    def end(self) -> int:
        """Return the id of the last entry when it was looked where the volumes stand."""
        return self._end

    def _looked(self) -> int | None:
        """Look where the tape ends; return which id its own entries stand behind, None where it was removed."""
        found = self._link.session().rows(statements("postgres/search")["part"], {"root": self._part.root_id, "tape": self._part.tape_no})
        if not found:
            return None
        ((before, self._end),) = found
        return int(before)

    def entries(self, first: int, last: int) -> list[Said]:
        """Return the entries from one id to another that are there by now. Raises StoreDamaged where one is missing."""
        if last > self._end:
            self._looked()
        called = f"no. {self._part.tape_no}"
        session, server = self._link.session(), self._link.server
        reading = Reading(session, Book(), server.tenant, lambda digest: get(session, digest=digest, tenant=server.tenant, path=server.label))
        found = rows(reading, self._part, Segment(self._part.tape_no, first, min(last, self._end)), TapeQuery(tape=called))
        try:
            return [Said(entry_of(row, tape=called, load=reading.load), len(row[5])) for row in found]
        except Moved:  # what one of them says is gone, as it is archived; its tape may be gone, too
            return []

    def opened(self, volume: Kept) -> Volume:
        """Return a volume to read from. Raises SpoiltVolume."""
        return volumes.opened(self._link.session(), self._part, volume, self._shelves)

    def add(self, raw: bytes, *, behind: Standing[Kept], last: int) -> None:
        """Keep a volume behind those that stand, unless others did meanwhile."""
        volumes.add(self._link.session(), self._part, raw, first=behind.reach + 1, last=last)

    def replace(self, together: Sequence[Kept], raw: bytes) -> None:
        """Keep a volume in place of those that became it, unless others did meanwhile."""
        volumes.replace(self._link.session(), self._part, raw, of=together)

    def forget(self) -> None:
        """Remove all volumes."""
        volumes.forget(self._link.session(), self._part)
