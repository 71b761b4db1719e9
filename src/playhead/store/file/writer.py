"""The writer of a file store: it takes all changes that wait, and writes and flushes the appends to one tape together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import groupby
from time import monotonic
from typing import Any, NamedTuple

from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown, PlayheadError
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.spare import PATIENCE, Spare
from playhead.store.concurrency.hop import Job, deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.condition.failures import typed
from playhead.store.family import Kin
from playhead.store.file.blobs import settle
from playhead.store.file.family.household import Household
from playhead.store.file.members import member_stem
from playhead.store.file.place import Place
from playhead.store.file.record.draft import Draft
from playhead.store.file.record.lines import Body
from playhead.store.file.words.indexing import Indexing
from playhead.store.protocol import Head

GROUP = 512
"""How many changes are taken at most at a time."""

_HELD = 16
_BYTES = 1 << 26


class Appending(NamedTuple):
    """Entries to write at the end of a tape, what their lines say, and the epoch under which the tape may be leased at most."""

    kin: Kin
    entries: Sequence[TapeEntry]
    bodies: Sequence[Body]
    expected_head: Head | None
    fence: int | None


class Alone(NamedTuple):
    """What is to be done with a family while nobody else writes to it."""

    root: str
    do: Callable[[Household], Any]


class Apart(NamedTuple):
    """What is to be done with several families, whose guards it takes itself."""

    root: str
    do: Callable[[], Any]


class Writer:
    """Does the writing jobs of a queue, each as if alone; holds the files of the tapes written last open."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._indexing = Indexing(place) if place.keeps_words else None
        self._spare = Spare()
        self._held: OrderedDict[str, Household] = OrderedDict()

    def serve(self, queue: Queue) -> None:
        """Do the jobs until the queue ends, then close the files."""
        try:
            for jobs in queue.groups(GROUP, patience=self._patience):
                started = monotonic()
                for root, its_jobs in _by_family([job for job in jobs if not job.ticket.done() and not self._is_aside(job)]):
                    self._do(root, its_jobs)
                self._index(jobs, queue, seconds=monotonic() - started)
        finally:
            for household in self._held.values():
                household.close()

    def _patience(self) -> float | None:
        """Return after how many seconds without work what nobody waits for is done; None where there is none."""
        return None if self._indexing is None or self._indexing.backlog.is_done else PATIENCE

    def _is_aside(self, job: Job) -> bool:
        """Do a job that makes volumes, for a moment; its result is whether there is more to do. False where it is another job."""
        if not isinstance(job.work, Behind):
            return False
        try:
            self._place.health.check()
            job.result = self._indexing is not None and self._indexing.hurry(job.work)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            self._fail([job], exc)
        else:
            deliver([job])
        return True

    def _index(self, jobs: list[Job], queue: Queue, *, seconds: float) -> None:
        """Take note of what grew, and make volumes of it where there is time."""
        if self._indexing is None:
            return
        appends = [job.work for job in jobs if isinstance(job.work, Appending) and job.error is None]
        for work in appends:
            self._indexing.backlog.grew(member_stem(self._hold(work.kin.root).family.stem, work.kin))
        self._spare.wrote(sum(len(work.entries) for work in appends), seconds=seconds)
        self._spare.use(self._indexing.backlog.step, is_pause=not jobs, goes_on=lambda: not len(queue) and self._place.health.doubt is None)

    def _do(self, root: str | None, jobs: list[Job]) -> None:
        try:
            self._place.health.check()
            if root is None:
                return self._open(jobs)
            household = self._hold(root)
            for some in _apart(jobs):
                if isinstance(some[0].work, Apart):
                    household.let_go()
                    some[0].result = some[0].work.do()
                    deliver(some)
                    continue
                with household:
                    for run in _runs(some):
                        self._settle(household, run)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            self._fail(jobs, exc)

    def _open(self, jobs: list[Job]) -> None:
        self._place.make()
        for job in jobs:
            job.result = ()
        deliver(jobs)

    def _hold(self, root: str) -> Household:
        household = self._held.get(root)
        if household is None:
            while len(self._held) >= _HELD:
                self._held.popitem(last=False)[1].close()
            household = self._held[root] = Household(self._place, root)
        self._held.move_to_end(root)
        return household

    def _settle(self, household: Household, jobs: list[Job]) -> None:
        """Do all jobs with one write, or each with its own where that failed; who waits for them need not wait for the lock to be given back."""
        try:
            if isinstance(jobs[0].work, Alone):
                jobs[0].result = jobs[0].work.do(household)
            else:
                _append(household, jobs)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it must be undone
            if len(jobs) == 1 or self._place.health.doubt is not None:
                return self._fail(jobs, exc)
            for job in jobs:
                job.result = job.error = None
                self._settle(household, [job])
        else:
            deliver(jobs)

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        """Give the jobs that have no outcome yet an error of ours, and deliver all; where the store's health is in doubt nobody knows theirs."""
        found = typed(error, path=self._place.directory)
        if self._place.health.doubt is not None and not isinstance(error, AppendOutcomeUnknown):
            try:
                self._place.health.check()
            except AppendOutcomeUnknown as unknown:
                found = unknown
        for job in jobs:
            if job.result is None and job.error is None:
                job.error = copy(found)
                job.error.__cause__ = None if found is error else error
        deliver(jobs)


def _append(household: Household, jobs: list[Job]) -> None:
    """Write what is new of some appends to one tape; one that is refused changes nothing for the others."""
    kin: Kin = jobs[0].work.kin
    tail, held = household.look(kin), household.tape(kin)
    draft = Draft(tail, header=held.header if held.needs_header else None, codec=household.place.codec, standing=held.standing)
    mark = None if kin.sidecar is None else household.head(kin._replace(sidecar=None))
    results: list[tuple[Job, tuple[TapeEntry, ...]]] = []
    for job in jobs:
        work: Appending = job.work
        bodies = work.bodies if mark is None else [body._replace(mark=mark) for body in work.bodies]
        try:
            if work.fence is not None:
                household.leases.check(kin, work.fence)
            results.append((job, draft.add(work.entries, bodies, expected_head=work.expected_head)))
        except PlayheadError as refusal:
            job.error = refusal
    if draft.count:
        settle(household.place, draft.bodies)
        held.append(draft)
    for job, result in results:
        job.result = result


def _by_family(jobs: list[Job]) -> Iterable[tuple[str | None, list[Job]]]:
    """Return jobs by the family they are for, in order; None is the place itself."""
    if len(jobs) == 1:
        return [(_root(jobs[0]), jobs)]
    by_root: dict[str | None, list[Job]] = {}
    for job in jobs:
        by_root.setdefault(_root(job), []).append(job)
    return by_root.items()


def _root(job: Job) -> str | None:
    work: Appending | Alone | Apart | None = job.work
    return work.kin.root if isinstance(work, Appending) else work and work.root


def _apart(jobs: list[Job]) -> list[list[Job]]:
    """Return jobs of one family in parts: those that are done under its guard, and each that takes guards itself."""
    if len(jobs) == 1:
        return [jobs]
    return [list(part) for _, part in groupby(jobs, key=lambda job: id(job) if isinstance(job.work, Apart) else None)]


def _runs(jobs: list[Job]) -> list[list[Job]]:
    """Return jobs of one family by what may be done together: appends to one tape, and not too much at once."""
    if len(jobs) == 1:
        return [jobs]
    runs: list[list[Job]] = []
    size, before = 0, None
    for job in jobs:
        kin = job.work.kin if isinstance(job.work, Appending) else None
        if kin is None or kin != before or size > _BYTES:
            runs.append([])
            size = 0
        runs[-1].append(job)
        before = kin
        size += 0 if kin is None else sum(len(body.payload) for body in job.work.bodies)
    return runs
