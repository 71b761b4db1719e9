"""Tapes in a directory, one file of JSON lines each: to be read by eye, and by any number of tasks, threads and processes at once."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar, get_args
from weakref import finalize
from zlib import crc32

from anyio import to_thread

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.connection import Durability
from playhead.store.failures import typed
from playhead.store.file import finder, listing, reader
from playhead.store.file.codec import LineCodec
from playhead.store.file.disk import Disk
from playhead.store.file.findings import Finding, Findings
from playhead.store.file.index import Index
from playhead.store.file.lines import body_of
from playhead.store.file.opened import answered
from playhead.store.file.place import Health, Place
from playhead.store.file.recording import Recording
from playhead.store.file.writer import Append, Reset, Writer
from playhead.store.hop import deliver
from playhead.store.lane import Lane, Queue, stop_and_wait
from playhead.store.names import checked_name
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery

Result = TypeVar("Result")

_READERS = 4
_WRITERS = 4


class FileTapeStore:
    """Keeps tapes in a directory, one file of JSON lines each, `demo-user.jsonl` for the tape `demo-user`.

    `durability` says what an acknowledged append survives: "disk" a power loss, "process" the end of the process. `timeout` is how
    many seconds it waits for other processes before StoreBusy. `on_finding` hears of what was amiss in a file and mended; without it
    that is logged, `findings` has the newest. `codec` keeps payload and meta in another form, compressed or enciphered. `disk` makes
    the calls to the system. Usable as constructed, or with `async with`; works under asyncio and trio, and a fork of the process may
    go on using it. All promises hold (D1 to D8). Not for network file systems, which do not keep locks.
    """

    promises = frozenset({"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"})

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "disk",
        timeout: float = 30.0,
        on_finding: Callable[[Finding], None] | None = None,
        codec: LineCodec | None = None,
        disk: Disk | None = None,
    ) -> None:
        if durability not in get_args(Durability):
            raise InvalidInput(f"A store's durability is 'disk' or 'process', not {durability!r}.")
        if not timeout >= 0:
            raise InvalidInput(f"A store's timeout is a number of seconds, not {timeout!r}.")
        place = Place(
            directory=_checked_path(path),
            durability=durability,
            timeout=timeout,
            disk=Disk() if disk is None else disk,
            findings=Findings(on_finding),
            health=Health(),
            codec=codec,
        )
        self._place = place
        self._writing = [Lane(lambda queue: Writer(place).serve(queue), size=1, name="playhead file writer") for _ in range(_WRITERS)]
        self._reading = Lane(partial(_serve_reads, place), size=_READERS, name="playhead file reader")
        self._closed = False
        finalize(self, _let_go, *self._writing, self._reading)

    @property
    def durability(self) -> Durability:
        """What an acknowledged append survives."""
        return self._place.durability

    @property
    def path(self) -> Path:
        """Where the directory is."""
        return Path(self._place.directory)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was amiss in the files, the newest hundred, the oldest of them first."""
        return self._place.findings.newest

    def __repr__(self) -> str:
        return f"FileTapeStore({self._place.directory!r}, durability={self._place.durability!r})"

    async def __aenter__(self) -> FileTapeStore:
        """Make the directory where it is missing, so that what is wrong with it shows here."""
        await self._write("", None)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes that hold something, sorted."""
        return await self._read(listing.tapes)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge, StoreDamaged."""
        return await self._ask(query.tape, partial(reader.fetch, query=query))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        """Append one entry and return it as stored."""
        return (await self._write(tape, Append(checked_name(tape), (entry,), [body_of(entry)], None)))[0]

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Append all entries or none and return them as stored.

        An entry whose idempotency key stands already is not written again; where all stand, the head is not compared.
        Raises Conflict, KeyConflict, InvalidInput, StoreError; AppendOutcomeUnknown where nobody can say.
        """
        return await self._write(tape, Append(checked_name(tape), entries, [body_of(entry) for entry in entries], expected_head))

    async def reset(self, tape: str, *, entries: Sequence[TapeEntry] = (), expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry, start the next generation with `entries`, all at once; return those as stored."""
        return await self._write(tape, Reset(checked_name(tape), entries, [body_of(entry) for entry in entries], expected_head))

    async def head(self, tape: str) -> Head:
        """Return where the tape ends; EMPTY for a tape that was never written."""
        return await self._ask(tape, lambda recording: recording.tail.head)

    async def find(self, tape: str, *, keys: Sequence[str] = (), uids: Sequence[str] = ()) -> Mapping[str, TapeEntry]:
        """Return, by idempotency key and by uid, those entries of the tape that have one of these."""

        def search(recording: Recording) -> Mapping[str, TapeEntry]:
            return finder.find(recording, Index(self._place, self._place.stem(tape)), keys=keys, uids=uids)

        return await self._ask(tape, search)

    async def count(self, query: TapeQuery) -> int:
        """Return how many entries `fetch_all` would return."""
        return await self._ask(query.tape, partial(reader.count, query=query))

    async def aclose(self) -> None:
        """Finish what waits and let go of the files; closing twice is fine."""
        self._closed = True
        await to_thread.run_sync(partial(stop_and_wait, *self._writing, self._reading))

    def _write(self, tape: str, work: Append | None) -> Awaitable[tuple[TapeEntry, ...]]:
        """Hand a tape's work to the writer that does all of its work; not itself a coroutine, as each one costs an append time."""
        self._check_open()
        return self._writing[crc32(tape.encode()) % _WRITERS].run(work)

    async def _ask(self, tape: str, question: Callable[[Recording], Result]) -> Result:
        return await self._read(partial(answered, tape=checked_name(tape), question=question))

    async def _read(self, question: Callable[[Place], Result]) -> Result:
        self._check_open()
        answer: Result = await self._reading.run(question)
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store '{self._place.directory}' is closed; open it again with FileTapeStore(path).")


def _serve_reads(place: Place, queue: Queue) -> None:
    """Answer questions, each from the files as they are then."""
    for job in queue:
        try:
            place.health.check()
            job.result = job.work(place)
        except Exception as exc:  # noqa: BLE001 - whatever it is, somebody waits for the answer
            job.error = typed(exc, path=place.directory)
            job.error.__cause__ = None if job.error is exc else exc
        deliver((job,))


def _let_go(*lanes: Lane) -> None:
    for lane in lanes:
        lane.stop()


def _checked_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"A store's path is a non-empty text or Path, not {path!r}.")
    return str(Path(text).absolute())
