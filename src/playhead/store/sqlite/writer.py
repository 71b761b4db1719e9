"""The one writer of a SQLite store: it takes all appends that wait and commits them together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path
from time import monotonic

from playhead.errors import PlayheadError, StoreError
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.spare import PATIENCE, Spare
from playhead.store.concurrency.hop import Job, deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.condition.failures import typed
from playhead.store.condition.health import Health
from playhead.store.rows.connection import Place, connect, disconnect
from playhead.store.rows.presence import OpenFile, Presence
from playhead.store.rows.statements import statements
from playhead.store.rules.work import Act, Apart, Work, Writing, prepared
from playhead.store.sqlite.indexing import Indexing
from playhead.store.sqlite.tapes import Tapes

GROUP = 512
"""How many jobs one transaction takes at most."""

_LOG_LIMIT = 8 * 1024 * 1024
_LOG_PER_COMMIT = 2 * 4096
_SURELY_UNDONE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
)


class Writer:
    """Does the writing jobs of a queue, each as if alone, many in one transaction."""

    def __init__(self, place: Place, *, health: Health, database: OpenFile) -> None:
        self._place = place
        self._health = health
        self._database = database
        self._lock = place.lock()
        self._sql = statements("write")
        self._unemptied = 0
        self._purging = True
        self._connection: sqlite3.Connection | None = None
        self._presence: Presence
        self._tapes: Tapes
        self._indexing: Indexing | None = None
        self._spare = Spare()
        self._execute: Callable[..., sqlite3.Cursor]

    def serve(self, queue: Queue) -> None:
        """Do the jobs until the queue ends, then close the file."""
        try:
            for jobs in queue.groups(GROUP, patience=self._patience):
                started = monotonic()
                self._do([job for job in jobs if _prepared(job, limit=self._place.inline_limit) and not self._is_aside(job)])
                deliver(jobs)
                self._note(jobs, seconds=monotonic() - started)
                self._tidy(queue)
                self._index(queue, is_pause=not jobs)
        finally:
            disconnect(self._connection, lock=self._lock)

    def _do(self, jobs: list[Job]) -> None:
        """Do all jobs that somebody still waits for in one transaction, or each in its own where one of them failed."""
        if not jobs:
            return
        if len(jobs) > 1 and any(isinstance(job.work, Apart) for job in jobs):
            for job in jobs:
                self._do([job])
            return
        try:
            self._health.check()
            if self._connection is None:
                self._open()
            with self._lock:
                self._presence.check()
                jobs = [job for job in jobs if not job.ticket.done()]
                failure = self._transact(jobs) if jobs else None
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            self._fail(jobs, exc)
            return
        if failure is not None and (len(jobs) == 1 or self._health.doubt is not None):
            self._fail(jobs, failure)
        elif failure is not None:
            for job in jobs:
                job.error = None
                self._do([job])

    def _open(self) -> None:
        self._database.check()
        self._connection = connect(self._place, lock=self._lock)
        self._presence = Presence(self._place.path, database=self._database)
        self._execute = self._connection.execute
        self._tapes = Tapes(self._connection, path=self._place.path)
        if self._place.search == "index":
            self._indexing = Indexing(self._connection, self._tapes.tails, presence=self._presence, lock=self._lock, synchronous=f"sync_{self._place.durability}")
        with suppress(OSError):
            self._unemptied = Path(f"{self._place.path}-wal").stat().st_size

    def _transact(self, jobs: list[Job]) -> Exception | None:
        """Do the jobs in one transaction and return None, or undo it and return what failed."""
        if self._lock.changed_hands():
            self._tapes.tails.forget()
        fleeting = all(isinstance(job.work, Act) and job.work.fleeting for job in jobs)
        try:
            if fleeting:
                self._execute(statements("connection")["sync_process"])
            if isinstance(apart := jobs[0].work, Apart):
                for name in apart.statements:
                    self._execute(self._sql[name]).fetchall()
            elif len(jobs) > 1 or not self._alone(jobs[0]):
                self._together(jobs)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it must be undone
            self._undo()
            return exc
        finally:
            if fleeting and self._connection is not None:
                self._execute(statements("connection")[f"sync_{self._place.durability}"])
        return None

    def _alone(self, job: Job) -> bool:
        """Append by a single statement, which is a transaction of its own; False where it takes more than one."""
        work, tapes = job.work, self._tapes
        row = tapes.single(work) if type(work) is Work else None
        if row is None:
            return False
        try:
            self._conclude(self._sql["insert_entry"], row)
        except sqlite3.IntegrityError:  # its key stands, or somebody wrote without the lock, such as a person at a prompt
            tapes.tails.forget()
            return False
        job.result = (tapes.inserted(work.steps[0]),)
        self._unemptied += _LOG_PER_COMMIT + _size(work)
        return True

    def _together(self, jobs: list[Job]) -> None:
        tapes = self._tapes
        self._execute(self._sql["begin"])
        tapes.tails.look()
        for job in jobs:
            try:
                job.result = tapes.do(job.work) if isinstance(job.work, Work) else job.work.do(tapes.tails)
            except PlayheadError as refusal:
                job.error = refusal
                continue
            self._unemptied += _size(job.work)
            self._purging |= not (isinstance(job.work, Work) and all(type(step) is Writing for step in job.work.steps))
        self._conclude(self._sql["commit"])
        self._unemptied += _LOG_PER_COMMIT

    def _conclude(self, statement: str, values: tuple[object, ...] = ()) -> None:
        """Run the statement that commits; whether it did is in doubt if the disk or the memory fails under it."""
        try:
            self._execute(statement, values)
        except (sqlite3.Error, MemoryError) as exc:
            code = getattr(exc, "sqlite_errorcode", None)
            if isinstance(exc, MemoryError) or (code is not None and code & 0xFF not in _SURELY_UNDONE):
                self._health.doubt = f"The machine failed while the store '{self._place.path}' committed ({exc})"
                self._health.check()
            raise

    def _undo(self) -> None:
        """Leave the transaction; a connection that cannot is given up for a new one."""
        self._tapes.tails.forget()
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            connection.execute(self._sql["rollback"])
        except sqlite3.Error:
            self._connection = self._indexing = None
            connection.close()

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        for job in jobs:
            job.error = copy(typed(error, path=self._place.path))
            job.error.__cause__ = error

    def _tidy(self, queue: Queue) -> None:
        """Empty the log into the file once it is long; remove what was reset while nothing waits."""
        if self._connection is None or self._health.doubt is not None:
            return
        self._empty_long_log()
        while self._purging and not len(queue):
            self._purging = self._aside(self._purge)

    def _aside(self, work: Callable[[], bool]) -> bool:
        """Do something nobody waits for, under the lock; False where it failed or there is no more of it."""

        def locked() -> bool:
            with self._lock:
                return work()

        return self._unlocked(locked)

    def _unlocked(self, work: Callable[[], bool]) -> bool:
        """Do something nobody waits for that takes the lock itself; False where it failed or there is no more of it."""
        try:
            return work()
        except StoreError:
            return False
        except sqlite3.Error as exc:
            self._undo()
            if exc.sqlite_errorcode & 0xFF not in _SURELY_UNDONE:
                self._health.doubt = f"The disk failed under the store '{self._place.path}' ({exc})"
            return False

    def _patience(self) -> float | None:
        """Return after how many seconds without work what nobody waits for is done; None where there is none."""
        return None if self._indexing is None or self._indexing.backlog.is_done else PATIENCE

    def _is_aside(self, job: Job) -> bool:
        """Do a job that makes volumes of what grew, for a moment; its result is whether there is more to do. False where it is another job."""
        if not isinstance(job.work, Behind):
            return False
        try:
            self._health.check()
            if self._connection is None:
                self._open()
            job.result = self._indexing is not None and self._indexing.hurry(job.work)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            self._undo()
            self._fail([job], exc)
        return True

    def _note(self, jobs: list[Job], *, seconds: float) -> None:
        """Take note of what grew."""
        if self._indexing is None:
            return
        steps = [step for job in jobs if isinstance(job.work, Work) and job.error is None for step in job.work.steps if isinstance(step, Writing)]
        for step in steps:
            self._indexing.backlog.grew(step.tape)
        self._spare.wrote(sum(len(step.rows) for step in steps), seconds=seconds)

    def _index(self, queue: Queue, *, is_pause: bool) -> None:
        """Make volumes of what grew, where there is time."""
        if self._indexing is None or self._indexing.backlog.is_done:
            return
        self._spare.use(self._index_a_little, is_pause=is_pause, goes_on=lambda: not len(queue) and self._health.doubt is None)

    def _index_a_little(self) -> bool:
        more = self._indexing is not None and self._unlocked(self._indexing.backlog.step)
        self._empty_long_log()
        return more

    def _empty_long_log(self) -> None:
        if self._indexing is not None:
            self._unemptied, self._indexing.written = self._unemptied + self._indexing.written, 0
        if self._unemptied >= _LOG_LIMIT:
            self._unemptied = 0
            self._aside(self._empty_log)

    def _empty_log(self) -> bool:
        self._execute(self._sql["checkpoint"]).fetchall()
        return False

    def _purge(self) -> bool:
        self._execute(self._sql["begin"])
        more = self._tapes.tails.purge()
        self._execute(self._sql["commit"])
        self._unemptied += _LOG_LIMIT // 16
        return more


def _prepared(job: Job, *, limit: int | None) -> bool:
    """Make the rows of a job, before the lock is taken; False where it is refused."""
    job.error = prepared(job.work, limit=limit) if isinstance(job.work, Work) else None
    return job.error is None


def _size(work: object) -> int:
    """Return how many bytes a job writes: those of its bodies and of the blobs beside them, or as many as it says."""
    if isinstance(work, Act):
        return work.size
    steps = [step for step in work.steps if isinstance(step, Writing)] if isinstance(work, Work) else []
    return sum(len(row.body) for step in steps for row in step.rows) + sum(piece.blob.size for step in steps for pieces in step.pieces.values() for piece in pieces)
