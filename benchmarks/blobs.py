"""What large payloads cost in parts and in one piece, and what a look for unused blobs costs.

A tape of entries with texts of a megabyte, each ten times: the last 50 without their payloads and with them, one append, the bytes
on the disk. Then a tape of small entries, each of which refers to one of many blobs: how long it takes to look through them.
Run: python -m benchmarks.blobs [--rounds N] [--store NAME] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import in_turns, parser, report
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.sweep import unused_blobs

LARGE, TIMES, TAIL = 10, 10, 50
SMALL, BLOBS = 50_000, 1_000
WORDS = "The quick brown fox jumps over the lazy dog. "
Store = SQLiteTapeStore | FileTapeStore
STORES: dict[str, Callable[[Path, int | None], Store]] = {
    "sqlite": lambda place, limit: SQLiteTapeStore(place / "tapes.db", durability="process", inline_limit=limit),
    "file": lambda place, limit: FileTapeStore(place / "tapes", durability="process", inline_limit=limit),
}
KEPT = {"in one piece": None, "in parts": 256 * 1024}


def large(number: int) -> TapeEntry:
    """Return an entry with a megabyte of text, one of several."""
    return TapeEntry.message({"role": "user", "content": f"{number % LARGE} {WORDS * 23_000}"})


async def _timed(do: Callable[[], Awaitable[object]]) -> float:
    start = perf_counter()
    await do()
    return (perf_counter() - start) * 1_000


async def _listed(store: Store) -> int:
    return sum(entry.id for entry in await store.fetch_all(TapeQuery(tape="t").newest_first().limit(TAIL)))


async def _looked_at(store: Store) -> int:
    return sum(len(entry.payload["content"]) for entry in await store.fetch_all(TapeQuery(tape="t").newest_first().limit(TAIL)))


async def _measured(kind: str, folder: Path, rounds: int) -> list[tuple[object, ...]]:
    stores = {}
    for name, limit in KEPT.items():
        (folder / name).mkdir()
        stores[name] = STORES[kind](folder / name, limit)
        for number in range(LARGE * TIMES):
            await stores[name].append("t", large(number))
    actions: dict[str, Callable[[Store], Awaitable[object]]] = {
        f"last {TAIL}, no payload": _listed,
        f"last {TAIL}, every payload": _looked_at,
        "append": lambda store: store.append("other", large(3)),
    }
    rows: list[tuple[object, ...]] = []
    for what, action in actions.items():
        found = await in_turns({name: partial(_timed, partial(action, store)) for name, store in stores.items()}, rounds=rounds)
        rows += [(kind, what, name, figure.seconds, figure.ratio) for name, figure in found.items()]
    for store in stores.values():
        await store.aclose()
    sizes = {name: sum(path.stat().st_size for path in (folder / name).rglob("*") if path.is_file()) / 1e6 for name in KEPT}
    return [*rows, *((kind, "MB on the disk", name, size, size / sizes["in one piece"]) for name, size in sizes.items())]


async def _marked(kind: str, folder: Path) -> tuple[object, ...]:
    async with STORES[kind](folder, None) as store:
        blobs = [(await store.put_blob(b"blob %d" % number)).digest for number in range(BLOBS)]
        await store.put_blob(b"unused")
        entries = [TapeEntry.message({"role": "user", "content": WORDS * 22}, ref=blobs[number % BLOBS]) for number in range(SMALL)]
        for first in range(0, SMALL, 1_000):
            await store.append_many("t", entries[first : first + 1_000])
        seconds = await _timed(lambda: unused_blobs(store, grace=timedelta(0)))
        return kind, f"a look through {SMALL:,} entries", f"{BLOBS:,} blobs", seconds, seconds / SMALL * 1_000


async def main() -> None:
    """Measure each store and print the figures: milliseconds, and what they are against the first of their kind; of a look, microseconds an entry."""
    options = parser(__doc__)
    options.add_argument("--store", choices=STORES, help="only this store")
    args = options.parse_args()
    rows: list[tuple[object, ...]] = []
    for kind in [args.store] if args.store else STORES:
        with tempfile.TemporaryDirectory(prefix="playhead-") as folder:
            rows += await _measured(kind, Path(folder), min(args.rounds, 15))
        with tempfile.TemporaryDirectory(prefix="playhead-") as folder:
            rows.append(await _marked(kind, Path(folder)))
    report("blobs", ("store", "what", "kept", "ms", "ratio"), rows, file=args.json)


if __name__ == "__main__":
    asyncio.run(main())
