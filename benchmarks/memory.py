"""Memory that folds, as the past grows: compiles, messages, ticks and what is held in memory, on conversations of 1,000 to 1,000,000 units.

Compiles are measured warm (one turn more each time, and the summaries that are due) and cold (a manager that opens, and compiles for the first time); the same
budget everywhere, so that neither should grow with the tape. Ticks are measured by how much is summarised already, and by how much
waits. The tapes are kept below .benchmarks/ for the next run: the longest takes minutes to make.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from argparse import Namespace
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from shutil import copyfile
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TypeVar

from benchmarks.folded_tapes import CONFIG, KEPT, TAPE, folded, opened, talked, turn
from benchmarks.measure import in_turns, parser, report
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy

Answer = TypeVar("Answer")

SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
BUDGETS = (50_000, 200_000)
WARM = 120
TICKS = 12
MESSAGES = 60


async def managed(place: Path) -> ContextManager:
    """Open a manager on a store of its own."""
    return await ContextManager.open(path=place, strategy=AutobiographicalStrategy(CONFIG), tape=TAPE)


async def warm(place: Path, tokens: int, rounds: int) -> tuple[list[float], list[float], int, int]:
    """Return the seconds, and those of the processor, of compiles one turn apart, how many of them folded, and how many units and summaries the last one shows."""
    manager, budget = await managed(place), Budget(max_tokens=tokens, reserve_for_response=0)
    seconds, worked, folds = list[float](), list[float](), 0
    prompt = await manager.compile(budget)
    for number in range(rounds):
        await manager.tape.append_many(turn(number))
        await manager.drain()
        gc.collect()
        start, busy = perf_counter(), process_time()
        prompt = await manager.compile(budget)
        seconds.append(perf_counter() - start)
        worked.append(process_time() - busy)
        folds += prompt.render_stats is not None and prompt.render_stats.folds > 0
    await manager.aclose()
    return sorted(seconds), sorted(worked), folds, len(prompt.plan.units) + sum(prompt.stats.by_level.values())


async def cold(place: Path, tokens: int) -> float:
    """Return the seconds from opening a manager to its first prompt."""
    start = perf_counter()
    manager = await managed(place)
    await manager.compile(Budget(max_tokens=tokens, reserve_for_response=0), dry_run=True)
    taken = perf_counter() - start
    await manager.aclose()
    return taken


async def added(place: Path) -> float:
    """Return the median seconds of keeping one message."""
    manager, seconds = await managed(place), list[float]()
    for number in range(MESSAGES):
        start = perf_counter()
        await manager.add_message("User", f"Question {number}: what waits for that slot?")
        seconds.append(perf_counter() - start)
    await manager.aclose()
    return median(seconds)


async def ticked(place: Path) -> float:
    """Return the median seconds of a tick that writes a summary; the first, which opens all, is left out."""
    manager, seconds = await managed(place), list[float]()
    while len(seconds) <= TICKS:
        if not await manager.tick():
            await manager.tape.append_many([message for number in range(60) for message in turn(number)])
            continue
        if len(seconds) == TICKS:
            break
        start = perf_counter()
        if (await manager.tick()).did == "summary":
            seconds.append(perf_counter() - start)
    await manager.aclose()
    return median(seconds)


async def held(place: Path, tokens: int) -> float:
    """Return how many kilobytes a manager holds once it has opened, compiled and ticked."""
    async with opened(place) as store:
        gc.collect()
        tracemalloc.start()
        manager = await ContextManager.open(store=store, strategy=AutobiographicalStrategy(CONFIG), tape=TAPE)
        await manager.compile(Budget(max_tokens=tokens, reserve_for_response=0), dry_run=True)
        await manager.tick()
        gc.collect()
        found = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        await manager.aclose()
    return found / 1e3


async def copied(place: Path, file: Path, measure: Callable[[Path], Awaitable[Answer]]) -> Answer:
    """Measure on a copy of a store, so that the kept one stays as it was made."""
    copy = place / file.name
    copyfile(file, copy)
    try:
        return await measure(copy)
    finally:
        _removed(place, file.name)


def _removed(place: Path, name: str) -> None:
    for left in place.glob(f"{name}*"):
        left.unlink()


async def measure_warm(place: Path, options: Namespace) -> None:
    """Print what compiles cost behind every turn."""
    rows: list[list[object]] = []
    for size in SIZES:
        for tokens in BUDGETS:
            seconds, worked, folds, shown = await copied(place, await folded(KEPT, size), partial(warm, tokens=tokens, rounds=options.rounds))
            rows.append([size, tokens, shown, folds, 1e3 * median(seconds), 1e3 * _p95(seconds), 1e3 * median(worked), 1e3 * _p95(worked), 1e3 * worked[-1]])
    report("memory: warm", ["units", "budget", "shown", "folds", "median ms", "p95 ms", "median CPU", "p95 CPU", "most CPU"], rows, file=options.json)


def _p95(rising: list[float]) -> float:
    return rising[int(0.95 * len(rising))]


async def measure_cold(place: Path, options: Namespace) -> None:
    """Print what opening and the first compile cost, beside that at the shortest tape."""
    sizes = (SIZES[0], SIZES[-1], *((LONG,) if options.long else ()))
    rows: list[list[object]] = []
    for tokens in BUDGETS:
        copies = [Path(place, f"{size}-{tokens}.db") for size in sizes]
        for size, copy in zip(sizes, copies, strict=True):
            copyfile(await folded(KEPT, size), copy)
            manager = await managed(copy)
            await manager.compile(Budget(max_tokens=tokens, reserve_for_response=0))
            await manager.aclose()
        figures = await in_turns({copy.name: partial(cold, copy, tokens) for copy in copies}, rounds=15)
        rows += [[size, tokens, 1e3 * figures[copy.name].seconds, figures[copy.name].ratio] for size, copy in zip(sizes, copies, strict=True)]
        for copy in copies:
            copy.unlink()
    report("memory: cold", ["units", "budget", "ms", "ratio"], rows, file=None)


async def measure_others(place: Path, options: Namespace) -> None:
    """Print what a message and a tick cost, and what a manager holds, by how much is told; and a tick by how much waits."""
    rows: list[list[object]] = []
    for size in (*SIZES, *((LONG,) if options.long else ())):
        told = await folded(KEPT, size)
        row: list[object] = [size]
        row += [1e6 * await copied(place, told, added), 1e3 * await copied(place, told, ticked)]
        row += [await copied(place, told, partial(held, tokens=tokens)) for tokens in BUDGETS]
        row += [1e3 * await copied(place, await talked(KEPT, size), ticked) if size <= SIZES[-1] else ""]
        rows.append(row)
    report("memory: messages and ticks", ["units", "message µs", "tick ms", *(f"held kB at {tokens:,}" for tokens in BUDGETS), "tick ms, all waits"], rows, file=None)


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.set_defaults(rounds=WARM)
    options.add_argument("--long", action="store_true", help="also a tape of 1,000,000 units")
    options.add_argument("--only", choices=["warm", "cold", "others"], help="one of the three tables")
    chosen = options.parse_args()
    measures = {"warm": measure_warm, "cold": measure_cold, "others": measure_others}
    with TemporaryDirectory() as place:
        for name, measure in measures.items():
            if chosen.only in (None, name):
                asyncio.run(measure(Path(place), chosen))


if __name__ == "__main__":
    main()
