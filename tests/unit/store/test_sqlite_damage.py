"""What was changed in the file of a SQLite store behind its back is never passed over in silence."""

import os
import shutil
import sqlite3
from contextlib import closing

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged, StoreUnavailable
from playhead.store.change import Append, Fork
from playhead.store.family import branch_name
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.rows.row import eid
from playhead.store.sqlite.store import SQLiteTapeStore

query = TapeQuery(tape="my tape")


def note(text, **meta):
    return TapeEntry(0, "note", {"text": text}, meta)


def filled(path, count=5):
    """Make a store of notes and close it, so that all is in the one file."""

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("my tape", [note(f"note {i}", idempotency_key=f"key {i}") for i in range(1, count + 1)])

    anyio.run(go)
    return path


def sql(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def asked(path, question):
    async def go():
        async with SQLiteTapeStore(path) as store:
            return await question(store)

    return anyio.run(go)


def read(path, query=query):
    return asked(path, lambda store: store.fetch_all(query))


ALTERED = {
    "another body": ("body", b'{"text":"note 7"}'),
    "a body that is no JSON": ("body", b'{"text":"note 3"'),
    "a body that is no UTF-8": ("body", b'{"text":"\xff"}'),
    "a body that is text": ("body", '{"text":"note 3"}'),
    "a body that is a number": ("body", 3),
    "another meta": ("meta", b'{"uid":"x"}'),
    "a meta that is no JSON": ("meta", b"{"),
    "another kind": ("kind", "note!"),
    "a kind that is a half surrogate pair": ("kind", b"\xed\xa0\x80"),
    "another date": ("ts", 5),
    "another digest": ("digest", b"\0" * 32),
    "a digest that is text": ("digest", "none"),
}


@pytest.mark.parametrize("part", ["payload", "meta"])
@pytest.mark.parametrize("change", ALTERED)
def test_an_entry_that_was_altered_is_named_when_it_is_read(tmp_path, change, part):
    path, (column, value) = filled(tmp_path / "tapes.db"), ALTERED[change]
    sql(path, f"UPDATE entries SET {column} = ? WHERE eid = ?", value, eid(1, 3))
    entries = read(path)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match=r"Entry 3 of the tape 'my tape' is not as it was written; restore a backup, or read .* before\(3\) and after\(3\)"):
            getattr(entries[2], part)
    assert [e.payload["text"] for e in entries if e.id != 3] == ["note 1", "note 2", "note 4", "note 5"]


@pytest.mark.parametrize(("column", "value"), [("kind", b"\xff"), ("ts", 1 << 61)])
def test_an_entry_of_which_nothing_can_be_told_is_named_by_the_read(tmp_path, column, value):
    path = filled(tmp_path / "tapes.db")
    sql(path, f"UPDATE entries SET {column} = ? WHERE eid = ?", value, eid(1, 3))
    with pytest.raises(StoreDamaged, match="Entry 3 of the tape 'my tape'"):
        read(path)
    assert [e.id for e in [*read(path, query.before(3)), *read(path, query.after(3))]] == [1, 2, 4, 5]


def test_a_text_that_is_no_utf8_is_damage(tmp_path):
    path = filled(tmp_path / "tapes.db")
    sql(path, "UPDATE entries SET kind = CAST(x'ff41' AS TEXT) WHERE eid = ?", eid(1, 3))
    with pytest.raises(StoreDamaged, match="restore a backup"):
        read(path)


@pytest.mark.parametrize("text", ["note 5", "note 3", "5", '"'])
@pytest.mark.parametrize("change", [name for name in ALTERED if "kind" not in name])
def test_a_search_does_not_pass_over_an_entry_that_was_altered(tmp_path, change, text):
    path, (column, value) = filled(tmp_path / "tapes.db"), ALTERED[change]
    sql(path, f"UPDATE entries SET {column} = ? WHERE eid = ?", value, eid(1, 3))
    with pytest.raises(StoreDamaged, match="Entry 3"):
        read(path, query.query(text))
    assert [e.id for e in read(path, query.query("note 5").newest_first().limit(1))] == [5]


def test_an_altered_entry_found_by_its_key_is_no_repeat_of_what_it_was(tmp_path):
    path = filled(tmp_path / "tapes.db")
    sql(path, "UPDATE entries SET body = ? WHERE eid = ?", b'{"text":"note 9"}', eid(1, 3))
    with pytest.raises(StoreDamaged, match="Entry 3"):
        asked(path, lambda store: store.append_many("my tape", [note("note 3", idempotency_key="key 3")]))
    assert asked(path, lambda store: store.append("my tape", note("more"))).id == 6


READS = {
    "all": query,
    "newest first": query.newest_first(),
    "from the front": query.limit(80),
    "from the end": query.newest_first().limit(130),
    "behind an id": query.after(60),
    "up to the gap": query.up_to(71),
    "before the gap's end": query.before(72),
    "nothing but the gap": query.after(69).before(72),
    "by text": query.query("note"),
    "by kind": query.kinds("note"),
    "by kind, newest first": query.kinds("other", "note").newest_first(),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize(("count", "gone"), [(190, (70, 71)), (100, (70, 71)), (190, (70,))])
def test_a_gap_is_named(tmp_path, name, count, gone):
    path = filled(tmp_path / "tapes.db", count)
    sql(path, f"DELETE FROM entries WHERE eid BETWEEN {eid(1, gone[0])} AND {eid(1, gone[-1])}")
    with pytest.raises(StoreDamaged, match=r"my tape.*missing; restore a backup, or read what stands around") as caught:
        read(path, READS[name])
    assert (caught.value.details["first"], caught.value.details["last"]) in {(gone[0], gone[-1]), *((id, id) for id in gone)}
    assert [e.id for e in read(path, query.before(70))] == list(range(1, 70))
    assert [e.id for e in read(path, query.after(71).limit(9))] == list(range(72, 81))


@pytest.mark.parametrize("ask", [lambda s, q: s.fetch_all(q), lambda s, q: s.count(q)], ids=["fetch", "count"])
@pytest.mark.parametrize("kinds", [("note",), ("other", "note"), ("other",)])
@pytest.mark.parametrize("id", [3, 69])
def test_an_altered_kind_does_not_take_an_entry_out_of_a_read_by_kind(tmp_path, id, kinds, ask):
    path = filled(tmp_path / "tapes.db", 70)
    sql(path, "UPDATE entries SET kind = 'something else' WHERE eid = ?", eid(1, id))
    asked_for = query.kinds(*kinds)
    if id == 69:
        with pytest.raises(StoreDamaged, match="Entry 69"):
            asked(path, lambda store: ask(store, asked_for))
    elif kinds != ("other",):
        (found,) = [e for e in read(path, asked_for) if e.id == 3]
        with pytest.raises(StoreDamaged, match="Entry 3"):
            found.payload  # noqa: B018 - it is read for its error


def test_entries_deleted_from_the_end_are_named_where_a_block_of_them_was_indexed(tmp_path):
    path = filled(tmp_path / "tapes.db", 130)
    sql(path, f"DELETE FROM entries WHERE eid >= {eid(1, 120)}")
    for asked_for in (query, query.newest_first().limit(1), query.after(118)):
        with pytest.raises(StoreDamaged, match=r"Entries 120 to 128 of the tape|Entry 128 of|Entries \d+ to 128"):
            read(path, asked_for)
    assert asked(path, lambda store: store.append("my tape", note("its id was given to no other"))).id == 129


DATED = {
    "its dates": ("2026-03-01T00:00:40", "2026-03-01T00:01:20"),
    "nothing but the gap": ("2026-03-01T00:01:10", "2026-03-01T00:01:11"),
    "up to the gap": ("2026-03-01T00:00:00", "2026-03-01T00:01:09"),
    "from the gap on": ("2026-03-01T00:01:11", "2026-03-01T01:00:00"),
}


@pytest.mark.parametrize("name", DATED)
@pytest.mark.parametrize("kinds", [(), ("note",)])
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_read_by_date_names_a_gap_that_may_have_held_what_it_looks_for(tmp_path, name, kinds, newest_first):
    path = tmp_path / "tapes.db"

    async def fill():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("my tape", [TapeEntry(0, "note", {"text": str(i)}, {}, f"2026-03-01T00:{i // 60:02}:{i % 60:02}") for i in range(1, 191)])

    anyio.run(fill)
    sql(path, f"DELETE FROM entries WHERE eid BETWEEN {eid(1, 70)} AND {eid(1, 71)}")
    asked_for = query.kinds(*kinds).between_dates(*DATED[name])
    with pytest.raises(StoreDamaged, match=r"70|71"):
        read(path, asked_for.newest_first() if newest_first else asked_for)
    assert [e.id for e in read(path, query.between_dates("2026-03-01T00:02:00", "2026-03-01T00:02:03"))] == [120, 121, 122, 123]


def test_a_date_that_was_altered_does_not_take_an_entry_out_of_a_read_by_date(tmp_path):
    path = tmp_path / "tapes.db"

    async def fill():
        async with SQLiteTapeStore(path) as store:
            await store.append_many("my tape", [TapeEntry(0, "note", {}, {}, f"2026-03-01T00:{i // 60:02}:{i % 60:02}") for i in range(1, 191)])

    anyio.run(fill)
    for ts in (5, "text"):
        sql(path, "UPDATE entries SET ts = ? WHERE eid = ?", ts, eid(1, 90))
        with pytest.raises(StoreDamaged, match="Entry 90"):
            read(path, query.between_dates("2026-03-01T00:01:00", "2026-03-01T00:02:00"))


def test_damage_in_front_of_a_fork_point_is_named_by_the_branch(tmp_path):
    path, branch = filled(tmp_path / "tapes.db", 10), branch_name("my tape", "try")
    asked(path, lambda store: store.apply([Fork(tape=branch, parent="my tape", at=8), Append(tape=branch, entries=[note("own")])]))
    sql(path, f"DELETE FROM entries WHERE eid = {eid(1, 8)}")
    for asked_for in (TapeQuery(tape=branch), TapeQuery(tape=branch).newest_first()):
        with pytest.raises(StoreDamaged, match=r"Entry 8 of the tape 'my tape__branch__try' is missing"):
            read(path, asked_for)
    assert [e.id for e in read(path, TapeQuery(tape=branch).newest_first().limit(1))] == [9]


def test_a_missing_first_entry_is_named(tmp_path):
    path = filled(tmp_path / "tapes.db")
    sql(path, f"DELETE FROM entries WHERE eid = {eid(1, 1)}")
    for asked_for in (query, query.newest_first(), query.limit(1)):
        with pytest.raises(StoreDamaged, match="Entry 1 of the tape 'my tape' is missing"):
            read(path, asked_for)


def test_an_entry_that_only_an_index_knows_is_named(tmp_path):
    path = filled(tmp_path / "tapes.db", 100)
    uid = read(path)[2].uid
    sql(path, f"DELETE FROM entries WHERE eid = {eid(1, 3)}")
    with pytest.raises(StoreDamaged, match="Entry 3 of the tape 'my tape' is missing"):
        asked(path, lambda store: store.find("my tape", uids=[uid]))


def moved_away(path):
    for name in (path, f"{path}-wal"):
        os.replace(name, f"{name}.away")


def removed(path):
    for name in (path, f"{path}-wal", f"{path}-shm"):
        os.unlink(name)


def replaced(path):
    os.replace(path.parent.with_name("other.db"), path)


def log_removed(path):
    os.unlink(f"{path}-wal")


def folder_removed(path):
    shutil.rmtree(path.parent)


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of a file that is open")
@pytest.mark.parametrize("change", [moved_away, removed, replaced, log_removed, folder_removed])
def test_nothing_is_acknowledged_once_the_file_is_gone(tmp_path, change):
    path = tmp_path / "folder" / "tapes.db"
    filled(tmp_path / "other.db")

    async def go():
        async with SQLiteTapeStore(path) as store:
            assert (await store.append("my tape", note("kept"))).id == 1
            assert await store.head("my tape") == Head(0, 1)
            change(path)
            for call in (store.append("my tape", note("x")), store.append_many("other", [note("x"), note("y")]), store.reset("my tape"), store.fetch_all(query), store.head("my tape")):
                with pytest.raises(StoreUnavailable, match=r"open it again|open the store again|cannot be used"):
                    await call

    anyio.run(go)


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of a file that is open")
def test_a_file_that_comes_back_is_used_again(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as store:
            await store.append("my tape", note("kept"))
            moved_away(path)
            with pytest.raises(StoreUnavailable, match="removed"):
                await store.append("my tape", note("refused"))
            for name in (path, f"{path}-wal"):
                os.replace(f"{name}.away", name)
            assert (await store.append("my tape", note("kept too"))).id == 2

    anyio.run(go)
    assert [e.payload["text"] for e in read(path)] == ["kept", "kept too"]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of a file that is open")
def test_a_store_that_is_closed_after_its_file_was_replaced_leaves_the_new_one_whole(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        store = SQLiteTapeStore(path)
        await store.append("my tape", note("old"))
        removed(path)
        async with SQLiteTapeStore(path) as other:
            await other.append("my tape", note("new"))
            await store.aclose()
            await other.append("my tape", note("newer"))

    anyio.run(go)
    assert [e.payload["text"] for e in read(path)] == ["new", "newer"]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of a file that is open")
def test_a_lock_file_that_was_removed_lets_no_two_writers_in(tmp_path):
    path = tmp_path / "tapes.db"

    async def go():
        async with SQLiteTapeStore(path) as one:
            await one.append("my tape", note("x"))
            os.unlink(f"{path}.lock")
            async with SQLiteTapeStore(path) as other:
                await other.reset("my tape", entries=[note("fresh")])
                assert (await one.append("my tape", note("y"))).id == 2
                assert [e.payload["text"] for e in await other.fetch_all(query)] == ["fresh", "y"]

    anyio.run(go)


def test_an_error_that_is_kept_keeps_no_old_snapshot(tmp_path):
    path, kept = filled(tmp_path / "tapes.db", 300), []
    sql(path, f"DELETE FROM entries WHERE eid = {eid(1, 70)}")

    async def go():
        async with SQLiteTapeStore(path) as store:
            for count in range(301, 306):
                try:
                    await store.fetch_all(query)
                except StoreDamaged as error:
                    kept.append(error)
                await store.append("my tape", note("new"))
                assert await store.head("my tape") == Head(0, count)

    anyio.run(go)
    assert len(kept) == 5
