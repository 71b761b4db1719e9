"""How the SQLite store opens, closes, shares, cancels and fails."""

import gc
import os
import sqlite3
import threading
import time
from contextlib import closing

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, StoreBusy, StoreDamaged, StoreUnavailable
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Place
from playhead.store.rows.row import LAST_SEQ, eid
from playhead.store.sqlite.store import SQLiteTapeStore

BACKENDS = ("asyncio", "trio")


def note(text, **meta):
    return TapeEntry(0, "note", {"text": text}, meta)


def whole(tape="t"):
    return TapeQuery(tape=tape)


def sql(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def playhead_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("playhead ")]


def lock_of(path):
    return Place(path=str(path), durability="disk", timeout=5).lock()


def test_making_a_store_touches_no_file(tmp_path):
    SQLiteTapeStore(tmp_path / "deep" / "tapes.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_store_may_be_left_in_another_task_than_it_was_entered_in(tmp_path, backend):
    async def go():
        store = SQLiteTapeStore(tmp_path / "deep" / "er" / "tapes.db")
        await store.__aenter__()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append, "t", note("x"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.__aexit__, None, None, None)

    anyio.run(go, backend=backend)
    assert sorted(p.name for p in (tmp_path / "deep" / "er").iterdir()) == ["tapes.db", "tapes.db.lock"]


def test_one_store_serves_many_loops_and_threads_at_once(tmp_path):
    store = SQLiteTapeStore(tmp_path / "tapes.db", durability="process")

    async def use():
        for _ in range(30):
            await store.append("t", note("x"))
            await store.fetch_all(whole().limit(1).newest_first())

    threads = [threading.Thread(target=anyio.run, args=(use,), kwargs={"backend": BACKENDS[i % 2]}) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [e.id for e in anyio.run(store.fetch_all, whole())] == list(range(1, 181))
    anyio.run(store.aclose)


def test_two_stores_on_one_file_number_entries_together(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as one, SQLiteTapeStore(tmp_path / ".." / tmp_path.name / "tapes.db") as other:
            ids = []
            for _ in range(3):
                ids += [e.id for e in (await one.append("t", note("x")), await other.append("t", note("y")), await other.append("t", note("z")))]
                await one.append("u", note("warm"))
                async with anyio.create_task_group() as tasks:  # several at once commit together
                    for _ in range(4):
                        tasks.start_soon(other.append, "u", note("together"))
                assert (await one.append("u", note("alone"))).id == (await other.head("u")).id
            assert ids == list(range(1, 10))
            assert (await one.append("t", note("it knows the end now"))).id == 10
            await other.reset("t")
            assert (await one.append("t", note("fresh"))).id == 1
            assert await one.head("t") == await other.head("t") == Head(1, 1)

    anyio.run(go)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_closed_store_says_so_and_closing_twice_is_fine(tmp_path, backend):
    async def go():
        store = SQLiteTapeStore(tmp_path / "tapes.db")
        await store.append("t", note("x"))
        await store.aclose()
        await store.aclose()
        for call in (store.append("t", note("x")), store.fetch_all(whole()), store.list_tapes(), store.reset("t"), store.__aenter__()):
            with pytest.raises(StoreUnavailable, match="closed"):
                await call

    anyio.run(go, backend=backend)
    assert playhead_threads() == []


def test_closing_finishes_what_was_asked_before(tmp_path):
    async def go():
        store = SQLiteTapeStore(tmp_path / "tapes.db")
        async with anyio.create_task_group() as tasks:
            for i in range(20):
                tasks.start_soon(store.append, "t", note(str(i)))
            await anyio.wait_all_tasks_blocked()
            await store.aclose()
        async with SQLiteTapeStore(tmp_path / "tapes.db") as again:
            assert await again.head("t") == Head(0, 20)

    anyio.run(go)


def test_a_forgotten_store_ends_its_threads(tmp_path):
    async def go():
        store = SQLiteTapeStore(tmp_path / "tapes.db")
        await store.append("t", note("x"))
        await store.head("t")

    anyio.run(go)
    gc.collect()
    for thread in playhead_threads():
        thread.join(10)
    assert playhead_threads() == []


def test_threads_do_not_grow_with_tapes(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db", durability="process") as store:
            async with anyio.create_task_group() as tasks:
                for i in range(100):
                    tasks.start_soon(store.append, f"tape {i}", note("x"))
                    tasks.start_soon(store.head, f"tape {i}")
            assert len(playhead_threads()) <= 5
            assert len(await store.list_tapes()) == 100

    anyio.run(go)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_append_that_is_cancelled_while_it_waits_leaves_nothing(tmp_path, backend):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append("t", note("before"))
            with lock_of(tmp_path / "tapes.db"):
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(store.append, "t", note("the writer may have taken it up already"))
                        await anyio.wait_all_tasks_blocked()
                        tasks.start_soon(store.reset, "t")
                        await anyio.wait_all_tasks_blocked()
                        scope.cancel()
            assert (await store.append("t", note("after"))).id == 2
            assert [e.payload["text"] for e in await store.fetch_all(whole())] == ["before", "after"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_append_that_is_cancelled_at_any_moment_is_there_or_not(tmp_path, backend):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db", durability="process") as store:
            for i in range(60):
                with anyio.move_on_after(i * 0.000_02):
                    await store.append_many("t", [note(f"{i} a"), note(f"{i} b")])
            stored = await store.append("t", note("after"))
            entries = await store.fetch_all(whole())
            assert [e.id for e in entries] == list(range(1, stored.id + 1))
            texts = [e.payload["text"] for e in entries[:-1]]
            assert [t.replace("a", "b") for t in texts[::2]] == texts[1::2]

    anyio.run(go, backend=backend)


def test_a_reader_does_not_wait_for_a_writer(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append("t", note("x"))
            await store.head("t")
            with lock_of(tmp_path / "tapes.db"), closing(sqlite3.connect(tmp_path / "tapes.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with anyio.fail_after(5):
                    assert await store.head("t") == Head(0, 1)
                    assert len(await store.fetch_all(whole())) == 1

    anyio.run(go)


def test_a_lock_that_is_not_let_go_raises_store_busy(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db", timeout=0.1) as store:
            await store.append("t", note("x"))
            with lock_of(tmp_path / "tapes.db"), pytest.raises(StoreBusy, match="try again"):
                await store.append("t", note("y"))
            with closing(sqlite3.connect(tmp_path / "tapes.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreBusy, match="database is locked"):
                    await store.append("t", note("y"))
                other.execute("ROLLBACK")
            assert (await store.append("t", note("y"))).id == 2

    anyio.run(go)


def test_an_entry_that_fails_does_not_fail_its_neighbours(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            sql(path, "CREATE TRIGGER refuse BEFORE INSERT ON entries WHEN new.kind = 'refused' BEGIN SELECT RAISE(ABORT, 'not this one'); END")
            results = {}

            async def write(name, *entries):
                try:
                    results[name] = [e.id for e in await store.append_many(name, entries)]
                except StoreDamaged as error:
                    results[name] = error

            async with anyio.create_task_group() as tasks:
                with lock_of(path):
                    tasks.start_soon(write, "first", note("the writer waits with this one"))
                    await anyio.wait_all_tasks_blocked()
                    tasks.start_soon(write, "good", note("a"), note("b"))
                    tasks.start_soon(write, "bad", note("c"), TapeEntry(0, "refused", {}))
                    tasks.start_soon(write, "good too", note("d"))
                    await anyio.wait_all_tasks_blocked()
            assert {name: found for name, found in results.items() if name != "bad"} == {"first": [1], "good": [1, 2], "good too": [1]}
            assert "not this one" in str(results["bad"])
            assert await store.head("bad") == EMPTY
            assert (await store.append("good", note("e"))).id == 3

    anyio.run(go)


def test_an_entry_written_past_the_store_is_numbered_around(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append("t", note("x"))
            sql(path, f"INSERT INTO entries SELECT {eid(1, 2)}, kind, ts, peak, uid, idem_key, anchor, mark, enc, digest, meta, body, search FROM entries")
            assert [(await store.append("t", note("y"))).id for _ in range(2)] == [3, 4]

    anyio.run(go)


def test_a_full_tape_takes_no_more(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append("t", note("x"))
            await store.aclose()
        sql(path, f"UPDATE entries SET eid = {eid(1, LAST_SEQ)}")
        async with SQLiteTapeStore(path) as store:
            for _ in range(2):
                with pytest.raises(InvalidInput, match="at most"):
                    await store.append("t", note("y"))
            assert await store.head("t") == Head(0, LAST_SEQ)

    anyio.run(go)


def test_what_was_reset_is_removed_from_the_file_in_time(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path, durability="process") as store:
            await store.append_many("t", [note("canary") for _ in range(2_500)])
            await store.reset("t", entries=[note("new")])
            deadline = time.monotonic() + 20
            while sql(path, "SELECT count(*) FROM tapes WHERE state = 3") != [(0,)] and time.monotonic() < deadline:
                await store.append("other", note("x"))
        assert sql(path, "SELECT count(*) FROM entries e JOIN tapes t ON t.tape_no = e.eid >> 32 WHERE t.state <> 0") == [(0,)]
        assert sql(path, "SELECT (SELECT count(*) FROM entry_kinds WHERE eid >> 32 = 1) + (SELECT count(*) FROM entry_uids WHERE eid >> 32 = 1)") == [(0,)]
        assert sql(path, "SELECT state FROM tapes WHERE tape_no = 1") == [(4,)]

    anyio.run(go)


def test_the_log_does_not_grow_without_end(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db", durability="process") as store:
            for _ in range(60):
                await store.append("t", note("x" * 1_000_000))
            assert (tmp_path / "tapes.db-wal").stat().st_size < 30_000_000

    anyio.run(go)


@pytest.mark.parametrize("path", ["", ":memory:", "file:x.db", "a\0b", b"bytes"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidInput):
        SQLiteTapeStore(path)


@pytest.mark.parametrize("options", [{"durability": "none"}, {"timeout": -1}, {"timeout": float("nan")}])
def test_an_unknown_option_is_refused(options):
    with pytest.raises(InvalidInput):
        SQLiteTapeStore("x.db", **options)


def test_a_path_is_taken_from_where_the_store_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SQLiteTapeStore("tapes.db")
    monkeypatch.chdir(tmp_path.parent)
    anyio.run(store.append, "t", note("x"))
    anyio.run(store.aclose)
    assert (tmp_path / "tapes.db").exists()


@pytest.mark.parametrize("method", ["append", "list_tapes", "__aenter__"])
@pytest.mark.parametrize("kind", ["folder", "text file", "file as folder"])
def test_a_place_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, kind, method):
    path = tmp_path / "tapes.db"
    if kind == "folder":
        path.mkdir()
    else:
        path.write_text("Dear diary, " * 100)
    store = SQLiteTapeStore(path / "deeper.db" if kind == "file as folder" else path)
    arguments = ("t", note("x")) if method == "append" else ()
    with pytest.raises(StoreUnavailable):
        anyio.run(getattr(store, method), *arguments)
    anyio.run(store.aclose)
    assert path.is_dir() or path.read_text() == "Dear diary, " * 100


def test_a_damaged_page_is_reported_and_the_rest_stays_readable(tmp_path):
    path = tmp_path / "tapes.db"

    async def fill():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("t", [note(f"{i} " + "x" * 3_000) for i in range(200)])

    async def read():
        async with SQLiteTapeStore(path) as store:
            with pytest.raises(StoreDamaged, match="backup"):
                await store.fetch_all(whole())
            assert [e.id for e in await store.fetch_all(whole().limit(3))] == [1, 2, 3]

    anyio.run(fill)
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 8)
    anyio.run(read)


def test_a_huge_entry_goes_in_and_out(tmp_path):
    text = "0123456789abcdef" * (100 * 65_536)

    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append("t", note(text))
            assert (await store.append("t", note("after"))).id == 2
            (entry,) = await store.fetch_all(whole().limit(1))
            assert entry.payload["text"] == text

    anyio.run(go)


def test_an_entry_json_cannot_hold_is_refused_alone(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            with pytest.raises(InvalidInput, match="store it as text"):
                await store.append("t", TapeEntry.event("e", 10**5_000))
            assert (await store.append("t", note("x"))).id == 1

    anyio.run(go)


def test_a_kind_an_anchor_and_a_key_may_hold_half_a_surrogate_pair(tmp_path):
    odd = "half \ud800 and \0"

    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append_many("t", [TapeEntry(0, odd, {}, {"idempotency_key": odd}), TapeEntry.anchor(odd), note("x")])
            assert [e.id for e in await store.fetch_all(whole().kinds(odd))] == [1]
            assert [e.id for e in await store.fetch_all(whole().after_anchor(odd))] == [3]
            assert (await store.find("t", keys=[odd]))[odd].kind == odd

    anyio.run(go)
