"""Archiving: bytes on the disk before and after, and what reads cost, on a tape of which nine tenths are archived against the same tape before.

What is said are excerpts of the project's own pages, one entry about 1 KB. With `--postgres` also in PostgreSQL, on a server that is started
for the run; the bytes are those of its tables and indexes.
Run: python -m benchmarks.retention [--entries N] [--postgres] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time

import psycopg

from benchmarks.measure import parser, report
from benchmarks.postgres import server_url
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore

Store = SQLiteTapeStore | FileTapeStore | PostgresTapeStore
Do = Callable[[Store], Awaitable[object]]

PAGES = Path(__file__).parent.parent / "docs"
SAID = 900
BATCH = 500
QUERY = TapeQuery(tape="tape")


def entries(count: int) -> Iterator[TapeEntry]:
    """Yield entries that say parts of the pages; every thousandth is an anchor."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(PAGES.rglob("*.md")))
    chance = Random(1)
    for number in range(count):
        start = chance.randrange(len(text) - SAID)
        said = {"role": ("user", "assistant")[number % 2], "content": text[start : start + SAID]}
        yield TapeEntry.anchor(f"anchor {number}") if number % 1000 == 999 else TapeEntry.message(said)


def size_of(place: Path) -> int:
    """Return how many bytes the files below a directory take."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def size_at(url: str) -> int:
    """Return how many bytes the tables and indexes of a PostgreSQL store take."""
    with psycopg.connect(url) as connection:
        ((size,),) = connection.execute("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'playhead'::regnamespace AND relkind = 'r'").fetchall()
    return int(size)


def reads(count: int) -> dict[str, Do]:
    """Return the reads that are measured; an archived entry is another one each time."""
    chance = Random(2)
    anchor = f"anchor {count // 2 // 1000 * 1000 + 999}"

    async def said(store: Store, query: TapeQuery) -> None:
        for entry in await store.fetch_all(query):
            _ = entry.payload

    return {
        "last 50": lambda store: said(store, QUERY.newest_first().limit(50)),
        "append": lambda store: store.append("tape", TapeEntry.event("one more")),
        "one old entry": lambda store: said(store, QUERY.after(chance.randrange(count * 8 // 10)).limit(1)),
        "50 old entries": lambda store: said(store, QUERY.after(chance.randrange(count * 8 // 10)).limit(50)),
        "3 behind an old anchor": lambda store: said(store, QUERY.after_anchor(anchor).limit(3)),
        "all": lambda store: said(store, QUERY),
    }


async def timed(store: Store, do: Do, *, rounds: int) -> float:
    """Return the median seconds of something."""
    found = []
    for _ in range(rounds):
        start = perf_counter()
        await do(store)
        found.append(perf_counter() - start)
    return median(found)


async def measured(name: str, make: Callable[[], Store], size: Callable[[], int], *, count: int, rounds: int) -> list[tuple[str, str, float, float, float]]:
    """Return the rows of one store: what is measured, before, after, and the ratio."""
    async with make() as store:
        batch: list[TapeEntry] = []
        for entry in entries(count):
            batch.append(entry)
            if len(batch) == BATCH:
                await store.append_many("tape", batch)
                batch = []
        await store.append_many("tape", batch)
        await store.fetch_all(QUERY.limit(1))
    before, times = size(), {}
    async with make() as store:
        for what, do in reads(count).items():
            times[what] = await timed(store, do, rounds=3 if what == "all" else rounds)
        start = process_time()
        moved = await store.archive("tape", upto=count * 9 // 10)
        spent = process_time() - start
        await store.compact()
    after = size()
    rows = [(name, "bytes on the disk", float(before), float(after), after / before), (name, "bytes said of what is archived", float(moved.before), float(moved.after), moved.after / moved.before)]
    async with make() as store:
        for what, do in reads(count).items():
            found = await timed(store, do, rounds=3 if what == "all" else rounds)
            rows.append((name, f"ms: {what}", times[what] * 1000, found * 1000, found / times[what]))
    return [*rows, (name, "ms of processor per archived entry", 0.0, spent * 1000 / moved.entries, 0.0)]


async def main() -> None:
    """Measure both stores that keep files, and the one on a server where that is asked for."""
    options = parser(__doc__)
    options.add_argument("--entries", type=int, default=20_000, help="how long the tape is")
    options.add_argument("--postgres", action="store_true", help="also in PostgreSQL")
    args = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as database, tempfile.TemporaryDirectory() as files:
        for name, make, size in (
            ("sqlite", lambda: SQLiteTapeStore(Path(database, "tapes.db"), durability="process"), partial(size_of, Path(database))),
            ("file", lambda: FileTapeStore(files, durability="process"), partial(size_of, Path(files))),
        ):
            rows += await measured(name, make, size, count=args.entries, rounds=args.rounds)
    if args.postgres:
        with server_url(socket=False) as url:
            rows += await measured("postgres", lambda: PostgresTapeStore(url, durability="process"), lambda: size_at(url), count=args.entries, rounds=args.rounds)
    report("retention", ("store", "what", "before", "after", "ratio"), rows, file=args.json)


if __name__ == "__main__":
    asyncio.run(main())
