"""The file store against a bare write and fdatasync of the same bytes, with the same hop; and what it costs as the tape grows.

The bare write does one entry at a time; `grouped` writes all that wait at once, as the store does.
Run: python -m benchmarks.file_store [--long] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Figure, in_turns, parser, report
from playhead.entry.entry import TapeEntry
from playhead.store.concurrency.hop import deliver
from playhead.store.concurrency.lane import Lane, Queue
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Durability

TEXT = "The quick brown fox jumps over the lazy dog. " * 22
ENTRY = TapeEntry.message({"role": "user", "content": TEXT})
COUNTS = {"process": 1_600, "disk": 320}
SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
TAIL = 50
QUERY = TapeQuery(tape="tape")
Append = Callable[[], Awaitable[object]]
Do = Callable[[FileTapeStore], Awaitable[object]]

OPENING = """
import asyncio, resource, sys
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

async def main():
    async with FileTapeStore(sys.argv[2]) as small:
        await small.append("t", TapeEntry.event("e"))
        await small.fetch_all(TapeQuery(tape="t").newest_first().limit(50))
    before = resident()
    store = FileTapeStore(sys.argv[1])
    await store.fetch_all(TapeQuery(tape="tape").newest_first().limit(50))
    await store.append("tape", TapeEntry.event("e"))
    print(resident() - before)
    await store.aclose()

asyncio.run(main())
"""


class Bare:
    """One file, one thread, one write a job, flushed where that is asked for."""

    def __init__(self, path: Path, line: bytes, *, flushed: bool, most: int) -> None:
        self._path, self._line, self._flushed, self._most = path, line, flushed, most
        self._lane = Lane(self._serve, size=1, name="bare")

    def _serve(self, queue: Queue) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for jobs in queue.groups(self._most):
            os.write(fd, self._line * len(jobs))
            if self._flushed:
                os.fdatasync(fd)
            deliver(jobs)
        os.close(fd)

    async def append(self) -> None:
        await self._lane.run(None)

    def close(self) -> None:
        for thread in self._lane.stop():
            thread.join()


async def timed(append: Append, *, writers: int, count: int) -> float:
    """Return the seconds that one append takes when so many writers share the appends."""

    async def write() -> None:
        for _ in range(count // writers):
            await append()

    start = perf_counter()
    await asyncio.gather(*(write() for _ in range(writers)))
    return (perf_counter() - start) / count


async def measure_appends(place: Path, *, durability: Durability, writers: int, rounds: int) -> list[list[object]]:
    """Return a row for the store and one for each bare write."""
    async with FileTapeStore(place, durability=durability) as store:
        await store.append("tape", ENTRY)
        line = (place / "tape.jsonl").read_bytes()
        bare, grouped = (Bare(place / f"bare-{most}", line, flushed=durability == "disk", most=most) for most in (1, 512))
        appends: dict[str, Append] = {"bare write": bare.append, "grouped": grouped.append, "append": partial(store.append, "tape", ENTRY)}
        if writers == 1:
            del appends["grouped"]
        runs = {name: partial(timed, append, writers=writers, count=COUNTS[durability]) for name, append in appends.items()}
        figures = await in_turns(runs, rounds=rounds)
    bare.close()
    grouped.close()
    return [[durability, writers, name, figure.seconds * 1e6, figure.ratio] for name, figure in figures.items()]


def entry(i: int, count: int) -> TapeEntry:
    """Return an entry of a tape of so many: an anchor at the front and one before the last 50, else a message of 1 KB with a key."""
    if i in (0, count - TAIL):
        return TapeEntry.anchor("here")
    return TapeEntry.message({"role": "user", "content": TEXT}, uid=f"uid {i}", **{IDEMPOTENCY_KEY: f"key {i}"})


async def fill(place: Path, count: int) -> None:
    async with FileTapeStore(place, durability="process") as store:
        for start in range(0, count, 500):
            await store.append_many("tape", [entry(i, count) for i in range(start, min(start + 500, count))])
        for _ in range(TAIL + 1):
            await store.append("tape", ENTRY)
        await store.find("tape", uids=["uid 1"])


def doings(count: int) -> dict[str, Do]:
    """Return what is done with a tape of so many entries."""
    return {
        "head": lambda store: store.head("tape"),
        "last 50": lambda store: store.fetch_all(QUERY.newest_first().limit(TAIL)),
        "behind the last anchor": lambda store: store.fetch_all(QUERY.last_anchor().limit(TAIL)),
        "50 in the middle": lambda store: store.fetch_all(QUERY.after(count // 2).limit(TAIL)),
        "find an early uid": lambda store: store.find("tape", uids=["uid 7"]),
        "append": lambda store: store.append("tape", TapeEntry.event("tock")),
        "replay an early key": lambda store: store.append("tape", entry(9, count)),
    }


async def once(store: FileTapeStore, do: Do) -> float:
    start = perf_counter()
    await do(store)
    return perf_counter() - start


async def opened(place: Path, do: Do) -> float:
    """Return the seconds it takes to open the store and do something."""
    start = perf_counter()
    store = FileTapeStore(place)
    await do(store)
    seconds = perf_counter() - start
    await store.aclose()
    return seconds


async def measure_growth(place: Path, sizes: tuple[int, ...], *, rounds: int) -> list[list[object]]:
    """Return a row for each thing done: milliseconds at each size, and how the largest compares with the smallest."""
    places = {size: place / str(size) for size in sizes}
    for size, its_place in places.items():
        await fill(its_place, size)
    stores = {size: FileTapeStore(its_place) for size, its_place in places.items()}
    rows = []
    for name in doings(1):
        found = await in_turns({str(size): partial(once, store, doings(size)[name]) for size, store in stores.items()}, rounds=rounds)
        rows.append(_row(name, list(found.values())))
    for store in stores.values():
        await store.aclose()
    for name in ("head", "last 50", "append"):
        found = await in_turns({str(size): partial(opened, its_place, doings(size)[name]) for size, its_place in places.items()}, rounds=rounds)
        rows.append(_row(f"open and {name}", list(found.values())))
    if sys.platform == "linux":
        memory = [await asyncio.to_thread(_opening, its_place, place / "small") for its_place in places.values()]
        rows.append(["opening adds, MB", *memory, memory[-1] / max(memory[0], 0.1)])
    return rows


def _opening(place: Path, small: Path) -> float:
    """Return how many megabytes a process grows by when it opens a tape, reads its end and appends to it."""
    return int(subprocess.run([sys.executable, "-c", OPENING, str(place), str(small)], check=True, capture_output=True).stdout) / 1e6


def _row(name: str, figures: list[Figure]) -> list[object]:
    return [name, *(figure.seconds * 1e3 for figure in figures), figures[-1].ratio]


def main() -> None:
    """Print a row for each durability, number of writers and way to write; then one for each thing done with a growing tape."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help=f"also with {LONG:,} entries")
    chosen = options.parse_args()
    rows: list[list[object]] = []
    for durability in ("process", "disk"):
        for writers in (1, 16):
            with tempfile.TemporaryDirectory() as place:
                rows += asyncio.run(measure_appends(Path(place), durability=durability, writers=writers, rounds=chosen.rounds))
    report("file_store append", ["durability", "writers", "what", "us", "ratio"], rows, file=chosen.json and chosen.json.with_suffix(".append.json"))
    sizes = (*SIZES, LONG) if chosen.long else SIZES
    with tempfile.TemporaryDirectory() as place:
        rows = asyncio.run(measure_growth(Path(place), sizes, rounds=chosen.rounds))
    report("file_store growth", ["what, ms", *(f"{size:,}" for size in sizes), "ratio"], rows, file=chosen.json)


if __name__ == "__main__":
    main()
