"""Processes at one PostgreSQL store: killed, forked, many at once, and hearing of each other."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import anyio.lowlevel
import anyio.to_thread
import psycopg
import pytest

from playhead.entry.entry import TapeEntry
from playhead.store.family import branch_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.store.query import TapeQuery
from playhead.tape import following
from playhead.tape.tape import open_tape
from playhead.testing.stage import note
from tests.crash.processes import finished, started
from tests.crash.wire import wire
from tests.postgres import Databases

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))

WRITES = """
import sys, anyio
from playhead.store.postgres.store import PostgresTapeStore
from playhead.testing.stage import note

async def main(url, who, writers, count):
    async with PostgresTapeStore(url, durability="process") as store:
        await store.list_tapes()
        print("ready", flush=True)
        sys.stdin.readline()

        async def write(writer):
            for n in range(count):
                await store.append_many("t", [note(f"{who}.{writer} {n}") for _ in range(1 + n % 2)])

        async with anyio.create_task_group() as tasks:
            for writer in range(writers):
                tasks.start_soon(write, writer)

anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""

LIVES = """
import os, sys, anyio
from playhead.store.change import Append, Close, Fork
from playhead.store.family import branch_name
from playhead.store.postgres.store import PostgresTapeStore
from playhead.testing.families import merge_of
from playhead.testing.stage import keyed, note

def told(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

async def main(url, life):
    async with PostgresTapeStore(url) as store:
        async def append(who):
            n = 0
            while True:
                n += 1
                stored = await store.append_many(f"tape {who}", [keyed(f"{life}.{who}.{n}", f"{life}.{who}.{n}"), note("with it")])
                told("entry", f"tape {who}".replace(" ", "_"), stored[0].id, stored[0].uid)

        async def branch():
            n = 0
            while True:
                n += 1
                name = branch_name("main", f"{life}-{n}")
                await store.apply([Fork(tape=name, parent="main")])
                told("forked", name)
                await store.append_many(name, [note(f"on {name}"), note(f"more on {name}")])
                await store.apply(await merge_of(store, name, key=name), unless=("main", name))
                told("merged", name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(append, "a")
            tasks.start_soon(append, "b")
            tasks.start_soon(branch)

anyio.run(main, sys.argv[1], sys.argv[2])
"""

FORKS = """
import os, sys, anyio
from playhead.store.postgres.store import PostgresTapeStore
from playhead.testing.stage import note

async def write(store, who, count):
    for i in range(count):
        await store.append_many("t", [note(f"{who} {i}")])
        await store.head("t")

store = PostgresTapeStore(sys.argv[1], durability="process")
anyio.run(write, store, "before", 10)
children = []
for n in range(3):
    child = os.fork()
    if child == 0:
        anyio.run(write, store, f"child {n}", 20)
        anyio.run(store.aclose)
        os._exit(0)
    children.append(child)
    anyio.run(write, store, f"parent {n}", 10)
codes = [os.waitpid(child, 0)[1] for child in children]
anyio.run(store.aclose)
print(codes)
"""


SKEWED = """
import sys, anyio
from datetime import timedelta
from playhead import clock
from playhead.errors import LeaseHeld
from playhead.store.postgres.store import PostgresTapeStore

class WrongClock(clock.SystemClock):
    def now(self):
        return super().now() + timedelta(hours=int(sys.argv[2]))

clock._SYSTEM.__class__ = WrongClock

async def main(url):
    async with PostgresTapeStore(url) as store:
        try:
            await store.lease("t", owner="other", seconds=60)
            print("leased")
        except LeaseHeld:
            print("held")

anyio.run(main, sys.argv[1])
"""


def entries_of(url: str, tape: str) -> list[TapeEntry]:
    async def read() -> list[TapeEntry]:
        async with PostgresTapeStore(url) as store:
            return list(await store.fetch_all(TapeQuery(tape=tape)))

    return anyio.run(read)


def test_sixteen_writers_in_each_of_four_processes_number_the_entries_of_one_tape_together(postgres_url: str):
    """Dense, each writer's own order, batches in one piece."""
    processes, writers, count = 4, 16, 40 if SOAK else 6
    children = [started(WRITES, postgres_url, who, writers, count, stdin=subprocess.PIPE) for who in range(processes)]
    for child in children:
        assert child.stdout.readline() == b"ready\n", child.communicate()[1].decode()
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        assert child.wait(timeout=240) == 0, child.communicate()[1].decode()
        child.communicate()
    entries = entries_of(postgres_url, "t")
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    texts = [entry.payload["text"] for entry in entries]
    wanted = [n for n in range(count) for _ in range(1 + n % 2)]
    for who in range(processes):
        for writer in range(writers):
            assert [int(text.split()[1]) for text in texts if text.startswith(f"{who}.{writer} ")] == wanted
    assert all(text in (texts[place - 1], *texts[place + 1 : place + 2]) for place, text in enumerate(texts) if int(text.split()[1]) % 2)
    assert len(texts) == processes * writers * len(wanted)


def test_what_a_killed_process_acknowledged_stands_and_its_merges_are_whole(postgres_url: str):
    chance = random.Random(11)
    entries: dict[tuple[str, int], str] = {}
    forked: set[str] = set()
    merged: set[str] = set()
    for life in range(40 if SOAK else 5):
        child = started(LIVES, postgres_url, life)
        told = [child.stdout.readline() for _ in range(10 + chance.randrange(60))]
        child.send_signal(signal.SIGKILL)
        out, err = child.communicate()
        assert all(told), err.decode()
        for line in (b"".join(told) + out).decode().splitlines(keepends=True):
            match line.split():
                case ["entry", tape, id, uid] if line.endswith("\n"):
                    entries[tape, int(id)] = uid
                case ["forked", name]:
                    forked.add(name)
                case ["merged", name]:
                    merged.add(name)

    async def check() -> None:
        async with PostgresTapeStore(postgres_url) as store:
            for tape in ("tape a", "tape b", "main"):
                kept = list(await store.fetch_all(TapeQuery(tape=tape)))
                assert [entry.id for entry in kept] == list(range(1, len(kept) + 1))
                uids = {entry.id: entry.uid for entry in kept}
                acknowledged = {id: uid for (where, id), uid in entries.items() if where == tape.replace(" ", "_")}
                assert {id: uids.get(id) for id in acknowledged} == acknowledged
                if tape != "main":
                    assert [entry.payload["text"] == "with it" for entry in kept] == [place % 2 == 1 for place in range(len(kept))]
            records = {record.name: record for record in await store.branches("main")}
            assert forked <= set(records)
            assert merged <= {name for name, record in records.items() if record.state == "merged"}
            said = [(entry.meta.get("idempotency_key"), entry.payload["text"]) for entry in kept]
            for name, record in records.items():
                whole = [(None, f"on {name}"), (None, f"more on {name}"), (name, "merge")]
                places = [place for place, each in enumerate(said) if each == whole[0]]
                assert [said[place : place + 3] for place in places] == ([whole] if record.state == "merged" else [])

    anyio.run(check)
    assert entries
    assert merged


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_lease_goes_by_the_clock_of_the_server_however_wrong_that_of_a_client_is(postgres_url: str, hours: int):
    async def lease(seconds: float) -> None:
        async with PostgresTapeStore(postgres_url) as store:
            await store.lease("t", owner="one", seconds=seconds)

    anyio.run(lease, 600)
    assert finished(SKEWED, postgres_url, hours).strip() == "held"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE playhead.leases SET until = until - 601 * 1000000")
    assert finished(SKEWED, postgres_url, hours).strip() == "leased"


def test_a_fork_of_the_process_goes_on_with_connections_of_its_own(postgres_url: str):
    assert finished(FORKS, postgres_url).strip() == "[0, 0, 0]"
    entries = entries_of(postgres_url, "t")
    assert [entry.id for entry in entries] == list(range(1, 10 + 3 * 20 + 3 * 10 + 1))
    for who, count in [("before", 10), *((f"{kind} {n}", of) for n in range(3) for kind, of in (("child", 20), ("parent", 10)))]:
        assert [entry.payload["text"] for entry in entries if entry.payload["text"].startswith(f"{who} ")] == [f"{who} {i}" for i in range(count)]


async def followed(entries: AsyncIterator[TapeEntry], heard: list[str], count: int) -> None:
    async for entry in entries:
        heard.append(entry.payload["text"])
        if len(heard) == count:
            return


async def until(heard: list[str], count: int) -> None:
    with anyio.fail_after(30):
        while len(heard) < count:
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_follower_hears_of_what_another_store_appends_long_before_its_next_look(postgres_url: str, backend: str, monkeypatch: pytest.MonkeyPatch):
    """An hour between two looks: only the notice can have woken it."""
    monkeypatch.setattr(following, "_FIRST_PAUSE", 3600)

    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url) as listening, PostgresTapeStore(postgres_url) as writing:
            heard: list[str] = []
            await writing.append_many("t", [note("0")])
            tape = open_tape(listening, "t")
            async with aclosing(tape.follow(after=0, pause=3600)) as entries, anyio.create_task_group() as tasks:
                tasks.start_soon(followed, entries, heard, 6)
                for n in range(1, 6):
                    await until(heard, n)
                    await writing.append_many("t", [note(str(n))])
                await until(heard, 6)
            assert heard == [str(n) for n in range(6)]

    anyio.run(scenario, backend=backend)


def test_a_follower_whose_listener_is_killed_or_silent_sees_all_in_order(postgres: Databases, postgres_url: str):
    """Notices are lost with the session that listens, or never come through: the next look finds what they were about."""

    async def scenario() -> None:
        with wire(postgres.address) as line:
            through = postgres.through(postgres_url, port=line.port)
            async with PostgresTapeStore(through) as listening, PostgresTapeStore(postgres_url) as writing:
                heard: list[str] = []
                await writing.append_many("t", [note("0")])
                async with aclosing(open_tape(listening, "t").follow(after=0, pause=0.05)) as entries, anyio.create_task_group() as tasks:
                    tasks.start_soon(followed, entries, heard, 41)
                    for n in range(1, 41):
                        if n % 5 == 0:
                            await until(heard, n)
                        if n % 10 == 0:
                            line.cut_all()
                        if n % 10 == 5:
                            await anyio.to_thread.run_sync(end_listeners, postgres_url)
                        await writing.append_many("t", [note(str(n))])
                assert heard == [str(n) for n in range(41)]

    anyio.run(scenario)


def end_listeners(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ILIKE 'listen%'")


def test_a_consumer_goes_on_where_its_killed_predecessor_stopped(postgres_url: str):
    """Nothing is missed; only what was being handled comes again."""

    async def scenario() -> None:
        async with PostgresTapeStore(postgres_url) as store:
            await store.append_many("t", [note(str(n)) for n in range(20)])
            heard: list[str] = []
            tape = open_tape(store, "t")
            for part in (3, 7, 10):
                async with aclosing(tape.follow(consumer="c", after=0, pause=0.05)) as entries:
                    await followed(entries, heard, len(heard) + part)
            assert sorted(set(heard), key=int) == [str(n) for n in range(len(set(heard)))]
            assert heard == sorted(heard, key=int)

    anyio.run(scenario)


def test_a_branch_that_a_killed_process_left_open_is_there_for_the_next(postgres_url: str):
    script = LIVES.replace('told("forked", name)', 'told("forked", name); await anyio.sleep_forever()')
    child = started(script, postgres_url, "x")
    line = b""
    while not line.startswith(b"forked"):
        line = child.stdout.readline()
    child.kill()
    child.communicate()

    async def look() -> None:
        async with PostgresTapeStore(postgres_url) as store:
            record = await store.branch(branch_name("main", "x-1"))
            assert record.is_open
            await store.append_many(record.name, [note("taken up")])

    anyio.run(look)
