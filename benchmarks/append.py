"""An append to the SQLite store against a bare insert: the same bytes, one table with one index, the same durability and hop.

The bare insert runs in a thread of its own, each row a commit: by `run_in_executor`, and by the store's own, shorter hop.
`grouped` commits all rows that wait together, as the store does.
With several writers they share one tape, and then have one each.
Run: python -m benchmarks.append [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import in_turns, parser, report
from playhead.entry import codec
from playhead.entry.entry import TapeEntry, stamped
from playhead.store.concurrency.hop import deliver
from playhead.store.concurrency.lane import Lane, Queue
from playhead.store.rows.connection import Durability
from playhead.store.sqlite.store import SQLiteTapeStore

ENTRY = TapeEntry.message({"role": "user", "content": "The quick brown fox jumps over the lazy dog. " * 22})
COUNTS = {"process": 320, "disk": 96}
Append = Callable[[int], Awaitable[object]]
"""Appends once, for the writer of that number."""


class Bare:
    """One table with one index, one thread, one insert a row."""

    def __init__(self, path: Path, *, durability: Durability, grouped: bool) -> None:
        self._path, self._sync, self._most = path, {"disk": "FULL", "process": "NORMAL"}[durability], 512 if grouped else 1
        self._row = (1, ENTRY.kind, ENTRY.date, codec.encode(stamped(ENTRY).meta), codec.encode(ENTRY.payload))
        self._lane = Lane(self._serve, size=1, name="bare")
        self._seq = 0

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        for setting in ("busy_timeout = 30000", "journal_mode = WAL", f"synchronous = {self._sync}"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, tape INTEGER, kind TEXT, date TEXT, meta BLOB, body BLOB, seq INTEGER)")
        connection.execute("CREATE INDEX IF NOT EXISTS bare_place ON bare (tape, seq)")
        return connection

    def _insert(self, connection: sqlite3.Connection) -> None:
        self._seq += 1
        connection.execute("INSERT INTO bare (tape, kind, date, meta, body, seq) VALUES (?, ?, ?, ?, ?, ?)", (*self._row, self._seq))

    def _serve(self, queue: Queue) -> None:
        connection = self._opened()
        for jobs in queue.groups(self._most):
            if len(jobs) > 1:
                connection.execute("BEGIN")
            for _ in jobs:
                self._insert(connection)
            if len(jobs) > 1:
                connection.execute("COMMIT")
            deliver(jobs)
        connection.close()

    async def append(self, writer: int) -> None:
        del writer
        await self._lane.run(None)

    def close(self) -> None:
        for thread in self._lane.stop():
            thread.join()


class Executed(Bare):
    """The same by `run_in_executor`."""

    def __init__(self, path: Path, *, durability: Durability) -> None:
        super().__init__(path, durability=durability, grouped=False)
        self._executor = ThreadPoolExecutor(1)
        self._connection = self._opened()

    async def append(self, writer: int) -> None:
        del writer
        await asyncio.get_running_loop().run_in_executor(self._executor, self._insert, self._connection)

    def close(self) -> None:
        self._executor.shutdown()
        self._connection.close()


async def timed(append: Append, *, writers: int, count: int) -> float:
    """Return the seconds that one append takes when so many writers share the appends."""

    async def write(writer: int) -> None:
        for _ in range(count // writers):
            await append(writer)

    start = perf_counter()
    await asyncio.gather(*map(write, range(writers)))
    return (perf_counter() - start) / count


async def measure(place: Path, *, durability: Durability, writers: int, rounds: int) -> list[list[object]]:
    """Return a row for the store and one for each bare insert."""
    bares = {
        "bare insert": Executed(place / "executed.db", durability=durability),
        "bare, own hop": Bare(place / "bare.db", durability=durability, grouped=False),
        "grouped, own hop": Bare(place / "grouped.db", durability=durability, grouped=True),
    }
    async with SQLiteTapeStore(place / "store.db", durability=durability) as store:
        appends: dict[str, Append] = {**{name: bare.append for name, bare in bares.items()}, "append": lambda _: store.append("tape", ENTRY)}
        if writers > 1:
            appends["append, a tape each"] = lambda writer: store.append(f"tape {writer}", ENTRY)
        runs = {name: partial(timed, append, writers=writers, count=COUNTS[durability]) for name, append in appends.items()}
        figures = await in_turns(runs, rounds=rounds)
    for bare in bares.values():
        bare.close()
    return [[durability, writers, name, figure.seconds * 1e6, figure.ratio] for name, figure in figures.items()]


def main() -> None:
    """Print a row for each durability, number of writers and way to write."""
    options = parser(__doc__).parse_args()
    rows: list[list[object]] = []
    for durability in ("process", "disk"):
        for writers in (1, 16):
            with tempfile.TemporaryDirectory() as place:
                rows += asyncio.run(measure(Path(place), durability=durability, writers=writers, rounds=options.rounds))
    report("append", ["durability", "writers", "what", "us", "ratio"], rows, file=options.json)


if __name__ == "__main__":
    main()
