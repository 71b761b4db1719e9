"""What archiving does to a PostgreSQL database, and what becomes of damage, resets and rights there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
import anyio.to_thread
import psycopg
import pytest
from psycopg import sql

import playhead as ph
from playhead.store.archiving.packing import MOST_BYTES
from playhead.store.rows.statements import statements
from playhead.testing.families import everything
from tests.postgres import Databases

WORDS = "what was said is said again and again, in much the same words. " * 26
PATIENCE = 20
SIZE = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'playhead'::regnamespace AND relkind = 'r'"
BLOCKED = "SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE NOT l.granted AND c.relname = 'segments'"


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = playhead")
        yield connection


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    with connected(url) as connection:
        return connection.execute(statement).fetchall()


async def told(store: ph.PostgresTapeStore, count: int, *, words: str = WORDS) -> None:
    for start in range(0, count, 200):
        await store.append_many("t", [ph.TapeEntry.event("n", {"n": n, "text": f"{n} {words}"}) for n in range(start, min(start + 200, count))])


async def numbers(store: ph.PostgresTapeStore, query: ph.TapeQuery) -> list[int]:
    return [entry.payload["data"]["n"] for entry in await store.fetch_all(query)]


async def until(url: str, statement: str) -> None:
    """Return when a statement finds something."""
    with anyio.fail_after(PATIENCE):
        while not await anyio.to_thread.run_sync(asked, url, statement):
            await anyio.lowlevel.checkpoint()


def test_the_server_has_room_again_and_says_where_a_role_may_not_make_it(postgres: Databases):
    with postgres.database(fresh=True) as url:
        role = f"user_of_{url.partition('?')[0].rpartition('/')[2]}"

        async def archived() -> None:
            async with ph.PostgresTapeStore(url, durability="process") as store:
                await told(store, 1500)
                (before,) = asked(url, SIZE)
                report = await store.archive("t", upto=1400)
                assert (report.upto, report.entries, report.after * 4 < report.before) == (1400, 1400, True)
                await store.compact()
                (after,) = asked(url, SIZE)
                assert after[0] * 2 < before[0]
                assert await numbers(store, ph.TapeQuery(tape="t")) == list(range(1500))
            async with ph.PostgresTapeStore(url, read_only=True) as reading:
                assert await numbers(reading, ph.TapeQuery(tape="t").after(1395).limit(9)) == list(range(1395, 1404))
                for write in (reading.compact, lambda: reading.archive("t", upto=9)):
                    with pytest.raises(ph.ReadOnly):
                        await write()

        async def refused() -> None:
            async with ph.PostgresTapeStore(f"{url}&options=-c%20role%3D{role}") as store:
                assert (await store.archive("t", upto=1450)).entries == 50
                with pytest.raises(ph.StoreUnavailable, match="owner"):
                    await store.compact()
                assert await numbers(store, ph.TapeQuery(tape="t").after(1448).limit(3)) == [1448, 1449, 1450]

        anyio.run(archived)
        with connected(url) as connection:
            name = sql.Identifier(role)
            connection.execute(sql.SQL("CREATE ROLE {}").format(name))
            connection.execute(sql.SQL("GRANT USAGE ON SCHEMA playhead TO {}").format(name))
            connection.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA playhead TO {}").format(name))
            try:
                anyio.run(refused)
            finally:
                connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
                connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.mark.parametrize(
    "damage",
    ["UPDATE segments SET data = data || 'x'::bytea WHERE low = 257", "UPDATE segments SET high = high - 1 WHERE low = 257", "DELETE FROM segments WHERE low = 257"],
    ids=["altered", "short", "gone"],
)
def test_a_segment_that_is_damaged_is_told_and_all_around_it_is_read(damage: str, postgres_url: str):
    async def run() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process") as store:
            await told(store, 900, words="and again")
            await store.archive("t", upto=800)
            with connected(postgres_url) as connection:
                assert connection.execute(damage).rowcount == 1
            with pytest.raises(ph.StoreDamaged):
                await numbers(store, ph.TapeQuery(tape="t"))
            with pytest.raises(ph.StoreDamaged):
                await numbers(store, ph.TapeQuery(tape="t").after(510).limit(5))
            assert await numbers(store, ph.TapeQuery(tape="t").before(257)) == list(range(256))
            assert await numbers(store, ph.TapeQuery(tape="t").after(512)) == list(range(512, 900))
            assert await numbers(store, ph.TapeQuery(tape="t").after(512).newest_first()) == list(range(899, 511, -1))
            assert await store.count(ph.TapeQuery(tape="t")) == 900

    anyio.run(run)


def test_a_row_that_is_not_as_it_was_written_is_not_archived(postgres_url: str):
    async def run() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process") as store:
            await told(store, 600, words="and again")
            asked(postgres_url, "UPDATE entries SET body = '{}' WHERE seq = 400 RETURNING seq")
            with pytest.raises(ph.StoreDamaged, match="400"):
                await store.archive("t", upto=600)
            assert await numbers(store, ph.TapeQuery(tape="t").before(400)) == list(range(399))
            assert asked(postgres_url, "SELECT max(seq) < 400 FROM entries WHERE enc = 1") == [(True,)]

    anyio.run(run)


def test_a_read_that_a_reset_overtakes_finds_the_tape_as_it_is_then(postgres_url: str):
    """Between the rows of archived entries and what these say, which goes with them."""

    async def run() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process") as store, ph.PostgresTapeStore(postgres_url, durability="process") as other:
            await told(store, 600, words="and again")
            await store.archive("t", upto=600)
            found: list[int] = []

            async def read() -> None:
                found.extend(await numbers(store, ph.TapeQuery(tape="t").after(300).limit(2)))
                found.extend(await numbers(store, ph.TapeQuery(tape="t").kinds("event")))

            with connected(postgres_url) as connection:
                connection.execute("BEGIN")
                connection.execute("LOCK TABLE segments IN ACCESS EXCLUSIVE MODE")
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(read)
                    await until(postgres_url, BLOCKED)
                    await other.reset("t", entries=[ph.TapeEntry.event("n", {"n": 7})])
                    connection.execute("DELETE FROM segments")
                    connection.execute("COMMIT")
            assert found == [7]

    anyio.run(run)


def test_segments_go_with_the_tape_and_stay_while_a_branch_shows_them(postgres_url: str):
    async def run() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process") as store:
            await told(store, 1300, words="and again")
            await store.archive("t", upto=1300)
            branch = await ph.Tape(store, "t").fork(at=700, name="b")
            await store.reset("t")
            before = await everything(store, "t")
            assert await numbers(store, ph.TapeQuery(tape=branch.name)) == list(range(700))
            await branch.discard()
            assert len(await everything(store, "t")) == len(before)
            assert await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)) == [branch.name]
            await until(postgres_url, "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM segments)")

    anyio.run(run)


def test_no_more_is_read_than_a_segment_takes(postgres_url: str):
    async def run() -> None:
        async with ph.PostgresTapeStore(postgres_url, durability="process", inline_limit=None) as store:
            await told(store, 20, words="x" * 100_000)
            await told(store, 1, words="y" * 1_000_000)
            with connected(postgres_url) as connection:
                where = connection.execute("SELECT root_id AS root, tape_no AS tape FROM tapes").fetchone()
                assert where is not None
                values = {"root": where[0], "tape": where[1], "low": 1, "high": 99, "limit": 256, "bytes": MOST_BYTES}
                found = connection.execute(statements("postgres/archive")["to_archive"], values).fetchall()
            assert [row[0] for row in found] == [1, 2, 3]
            assert (await store.archive("t", upto=21)).entries == 21
            assert asked(postgres_url, "SELECT low, high FROM segments ORDER BY low DESC LIMIT 2") == [(21, 21), (19, 20)]
            assert await numbers(store, ph.TapeQuery(tape="t").newest_first()) == [0, *range(19, -1, -1)]

    anyio.run(run)
