"""What a blocking call costs over the async one: head, an append and the last 20 entries of a tape in memory, and of one in SQLite.

Both forms take turns on the same store, call by call, so that what slows the machine slows both. `more` is the time that a blocking
call takes beyond its async form: two hops between threads. The callers in four threads share the one loop.
Run: python -m benchmarks.blocking [--rounds N] [--calls N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.measure import parser, report
from playhead import sync
from playhead.entry.message import user
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.sync.portal import wait
from playhead.tape.tape import Tape

WORDS = "The quick brown fox jumps over the lazy dog. " * 8
FILLED = 200
THREADS = 4


def calls_of(tape: Tape) -> dict[str, tuple[Callable[[], Awaitable[Any]], Callable[[], Any]]]:
    """Return what is measured, in both forms."""
    twin = sync.Tape.of(tape)
    message = user(WORDS)

    async def last() -> list[object]:
        return [entry async for entry in tape.query().newest_first().limit(20)]

    return {
        "head": (tape.head, twin.head),
        "append": (lambda: tape.append(message), lambda: twin.append(message)),
        "last 20": (last, lambda: twin.query().newest_first().limit(20).all()),
    }


async def timed(call: Callable[[], Awaitable[Any]], *, count: int) -> list[float]:
    """Return the seconds of so many async calls."""
    found = []
    for _ in range(count):
        start = perf_counter()
        await call()
        found.append(perf_counter() - start)
    return found


def timed_blocking(call: Callable[[], Any], *, count: int) -> list[float]:
    """Return the seconds of so many blocking calls."""
    found = []
    for _ in range(count):
        start = perf_counter()
        call()
        found.append(perf_counter() - start)
    return found


def measure(store: WholeStore, *, rounds: int, calls: int) -> list[list[object]]:
    """Return a row for each call: both forms in milliseconds, what the blocking one takes more, how many times as long, and from four threads."""
    tape = Tape(store, "t")
    wait(tape.append_many, [user(WORDS)] * FILLED)
    rows: list[list[object]] = []
    for name, (awaited, blocking) in calls_of(tape).items():
        one: list[float] = []
        other: list[float] = []
        for _ in range(rounds):
            one += asyncio.run(timed(awaited, count=calls))
            other += timed_blocking(blocking, count=calls)
        with ThreadPoolExecutor(THREADS) as threads:
            many = [seconds for found in threads.map(lambda _, call=blocking: timed_blocking(call, count=calls), range(THREADS)) for seconds in found]
        a, b, c = (median(found) * 1e3 for found in (one, other, many))
        rows.append([name, a, b, b - a, b / a, c])
    return rows


def main() -> None:
    """Print a row for each store and call."""
    options = parser(__doc__)
    options.add_argument("--calls", type=int, default=200, help="how many calls a round makes in each form")
    given = options.parse_args()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as place:
        stores: dict[str, WholeStore] = {"memory": InMemoryTapeStore(), "SQLite": SQLiteTapeStore(Path(place) / "tapes.db", durability="process")}
        for name, store in stores.items():
            rows += [[f"{name}, {row[0]}", *row[1:]] for row in measure(store, rounds=min(given.rounds, 9), calls=given.calls)]
            wait(store.aclose)
    report("blocking", ["ms", "async", "blocking", "more", "times", f"{THREADS} threads"], rows, file=given.json)


if __name__ == "__main__":
    main()
