"""What SQLite stores keep when processes are killed, forked, locked out, or run out of disk."""

import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreBusy
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from tests.crash.processes import finished, started

SECONDS = 300 if os.environ.get("PLAYHEAD_SOAK") else 12
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals, forks and limits of Unix")

WRITER = """
import sys, anyio, random
from playhead.entry.entry import TapeEntry
from playhead.store.sqlite.store import SQLiteTapeStore

async def go(path, durability, seed):
    chance = random.Random(seed)
    store = SQLiteTapeStore(path, durability=durability)
    async def write(tape):
        n = 0
        while True:
            n += 1
            batch = [TapeEntry.event(tape, "x" * chance.choice([10, 1000, 60000]), n=n, of=i, size=size) for size in [chance.choice([1, 1, 3])] for i in range(size)]
            stored = await store.append_many(tape, batch)
            sys.stdout.write("".join(f"{tape} {e.id} {e.uid}\\n" for e in stored))
            sys.stdout.flush()
            if n % 40 == 0:
                await store.reset(tape + " emptied", entries=batch)
    async with anyio.create_task_group() as tasks:
        for tape in "abc":
            tasks.start_soon(write, tape)

anyio.run(go, sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""

APPENDER = """
import sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.sqlite.store import SQLiteTapeStore

async def go(path, who):
    async with SQLiteTapeStore(path, durability="process", timeout=60) as store:
        for i in range(100):
            if i % 10 == 0:
                await store.append_many("t", [TapeEntry.event(who, i), TapeEntry.event(who, "second"), TapeEntry.event(who, "third")][: 1 + i % 3])
            else:
                await store.append("t", TapeEntry.event(who, i))

anyio.run(go, sys.argv[1], sys.argv[2])
"""

HOLDER = """
import sys
from playhead.store.rows.connection import Place
with Place(path=sys.argv[1], durability="disk", timeout=1).lock():
    print("held", flush=True)
    sys.stdin.read()
"""

FORKER = """
import os, sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.sqlite.store import SQLiteTapeStore

async def write(store, who, count):
    for i in range(count):
        await store.append("t", TapeEntry.event(who, i))
        await store.head("t")

store = SQLiteTapeStore(sys.argv[1], durability="process")
anyio.run(write, store, "before", 20)
children = []
for n in range(3):
    child = os.fork()
    if child == 0:
        anyio.run(write, store, f"child {n}", 40)
        anyio.run(store.aclose)
        os._exit(0)
    children.append(child)
    anyio.run(write, store, f"parent {n}", 20)
codes = [os.waitpid(child, 0)[1] for child in children]
anyio.run(store.aclose)
print(codes)
"""

LIMITED = """
import resource, signal, sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown
from playhead.store.sqlite.store import SQLiteTapeStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def go(path):
    store = SQLiteTapeStore(path)
    await store.append("t", TapeEntry.event("before", idempotency_key="before"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    told = 0
    for i in range(300):
        try:
            await store.append("t", TapeEntry.event("x", "y" * 3000, idempotency_key=f"k{i}"))
            told += 1
        except AppendOutcomeUnknown as error:
            print(told, "unknown", "ask by idempotency key" in str(error))
            break
    for call in (store.append("t", TapeEntry.event("x")), store.head("t")):
        try:
            await call
            print("accepted")
        except AppendOutcomeUnknown:
            print("poisoned")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.aclose()
    async with SQLiteTapeStore(path) as again:
        found = await again.find("t", keys=[f"k{i}" for i in range(300)])
        (entry,) = await again.append_many("t", [TapeEntry.event("x", "y" * 3000, idempotency_key=f"k{told}")])
        print(len(found) in (told, told + 1), entry.id == told + 2)

anyio.run(go, sys.argv[1])
"""

LOCKED_OUT = """
import os, sys, anyio, msgspec, sqlite3
from pathlib import Path
from playhead.entry.entry import TapeEntry
from playhead.errors import StoreUnavailable
from playhead.store.condition import failures
from playhead.store.rows import connection, statements
from playhead.store.sqlite import reader, store as sqlite, writer
import anyio._backends._asyncio
statements.numbered(), [statements.statements(f) for f in ("connection", "read", "write")], [statements.script(n) for n in statements.numbered()]

async def go(path):
    for call in (lambda s: s.append("t", TapeEntry.event("x")), lambda s: s.list_tapes()):
        store = sqlite.SQLiteTapeStore(path)
        try:
            await call(store)
            print("accepted")
        except StoreUnavailable as error:
            print("refused")
        await store.aclose()

if os.geteuid() == 0:
    os.seteuid(65534)
anyio.run(go, sys.argv[1])
"""


def entries_of(path, tape):
    async def read():
        async with SQLiteTapeStore(path) as store:
            return await store.fetch_all(TapeQuery(tape=tape))

    return anyio.run(read)


def integrity(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


def check(path, acknowledged):
    assert integrity(path) == [("ok",)]
    for tape in "abc":
        entries = entries_of(path, tape)
        assert [e.id for e in entries] == list(range(1, len(entries) + 1))
        uids = {e.id: e.uid for e in entries}
        assert {place: uids.get(place) for place in acknowledged[tape]} == acknowledged[tape]
        ends = [(e.meta["of"], e.meta["size"]) for e in entries]
        assert all(of + 1 == size or (after[0] == of + 1 and after[1] == size) for (of, size), after in zip(ends, [*ends[1:], (0, 0)], strict=True)), "a batch is cut"


@unix
@pytest.mark.parametrize("durability", ["disk", "process"])
def test_no_acknowledged_append_is_lost_when_the_process_is_killed(tmp_path, durability):
    path, chance = tmp_path / "tapes.db", random.Random(7)
    acknowledged = {tape: {} for tape in "abc"}
    end, kills = time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < end:
        process = started(WRITER, path, durability, kills)
        process.stdout.readline()
        time.sleep(chance.uniform(0.005, 0.25))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        for line in out.decode().splitlines(keepends=True):
            if line.endswith("\n"):
                tape, place, uid = line.split()
                acknowledged[tape][int(place)] = uid
        kills += 1
        check(path, acknowledged)
    assert kills > 2
    assert sum(map(len, acknowledged.values())) > 10


def test_processes_on_one_file_number_entries_together(tmp_path):
    path = tmp_path / "tapes.db"
    writers = [started(APPENDER, path, who) for who in "wxyz"]
    for writer in writers:
        _, err = writer.communicate(timeout=120)
        assert writer.returncode == 0, err.decode()
    entries = entries_of(path, "t")
    assert [e.id for e in entries] == list(range(1, len(entries) + 1))
    assert len({e.uid for e in entries}) == len(entries)
    for who in "wxyz":
        assert [e.payload["data"] for e in entries if e.payload["name"] == who and isinstance(e.payload["data"], int)] == list(range(100))
    assert integrity(path) == [("ok",)]


def test_a_lock_held_by_another_process_raises_store_busy_until_it_ends(tmp_path):
    import subprocess

    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path, timeout=0.2) as store:
            await store.append("t", TapeEntry.event("x"))
            holder = started(HOLDER, path, stdin=subprocess.PIPE)
            assert holder.stdout.readline().strip() == b"held"
            try:
                with pytest.raises(StoreBusy):
                    await store.append("t", TapeEntry.event("y"))
                assert (await store.head("t")).id == 1
            finally:
                holder.kill()
                holder.communicate()
            assert (await store.append("t", TapeEntry.event("y"))).id == 2

    anyio.run(go)


@unix
def test_a_fork_goes_on_with_connections_of_its_own(tmp_path):
    path = tmp_path / "tapes.db"
    assert finished(FORKER, path).strip() == "[0, 0, 0]"
    entries = entries_of(path, "t")
    assert [e.id for e in entries] == list(range(1, 20 + 3 * 40 + 3 * 20 + 1))
    assert len({e.uid for e in entries}) == len(entries)
    assert integrity(path) == [("ok",)]


@unix
def test_a_commit_that_the_disk_fails_is_unknown_and_told_by_its_key(tmp_path):
    told, *rest = finished(LIMITED, tmp_path / "tapes.db").split("\n")
    assert told.split()[1:] == ["unknown", "True"]
    assert int(told.split()[0]) > 5
    assert rest == ["poisoned", "poisoned", "True True", ""]


@unix
@pytest.mark.parametrize("there", ["nothing", "a store"])
def test_a_place_that_may_not_be_written_is_refused(tmp_path_factory, there):
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="playhead-")
    path = os.path.join(folder, "tapes.db")
    try:
        if there == "a store":
            finished(APPENDER, path, "x")
        os.chmod(folder, 0o555)
        assert finished(LOCKED_OUT, path).split() == ["refused", "refused"]
    finally:
        os.chmod(folder, 0o755)
        shutil.rmtree(folder)


@unix
def test_an_unacknowledged_end_of_the_log_is_cut_at_any_byte_without_loss(tmp_path):
    """The log as a crash may leave it: cut anywhere in its last commit."""
    source = tmp_path / "source.db"

    async def fill():
        store = SQLiteTapeStore(source)
        for i in range(20):
            await store.append("t", TapeEntry.event("x", i))
        (tmp_path / "before").write_bytes((tmp_path / "source.db-wal").read_bytes())
        await store.append("t", TapeEntry.event("x", "last"))
        (tmp_path / "after").write_bytes((tmp_path / "source.db-wal").read_bytes())
        (tmp_path / "file").write_bytes(source.read_bytes())
        await store.aclose()

    anyio.run(fill)
    before, after = (tmp_path / "before").read_bytes(), (tmp_path / "after").read_bytes()
    for cut in sorted({*range(len(before), len(after), 509), len(before), len(after) - 1}):
        path = tmp_path / f"cut {cut}.db"
        path.write_bytes((tmp_path / "file").read_bytes())
        (tmp_path / f"cut {cut}.db-wal").write_bytes(after[:cut])
        assert [e.payload["data"] for e in entries_of(path, "t")] == list(range(20))
