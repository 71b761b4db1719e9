"""A SQLite store that is only read: it writes nothing, not even a lock, and sees what others write."""

import os
import shutil
import sqlite3
from contextlib import closing

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, ReadOnly, StoreDamaged, StoreUnavailable
from playhead.store.change import Append, Fork, Lease
from playhead.store.family import branch_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.urls import open_store

TRY = branch_name("t", "try")


def note(text):
    return TapeEntry(0, "note", {"text": text}, {})


def filled(path):
    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("t", [note("a"), note("b")])
            await store.apply([Fork(tape=TRY, parent="t"), Append(tape=TRY, entries=[note("c")])])

    anyio.run(go)
    return path


async def texts(store, tape="t"):
    return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


def test_it_leaves_no_file_and_changes_none(tmp_path):
    path = filled(tmp_path / "tapes.db")
    os.unlink(f"{path}.lock")
    before, content = os.stat(tmp_path).st_mtime_ns, path.read_bytes()

    async def go():
        async with SQLiteTapeStore(path, read_only=True) as store:
            assert await texts(store, TRY) == ["a", "b", "c"]
            assert await store.list_tapes() == ["t"]
            assert [record.name for record in await store.branches("t")] == [TRY]

    anyio.run(go)
    assert [p.name for p in tmp_path.iterdir()] == ["tapes.db"]
    assert (os.stat(tmp_path).st_mtime_ns, path.read_bytes()) == (before, content)


WRITES = {
    "append": lambda s: s.append("t", note("x")),
    "append_many": lambda s: s.append_many("t", [note("x")]),
    "apply": lambda s: s.apply([Fork(tape=branch_name("t", "x"), parent="t")]),
    "reset": lambda s: s.reset("t"),
    "collect": lambda s: s.collect("t", before=None),
    "rename": lambda s: s.rename("t", "u"),
    "lease": lambda s: s.lease("t", owner="me", seconds=1),
    "release": lambda s: s.release(Lease(tape="t", owner="me", epoch=1, until=1)),
    "move_cursor": lambda s: s.move_cursor("t", "me", Head(0, 1)),
    "lock": lambda s: s.lock("t").__aenter__(),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_method_that_writes_raises_read_only(tmp_path, write):
    path = filled(tmp_path / "tapes.db")

    async def go():
        async with SQLiteTapeStore(path, read_only=True) as store:
            with pytest.raises(ReadOnly, match="to write"):
                await WRITES[write](store)
            assert await store.cursor("t", "me") == EMPTY

    anyio.run(go)
    assert not (tmp_path / "tapes.db.locks").exists()


def test_it_sees_what_others_write_and_that_they_came_and_went(tmp_path):
    path = filled(tmp_path / "tapes.db")

    async def go():
        async with SQLiteTapeStore(path, read_only=True) as seen:
            for turn in range(3):
                assert len(await texts(seen)) == 2 + 3 * turn
                async with SQLiteTapeStore(path) as store:
                    assert len(await texts(seen)) == 2 + 3 * turn
                    for i in range(3):
                        await store.append("t", note(str(i)))
                        assert len(await texts(seen)) == 2 + 3 * turn + i + 1
                assert len(await texts(seen)) == 5 + 3 * turn

    anyio.run(go)


def test_it_reads_on_while_others_come_write_and_go(tmp_path):
    path = filled(tmp_path / "tapes.db")

    async def write(done):
        for i in range(12):
            async with SQLiteTapeStore(path, durability="process") as store:
                await store.append_many("t", [note(str(i)) for _ in range(40)])
        done.set()

    async def go():
        done = anyio.Event()
        async with SQLiteTapeStore(path, read_only=True) as seen, anyio.create_task_group() as tasks:
            tasks.start_soon(write, done)
            last = 0
            while not done.is_set():
                found = await texts(seen)
                assert len(found) >= last
                assert (len(found) - 2) % 40 == 0
                last = len(found)
            assert len(await texts(seen)) == 482

    anyio.run(go)


def test_a_log_that_nobody_emptied_is_read(tmp_path):
    source, path = tmp_path / "source.db", tmp_path / "copy" / "tapes.db"
    path.parent.mkdir()

    async def go():
        async with SQLiteTapeStore(source) as store:
            await store.append_many("t", [note("a"), note("b")])
            for end in ("", "-wal"):
                shutil.copy(f"{source}{end}", f"{path}{end}")
        content = path.read_bytes(), (path.parent / "tapes.db-wal").read_bytes()
        async with SQLiteTapeStore(path, read_only=True) as seen:
            assert await texts(seen) == ["a", "b"]
        assert content == (path.read_bytes(), (path.parent / "tapes.db-wal").read_bytes())

    anyio.run(go)


@pytest.mark.parametrize("kind", ["nothing", "empty", "other", "text"])
def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "tapes.db"
    if kind == "other":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE x (y)")
    elif kind != "nothing":
        path.write_text("Dear diary, " * 100 if kind == "text" else "")
    before = sorted(tmp_path.iterdir())

    async def go():
        store = SQLiteTapeStore(path, read_only=True)
        with pytest.raises(StoreUnavailable):
            await store.__aenter__()
        await store.aclose()

    anyio.run(go)
    assert sorted(tmp_path.iterdir()) == before


def test_damage_is_named(tmp_path):
    path = filled(tmp_path / "tapes.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM entries WHERE eid & 4294967295 = 1")

    async def go():
        async with SQLiteTapeStore(path, read_only=True) as store:
            with pytest.raises(StoreDamaged, match="Entry 1"):
                await texts(store)

    anyio.run(go)


def test_a_url_says_so(tmp_path):
    path = filled(tmp_path / "tapes.db")

    async def go():
        store = open_store(f"sqlite:///{path}?mode=ro")
        assert await texts(store) == ["a", "b"]
        with pytest.raises(ReadOnly):
            await store.append("t", note("x"))
        await store.aclose()
        with pytest.raises(InvalidInput, match="mode=ro"):
            open_store(f"sqlite:///{path}?mode=no")

    anyio.run(go)
