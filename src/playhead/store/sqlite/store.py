"""Tapes in one SQLite file: many tasks, threads and processes may use it at once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast, get_args
from weakref import finalize

from anyio import to_thread

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, ReadOnly, StoreUnavailable
from playhead.store.archiving.packing import MOST_BYTES
from playhead.store.archiving.retention import ArchiveReport, archived_in_steps
from playhead.store.blobs import Blob, BlobNames, weighed
from playhead.store.change import BranchRecord, Change, Lease, Reset
from playhead.store.concordance.library import Library
from playhead.store.concordance.patience import Behind, hits
from playhead.store.concurrency.lane import Lane, Queue, stop_and_wait
from playhead.store.concurrency.timeout import checked_timeout
from playhead.store.concurrency.turns import Turns
from playhead.store.condition.health import Health
from playhead.store.parting import INLINE, checked_limit
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.rows.connection import Durability, Network, Place, SearchBy
from playhead.store.rows.presence import OpenFile
from playhead.store.rules.names import checked_name
from playhead.store.rules.work import Act, Apart, Work, appended, changed
from playhead.store.sqlite import blobs, marking, reader, records
from playhead.store.sqlite.answering import Shared, Watched, serve_reads
from playhead.store.sqlite.archived import archive
from playhead.store.sqlite.branching import collect
from playhead.store.sqlite.leases import give_back, move_cursor, take_lease
from playhead.store.sqlite.renaming import forget, rename
from playhead.store.sqlite.searching import Search
from playhead.store.sqlite.tails import Tails
from playhead.store.sqlite.writer import Writer

Result = TypeVar("Result")

_READERS = 4


class SQLiteTapeStore:
    """Keeps tapes in one SQLite file, opened at the first use; also an async context manager that closes it.

    `durability` says what an acknowledged append survives: "disk" a power loss, "process" the end of the process.
    `timeout` is how many seconds it waits for other processes before StoreBusy. Works under asyncio and trio, in
    any number of tasks and threads, with any number of stores on one file; a fork of the process may go on using it.
    Entries are searched by an index that is filled behind them, while there is time; with `search="scan"` there is none, and a search
    reads all of its tape.
    A network file system, where the log does not work between machines, is refused unless `network` is "allow". With `read_only`
    nothing is written, made or locked, so a read-only place will do, and every method that writes raises ReadOnly.
    Of a payload with more than `inline_limit` bytes of JSON the large values are kept as blobs (None: of none); entries are read back whole.
    All promises hold (D1 to D8): a file that is removed or replaced while it is open raises StoreUnavailable, an entry
    that is not as it was written StoreDamaged, when its payload or meta is first read.

    Source: SQLite's write-ahead log, https://sqlite.org/wal.html.
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "disk",
        timeout: float = 30.0,
        network: Network = "refuse",
        search: SearchBy = "index",
        read_only: bool = False,
        inline_limit: int | None = INLINE,
    ) -> None:
        if durability not in get_args(Durability):
            raise InvalidInput(f"A store's durability is 'disk' or 'process', not {durability!r}.")
        if network not in get_args(Network):
            raise InvalidInput(f"A store on a network file system is something to 'refuse' or to 'allow', not {network!r}.")
        if search not in get_args(SearchBy):
            raise InvalidInput(f"A store is searched by 'index' or by 'scan', not by {search!r}.")
        place = Place(path=_checked_path(path), durability=durability, timeout=checked_timeout(timeout), network=network, search=search, inline_limit=checked_limit(inline_limit))
        self._place = place
        self._load = partial(blobs.load, place)
        self._read_only = read_only
        health, database = Health(), OpenFile(place.path, store=place.path)
        self._writing = Lane(lambda queue: Writer(place, health=health, database=database).serve(queue), size=1, name="playhead writer")
        self._reading = Lane(partial(_read, place, Watched if read_only else partial(Shared, health=health, database=database)), size=_READERS, name="playhead reader")
        self._turns = Turns(f"{os.path.realpath(place.path)}.locks")
        self._library = Library()
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
        try:
            await (self._read(_nothing) if self._read_only else self._act(_nothing))
        except BaseException:
            _let_go(self._writing, self._reading)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
        return await self._read(records.names)

    async def families(self) -> list[str]:
        """Return the names of all tapes of which anything is kept, if only by a closed branch or a sidecar, sorted."""
        return await self._read(records.families)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, BranchNotFound."""
        checked_name(query.tape)
        return await self._read(partial(reader.fetch, query=query, load=self._load))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        self._check_writable()
        ((stored,),) = await self._writing.run(appended(tape, (entry,)))
        return cast(TapeEntry, stored)

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, LeaseLost, BranchClosed, BranchNotFound, InvalidInput, StoreError; AppendOutcomeUnknown where nobody can say.
        """
        return await self._write_one(appended(tape, entries, expected_head=expected_head, fence=fence))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        change = Reset(tape=tape, entries=entries, expected_head=expected_head)
        return await self._write_one(changed([change], unless=None, at=clock.now()))

    async def apply(self, changes: Sequence[Change], *, unless: tuple[str, str] | None = None) -> tuple[tuple[TapeEntry, ...], ...] | None:
        """Make all changes to the tapes of one family, in order, or none; return for each the entries as stored.

        None where an entry with the key of `unless` stands on its tape; then nothing is changed. It is one transaction.
        """
        self._check_writable()
        if not changes:
            return ()
        written: tuple[tuple[TapeEntry, ...], ...] | None = await self._writing.run(changed(changes, unless=unless, at=clock.now()))
        return written

    async def branch(self, name: str) -> BranchRecord | None:
        """Return what is known of a branch, or of the sidecar of a branch, that was forked; None where there is none."""
        return await self._read(partial(records.branch, name=checked_name(name)))

    async def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, closed ones too, in the order they were made; sidecars are left out."""
        return await self._read(partial(records.branches, tape=checked_name(tape)))

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names under which sidecars of a tape or branch keep something, sorted."""
        return await self._read(partial(records.sidecars, tape=checked_name(tape)))

    async def marks(self, tape: str, *, after: int = 0, limit: int | None = None) -> list[Head]:
        """Return for each entry of a sidecar behind the id `after`, of at most `limit` of them, where its main tape ended when it was written."""
        return await self._read(partial(records.marks, tape=checked_name(tape), after=after, limit=limit))

    async def collect(self, tape: str, *, before: datetime) -> list[str]:
        """Remove the branches of a tape's family that were closed before an instant and that no branch was forked from; return their names."""
        return await self._act(partial(collect, tape=checked_name(tape), before=before))

    async def forget(self, tape: str) -> None:
        """Let go of a sidecar that holds nothing, or of a tape whose whole family holds nothing, as if it had never been; nothing else is changed."""
        await self._act(partial(forget, tape=checked_name(tape)))

    async def rename(self, tape: str, name: str) -> None:
        """Give a tape another name, its branches and sidecars with it; or a branch another one in its family."""
        await self._act(partial(rename, tape=checked_name(tape), name=checked_name(name)))

    async def lease(self, tape: str, *, owner: str, seconds: float) -> Lease:
        """Lease a tape, which need not exist; who holds it already gets it longer, under the same epoch. Raises LeaseHeld."""
        return await self._act(partial(take_lease, tape=checked_name(tape), owner=owner, seconds=seconds), fleeting=True)

    async def release(self, lease: Lease) -> None:
        """Give a lease back before its time; one that another holder has followed is left alone."""
        await self._act(partial(give_back, lease=lease), fleeting=True)

    async def cursor(self, tape: str, consumer: str) -> Head:
        """Return how far a consumer has read a tape; EMPTY where it never did."""
        return await self._read(partial(records.cursor, tape=checked_name(tape), consumer=consumer))

    async def cursors(self, tape: str) -> dict[str, Head]:
        """Return how far each consumer has read a tape, by the consumer's name."""
        return await self._read(partial(records.cursors, tape=checked_name(tape)))

    async def move_cursor(self, tape: str, consumer: str, head: Head) -> None:
        """Remember how far a consumer has read a tape."""
        await self._act(partial(move_cursor, tape=checked_name(tape), consumer=consumer, head=head), fleeting=True)

    def lock(self, tape: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others who lock the same tape, in every task, thread and process that uses this file, inside `async with`."""
        self._check_writable()
        return self._turns.turn(checked_name(tape))

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return await self._read(partial(reader.head, tape=checked_name(tape)))

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""
        return await self._read(partial(reader.find, tape=checked_name(tape), keys=tuple(keys), uids=tuple(uids), load=self._load))

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool = False) -> list[Hit]:
        """Return the entries of what a query leaves that are most about a text, the best first. Raises what a query raises."""
        checked_name(query.tape)
        uses_volumes = self._place.search == "index"

        def search(patience: int | None) -> Awaitable[list[Hit] | Behind[int]]:
            return self._read(Search(query=query, text=text, smoothed=smoothed, library=self._library, load=self._load, uses_volumes=uses_volumes, patience=patience))

        return await hits(search, catch_up=self._writing.run if uses_volumes and not self._read_only else None)

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        checked_name(query.tape)
        return await self._read(partial(reader.count, query=query, load=self._load))

    async def put_blob(self, data: bytes, *, mime: str | None = None) -> Blob:
        """Keep bytes and return what they are called by; the same bytes again are kept once, under the type that was said first."""
        kept, blob = await weighed(data, mime=mime)
        return await self._act(partial(blobs.put, blob=blob, data=kept, at=clock.now()))

    async def get_blob(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged where they are not those that were put."""
        return await self._read(partial(blobs.get, digest=digest, path=self._place.path))

    async def blobs(self) -> list[Blob]:
        """Return what is kept, by digest."""
        return await self._read(blobs.listed)

    async def idle_blobs(self, *, since: datetime) -> list[Blob]:
        """Return the blobs that were not put since an instant, and that no append named since."""
        return await self._read(partial(blobs.idle, since=since))

    async def named_blobs(self) -> AsyncGenerator[BlobNames, None]:
        """Yield, a part at a time, every digest that a row names, of whatever tape and generation. Raises StoreDamaged at one that is not as it was written."""
        total, done = await self._read(marking.number), 0
        place: int | None = marking.BEGINNING
        while place is not None:
            part = await self._read(partial(marking.marked, behind=place))
            done, place = done + part.rows, part.last
            yield BlobNames(digests=part.digests, done=done, total=max(done, total))

    async def drop_blobs(self, digests: Iterable[str], *, idle_since: datetime) -> list[str]:
        """Remove blobs in one transaction, each only if it was neither put nor named by an append since an instant; return those that were removed."""
        return await self._act(partial(blobs.drop, digests=tuple(digests), idle_since=idle_since))

    async def archive(self, tape: str, *, upto: int) -> ArchiveReport:
        """Compress those entries up to an id that the tape itself keeps in this generation; their rows stay, what they say goes to segments.

        Each segment is written, read back and taken out of its rows in one transaction, so others write between them. Raises StoreDamaged, BranchNotFound.
        """
        checked_name(tape)
        return await archived_in_steps(tape, lambda: self._act(partial(archive, tape=tape, upto=upto), size=3 * MOST_BYTES))

    async def compact(self) -> None:
        """Give the room that was freed back to the disk: the file is written anew, which takes as much room again meanwhile; others who write wait."""
        self._check_writable()
        await self._writing.run(Apart(("compact", "checkpoint_all")))

    async def aclose(self) -> None:
        """Finish what waits and let go of the file; closing twice is fine."""
        self._closed = True
        await to_thread.run_sync(stop_and_wait, self._writing, self._reading)
        self._turns.close()

    async def _write_one(self, work: Work) -> tuple[TapeEntry, ...]:
        self._check_writable()
        written: tuple[TapeEntry, ...]
        (written,) = await self._writing.run(work)
        return written

    async def _act(self, do: Callable[[Tails], Result], *, fleeting: bool = False, size: int = 0) -> Result:
        """Have something done by the writer, which then has the clock of the task that asks for it."""
        self._check_writable()
        context = copy_context()
        done: Result = await self._writing.run(Act(lambda tails: context.run(do, tails), fleeting, size))
        return done

    async def _read(self, question: Callable[[sqlite3.Connection], Result]) -> Result:
        self._check_open()
        answer: Result = await self._reading.run(question)
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store '{self._place.path}' is closed; open it again with SQLiteTapeStore(path).")

    def _check_writable(self) -> None:
        self._check_open()
        if self._read_only:
            raise ReadOnly(f"The store '{self._place.path}' was opened to be read only; open it with SQLiteTapeStore(path) to write.")


def _read(place: Place, source: Callable[[Place], Shared | Watched], queue: Queue) -> None:
    serve_reads(source(place), queue, path=place.path)


def _nothing(_: object) -> None:
    """Do nothing, for which the file is opened."""


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
