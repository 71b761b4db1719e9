"""What a search costs as a tape grows, and what its index costs: appends with it and without it, and the disk that it takes.

The text is made of words whose frequencies fall as those of a language do. Queries are three words of some entry, one word of some
entry, two rare words, and a word with a typo. `work` is the time that the process was at work, in ms: on a machine with other work it
says more than the time that passed. `cold` opens the store for each search. The exponent is the slope of a column over the number of
entries, both as logarithms: 1 is as much again for each entry.
Over PostgreSQL a server is started for the run, reached through the loopback (PLAYHEAD_POSTGRES_URL names another one); `work` is then what
this process does, and what the server does is only in the time that passed.
Run: python -m benchmarks.search [--store sqlite|file|postgres] [--long] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, islice
from math import log
from pathlib import Path
from statistics import fmean, median, quantiles
from time import perf_counter, process_time
from typing import Any

import psycopg

from benchmarks.measure import parser, report
from benchmarks.postgres import USED, server_url
from playhead.entry.entry import TapeEntry
from playhead.entry.lines import dump_line
from playhead.store.file.store import FileTapeStore
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore

SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
QUERY = TapeQuery(tape="tape").limit(20)
COLD = 12
APPENDS = 6_000
ROUNDS = 7
SYLLABLES = [first + vowel for first in "bcdfghjklmnprstvwz" for vowel in ("a", "e", "i", "o", "u", "an", "el", "or")]


class Talk:
    """Messages of 8 to 80 words, the same ones each time."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self._words = [_word(rank) for rank in range(200_000)]
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def texts(self) -> Iterator[str]:
        """Yield one text after the other."""
        while True:
            yield " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=self._chance.randint(8, 80)))

    def questions(self, texts: list[str], *, rounds: int) -> list[str]:
        """Return queries, so many of each kind."""
        chance, asked = self._chance, []
        for _ in range(rounds):
            asked.append(" ".join(chance.sample(chance.choice(texts).split(), 3)))
            asked.append(chance.choice(chance.choice(texts).split()))
            asked.append(" ".join(chance.sample(self._words[5_000:50_000], 2)))
            typo = chance.choice([word for word in self._words[1_000:3_000] if len(word) > 5])
            asked.append(typo[:3] + typo[4] + typo[3] + typo[5:])
        return asked


def _word(rank: int) -> str:
    """Return a word of two to four syllables, another one for each rank."""
    mixed, said = (rank * 2_654_435_761 + 97) % (1 << 32), ""
    for _ in range(2 + rank % 3):
        mixed, place = divmod(mixed, len(SYLLABLES))
        said += SYLLABLES[place]
    return f"{said}{'' if rank < 50_000 else rank % 97}"


@dataclass(frozen=True, slots=True)
class Site:
    """Where stores of a kind are made, each under a name of its own: in a directory, or as a schema of a database."""

    kind: str
    place: str

    def opened(self, name: str, *, search: Any = "index", durability: Any = "process") -> SQLiteTapeStore | FileTapeStore | PostgresTapeStore:
        """Return the store of a name."""
        if self.kind == "postgres":
            return PostgresTapeStore(self.place, schema=name, durability=durability, search=search)
        return (SQLiteTapeStore if self.kind == "sqlite" else FileTapeStore)(Path(self.place, name), durability=durability, search=search)

    def used(self, name: str) -> int:
        """Return how many bytes a store has on the disk."""
        if self.kind == "postgres":
            with psycopg.connect(self.place) as connection:
                ((size,),) = connection.execute(USED, [name])
            return int(size)
        path = Path(self.place, name)
        found = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path, Path(f"{path}-wal")]
        return sum(file.stat().st_size for file in found if file.exists())


@contextmanager
def site(kind: str) -> Iterator[Site]:
    """Yield where stores of a kind can be made."""
    if kind == "postgres":
        with server_url(socket=False) as url:
            yield Site(kind, url)
    else:
        with tempfile.TemporaryDirectory() as place:
            yield Site(kind, place)


async def fill(store: WholeStore, texts: Iterator[str], count: int) -> tuple[list[str], int]:
    """Append so many messages; return some of their texts, and how many bytes of JSON all of them are."""
    kept, size = [], 0
    for start in range(0, count, 1_000):
        batch = list(islice(texts, min(1_000, count - start)))
        written = await store.append_many("tape", [TapeEntry.message({"role": "user", "content": text}) for text in batch])
        size += sum(len(dump_line(entry)) for entry in written)
        kept += random.Random(start).sample(batch, 4)
    return kept, size


async def searched(store: WholeStore, questions: list[str]) -> tuple[list[float], list[float]]:
    """Return how many milliseconds each search takes, and how many of these its process was at work, whatever else the machine did."""
    took, worked = [], []
    for text in questions:
        start, work = perf_counter(), process_time()
        await store.search(QUERY, text)
        took.append((perf_counter() - start) * 1e3)
        worked.append((process_time() - work) * 1e3)
    return took, worked


async def measured(where: Site, name: str, count: int, *, rounds: int) -> list[object]:
    """Return a row for a tape of so many messages."""
    talk = Talk()
    async with where.opened(name) as store:
        kept, size = await fill(store, talk.texts(), count)
        start = perf_counter()
        await store.search(QUERY, kept[0])
        first = perf_counter() - start
        questions = talk.questions(kept, rounds=rounds)
        await asyncio.sleep(0.2)
        await searched(store, questions[:8])
        warm, worked = await searched(store, questions)
    cold = [await opened_and_searched(where, name, text) for text in questions[:COLD]]
    return [count, median(warm), _p95(warm), median(worked), _p95(worked), _p95([found for place, found in enumerate(worked) if place % 4 != 3]), median(cold), first, where.used(name) / size]


async def opened_and_searched(where: Site, name: str, text: str) -> float:
    """Return how many milliseconds of work it takes to open a store and search it."""
    start = process_time()
    store = where.opened(name)
    await store.search(QUERY, text)
    took = process_time() - start
    await store.aclose()
    return took * 1e3


async def appended(where: Site, name: str, *, search: str, durability: str, batch: int) -> tuple[float, float, float]:
    """Return how many microseconds an entry takes to append, how many of these the process is at work, and how many bytes are used in the end for each byte of JSON."""
    talk = Talk()
    entries = [TapeEntry.message({"role": "user", "content": text}) for text in islice(talk.texts(), APPENDS)]
    async with where.opened(name, search=search, durability=durability) as store:
        start, work = perf_counter(), process_time()
        for place in range(0, APPENDS, batch):
            await store.append_many("tape", entries[place : place + batch])
        took, worked = perf_counter() - start, process_time() - work
        size = sum(len(dump_line(entry)) for entry in await store.fetch_all(TapeQuery(tape="tape")))
        if search == "index":
            await store.search(QUERY, "word")
            await asyncio.sleep(0.5)
    return took / APPENDS * 1e6, worked / APPENDS * 1e6, where.used(name) / size


async def compared(where: Site, *, durability: str, batch: int, rounds: int) -> list[object]:
    """Return a row that compares appends with the index and without it, in turns."""
    found: dict[str, list[tuple[float, float, float]]] = {"scan": [], "index": []}
    for number in range(rounds):
        for search, figures in found.items():
            figures.append(await appended(where, f"{search}{durability}{batch}-{number}", search=search, durability=durability, batch=batch))
    took, worked = ([median(figure[which] for figure in figures) for figures in found.values()] for which in (0, 1))
    ratios = [median(index[which] / scan[which] for scan, index in zip(found["scan"], found["index"], strict=True)) for which in (0, 1)]
    return [durability, batch, *took, ratios[0], *worked, ratios[1], *(figures[-1][2] for figures in found.values())]


def exponent(sizes: list[int], figures: list[float]) -> float:
    """Return the slope of figures over sizes, both as logarithms."""
    xs, ys = [log(size) for size in sizes], [log(figure) for figure in figures]
    middle, height = fmean(xs), fmean(ys)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / sum((x - middle) ** 2 for x in xs)


def _p95(found: list[float]) -> float:
    return quantiles(found, n=20)[-1]


def main() -> None:
    """Print a row for each size, and one for each way to append."""
    options = parser(__doc__)
    options.set_defaults(rounds=25)
    options.add_argument("--store", choices=("sqlite", "file", "postgres"), default="sqlite", help="which store (default: sqlite)")
    options.add_argument("--long", action="store_true", help=f"also with {LONG:,} entries: minutes, and 1 GB")
    options.add_argument("--only", choices=("searches", "appends"), help="leave out the other table")
    chosen = options.parse_args()
    sizes = (*SIZES, LONG) if chosen.long else SIZES
    with site(chosen.store) as where:
        rows = [asyncio.run(measured(where, f"{size}", size, rounds=chosen.rounds)) for size in sizes if chosen.only != "appends"]
        ways = [("process", 1), ("disk", 1), ("process", 100)] if chosen.only != "searches" else []
        appends = [asyncio.run(compared(where, durability=durability, batch=batch, rounds=ROUNDS)) for durability, batch in ways]
    header = ["entries", "p50 ms", "p95 ms", "p50 work", "p95 work", "p95 no typos", "cold work", "first s", "disk / JSON"]
    if rows:
        report("search", header, rows, file=chosen.json)
        for column in range(1, 7):
            print(f"growth exponent of {header[column]}: {exponent(list(sizes), [float(str(row[column])) for row in rows]):.2f}")
    if appends:
        header = ["durability", "batch", "scan us", "index us", "ratio", "scan work", "index work", "work ratio", "disk, scan", "disk, index"]
        report("search appends", header, appends, file=None)


if __name__ == "__main__":
    main()
