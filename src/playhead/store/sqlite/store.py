"""Tapes in one SQLite file: many tasks, threads and processes may use it at once."""

from __future__ import annotations

import os
import sqlite3
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast, get_args
from weakref import finalize

from anyio import to_thread

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.connection import Durability, Network, Place, connect, disconnect
from playhead.store.failures import typed
from playhead.store.hop import deliver
from playhead.store.intake import meta_to_keep
from playhead.store.lane import Lane, Queue, stop_and_wait
from playhead.store.names import checked_name
from playhead.store.presence import OpenFile, Presence
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.sqlite import reader
from playhead.store.sqlite.tapes import Append, Reset
from playhead.store.sqlite.writer import Health, Writer
from playhead.store.statements import statements

Result = TypeVar("Result")

_READERS = 4


class SQLiteTapeStore:
    """Keeps tapes in one SQLite file, opened at the first use; also an async context manager that closes it.

    `durability` says what an acknowledged append survives: "disk" a power loss, "process" the end of the process.
    `timeout` is how many seconds it waits for other processes before StoreBusy. Works under asyncio and trio, in
    any number of tasks and threads, with any number of stores on one file; a fork of the process may go on using it.
    A network file system, where the log does not work between machines, is refused unless `network` is "allow".
    All promises hold (D1 to D8): a file that is removed or replaced while it is open raises StoreUnavailable, an entry
    that is not as it was written StoreDamaged, when its payload or meta is first read.

    Source: SQLite's write-ahead log, https://sqlite.org/wal.html.
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})

    def __init__(self, path: str | os.PathLike[str], *, durability: Durability = "disk", timeout: float = 30.0, network: Network = "refuse") -> None:
        if durability not in get_args(Durability):
            raise InvalidInput(f"A store's durability is 'disk' or 'process', not {durability!r}.")
        if not timeout >= 0:
            raise InvalidInput(f"A store's timeout is a number of seconds, not {timeout!r}.")
        if network not in get_args(Network):
            raise InvalidInput(f"A store on a network file system is something to 'refuse' or to 'allow', not {network!r}.")
        place = Place(path=_checked_path(path), durability=durability, timeout=timeout, network=network)
        self._place = place
        health, database = Health(), OpenFile(place.path, store=place.path)
        self._writing = Lane(lambda queue: Writer(place, health=health, database=database).serve(queue), size=1, name="playhead writer")
        self._reading = Lane(partial(_serve_reads, place, health, database), size=_READERS, name="playhead reader")
        self._closed = False
        finalize(self, _let_go, self._writing, self._reading)

    @property
    def durability(self) -> Durability:
        """What an acknowledged append survives."""
        return self._place.durability

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(self._place.path)

    def __repr__(self) -> str:
        return f"SQLiteTapeStore({self._place.path!r}, durability={self._place.durability!r})"

    async def __aenter__(self) -> SQLiteTapeStore:
        """Open the file, so that what is wrong with it shows here."""
        await self._write(None)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something, sorted."""
        return await self._read(reader.names)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        checked_name(query.tape)
        return await self._read(partial(reader.fetch, query=query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        self._check_open()
        (stored,) = await self._writing.run(_work(Append, tape, (entry,), None))
        return cast(TapeEntry, stored)

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, InvalidInput, StoreError; AppendOutcomeUnknown where nobody can say.
        """
        return await self._write(_work(Append, tape, entries, expected_head))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        return await self._write(_work(Reset, tape, entries, expected_head))

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return await self._read(partial(reader.head, tape=checked_name(tape)))

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        return await self._read(partial(reader.find, tape=checked_name(tape), keys=tuple(keys), uids=tuple(uids)))

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        checked_name(query.tape)
        return await self._read(partial(reader.count, query=query))

    async def aclose(self) -> None:
        """Finish what waits and let go of the file; closing twice is fine."""
        self._closed = True
        await to_thread.run_sync(stop_and_wait, self._writing, self._reading)

    async def _write(self, work: Append | None) -> tuple[TapeEntry, ...]:
        self._check_open()
        written: tuple[TapeEntry, ...] = await self._writing.run(work)
        return written

    async def _read(self, question: Callable[[sqlite3.Connection], Result]) -> Result:
        self._check_open()
        answer: Result = await self._reading.run(question)
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store '{self._place.path}' is closed; open it again with SQLiteTapeStore(path).")


def _work(make: type[Append], tape: str, entries: Sequence[TapeEntry], expected_head: Head | None) -> Append:
    given = tuple(entries)
    return make(checked_name(tape), given, [meta_to_keep(entry) for entry in given], expected_head)


def _serve_reads(place: Place, health: Health, database: OpenFile, queue: Queue) -> None:
    """Answer questions, each from one snapshot of the file, on a connection of this thread's own."""
    lock, connection, sql = place.lock(), None, statements("read")
    try:
        for job in queue:
            try:
                health.check()
                if connection is None:
                    database.check()
                    connection = connect(place, lock=lock)
                    presence = Presence(place.path, database=database)
                presence.check()
                connection.execute(sql["begin"])
                try:
                    job.result = job.work(connection)
                finally:
                    if connection.in_transaction:
                        connection.execute(sql["end"])
            except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
                job.error = typed(exc, path=place.path)
                job.error.__cause__ = None if job.error is exc else exc
                traceback.clear_frames(exc.__traceback__)  # who keeps the error must not keep a cursor: it would hold the snapshot
            deliver((job,))
    finally:
        disconnect(connection, lock=lock)


def _let_go(*lanes: Lane) -> None:
    for lane in lanes:
        lane.stop()


def _checked_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"A store's path is a non-empty text or Path, not {path!r}.")
    if text == ":memory:" or text.startswith("file:"):
        raise InvalidInput(f"{text!r} is no path; use InMemoryTapeStore() for a store in memory, and a plain path for a file.")
    return str(Path(text).absolute())
