"""Forks, merges, resets and removals in a SQLite file: what was acknowledged is there after a kill, what was not is there whole or not at all."""

import os
import random
import signal
import sys
import time

import anyio
import pytest

from playhead.errors import BranchNotFound
from playhead.store.change import MERGED
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from tests.crash.processes import finished, started
from tests.crash.test_sqlite_crash import integrity

SECONDS = 300 if os.environ.get("PLAYHEAD_SOAK") else 8
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

RUNS = """
import sys, anyio
from datetime import UTC, datetime
from playhead.entry.entry import TapeEntry
from playhead.store.change import MERGED, Append, Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.sqlite.store import SQLiteTapeStore

def note(text):
    return TapeEntry(0, "note", {"text": text}, {})

def told(*words):
    sys.stdout.write(" ".join(words) + "\\n")
    sys.stdout.flush()

async def run(store, tape, label):
    branch, side = branch_name(tape, label), "notes"
    await store.apply([Fork(tape=branch, parent=tape, owner=label)])
    told("forked", tape, label)
    delta, beside = [note(f"{label} {i}") for i in range(3)], [note(f"{label} beside")]
    for entry in delta:
        await store.append(branch, entry)
    await store.append_many(sidecar_name(branch, side), beside)
    told("written", tape, label)
    merge = TapeEntry(0, "merge", {"of": label}, {"idempotency_key": label})
    await store.apply([
        Append(tape=tape, entries=[*delta, merge]),
        Append(tape=sidecar_name(tape, side), entries=beside, marks=[3]),
        Close(tape=branch, outcome=MERGED),
    ], unless=(tape, label))
    told("merged", tape, label)

async def go(path, durability, life):
    async def live(store, tape):
        for n in range(1_000_000):
            await run(store, tape, f"{life}.{n}")
            if n % 7 == 3:
                for gone in await store.collect(tape, before=datetime(9000, 1, 1, tzinfo=UTC)):
                    told("collected", tape, gone)
            if n % 11 == 5:
                await store.reset("reset " + tape, entries=[note(str(n))] * 80)
                told("reset", tape, f"{life}.{n}")

    store = SQLiteTapeStore(path, durability=durability)
    async with anyio.create_task_group() as tasks:
        for tape in ("a", "b"):
            tasks.start_soon(live, store, tape)

anyio.run(go, *sys.argv[1:4])
"""

LOCKER = """
import sys, anyio
from playhead.store.sqlite.store import SQLiteTapeStore

async def go(path):
    async with SQLiteTapeStore(path).lock("t"):
        print("held", flush=True)
        await anyio.sleep(60)

anyio.run(go, sys.argv[1])
"""

COUNTER = """
import sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore

async def go(path):
    async with SQLiteTapeStore(path, durability="process") as store:
        for _ in range(25):
            async with store.lock("t"):
                found = await store.fetch_all(TapeQuery(tape="t").newest_first().limit(1))
                last = found[0].payload["n"] if found else 0
                await store.append("t", TapeEntry(0, "count", {"n": last + 1}, {}))

anyio.run(go, sys.argv[1])
"""


async def texts(store, tape):
    return [entry.payload.get("text", "merge") for entry in await store.fetch_all(TapeQuery(tape=tape))]


async def check_run(store, tape, label, did):
    """A run is at one of its steps, at least at the one that was acknowledged."""
    branch, side = branch_name(tape, label), [f"{label} beside"]
    record = await store.branch(branch)
    if record is None:
        with pytest.raises(BranchNotFound):
            await store.head(branch)
        assert "forked" not in did or len([text for text in await texts(store, tape) if text.startswith(f"{label} ")]) == 3, "only what was merged is collected"
        return
    shown = await texts(store, branch)
    own, beside = shown[record.base.id :], [text for text in await texts(store, sidecar_name(branch, "notes")) if text in side]
    assert own == [f"{label} {i}" for i in range(len(own))]
    if "written" in did:
        assert (len(own), beside) == (3, side)
    on_parent, on_side = [text for text in await texts(store, tape) if text.startswith(f"{label} ")], (await texts(store, sidecar_name(tape, "notes"))).count(side[0])
    assert (len(on_parent), on_side, record.state == MERGED) in {(0, 0, False), (3, 1, True)}
    assert "merged" not in did or record.state == MERGED


async def check(path, done):
    async with SQLiteTapeStore(path) as store:
        for tape in ("a", "b"):
            entries = await store.fetch_all(TapeQuery(tape=tape))
            assert [e.id for e in entries] == list(range(1, len(entries) + 1))
            merges = [e.id for e in entries if e.kind == "merge"]
            assert merges == list(range(4, len(entries) + 1, 4)), "a merge is cut, repeated or interleaved"
            assert await store.marks(sidecar_name(tape, "notes")) == [Head(0, id - 1) for id in merges]
            merged = {e.payload["of"] for e in entries if e.kind == "merge"}
            assert {label for (where, label), did in done.items() if where == tape and "merged" in did} <= merged
            assert await store.head("reset " + tape) in {(generation, 80) for generation in range(1, 10_000)} | {(0, 0)}
        for (tape, label), did in list(done.items())[-40:]:
            await check_run(store, tape, label, did)


@unix
@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_kill_leaves_every_fork_merge_and_reset_done_or_undone(tmp_path, durability):
    path, chance = tmp_path / "tapes.db", random.Random(11)
    done, kills, end = {}, 0, time.monotonic() + SECONDS / 2
    while time.monotonic() < end:
        process = started(RUNS, path, durability, kills)
        process.stdout.readline()
        time.sleep(chance.uniform(0.005, 0.3))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        for line in out.decode().splitlines(keepends=True):
            if line.endswith("\n"):
                step, tape, label = line.split()
                if step not in ("collected", "reset"):
                    done.setdefault((tape, label), {})[step] = True
        kills += 1
        assert integrity(path) == [("ok",)]
        anyio.run(check, path, done)
    assert kills > 2
    assert any("merged" in did for did in done.values())


@unix
def test_a_lock_ends_with_the_process_that_holds_it(tmp_path):
    path = tmp_path / "tapes.db"
    holder = started(LOCKER, path)
    assert holder.stdout.readline().strip() == b"held"

    async def go():
        store = SQLiteTapeStore(path)
        with anyio.move_on_after(0.05) as scope:
            async with store.lock("t"):
                raise AssertionError("two at once")
        assert scope.cancelled_caught
        holder.send_signal(signal.SIGKILL)
        with anyio.fail_after(30):
            async with store.lock("t"):
                pass
        await store.aclose()

    anyio.run(go)
    holder.communicate()


def test_processes_that_lock_a_tape_read_and_write_one_after_the_other(tmp_path):
    path = tmp_path / "tapes.db"
    counters = [started(COUNTER, path) for _ in range(4)]
    for counter in counters:
        _, err = counter.communicate(timeout=120)
        assert counter.returncode == 0, err.decode()

    async def counted():
        async with SQLiteTapeStore(path) as store:
            return [e.payload["n"] for e in await store.fetch_all(TapeQuery(tape="t"))]

    assert anyio.run(counted) == list(range(1, 101))


@unix
def test_a_store_in_a_place_that_may_not_be_written_is_read(tmp_path_factory):
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="playhead-")
    path = os.path.join(folder, "tapes.db")
    try:
        finished(COUNTER, path)
        os.unlink(f"{path}.lock")
        shutil.rmtree(f"{path}.locks")
        os.chmod(folder, 0o555)
        assert finished(READER, path).split() == ["25"]
    finally:
        os.chmod(folder, 0o755)
        shutil.rmtree(folder)


READER = """
import os, sys, anyio
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
import anyio._backends._asyncio
import playhead.store.rows.statements as statements
[statements.script(name) for name in statements.numbered()], [statements.statements(name) for name in ("connection", "read", "write", "family")]

async def go(path):
    async with SQLiteTapeStore(path, read_only=True) as store:
        print(len(await store.fetch_all(TapeQuery(tape="t"))))

if os.geteuid() == 0:
    os.seteuid(65534)
anyio.run(go, sys.argv[1])
"""
