"""The writer of a file store: it takes all appends that wait, and writes and flushes those of one tape together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from copy import copy
from typing import NamedTuple

from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown, PlayheadError
from playhead.store.failures import typed
from playhead.store.file.draft import Draft, Standing, expect
from playhead.store.file.held import HeldTape
from playhead.store.file.lines import Body
from playhead.store.file.place import Place
from playhead.store.file.redo import change, write_draft
from playhead.store.file.tail import Tail
from playhead.store.hop import Job, deliver
from playhead.store.lane import Queue
from playhead.store.protocol import Head

GROUP = 512
"""How many appends are written together at most."""

_HELD = 16
_BYTES = 1 << 26


class Append(NamedTuple):
    """Entries to write at the end of a tape, and what their lines say."""

    tape: str
    entries: Sequence[TapeEntry]
    bodies: Sequence[Body]
    expected_head: Head | None


class Reset(Append):
    """The entries that start the next generation of a tape."""

    __slots__ = ()


class Writer:
    """Does the writing jobs of a queue, each as if alone; holds the files of the tapes written last open."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._held: OrderedDict[str, HeldTape] = OrderedDict()

    def serve(self, queue: Queue) -> None:
        """Do the jobs until the queue ends, then close the files."""
        try:
            for jobs in queue.groups(GROUP):
                for tape, its_jobs in _by_tape([job for job in jobs if not job.ticket.done()]):
                    self._do(tape, its_jobs)
        finally:
            for held in self._held.values():
                held.close()

    def _do(self, tape: str | None, jobs: list[Job]) -> None:
        try:
            self._place.health.check()
            if tape is None:
                return self._open(jobs)
            held = self._hold(tape)
            with held:
                for some in _runs(jobs):
                    self._settle(held, some)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            self._fail(jobs, exc)

    def _open(self, jobs: list[Job]) -> None:
        self._place.make()
        for job in jobs:
            job.result = ()
        deliver(jobs)

    def _hold(self, tape: str) -> HeldTape:
        held = self._held.get(tape)
        if held is None:
            while len(self._held) >= _HELD:
                self._held.popitem(last=False)[1].close()
            held = self._held[tape] = HeldTape(self._place, tape)
        self._held.move_to_end(tape)
        return held

    def _settle(self, held: HeldTape, jobs: list[Job]) -> None:
        """Do all jobs with one write, or each with its own where that failed; who waits for them need not wait for the lock to be given back."""
        try:
            if isinstance(jobs[0].work, Reset):
                jobs[0].result = _reset(held, jobs[0].work)
            else:
                _append(held, jobs)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it must be undone
            if len(jobs) == 1 or self._place.health.doubt is not None:
                return self._fail(jobs, exc)
            for job in jobs:
                job.result = job.error = None
                self._settle(held, [job])
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


def _append(held: HeldTape, jobs: list[Job]) -> None:
    """Write what is new of some appends; one that is refused changes nothing for the others."""
    draft = _draft(held, held.look(), standing=lambda key: held.keys.standing(held.recording(), key))
    results: list[tuple[Job, tuple[TapeEntry, ...]]] = []
    for job in jobs:
        try:
            results.append((job, draft.add(job.work.entries, job.work.bodies, expected_head=job.work.expected_head)))
        except PlayheadError as refusal:
            job.error = refusal
    lines, tail = draft.lines()
    if lines:
        held.append(b"".join(lines), tail)
    for job, result in results:
        job.result = result


def _reset(held: HeldTape, work: Reset) -> tuple[TapeEntry, ...]:
    """Put a new file in the place of the old one; readers of that keep it until they are done."""
    tail = held.look()
    expect(work.expected_head, tail.head)
    if not tail.begun and not work.entries:
        return ()
    draft = _draft(held, Tail(generation=tail.generation + 1), standing=_nothing_stands)
    written = draft.add(work.entries, work.bodies, expected_head=None)
    held.let_go()
    name = write_draft(held.place, held.stem, draft.file()[0])
    change(held.place, held.stem, [("replace", name, held.stem), ("forget", held.stem)])
    return written


def _draft(held: HeldTape, tail: Tail, *, standing: Standing) -> Draft:
    return Draft(tail, tape=held.tape, stem=held.stem, codec=held.place.codec, standing=standing)


def _nothing_stands(key: str) -> None:
    del key


def _by_tape(jobs: list[Job]) -> Iterable[tuple[str | None, list[Job]]]:
    """Return jobs by the tape they are for, in order; None is the place itself."""
    by_tape: dict[str | None, list[Job]] = {}
    for job in jobs:
        by_tape.setdefault(job.work and job.work.tape, []).append(job)
    return by_tape.items()


def _runs(jobs: list[Job]) -> list[list[Job]]:
    """Return jobs of one tape by what may be done together: a reset stands alone, and what is written at once is not too much."""
    if len(jobs) == 1:
        return [jobs]
    runs: list[list[Job]] = [[]]
    size = 0
    for job in jobs:
        alone = isinstance(job.work, Reset)
        if alone or size > _BYTES:
            runs.append([])
            size = 0
        runs[-1].append(job)
        size += _BYTES + 1 if alone else sum(len(body.payload) for body in job.work.bodies)
    return [run for run in runs if run]
