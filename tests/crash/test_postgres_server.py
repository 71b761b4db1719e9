"""The server dies, stops, runs out of connections, or is held up by others: nothing acknowledged is lost, and what cannot be done is said in the store's own errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
import psycopg
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown, BranchClosed, BranchNotFound, Conflict, KeyConflict, PlayheadError, StoreBusy, StoreError, StoreUnavailable
from playhead.store.change import Append, Fork
from playhead.store.family import branch_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.testing.families import closed, everything, forked, merge_of, shown, texts
from playhead.testing.stage import keyed, note
from tests.postgres import Databases, Server, private_server

WRITERS = 4


@contextmanager
def session(url: str) -> Iterator[psycopg.Connection]:
    """Yield somebody else's session."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = playhead")
        yield connection


@pytest.mark.parametrize("how", ["killed", "immediate", "fast"])
def test_writers_go_on_over_the_death_of_the_server(how: str):
    """What was acknowledged is there, once and in each writer's order; what was unknown is told by its key."""

    async def scenario(server: Server) -> None:
        acknowledged: dict[str, int] = {}
        unknown: set[str] = set()
        ended = False

        async def write(store: PostgresTapeStore, who: int) -> None:
            n = 0
            while not ended:
                n += 1
                key = f"{who}.{n}"
                try:
                    (stored,) = await store.append_many("t" if who % 2 else f"t {who}", [keyed(key, key)])
                    acknowledged[key] = stored.id
                except AppendOutcomeUnknown as error:
                    assert list(error.details["keys"]) == [key]
                    unknown.add(key)
                except StoreUnavailable:
                    pass

        async with PostgresTapeStore(server.url(), timeout=20) as store, anyio.create_task_group() as tasks:
            await store.append("t", TapeEntry.event("first"))
            for who in range(WRITERS):
                tasks.start_soon(write, store, who)
            for _ in range(2):
                before = len(acknowledged)
                while len(acknowledged) < before + 40:
                    await anyio.lowlevel.checkpoint()
                await anyio.to_thread.run_sync(server.kill if how == "killed" else lambda: server.stop(how))
                await anyio.to_thread.run_sync(server.start)
            before = len(acknowledged)
            while len(acknowledged) < before + 20:
                await anyio.lowlevel.checkpoint()
            ended = True
        async with PostgresTapeStore(server.url()) as store:
            tapes = await store.list_tapes()
            kept = {tape: list(await store.fetch_all(TapeQuery(tape=tape))) for tape in tapes}
            for tape, entries in kept.items():
                assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
                assert (await store.head(tape)).id == len(entries)
            ids = {entry.meta["idempotency_key"]: entry.id for entries in kept.values() for entry in entries if entry.kind == "note"}
            assert {key: ids.get(key) for key in acknowledged} == acknowledged
            assert set(ids) - set(acknowledged) <= unknown
            for who in range(WRITERS):
                mine = [key for entries in kept.values() for entry in entries for key in [entry.meta.get("idempotency_key", "")] if key.startswith(f"{who}.")]
                assert mine == sorted(mine, key=lambda key: int(key.split(".")[1]))
            for key in sorted(unknown)[:4]:
                await store.append_many("t" if int(key[0]) % 2 else f"t {key[0]}", [keyed(key, key)])

    with private_server(fsync=True) as server:
        anyio.run(scenario, server)


def test_a_merge_and_a_fork_stand_whole_after_the_server_was_killed():
    async def scenario(server: Server) -> None:
        async with PostgresTapeStore(server.url(), timeout=20) as store:
            await store.append_many("t", [note("a"), note("b")])
            branch = await forked(store, "t", "try")
            await store.append_many(branch, [note("c")])
            await store.apply(await merge_of(store, branch, key="merge"), unless=("t", "merge"))
            await store.apply([Fork(tape=branch_name("t", "next"), parent="t", at=1)])
            before = await everything(store, "t")
            await anyio.to_thread.run_sync(server.kill)
            await anyio.to_thread.run_sync(server.start)
            assert await everything(store, "t") == before
            assert await store.apply(await merge_of(store, branch, key="merge"), unless=("t", "merge")) is None

    with private_server(fsync=True) as server:
        anyio.run(scenario, server)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_server_that_is_not_there_is_said_to_be_unavailable_and_is_found_when_it_comes(backend: str):
    async def scenario(server: Server) -> None:
        async with PostgresTapeStore(server.url(), timeout=0.2) as store:
            await store.append("t", TapeEntry.event("first"))
            await anyio.to_thread.run_sync(server.stop)
            start = monotonic()
            for call in (store.list_tapes, lambda: store.append("t", TapeEntry.event("x")), lambda: store.apply([Fork(tape=branch_name("t", "b"), parent="t")])):
                with pytest.raises((StoreUnavailable, AppendOutcomeUnknown)):
                    await call()
            assert monotonic() - start < 20
            await anyio.to_thread.run_sync(server.start)
            assert (await store.append("t", TapeEntry.event("second"))).id == 2

    with private_server() as server:
        anyio.run(scenario, server, backend=backend)


def test_a_server_without_a_free_connection_is_busy():
    async def scenario(server: Server) -> None:
        others = [psycopg.connect(server.url(), autocommit=True) for _ in range(7)]
        try:
            store = PostgresTapeStore(server.url(), timeout=0.3, connections=1)
            for call in (store.list_tapes, lambda: store.append("t", TapeEntry.event("x")), store.__aenter__):
                with pytest.raises(StoreBusy, match="max_connections"):
                    await call()
            await store.aclose()
            for other in others:
                other.close()
            async with PostgresTapeStore(server.url(), timeout=20, connections=1) as store:
                assert (await store.append("t", TapeEntry.event("x"))).id == 1
        finally:
            for other in others:
                other.close()

    with private_server(max_connections=7, superuser_reserved_connections=0) as server:
        anyio.run(scenario, server)


def test_a_tape_that_somebody_else_holds_is_busy_until_they_let_go(postgres_url: str):
    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url, timeout=0.2) as store:
            await store.append("t", TapeEntry.event("first"))
            with session(postgres_url) as rival:
                rival.execute("BEGIN")
                rival.execute("SELECT * FROM tapes FOR UPDATE")
                for call in (lambda: store.append("t", TapeEntry.event("x")), lambda: store.reset("t")):
                    with pytest.raises(StoreBusy):
                        await call()
                assert (await store.head("t")).id == 1
                rival.execute("ROLLBACK")
            assert (await store.append("t", TapeEntry.event("x"))).id == 2

    anyio.run(scenario)


def test_a_reader_waits_for_no_writer(postgres_url: str):
    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url, timeout=0.2) as store:
            await store.append("t", TapeEntry.event("first"))
            with session(postgres_url) as rival:
                rival.execute("BEGIN")
                rival.execute("SELECT * FROM tapes FOR UPDATE")
                rival.execute("UPDATE tapes SET head = head + 1")
                assert [entry.id for entry in await store.fetch_all(TapeQuery(tape="t"))] == [1]
                assert await store.list_tapes() == ["t"]
                rival.execute("ROLLBACK")

    anyio.run(scenario)


def test_readers_that_wait_for_a_connection_for_too_long_are_told_so(postgres_url: str):
    """Its one connection is held up by somebody who alters a table; those that were asked meanwhile do not wait for ever."""

    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url, timeout=0.2, connections=1) as store:
            await store.append("t", TapeEntry.event("first"))
            await store.head("t")
            outcomes: list[type[Exception]] = []

            async def read() -> None:
                try:
                    await store.fetch_all(TapeQuery(tape="t"))
                except PlayheadError as error:
                    outcomes.append(type(error))

            with session(postgres_url) as rival:
                rival.execute("BEGIN")
                rival.execute("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE")
                async with anyio.create_task_group() as tasks:
                    for _ in range(6):
                        tasks.start_soon(read)
                rival.execute("ROLLBACK")
            assert outcomes == [StoreBusy] * 6
            assert len(await store.fetch_all(TapeQuery(tape="t"))) == 1

    anyio.run(scenario)


def test_tables_that_were_dropped_and_made_anew_are_not_taken_for_those_that_the_store_knows(postgres: Databases):
    """Else the next entry of a tape that had two would be its first."""

    async def scenario(url: str) -> None:
        async with PostgresTapeStore(url, timeout=1) as store, PostgresTapeStore(url, timeout=1) as stranger:
            for _ in range(2):
                await store.append("t", TapeEntry.event("x"))
            assert (await stranger.head("t")).id == 2
            with session(url) as rival:
                rival.execute("DROP SCHEMA playhead CASCADE")
                for call in (lambda: store.append("t", TapeEntry.event("x")), store.list_tapes, lambda: store.reset("t")):
                    with pytest.raises(StoreUnavailable):
                        await call()
            async with PostgresTapeStore(url) as other:
                await other.list_tapes()
                for call in (lambda: store.append("t", TapeEntry.event("x")), lambda: stranger.append("t", TapeEntry.event("x")), lambda: store.reset("t")):
                    with pytest.raises(StoreUnavailable, match="made anew"):
                        await call()
                assert (await other.append("t", TapeEntry.event("x"))).id == 1

    with postgres.database(fresh=True) as url:
        anyio.run(scenario, url)


def test_a_tape_that_somebody_else_removed_begins_again(postgres_url: str):
    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url) as store, PostgresTapeStore(postgres_url) as other:
            await store.append("t", TapeEntry.event("x"))
            await other.rename("t", "u")
            assert (await store.append("t", TapeEntry.event("x"))).id == 1
            assert await store.list_tapes() == ["t", "u"]

    anyio.run(scenario)


def test_a_deadlock_is_tried_again(postgres: Databases):
    """A rival holds the branch and then wants its parent, which a merge holds: the server ends the merge, the store makes it anew."""

    async def scenario(url: str) -> None:
        async with PostgresTapeStore(url, timeout=20) as store:
            await store.append_many("t", [note("first")])
            branch = await forked(store, "t", "b")
            await store.append_many(branch, [note("second")])
            changes = await merge_of(store, branch, key="merge")
            with session(url) as rival:
                rival.execute("SET deadlock_timeout = '60s'")
                rival.execute("BEGIN")
                rival.execute("SELECT * FROM tapes WHERE name = %s FOR UPDATE", [branch])

                def want_the_other() -> int:
                    with session(url) as watcher:
                        while watcher.execute(WAITING).fetchone() == (0,):
                            pass
                        found = rival.execute("SELECT head FROM tapes WHERE name = 't' FOR UPDATE").fetchall()
                        rival.execute("ROLLBACK")
                        return found[0][0]

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(store.apply, changes, unless=("t", "merge")))
                    assert await anyio.to_thread.run_sync(want_the_other) == 1
            assert await texts(store, "t") == ["first", "second", "merge"]
            assert (await store.branch(branch)).state == "merged"

    with postgres.database(fresh=True) as url:
        with session(url) as connection:
            connection.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} SET deadlock_timeout = '1s'")
        anyio.run(scenario, url)


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

FAILING = """
CREATE SEQUENCE failures;
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('failures') <= {times} THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '{code}'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION fail();
"""


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_what_the_server_asks_to_try_again_is_tried_again(postgres: Databases, code: str):
    """Appends alone and together, with a head and without, and changes of a family; nothing is done twice."""

    async def scenario(url: str) -> None:
        async with PostgresTapeStore(url) as store:
            await store.append("t", TapeEntry.event("first"))
            for n, deed in enumerate(
                (
                    lambda: store.append_many("t", [note("alone")]),
                    lambda: store.append_many("t", [note("a"), keyed("b", "k")], expected_head=Head(0, 2)),
                    lambda: store.apply([Append(tape="t", entries=[note("c")]), Fork(tape=branch_name("t", "b"), parent="t")]),
                    lambda: store.append_many(branch_name("t", "b"), [note("d")]),
                )
            ):
                with session(url) as rival:
                    rival.execute(FAILING.format(times=3 if n % 2 else 1, code=code))
                    await deed()
                    rival.execute("DROP TRIGGER fail ON entries")
                    rival.execute("DROP FUNCTION fail")
                    assert rival.execute("SELECT last_value FROM failures").fetchone()[0] > 1
                    rival.execute("DROP SEQUENCE failures")
            async with anyio.create_task_group() as tasks:
                with session(url) as rival:
                    rival.execute(FAILING.format(times=2, code=code))
                for n in range(12):
                    tasks.start_soon(store.append_many, f"t {n % 3}", [note(str(n))])
            assert await shown(store, branch_name("t", "b")) == [(1, ""), (2, "alone"), (3, "a"), (4, "b"), (5, "c"), (6, "d")]
            for n in range(3):
                assert [id for id, _ in await shown(store, f"t {n}")] == [1, 2, 3, 4]

    with postgres.database(fresh=True) as url:
        anyio.run(scenario, url)


@pytest.mark.parametrize(("code", "error"), [("53100", StoreUnavailable), ("57014", StoreBusy), ("55P03", StoreBusy), ("42501", StoreUnavailable), ("XX000", StoreError)])
def test_what_the_server_refuses_is_an_error_of_the_store_and_changes_nothing(postgres: Databases, code: str, error: type[StoreError]):
    """A full disk, a statement that took too long, a lock that was not got, a right that is missing, a fault of the server itself."""

    async def scenario(url: str) -> None:
        async with PostgresTapeStore(url, timeout=0.2) as store:
            await store.append("t", TapeEntry.event("first"))
            with session(url) as rival:
                rival.execute(FAILING.format(times=1_000, code=code))
                for call in (lambda: store.append("t", TapeEntry.event("x")), lambda: store.reset("t", entries=[note("y")])):
                    with pytest.raises(error):
                        await call()
                assert await store.head("t") == Head(0, 1)
                rival.execute("DROP TRIGGER fail ON entries")
            assert (await store.append("t", TapeEntry.event("second"))).id == 2

    with postgres.database(fresh=True) as url:
        anyio.run(scenario, url)


def test_one_append_of_many_that_wait_together_fails_alone(postgres_url: str):
    """Those that wait behind a slow one go to the server together: a conflict, a key with another body or a closed branch among them is its own affair."""

    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url) as store:
            await store.append_many("t", [keyed("first", "k")])
            closed_branch = await closed(store, await forked(store, "t", "b"), "discarded")
            outcomes: dict[int, object] = {}

            async def attempt(n: int) -> None:
                call = {
                    1: lambda: store.append_many("t", [note("wrong head")], expected_head=Head(0, 99)),
                    2: lambda: store.append_many("t", [keyed("another body", "k")]),
                    3: lambda: store.append_many(closed_branch, [note("closed")]),
                    4: lambda: store.append_many(branch_name("t", "never"), [note("no such branch")]),
                }.get(n % 5, lambda: store.append_many("t", [note(str(n))]))
                try:
                    outcomes[n] = [entry.id for entry in await call()]
                except PlayheadError as error:
                    outcomes[n] = type(error)

            with session(postgres_url) as rival:
                rival.execute("BEGIN")
                rival.execute("SELECT * FROM tapes WHERE name = 't' FOR UPDATE")
                async with anyio.create_task_group() as tasks:
                    for n in range(20):
                        tasks.start_soon(attempt, n)
                    await anyio.wait_all_tasks_blocked()
                    rival.execute("ROLLBACK")
            assert {n: outcomes[n] for n in outcomes if n % 5} == {n: {1: Conflict, 2: KeyConflict, 3: BranchClosed, 4: BranchNotFound}[n % 5] for n in range(20) if n % 5}
            assert sorted(outcomes[n] for n in range(0, 20, 5)) == [[2], [3], [4], [5]]
            assert [id for id, _ in await shown(store, "t")] == [1, 2, 3, 4, 5]

    anyio.run(scenario)


def test_an_append_whose_wait_is_cancelled_was_made_or_was_not(postgres_url: str):
    """The store goes on either way, and what was appended behind it is in order."""

    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url) as store:
            await store.append("t", TapeEntry.event("first"))
            for n in range(20):
                with session(postgres_url) as rival:
                    rival.execute("BEGIN")
                    if n % 2:
                        rival.execute("SELECT * FROM tapes FOR UPDATE")
                    with anyio.move_on_after(0.002 * (n % 4)):
                        await store.append_many("t", [note(f"cut {n}"), keyed(f"key {n}", f"k{n}")])
                    rival.execute("ROLLBACK")
                await store.append_many("t", [note(f"behind {n}")])
            entries = await store.fetch_all(TapeQuery(tape="t"))
            assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
            said = [entry.payload["text"] for entry in entries[1:]]
            assert [text for text in said if text.startswith("behind")] == [f"behind {n}" for n in range(20)]
            for n in range(20):
                assert said.count(f"cut {n}") == said.count(f"key {n}") <= 1
                if f"cut {n}" in said:
                    assert said.index(f"key {n}") == said.index(f"cut {n}") + 1 < said.index(f"behind {n}")

    anyio.run(scenario)
