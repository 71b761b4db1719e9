"""What branches cost in the SQLite and the file store: a fork against an append, at any length; a read over fork points against one without.

An append with a key, to a sidecar and under a lock, a merge and a move of a cursor stand beside them.

Branches are closed and collected between the runs, as they are where runs end.
Run: python -m benchmarks.branches [--rounds N] [--store NAME] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

from benchmarks.measure import in_turns, parser, report
from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.store.change import DISCARDED, MERGED, Append, Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Durability
from playhead.store.sqlite.store import SQLiteTapeStore

TEXT = "The quick brown fox jumps over the lazy dog. " * 22
ENTRY = TapeEntry.message({"role": "user", "content": TEXT})
LENGTHS = (1_000, 100_000)
DEPTHS = (0, 1, 10, 100)
TAIL = 50
TIMES = 24
Store = SQLiteTapeStore | FileTapeStore
Action = Callable[[Store, int], Awaitable[object]]
STORES: dict[str, Callable[[Path, Durability], Store]] = {
    "sqlite": lambda place, durability: SQLiteTapeStore(place / "tapes.db", durability=durability),
    "file": lambda place, durability: FileTapeStore(place / "tapes", durability=durability),
}


def keyed(number: int) -> TapeEntry:
    """Return an entry with a key of its own."""
    return TapeEntry.message({"role": "user", "content": TEXT}, **{IDEMPOTENCY_KEY: f"key {number}"})


def writes(length: int) -> dict[str, Action]:
    """Return what is measured against an append, on a tape of a length."""
    tape = f"tape {length}"
    return {
        "append": lambda store, _: store.append(tape, TapeEntry.message({"role": "user", "content": TEXT})),
        "append with a key": lambda store, number: store.append(tape, keyed(number)),
        "append to a branch with a key": lambda store, number: store.append(branch_name(tape, "long"), keyed(number)),
        "append to a sidecar": lambda store, _: store.append(sidecar_name(tape, "notes"), ENTRY),
        "append under a lock": partial(_locked, tape),
        "move a cursor": lambda store, number: store.move_cursor(tape, "reader", Head(0, number)),
        "fork": lambda store, number: store.apply([Fork(tape=branch_name(tape, str(number)), parent=tape)]),
        "fork, append, merge": partial(_merged, tape),
    }


async def _merged(tape: str, store: Store, number: int) -> None:
    branch = branch_name(tape, f"m{number}")
    await store.apply([Fork(tape=branch, parent=tape)])
    await store.append(branch, ENTRY)
    await store.apply([Append(tape=tape, entries=[ENTRY]), Close(tape=branch, outcome=MERGED)])
    await store.collect(branch, before=clock.now() + timedelta(days=1))


async def _locked(tape: str, store: Store, number: int) -> None:
    del number
    async with store.lock(tape):
        await store.append(tape, ENTRY)


async def fill(store: Store, tape: str, length: int) -> None:
    for start in range(0, length, 1_000):
        await store.append_many(tape, [ENTRY] * min(1_000, length - start))


async def timed(store: Store, action: Action, numbers: count[int], after: Callable[[Store], Awaitable[object]] | None = None) -> float:
    """Return the seconds that it takes once; what comes after is not timed."""
    start = perf_counter()
    for _ in range(TIMES):
        await action(store, next(numbers))
    seconds = (perf_counter() - start) / TIMES
    if after is not None:
        await after(store)
    return seconds


async def tidied(tape: str, store: Store) -> None:
    """Close and collect what was forked to measure it."""
    for record in await store.branches(tape):
        if record.is_open and record.name != branch_name(tape, "long"):
            await store.apply([Close(tape=record.name, outcome=DISCARDED)])
    await store.collect(tape, before=clock.now() + timedelta(days=1))


async def measure_writes(name: str, place: Path, *, durability: Durability, rounds: int) -> list[list[object]]:
    """Return a row for each length and each way to write, against an append to a tape as long."""
    rows: list[list[object]] = []
    async with STORES[name](place, durability) as store:
        for length in LENGTHS:
            tape = f"tape {length}"
            await fill(store, tape, length)
            await store.apply([Fork(tape=branch_name(tape, "long"), parent=tape)])
            await store.append(branch_name(tape, "long"), ENTRY)
            after = partial(tidied, tape)
            runs = {what: partial(timed, store, action, count(), after if "fork" in what else None) for what, action in writes(length).items()}
            figures = await in_turns(runs, rounds=rounds)
            rows += [[name, durability, f"{length:,}", what, figure.seconds * 1e6, figure.ratio] for what, figure in figures.items()]
    return rows


async def measure_reads(name: str, place: Path, *, rounds: int) -> list[list[object]]:
    """Return a row for each depth: the last entries, of which each level has one, or all."""
    async with STORES[name](place, "process") as store:
        await fill(store, "deep", 20_000)
        for each in (1, TAIL):
            tape = "deep"
            for level in range(1, max(DEPTHS) + 1):
                parent, tape = tape, branch_name("deep", f"{each} {level}")
                await store.apply([Fork(tape=tape, parent=parent), Append(tape=tape, entries=[ENTRY] * each)])
        names = {f"last {TAIL} at depth 0": "deep", **{f"last {TAIL} at depth {depth}, {each} a level": branch_name("deep", f"{each} {depth}") for each in (1, TAIL) for depth in DEPTHS[1:]}}
        runs = {what: partial(timed, store, partial(_last, tape), count()) for what, tape in names.items()}
        figures = await in_turns(runs, rounds=rounds)
    return [[name, "", "20,000", what, figure.seconds * 1e6, figure.ratio] for what, figure in figures.items()]


async def _last(tape: str, store: Store, number: int) -> None:
    del number
    await store.fetch_all(TapeQuery(tape=tape).newest_first().limit(TAIL))


def main() -> None:
    """Print a row for each figure."""
    options = parser(__doc__)
    options.add_argument("--store", choices=STORES, help="measure this one alone")
    given = options.parse_args()
    rows: list[list[object]] = []
    for name in STORES if given.store is None else (given.store,):
        for durability in ("process", "disk"):
            with tempfile.TemporaryDirectory() as place:
                rows += asyncio.run(measure_writes(name, Path(place), durability=durability, rounds=min(given.rounds, 15)))
        with tempfile.TemporaryDirectory() as place:
            rows += asyncio.run(measure_reads(name, Path(place), rounds=min(given.rounds, 15)))
    report("branches", ["store", "durability", "entries", "what", "us", "ratio"], rows, file=given.json)


if __name__ == "__main__":
    main()
