"""Branches, sidecars, leases and locks as the SQLite store keeps them: what is written, what is removed, what is shared between stores."""

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry, stamped
from playhead.errors import BranchClosed, BranchNotFound, Conflict, LeaseHeld, LeaseLost, NameTaken, PlayheadError, StoreDamaged, TapeNotFound
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Place
from playhead.store.rows.row import eid
from playhead.store.rows.statements import statements
from playhead.store.rules.work import Work, Writing
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.sqlite.tapes import Tapes
from tests.unit.store.test_sql import fresh

LATER = datetime(9000, 1, 1, tzinfo=UTC)
TRY = branch_name("t", "try")


def note(text, **meta):
    return TapeEntry(0, "note", {"text": text}, meta)


def keyed(text, key):
    return note(text, idempotency_key=key)


def writing(tape, entry):
    kept = stamped(entry)
    step = Writing(tape, [kept], [kept.meta])
    step.prepare()
    return step


def sql(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


async def texts(store, tape):
    return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


async def forked(store, label, *, parent="t", at=None):
    await store.apply([Fork(tape=branch_name(parent, label), parent=parent, at=at)])
    return branch_name(parent, label)


async def purged(store, path, tape_no):
    """Wait until the writer had time to remove what is out of use; return whether entries of a tape are left."""
    deadline = time.monotonic() + 20
    while sql(path, "SELECT count(*) FROM tapes t WHERE state = 3 AND NOT EXISTS (SELECT 1 FROM tapes c WHERE c.parent_no = t.tape_no)") != [(0,)] and time.monotonic() < deadline:
        await store.append("elsewhere", note("x"))
    return sql(path, "SELECT count(*) FROM entries WHERE eid >> 32 = ?", tape_no) == [(0,)]


def test_a_fork_copies_no_entry(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path, durability="process") as store:
            await store.append_many("t", [note(str(i)) for i in range(100)])
            await forked(store, "try")
            await store.append(TRY, note("own"))
            assert await texts(store, TRY) == [*map(str, range(100)), "own"]
            assert sql(path, "SELECT count(*) FROM entries") == [(101,)]
            assert sql(path, "SELECT parent_no, fork_seq, lineage FROM tapes WHERE tape_no = 2") == [(1, 100, "[[1,100]]")]

    anyio.run(go)


def test_a_fork_of_a_branch_that_holds_nothing_of_its_own_reads_through_no_empty_part(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("t", [note("a"), note("b")])
            name = "t"
            for level in range(4):
                await store.apply([Fork(tape=branch_name("t", str(level)), parent=name)])
                name = branch_name("t", str(level))
            assert await texts(store, name) == ["a", "b"]
        assert {lineage for (lineage,) in sql(path, "SELECT lineage FROM tapes WHERE tape_no > 1")} == {"[[1,2]]"}

    anyio.run(go)


def test_a_generation_that_was_reset_stays_for_as_long_as_a_branch_reads_through_it(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path, durability="process") as store:
            await store.append_many("t", [note(str(i)) for i in range(2_000)])
            await forked(store, "try", at=1_500)
            inner = await forked(store, "inner", parent=TRY)
            await store.reset("t", entries=[note("new")])
            await store.apply([Close(tape=TRY, outcome=DISCARDED)])
            assert await store.collect("t", before=LATER) == []
            assert not await purged(store, path, 1)
            assert await texts(store, inner) == [str(i) for i in range(1_500)]
            await store.apply([Close(tape=inner, outcome=MERGED)])
            assert await store.collect("t", before=LATER) == [inner, TRY]
            assert await purged(store, path, 1)
            assert await texts(store, "t") == ["new"]
        assert sql(path, "SELECT count(*) FROM tapes WHERE state = 3") == [(0,)]
        assert sql(path, "SELECT count(*) FROM entry_kinds WHERE eid >> 32 = 1") == [(0,)]

    anyio.run(go)


def test_collecting_takes_sidecars_leases_and_cursors_along(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append("t", note("a"))
            await store.append(sidecar_name("t", "s"), note("beside"))
            kept = await forked(store, "squashed")
            for name in (await forked(store, "try"), kept):
                await store.append(sidecar_name(name, "new"), note("beside the branch"))
                await store.lease(name, owner="me", seconds=60)
                await store.move_cursor(name, "reader", Head(0, 1))
            await store.apply([Close(tape=TRY, outcome=MERGED), Close(tape=kept, outcome=SQUASHED)])
            assert await store.collect("t", before=datetime(2020, 1, 1, tzinfo=UTC)) == []
            assert await store.collect("t", before=LATER) == [TRY]
            with pytest.raises(BranchNotFound):
                await store.fetch_all(TapeQuery(tape=sidecar_name(TRY, "s")))
            assert await texts(store, sidecar_name(kept, "new")) == ["beside the branch"]
        for table in ("tape_names", "leases", "cursors"):
            assert {name for (name,) in sql(path, f"SELECT name FROM {table}")} & {TRY, sidecar_name(TRY, "s"), sidecar_name(TRY, "new")} == set()
        assert sql(path, "SELECT name FROM leases UNION ALL SELECT name FROM cursors") == [(kept,), (kept,)]

    anyio.run(go)


def test_work_that_is_refused_half_way_leaves_its_neighbours_in_the_same_commit_alone(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append("t", note("a"))
            await forked(store, "try")
            results = {}

            async def do(name, changes):
                try:
                    results[name] = await store.apply(changes)
                except PlayheadError as error:
                    results[name] = error

            async with anyio.create_task_group() as tasks:
                with Place(path=str(path), durability="disk", timeout=5).lock():
                    tasks.start_soon(do, "first", [Append(tape="other", entries=[note("the writer waits with this one")])])
                    await anyio.wait_all_tasks_blocked()
                    tasks.start_soon(do, "before", [Append(tape="t", entries=[note("b")])])
                    tasks.start_soon(
                        do,
                        "refused",
                        [
                            Append(tape="t", entries=[note("never")] * 70),
                            Fork(tape=branch_name("t", "never"), parent="t"),
                            Reset(tape=TRY),
                            Append(tape=sidecar_name("t", "s"), entries=[note("never")]),
                            Close(tape=TRY, outcome=MERGED, expected_head=Head(9, 9)),
                        ],
                    )
                    tasks.start_soon(do, "behind", [Append(tape="t", entries=[note("c")]), Append(tape=TRY, entries=[note("d")])])
                    await anyio.wait_all_tasks_blocked()
            assert isinstance(results.pop("refused"), Conflict)
            assert {name: [[e.id for e in part] for part in stored] for name, stored in results.items()} == {"first": [[1]], "before": [[2]], "behind": [[3], [2]]}
            assert await texts(store, "t") == ["a", "b", "c"]
            assert await texts(store, TRY) == ["a", "d"]
            assert await store.head(TRY) == Head(0, 2)
            assert [record.name for record in await store.branches("t")] == [TRY]
            assert await store.sidecars("t") == []
            assert (await store.append("t", note("e"))).id == 4
        assert sql(path, "SELECT count(*) FROM entry_kinds") == [(0,)]

    anyio.run(go)


def test_a_damaged_sidecar_keeps_a_fork_in_the_past_from_being_made_by_half(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            for i in range(8):
                await store.append("t", note(str(i)))
                await store.append(sidecar_name("t", "s"), note(str(i)))
            sql(path, "DELETE FROM entries WHERE eid = ?", eid(2, 4))
            with pytest.raises(StoreDamaged, match="missing"):
                await forked(store, "try", at=3)
            assert await store.branches("t") == []
            assert (await store.append("t", note("goes on"))).id == 9

    anyio.run(go)


def test_marks_are_the_heads_of_the_main_tape_and_cut_the_sidecar_with_it(tmp_path):
    side = sidecar_name("t", "s")

    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append(side, note("first of all"))
            for i in range(1, 101):
                await store.append("t", note(str(i)))
                await store.append_many(side, [note(f"{i} a"), note(f"{i} b")])
            await store.reset("t", entries=[note("new")])
            await store.append(side, note("new"))
            marks = await store.marks(side)
            assert marks == [EMPTY, *[Head(0, i) for i in range(1, 101) for _ in "ab"], Head(1, 1)]
            assert await store.marks(side, after=200) == marks[200:]
            for at, end in ((0, 201), (1, 202)):
                name = await forked(store, f"at {at}", at=at)
                assert await store.head(sidecar_name(name, "s")) == Head(0, end)
            old = branch_name("t", "deeper")
            await store.apply([Fork(tape=old, parent=branch_name("t", "at 1"), at=0)])
            assert (await store.branch(sidecar_name(old, "s"))).base == Head(0, 201)

    anyio.run(go)


@pytest.mark.parametrize("tape", ["t", TRY, sidecar_name("t", "s"), sidecar_name(TRY, "s")])
@pytest.mark.parametrize("key", [None, "new"])
def test_an_entry_is_a_single_insert_on_any_tape_with_a_key_or_without(tape, key):
    with closing(fresh()) as connection:
        tapes = Tapes(connection)
        for work in ([writing("t", keyed("a", "old"))], [Fork(tape=TRY, parent="t")], *([writing(name, note("warm"))] for name in ("t", TRY, sidecar_name("t", "s"), sidecar_name(TRY, "s")))):
            tapes.do(Work(work))
        row = tapes.single(Work([writing(tape, note("x", **({} if key is None else {"idempotency_key": key})))]))
        assert row is not None
        assert len(row) == statements("write")["insert_entry"].count("?")
        assert tapes.single(Work([writing(TRY, keyed("a", "old"))])) is None


def test_an_append_that_stands_does_not_compare_the_head_however_it_comes(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            stored = await store.append_many("t", [keyed("a", "k")])
            await forked(store, "try")
            await store.append_many(TRY, [note("b")])
            for tape in ("t", TRY):
                assert await store.append_many(tape, [keyed("a", "k")], expected_head=Head(7, 7)) == stored
                with pytest.raises(Conflict):
                    await store.append_many(tape, [keyed("b", "l")], expected_head=Head(7, 7))

    anyio.run(go)


def test_two_stores_on_one_file_know_of_each_others_branches_and_leases(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as one, SQLiteTapeStore(path) as other:
            await one.append("t", note("a"))
            await forked(one, "try")
            assert (await other.append(TRY, note("b"))).id == 2
            assert (await one.append(TRY, note("c"))).id == 3
            lease = await one.lease(TRY, owner="one", seconds=0.000_001)
            assert (await one.append_many(TRY, [note("d")], fence=lease.epoch))[0].id == 4
            taken = await other.lease(TRY, owner="other", seconds=600)
            assert taken.epoch == lease.epoch + 1
            with pytest.raises(LeaseHeld, match="other"):
                await one.lease(TRY, owner="one", seconds=600)
            for entry in (note("x"), keyed("x", "k")):
                with pytest.raises(LeaseLost):
                    await one.append_many(TRY, [entry], fence=lease.epoch)
            assert (await other.append_many(TRY, [keyed("e", "k")], fence=taken.epoch))[0].id == 5
            await other.apply([Close(tape=TRY, outcome=MERGED)])
            for tape in (TRY, sidecar_name(TRY, "s")):
                with pytest.raises(BranchClosed, match="merged"):
                    await one.append(tape, note("x"))
            await other.collect("t", before=LATER)
            with pytest.raises(BranchNotFound):
                await one.append(TRY, note("x"))

    anyio.run(go)


def test_an_epoch_never_falls(tmp_path):
    path, instant = tmp_path / "tapes.db", datetime(2026, 3, 1, tzinfo=UTC)

    class Stopped:
        def now(self):
            return instant

        def uid(self):
            return "u"

    async def go():
        nonlocal instant
        with clock.using(Stopped()):
            async with SQLiteTapeStore(path) as store:
                first = await store.lease("t", owner="a", seconds=10)
                assert (first.epoch, first.until) == (1, int((instant + timedelta(seconds=10)).timestamp()) * 1_000_000)
                instant += timedelta(seconds=11)
                second = await store.lease("t", owner="b", seconds=10)
                await store.release(first)
                with pytest.raises(LeaseHeld):
                    await store.lease("t", owner="c", seconds=10)
                await store.release(second)
                await store.append("t", note("a"))
                await store.reset("t")
                await store.lease("u", owner="a", seconds=10)
                instant += timedelta(seconds=11)
                for _ in range(4):
                    await store.release(await store.lease("u", owner="d", seconds=10))
                await store.rename("t", "u")
            async with SQLiteTapeStore(path) as store:
                assert (await store.lease("u", owner="c", seconds=10)).epoch == 6
                assert (await store.lease("t", owner="c", seconds=10)).epoch == 3

    anyio.run(go)


def test_a_family_is_renamed_whole(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            await store.append("t", note("a"))
            await store.append(sidecar_name("t", "s"), note("side"))
            await forked(store, "try")
            await store.append(TRY, note("b"))
            inner = branch_name("t", "inner")
            await store.apply([Fork(tape=inner, parent=TRY)])
            await store.move_cursor(inner, "reader", Head(0, 2))
            await store.append("taken", note("x"))
            await store.append("emptied", note("x"))
            await store.reset("emptied")
            with pytest.raises(NameTaken):
                await store.rename("t", "taken")
            await store.rename("t", "emptied")
            assert await store.list_tapes() == ["emptied", "taken"]
            names = [branch_name("emptied", "try"), branch_name("emptied", "inner")]
            assert [(r.name, r.parent) for r in await store.branches("emptied")] == [(names[0], "emptied"), (names[1], names[0])]
            assert (await store.branch(sidecar_name(names[1], "s"))).parent == sidecar_name(names[0], "s")
            assert await texts(store, names[1]) == ["a", "b"]
            assert await store.cursor(names[1], "reader") == Head(0, 2)
            assert await store.head("t") == EMPTY
            with pytest.raises(BranchNotFound):
                await store.head(inner)
            with pytest.raises(TapeNotFound):
                await store.rename("t", "elsewhere")
            await store.rename(names[0], branch_name("emptied", "best"))
            assert (await store.branch(names[1])).parent == branch_name("emptied", "best")
            with pytest.raises(NameTaken):
                await store.rename(names[1], branch_name("emptied", "best"))
            assert (await store.append("t", note("fresh"))).id == 1

    anyio.run(go)


def test_names_that_begin_alike_are_kept_apart(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            for tape in ("t", "t_", "t__", "t`", "tt"):
                await store.append(tape, note(tape))
                await store.append(sidecar_name(tape, "s"), note("side"))
                await store.apply([Fork(tape=branch_name(tape, "b"), parent=tape), Fork(tape=branch_name(tape, "b2"), parent=tape)])
            await store.apply([Close(tape=branch_name("t", "b"), outcome=MERGED)])
            assert [r.state for r in await store.branches("t")] == ["merged", "open"]
            assert (await store.branch(sidecar_name(branch_name("t", "b"), "s"))).state == "merged"
            assert (await store.branch(sidecar_name(branch_name("t", "b2"), "s"))).state == "open"
            assert await store.collect("t", before=LATER) == [branch_name("t", "b")]
            for tape in ("t_", "t__", "t`", "tt"):
                assert [r.name for r in await store.branches(tape)] == [branch_name(tape, "b"), branch_name(tape, "b2")]
                assert await texts(store, branch_name(tape, "b")) == [tape]
                assert await store.sidecars(tape) == ["s"]

    anyio.run(go)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_lock_excludes_tasks_and_other_stores(tmp_path, backend):
    inside, seen = 0, []

    async def use(store, who):
        nonlocal inside
        for _ in range(5):
            async with store.lock("t"):
                inside += 1
                assert inside == 1
                await anyio.sleep(0.000_1)
                seen.append(who)
                inside -= 1

    async def go():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as one, SQLiteTapeStore(tmp_path / "tapes.db") as other:
            async with anyio.create_task_group() as tasks:
                for i, store in enumerate((one, other, one, other)):
                    tasks.start_soon(use, store, i)
            async with one.lock("t"):
                with anyio.move_on_after(0.01):
                    async with other.lock("t"):
                        raise AssertionError("two at once")
                async with other.lock("u"):
                    pass
            async with other.lock("t"):
                pass
            for i in range(40):
                async with one.lock(f"tape {i}"):
                    assert len(list((tmp_path / "tapes.db.locks").iterdir())) < 25
        assert sorted(seen) == sorted([0, 1, 2, 3] * 5)
        assert list((tmp_path / "tapes.db.locks").iterdir()) == []

    anyio.run(go, backend=backend)
