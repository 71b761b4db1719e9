"""The readers of a SQLite store: each answers questions, one after the other, from a snapshot of the file."""

from __future__ import annotations

import os
import sqlite3
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from playhead.store.concurrency.hop import deliver
from playhead.store.concurrency.lane import Queue
from playhead.store.condition.failures import typed
from playhead.store.condition.health import Health
from playhead.store.rows.connection import Place, connect, connect_to_read, disconnect, log_of
from playhead.store.rows.presence import OpenFile, Presence
from playhead.store.rows.statements import statements

Answer = TypeVar("Answer")
Question = Callable[[sqlite3.Connection], Any]


class Source(Protocol):
    """Where a reader has its connection from."""

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the file as it is now."""
        ...

    def is_calm(self) -> bool:
        """Return whether the file is still the one that the connection was opened for."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def serve_reads(source: Source, queue: Queue, *, path: str) -> None:
    """Answer the questions of a queue until it ends."""
    try:
        for job in queue:
            try:
                job.result = steady(source, partial(_from_snapshot, question=job.work))
            except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
                job.error = typed(exc, path=path)
                job.error.__cause__ = None if job.error is exc else exc
                traceback.clear_frames(exc.__traceback__)  # who keeps the error must not keep a cursor: it would hold the snapshot
            deliver((job,))
    finally:
        source.close()


def steady(source: Source, ask: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Return what is asked of a connection, asked again where the file changed under it. Raises what the asking raises while the file is calm."""
    while True:
        try:
            answer = ask(source.connection())
        except Exception:
            if source.is_calm():
                raise
            continue
        if source.is_calm():
            return answer


def _from_snapshot(connection: sqlite3.Connection, question: Question) -> Any:
    sql = statements("read")
    connection.execute(sql["begin"])
    try:
        return question(connection)
    finally:
        if connection.in_transaction:
            connection.execute(sql["end"])


class Shared:
    """A connection to a file that this store and others write to."""

    def __init__(self, place: Place, *, health: Health, database: OpenFile) -> None:
        self._place = place
        self._health = health
        self._database = database
        self._lock = place.lock()
        self._connection: sqlite3.Connection | None = None
        self._presence: Presence

    def connection(self) -> sqlite3.Connection:
        """Return the connection, the same one for as long as the file is there."""
        self._health.check()
        if self._connection is None:
            self._database.check()
            self._connection = connect(self._place, lock=self._lock)
            self._presence = Presence(self._place.path, database=self._database)
        self._presence.check()
        return self._connection

    def is_calm(self) -> bool:
        """Return True: SQLite itself keeps what a snapshot shows."""
        return True

    def close(self) -> None:
        """Let go of the file."""
        disconnect(self._connection, lock=self._lock)


class Watched:
    """A connection to a file that is only read, without a lock or a file of its own: a read-only place will do.

    While somebody has the log beside the file in use, it is read as SQLite does. While there is none, the file is all there is and
    nothing but a new log can change it; that there was none is looked at before and after each question.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._seen: object = None
        self._connection: sqlite3.Connection | None = None

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the file as it is now."""
        seen = self._look()
        if self._connection is None or seen != self._seen:
            self.close()
            self._seen = seen
            self._connection = connect_to_read(self._place)
        return self._connection

    def is_calm(self) -> bool:
        """Return whether the file and its log are still the ones that the connection was opened for."""
        return self._look() == self._seen

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _look(self) -> object:
        file, log = _stat(self._place.path), log_of(self._place.path)
        if log is not None:
            return file and file[:2], log[:2]
        return file


def _stat(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
