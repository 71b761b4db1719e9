"""What a read of the SQLite store costs as the tape grows: it should be what it returns, whatever stands before it.

Run: python -m benchmarks.reads [--long] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Figure, in_turns, parser, report
from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore

SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
TEXT = "The quick brown fox jumps over the lazy dog. " * 22
TAIL = 50
Read = Callable[[SQLiteTapeStore], Awaitable[object]]
QUERY = TapeQuery(tape="tape")
READS: dict[str, Read] = {
    "last 50": lambda store: store.fetch_all(QUERY.newest_first().limit(TAIL)),
    "behind the last anchor": lambda store: store.fetch_all(QUERY.last_anchor()),
    "20 of a kind": lambda store: store.fetch_all(QUERY.kinds("tick").limit(20)),
    "a day's first 20": lambda store: store.fetch_all(QUERY.between_dates("2026-01-01", "2026-01-01").limit(20)),
    "head": lambda store: store.head("tape"),
    "append": lambda store: store.append("tape", TapeEntry.event("tock")),
}


def entry(i: int, count: int) -> TapeEntry:
    """Return an entry of a tape of so many: an anchor before the last 50, a rare kind here and there, from long ago, else a message of 1 KB."""
    if i == count - TAIL:
        return TapeEntry.anchor("here")
    if i % (count // 40) == 1:
        return TapeEntry(0, "tick", TapeEntry.event("tick").payload, date="2026-01-01")
    return TapeEntry.message({"role": "user", "content": TEXT})


async def fill(path: Path, count: int) -> None:
    async with SQLiteTapeStore(path, durability="process") as store:
        for start in range(0, count, 1_000):
            await store.append_many("tape", [entry(i, count) for i in range(start, min(start + 1_000, count))])


async def timed(store: SQLiteTapeStore, read: Read) -> float:
    start = perf_counter()
    await read(store)
    return perf_counter() - start


async def opened(path: Path, read: Read) -> float:
    """Return the seconds it takes to open the store and read."""
    start = perf_counter()
    store = SQLiteTapeStore(path)
    await read(store)
    seconds = perf_counter() - start
    await store.aclose()
    return seconds


async def measure(place: Path, sizes: tuple[int, ...], *, rounds: int) -> list[list[object]]:
    """Return a row for each read: milliseconds at each size, and how the largest compares with the smallest."""
    paths = [place / f"{size}.db" for size in sizes]
    for path, size in zip(paths, sizes, strict=True):
        await fill(path, size)
    stores = [SQLiteTapeStore(path) for path in paths]
    rows = []
    for name, read in READS.items():
        found = await in_turns({str(store.path): partial(timed, store, read) for store in stores}, rounds=rounds)
        rows.append(_row(name, list(found.values())))
    for store in stores:
        await store.aclose()
    for name in ("last 50", "append"):
        found = await in_turns({str(path): partial(opened, path, READS[name]) for path in paths}, rounds=rounds)
        rows.append(_row(f"open and {name}", list(found.values())))
    return rows


def _row(name: str, figures: list[Figure]) -> list[object]:
    return [name, *(figure.seconds * 1e3 for figure in figures), figures[-1].ratio]


def main() -> None:
    """Print a row for each read."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help=f"also with {LONG:,} entries")
    chosen = options.parse_args()
    sizes = (*SIZES, LONG) if chosen.long else SIZES
    with tempfile.TemporaryDirectory() as place:
        rows = asyncio.run(measure(Path(place), sizes, rounds=chosen.rounds))
    report("reads", ["read, ms", *(f"{size:,}" for size in sizes), "ratio"], rows, file=chosen.json)


if __name__ == "__main__":
    main()
