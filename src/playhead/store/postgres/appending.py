"""The appends of a store: those that wait go to the server together, each as one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psycopg

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.spare import Spare
from playhead.store.concurrency.hop import Job, deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.postgres.address import Address, Book
from playhead.store.postgres.blobs import keep
from playhead.store.postgres.failures import is_lost, needs_another_session
from playhead.store.postgres.keys import NONE, Numbers, Texts, column, columns, keys_of
from playhead.store.postgres.notices import Notifier
from playhead.store.postgres.reading import located
from playhead.store.postgres.session import Link, Session
from playhead.store.postgres.tapes import shown_date
from playhead.store.protocol import Head
from playhead.store.rows.row import written
from playhead.store.rows.statements import statements
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.work import Work, Writing, prepared

GROUP = 256
"""How many appends go together at most."""

_NO_FENCE = (1 << 63) - 1
_ONE = {(False, False): "one", (True, False): "one_keyed", (False, True): "one_beside", (True, True): "one_beside_keyed"}
"""The statement for a single entry: with a key or without, on a sidecar or not."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """An append that one statement did not make: it has to be looked at more closely. Where it was `sent` to an address, it may stand there behind the id `seen`."""

    sent: Address | None = None
    seen: int = 0


@dataclass(slots=True)
class _Sending:
    """An append on its way: one statement and its values."""

    job: Job
    step: Writing
    address: Address
    statement: str
    values: dict[str, Any]
    seen: int


class Appender:
    """Makes the appends of a queue by single statements; what one does not make is left in doubt, for the next lane."""

    def __init__(self, link: Link, book: Book, *, notifier: Notifier, spare: Spare) -> None:
        self._link = link
        self._book = book
        self._notifier = notifier
        self._spare = spare
        self._horizon = Horizon()
        self._sql = statements("postgres/append")

    def serve(self, queue: Queue) -> None:
        """Make the appends until the queue ends."""
        try:
            for jobs in queue.groups(GROUP, patience=self._notifier.due_in):
                started = monotonic()
                self._do([job for job in jobs if not job.ticket.done() and self._is_prepared(job)])
                deliver(jobs)
                if jobs:
                    self._note(jobs, seconds=monotonic() - started)
                self._notifier.tell(self._link)
        finally:
            self._link.drop()

    def _do(self, jobs: Sequence[Job]) -> None:
        """Make appends in one transaction, behind the parts that they are kept in, or each in its own where one of them failed."""
        if not jobs:
            return
        sendings: list[_Sending] = []
        try:
            session = self._link.session()
            sendings = [sending for job in jobs if (sending := self._sending(session, job)) is not None]
            if len(sendings) == 1 and len(sendings[0].step.rows) == 1 and not sendings[0].step.named:
                self._alone(session, sendings[0])
            elif sendings:
                sendings.sort(key=lambda sending: (sending.address.root_id, sending.address.tape_no))
                self._together(session, sendings)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the next lane says it or gets over it
            self._failed(sendings, jobs, exc)

    def _alone(self, session: Session, sending: _Sending) -> None:
        """Append one entry; while the server does it, the entry that is likely to come of it is made."""
        statement = session.direct(sending.statement)
        statement.send(sending.values)
        likely = _stored(sending.step, last=sending.seen + 1)
        last = statement.number()
        self._made(sending, last, likely if last == sending.seen + 1 else None)

    def _together(self, session: Session, sendings: Sequence[_Sending]) -> None:
        with session.pipeline():
            keep(session, [sending.step for sending in sendings], tenant=self._link.server.tenant)
            sent = [session.send(sending.statement, sending.values) for sending in sendings]
        for sending, cursor in zip(sendings, sent, strict=True):
            self._made(sending, max((seq for (seq,) in cursor.fetchall()), default=None))

    def _failed(self, sendings: Sequence[_Sending], jobs: Sequence[Job], error: Exception) -> None:
        """Leave appends in doubt, tried one by one first where none of them can have been made."""
        lost = not isinstance(error, psycopg.Error) or is_lost(error)
        if not isinstance(error, psycopg.Error) or needs_another_session(error):
            self._link.drop()
        if not lost and len(jobs) > 1:
            for job in jobs:
                self._do([job])
            return
        by_job = {id(sending.job): sending for sending in sendings} if lost else {}
        for job in jobs:
            sending = by_job.get(id(job))
            job.result = Doubt() if sending is None else Doubt(sending.address, sending.seen)

    def _sending(self, session: Session, job: Job) -> _Sending | None:
        """Return the statement of an append, None where there is none: the job is in doubt."""
        work: Work = job.work
        step = work.steps[0]
        job.result = Doubt()
        if not isinstance(step, Writing) or not step.rows or not _is_sayable(step.expected_head):
            return None
        address = located(session, self._book, step.tape, tenant=self._link.server.tenant)
        if address is None:
            return None
        keys = keys_of(step.rows)
        if len(keys) != len(set(keys)) or (keys and self._stand_in_lineage(session, address, keys)):
            return None
        statement, values = self._statement(step, address, keys)
        return _Sending(job, step, address, self._sql[statement], values, self._book.seen.get(step.tape, 0))

    def _stand_in_lineage(self, session: Session, address: Address, keys: Texts) -> bool:
        segments = address.inherited()
        values = {"root": address.root_id, "tapes": Numbers(s.tape_no for s in segments), "lasts": Numbers(s.high for s in segments), "wanted": keys}
        return bool(segments) and session.row(self._sql["standing_in_lineage"], values) is not None

    def _statement(self, step: Writing, address: Address, keys: Texts) -> tuple[str, dict[str, Any]]:
        expected = step.expected_head
        values: dict[str, Any] = {
            "root": address.root_id,
            "tape": address.tape_no,
            "name": address.name_key,
            "turn": address.turn,
            "fence": _NO_FENCE if step.fence is None else step.fence,
            "anywhere": expected is None,
            "generation": 0 if expected is None else expected.generation,
            "head": 0 if expected is None else expected.id,
        }
        if address.main_key != NONE:
            values["main"] = address.main_key
        if len(step.rows) == 1:
            (row,) = step.rows
            return _ONE[bool(keys), address.main_key != NONE], {**values, "peak": shown_date(row.ts, horizon=self._horizon), **column(row)}
        peaks = Numbers()
        for row in step.rows:
            date = shown_date(row.ts, horizon=self._horizon)
            peaks.append(max(date, peaks[-1]) if peaks else date)
        values |= {"number": len(step.rows), "peak": peaks[-1], "peaks": peaks, "wanted": keys, **columns(step.rows)}
        return "many" if address.main_key == NONE else "beside", values

    def _made(self, sending: _Sending, last: int | None, stored: tuple[TapeEntry, ...] | None = None) -> None:
        """Take note of what came of a statement: the id of the last entry, or nothing."""
        step = sending.step
        if last is None:
            self._book.forget(step.tape)
            return
        sending.job.result = (_stored(step, last=last) if stored is None else stored,)
        self._book.seen[step.tape] = last

    def _note(self, jobs: Sequence[Job], *, seconds: float) -> None:
        """Take note of which tapes moved, and of how long that took."""
        steps = [step for job in jobs for step in job.work.steps if isinstance(step, Writing)]
        self._notifier.note([step.tape for step in steps])
        self._spare.wrote(sum(len(step.rows) for step in steps), seconds=seconds)

    def _is_prepared(self, job: Job) -> bool:
        """Make the rows of a job; False where it is refused."""
        job.error = prepared(job.work, limit=self._link.server.inline_limit)
        return job.error is None


def _stored(step: Writing, *, last: int) -> tuple[TapeEntry, ...]:
    """Return the entries of a step as they stand, given the id of the last one."""
    return tuple(written(entry, row, id) for id, (entry, row) in enumerate(zip(step.entries, step.rows, strict=True), last - len(step.rows) + 1))


def _is_sayable(expected: Head | None) -> bool:
    """Return whether a statement can be told a head; to it, a generation below 0 means none."""
    return expected is None or expected.generation >= 0
