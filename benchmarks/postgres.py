"""What the PostgreSQL store costs, against the bare statement and one round trip, and as a tape grows.

A server is started for the run (PLAYHEAD_POSTGRES_URL names another one): `disk` waits until a commit is on the disk, `process` does not.
Everything goes through the same kind of hop to a thread with a connection of its own, statements prepared: the round trip is a `SELECT 1`,
the bare append the one statement that moves a head and inserts the same bytes, in tables like the store's; the plain insert goes into a table
with one index; each is a commit. `grouped` commits all plain inserts that wait together in one pipeline. With 16 writers they share one tape,
and then have one each. The last 50 entries are also compared with a bare SELECT of the same 50 rows, and the disk, vacuumed, with the lines
of JSON that the entries are in a file. All without the index of words, whose share of an append is measured by `benchmarks.search`.
Run: python -m benchmarks.postgres [--long] [--socket] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.measure import Figure, in_turns, parser, report
from playhead.entry import codec
from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.lines import dump_line
from playhead.store.change import Fork
from playhead.store.concurrency.hop import deliver
from playhead.store.concurrency.lane import Lane, Queue
from playhead.store.family import branch_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.query import TapeQuery
from tests.postgres import private_server

ENTRY = TapeEntry.message({"role": "user", "content": "The quick brown fox jumps over the lazy dog. " * 22})
SIZES = (1_000, 10_000, 100_000)
LONG = 1_000_000
APPENDS = 320
ONCE = 20
"""How often a read is repeated in a row, for one figure."""
USED = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = %s"
"""How many bytes a schema has on the disk."""
Act = Callable[[int], Awaitable[object]]
"""Does the thing once, for the writer of that number."""


class Bare:
    """A thread with a connection, in autocommit, or with a pipeline for all that waits."""

    def __init__(self, url: str, statement: str, row: Callable[[], tuple[Any, ...]], *, durability: str, most: int = 1, settings: str = "") -> None:
        self._url, self._statement, self._row, self._durability, self._most, self._settings = url, statement, row, durability, most, settings
        self._lane = Lane(self._serve, size=1, name="bare")

    def _serve(self, queue: Queue) -> None:
        with psycopg.connect(self._url, autocommit=True, prepare_threshold=0) as connection:
            connection.execute(f"SET synchronous_commit = {'on' if self._durability == 'disk' else 'off'}")
            if self._settings:
                connection.execute(self._settings, prepare=False)
            for jobs in queue.groups(self._most):
                if len(jobs) == 1:
                    cursor = connection.execute(self._statement, self._row(), binary=True)
                    if cursor.description is not None:
                        cursor.fetchall()
                else:
                    with connection.pipeline(), connection.transaction():
                        for _ in jobs:
                            connection.execute(self._statement, self._row(), binary=True)
                deliver(jobs)

    async def act(self, writer: int) -> None:
        del writer
        await self._lane.run(None)

    def close(self) -> None:
        for thread in self._lane.stop():
            thread.join()


def round_trip(url: str, *, durability: str = "process") -> Bare:
    """Return what asks for nothing."""
    return Bare(url, "SELECT 1", tuple, durability=durability)


def bare_insert(url: str, *, durability: str, most: int = 1) -> Bare:
    """Return what inserts the bytes of one entry."""
    numbers = count(1)
    table = f"bare_{durability}_{most}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"CREATE TABLE {table} (tape bigint, seq bigint, kind text, date text, meta bytea, body bytea, PRIMARY KEY (tape, seq))")
    meta, body = codec.encode(stamped(ENTRY).meta), codec.encode(ENTRY.payload)
    statement = f"INSERT INTO {table} (tape, seq, kind, date, meta, body) VALUES (%s, %s, %s, %s, %s, %s)"
    return Bare(url, statement, lambda: (1, next(numbers), ENTRY.kind, ENTRY.date, meta, body), durability=durability, most=most)


RAW = """
CREATE TABLE raw_tapes (root uuid, tape uuid, head bigint NOT NULL DEFAULT 0, epoch bigint NOT NULL DEFAULT 0, state smallint NOT NULL DEFAULT 0, PRIMARY KEY (root, tape)) WITH (fillfactor = 70);
CREATE TABLE raw_entries (root uuid, tape uuid, seq bigint, kind text NOT NULL, ts timestamptz NOT NULL, idem_key text, anchor text, digest bytea NOT NULL, meta bytea NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (root, tape, seq));
CREATE UNIQUE INDEX ON raw_entries (root, tape, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX ON raw_entries (root, tape, anchor, seq) WHERE anchor IS NOT NULL;
CREATE INDEX ON raw_entries (root, tape, kind, seq);
CREATE INDEX ON raw_entries (root, tape, ts, seq);
INSERT INTO raw_tapes (root, tape) VALUES ('01890000-0000-7000-8000-000000000000', '01890000-0000-7000-8000-000000000000')
"""
RAW_APPEND = """
WITH tape AS (UPDATE raw_tapes SET head = head + 1 WHERE root = %s AND tape = %s AND state = 0 AND epoch <= %s RETURNING root, tape, head)
INSERT INTO raw_entries (root, tape, seq, kind, ts, digest, meta, body) SELECT root, tape, head, %s, %s, %s, %s, %s FROM tape RETURNING seq
"""


def bare_append(url: str, *, durability: str) -> Bare:
    """Return what appends the bytes of one entry by the one statement that moves a head and inserts, in tables like the store's with nothing around it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS raw_tapes, raw_entries")
        connection.execute(RAW)
    id = UUID("01890000-0000-7000-8000-000000000000")
    values = (id, id, 1, ENTRY.kind, ENTRY.date, bytes(32), codec.encode(stamped(ENTRY).meta), codec.encode(ENTRY.payload))
    return Bare(url, RAW_APPEND, lambda: values, durability=durability)


def bare_select(url: str, tape: str) -> Bare:
    """Return what selects the rows of the last 50 entries of a tape by its key, planned as the store plans."""
    with psycopg.connect(url) as connection:
        place = connection.execute("SELECT root_id, tape_no FROM playhead.tapes WHERE name = %s", [tape]).fetchone()
    assert place is not None
    statement = "SELECT seq, kind, ts, digest, meta, body, enc FROM playhead.entries WHERE root_id = %s AND tape_no = %s ORDER BY seq DESC LIMIT 50"
    return Bare(url, statement, lambda: place, durability="process", settings="SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off")


async def timed(act: Act, *, times: int, writers: int = 1) -> float:
    """Return the seconds that one act takes when so many writers share them."""

    async def write(writer: int) -> None:
        for _ in range(times // writers):
            await act(writer)

    start = perf_counter()
    await asyncio.gather(*map(write, range(writers)))
    return (perf_counter() - start) / times


async def appends(url: str, *, durability: Any, writers: int, rounds: int) -> list[list[object]]:
    """Return a row for each way to write."""
    bares = {"bare append": bare_append(url, durability=durability), "plain insert": bare_insert(url, durability=durability), "round trip": round_trip(url)}
    bares["grouped inserts"] = bare_insert(url, durability=durability, most=512)
    async with PostgresTapeStore(url, durability=durability, search="scan") as store:
        acts: dict[str, Act] = {**{name: bare.act for name, bare in bares.items()}, "append": lambda _: store.append("tape", ENTRY)}
        if writers > 1:
            acts["append, a tape each"] = lambda writer: store.append(f"tape {writer}", ENTRY)
        runs = {name: partial(timed, act, times=APPENDS, writers=writers) for name, act in acts.items()}
        figures = await in_turns(runs, rounds=rounds)
    for bare in bares.values():
        bare.close()
    return [[durability, writers, name, figure.seconds * 1e6, 1 / figure.seconds, figure.ratio] for name, figure in figures.items()]


async def fill(store: PostgresTapeStore, tape: str, size: int) -> None:
    for start in range(0, size, 1_000):
        await store.append_many(tape, [ENTRY] * min(1_000, size - start))


def acts_on(store: PostgresTapeStore, tape: str) -> dict[str, Act]:
    """Return what is done to a tape of each size."""
    numbers = count()
    last = TapeQuery(tape=tape).newest_first().limit(50)

    async def fork(_: int) -> None:
        await store.apply([Fork(tape=branch_name(tape, str(next(numbers))), parent=tape)])

    return {"append": lambda _: store.append(tape, ENTRY), "last 50": lambda _: store.fetch_all(last), "head": lambda _: store.head(tape), "fork": fork}


async def opened(url: str, tape: str) -> float:
    """Return the seconds it takes to open the store and append once."""
    start = perf_counter()
    store = PostgresTapeStore(url, durability="process", search="scan")
    await store.append(tape, ENTRY)
    seconds = perf_counter() - start
    await store.aclose()
    return seconds


async def connected(url: str) -> float:
    """Return the seconds it takes to connect and ask for nothing, in a thread of its own."""
    start = perf_counter()
    bare = round_trip(url)
    await bare.act(0)
    seconds = perf_counter() - start
    bare.close()
    return seconds


async def growing(url: str, sizes: tuple[int, ...], *, rounds: int) -> list[list[object]]:
    """Return a row for each act: microseconds at each size, in round trips at the smallest, and how the largest compares with it."""
    trip = round_trip(url)
    rows: list[list[object]] = []
    async with PostgresTapeStore(url, durability="process", search="scan") as store:
        tapes = {f"tape of {size}": size for size in sizes}
        for tape, size in tapes.items():
            await fill(store, tape, size)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        acts = {tape: acts_on(store, tape) for tape in tapes}
        for name in ("append", "last 50", "head", "fork"):
            runs = {"trip": partial(timed, trip.act, times=ONCE)} | {tape: partial(timed, acts[tape][name], times=ONCE) for tape in tapes}
            rows.append(_row(name, await in_turns(runs, rounds=rounds)))
    rows.append(_row("open and append", await in_turns({"connect": partial(connected, url)} | {tape: partial(opened, url, tape) for tape in tapes}, rounds=rounds)))
    trip.close()
    return rows


async def compared(url: str, *, size: int, rounds: int) -> list[list[object]]:
    """Return a row: the last 50 entries of a tape of so many by a bare SELECT and by the store, and bytes on the disk for each byte of JSON."""
    async with PostgresTapeStore(url, durability="process", search="scan") as store:
        await fill(store, "compared", size)
        select, last = bare_select(url, "compared"), acts_on(store, "compared")["last 50"]
        figures = await in_turns({"bare": partial(timed, select.act, times=ONCE), "store": partial(timed, last, times=ONCE)}, rounds=rounds)
        select.close()
        line = len(dump_line((await store.fetch_all(TapeQuery(tape="compared").limit(1)))[0]))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM")
        ((used,),) = connection.execute(USED, ["playhead"]).fetchall()
    return [[size, figures["bare"].seconds * 1e6, figures["store"].seconds * 1e6, figures["store"].ratio, used / (line * size)]]


def _row(name: str, figures: dict[str, Figure]) -> list[object]:
    one, *sized = figures.values()
    return [name, one.seconds * 1e6, *(figure.seconds * 1e6 for figure in sized), sized[0].ratio, sized[-1].ratio, sized[-1].ratio / sized[0].ratio]


@contextmanager
def server_url(*, socket: bool) -> Iterator[str]:
    """Yield the URL of an empty database on a server that keeps its promises."""
    given = os.environ.get("PLAYHEAD_POSTGRES_URL")
    if given:
        yield given
        return
    with private_server(fsync=True) as server:
        yield server.socket_url() if socket else server.url()


def main() -> None:
    """Print a table of appends, one of what a growing tape costs, and one of reads and room beside the bare ones."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help=f"also with {LONG:,} entries")
    options.add_argument("--socket", action="store_true", help="through the server's Unix socket instead of the loopback")
    options.add_argument("--only", choices=["appends", "growing", "compared"], help="one of the three tables")
    chosen = options.parse_args()
    if chosen.only in (None, "appends"):
        rows = []
        for durability in ("process", "disk"):
            for writers in (1, 16):
                with server_url(socket=chosen.socket) as url:
                    rows += asyncio.run(appends(url, durability=durability, writers=writers, rounds=chosen.rounds))
        report("postgres appends", ["durability", "writers", "what", "us", "a second", "ratio"], rows, file=chosen.json)
    if chosen.only in (None, "growing"):
        sizes = (*SIZES, LONG) if chosen.long else SIZES
        with server_url(socket=chosen.socket) as url:
            rows = asyncio.run(growing(url, sizes, rounds=chosen.rounds))
        header = ["us", "round trip", *(f"{size:,}" for size in sizes), "trips at first", "trips at last", "growth"]
        report("postgres growing", header, rows, file=chosen.json and chosen.json.with_suffix(".growing.json"))
    if chosen.only in (None, "compared"):
        with server_url(socket=chosen.socket) as url:
            rows = asyncio.run(compared(url, size=SIZES[-1], rounds=chosen.rounds))
        header = ["entries", "bare select us", "last 50 us", "ratio", "disk / JSON"]
        report("postgres compared", header, rows, file=chosen.json and chosen.json.with_suffix(".compared.json"))


if __name__ == "__main__":
    main()
