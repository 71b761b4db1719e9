"""Salvaging a SQLite file: whatever page is destroyed, every other entry is kept at its place, and the new file is sound."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.condition.loss import LOST
from playhead.store.rows.statements import script, statements
from playhead.store.sqlite.upkeep.pages import Pages
from tests.unit.store.families import fill, filled_sqlite, told

Told = dict[str, list[tuple[int, str, object]]]
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound file, its log emptied into it."""
    return anyio.run(filled_sqlite, tmp_path_factory.mktemp("whole") / "whole.db")


@pytest.fixture(scope="module")
def before(whole: Path) -> Told:
    return read(whole)


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "tapes.db"))


def read(path: Path) -> Told:
    async def run() -> Told:
        async with ph.SQLiteTapeStore(path) as store:
            return await told(store)

    return anyio.run(run)


def changed(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF; {change};")


def is_lost(payload: object) -> bool:
    return isinstance(payload, dict) and payload.get("name") == LOST


def test_a_sound_store_is_left_alone(copied: Path):
    raw = copied.read_bytes()
    report = ph.salvage(copied)
    assert (report.path, report.kept, report.lost, report.original, report.is_sound) == (copied, 245, (), None, True)
    assert copied.read_bytes() == raw
    assert {path.name for path in copied.parent.iterdir()} <= {"tapes.db", "tapes.db.lock"}


def test_an_altered_entry_is_replaced_by_a_mark_and_all_others_stay(copied: Path, before: Told):
    where = "eid = ((SELECT tape_no FROM tape_names WHERE name = 'support/42__branch__trial') << 32 | 110)"
    changed(copied, f"UPDATE entries SET body = replace(CAST(body AS TEXT), 'trial', 'error') WHERE {where}")
    report = ph.salvage(copied)
    (loss,) = report.lost
    assert (loss.tape, loss.ids, loss.why, report.kept) == ("support/42__branch__trial", (110, 110), "it was not as it was written", 244)
    assert (report.path.name, report.original) == ("tapes.salvaged.db", copied)
    after = read(report.path)
    assert after.keys() == before.keys()
    for name, entries in before.items():
        differ = {one[0] for one, other in zip(entries, after[name], strict=True) if one != other}
        assert differ == ({110} if name in {"support/42__branch__trial", "support/42__branch__deeper"} else set())
    assert is_lost(after["support/42__branch__trial"][109][2])
    assert ph.verify(report.path).is_sound


def test_whichever_page_is_destroyed_every_other_entry_is_kept(copied: Path, before: Told):
    raw, random_bytes = copied.read_bytes(), random.Random(7).randbytes(PAGE)
    known = {uid: payload for entries in before.values() for _, uid, payload in entries}
    for page in range(len(raw) // PAGE):
        copied.write_bytes(raw[: page * PAGE] + (random_bytes if page % 2 else bytes(PAGE)) + raw[(page + 1) * PAGE :])
        report = ph.salvage(copied)
        assert ph.verify(report.path).is_sound, page
        assert report.kept >= 245 - 40, page
        after = read(report.path)
        for entries in after.values():
            assert [entry[0] for entry in entries] == list(range(1, len(entries) + 1))
            assert all(known[uid] == payload for _, uid, payload in entries if not is_lost(payload))
        if report.kept == 245 and not report.lost and after.keys() == before.keys():
            assert {name: entries for name, entries in after.items() if not name.startswith("salvaged/")} == before, page
        os.unlink(report.path)


def test_branches_go_on_from_where_they_were_forked_though_the_records_are_lost(copied: Path, before: Told):
    changed(copied, "DELETE FROM tapes WHERE tape_no > 3; UPDATE tapes SET lineage = 'x'")
    report = ph.salvage(copied)
    assert ph.verify(report.path).is_sound
    after = read(report.path)
    assert after["support/42__branch__trial"] == before["support/42__branch__trial"]
    assert after["other"] == before["other"]


def test_what_stands_in_the_log_alone_is_kept(tmp_path: Path):
    async def write() -> Told:
        async with ph.SQLiteTapeStore(tmp_path / "tapes.db", durability="process") as store:
            await fill(store)
            shutil.copy(tmp_path / "tapes.db", tmp_path / "torn.db")
            shutil.copy(tmp_path / "tapes.db-wal", tmp_path / "torn.db-wal")
            return await told(store)

    before = anyio.run(write)
    assert (tmp_path / "torn.db-wal").stat().st_size > (tmp_path / "torn.db").stat().st_size
    raw = bytearray((tmp_path / "torn.db").read_bytes())
    raw[:100] = bytes(100)
    (tmp_path / "torn.db").write_bytes(raw)
    report = ph.salvage(tmp_path / "torn.db")
    assert report.lost == ()
    assert read(report.path) == before


def test_entries_that_others_say_were_there_are_marked_as_lost(copied: Path):
    changed(copied, "DELETE FROM entries WHERE eid >> 32 = (SELECT tape_no FROM tape_names WHERE name = 'support/42__branch__trial') AND eid & 4294967295 > 120")
    report = ph.salvage(copied)
    assert [(loss.tape, loss.ids, loss.why) for loss in report.lost] == [("support/42__branch__trial", (121, 170), "nothing of it can be read")]
    assert len(read(report.path)["support/42__branch__deeper"]) == 171


def test_an_entry_at_an_impossible_place_leaves_no_gap(copied: Path):
    changed(copied, "UPDATE entries SET eid = eid + (1 << 30) WHERE eid = (SELECT max(eid) FROM entries WHERE eid >> 32 = 1)")
    report = ph.salvage(copied)
    assert any("cannot have stood" in loss.why for loss in report.lost)
    assert ph.verify(report.path).is_sound
    assert report.kept == 244


def test_leases_and_readers_are_kept(copied: Path):
    changed(copied, "DELETE FROM entry_kinds")
    report = ph.salvage(copied)

    async def run() -> None:
        async with ph.SQLiteTapeStore(report.path) as store:
            assert await store.cursor("support/42", "reader") == (0, 7)
            with pytest.raises(ph.LeaseHeld):
                await store.lease("support/42", owner="another", seconds=1)

    anyio.run(run)
    assert report.lost == ()


def test_a_salvaged_store_is_gone_on_with(copied: Path):
    changed(copied, "DELETE FROM entry_uids")
    report = ph.salvage(copied)

    async def run() -> None:
        async with ph.SQLiteTapeStore(report.path) as store:
            tape = ph.Tape(store, "support/42")
            trial = await tape.branch("trial")
            for number in range(70):
                await trial.append(ph.user(f"more {number}"))
            merged = await (await tape.branch("deeper")).merge()
            assert merged.parent == trial.name
            await (await tape.fork()).append(ph.user("new"))

    anyio.run(run)
    assert ph.verify(report.path).is_sound


def test_nothing_is_overwritten(copied: Path):
    changed(copied, "DELETE FROM entry_uids")
    raw = copied.read_bytes()
    names = [ph.salvage(copied).path.name for _ in range(3)]
    assert names == ["tapes.salvaged.db", "tapes.salvaged-2.db", "tapes.salvaged-3.db"]
    assert copied.read_bytes() == raw
    assert not [path for path in copied.parent.iterdir() if path.name.endswith(".part")]


def test_what_holds_nothing_of_ours_makes_no_file(tmp_path: Path):
    (tmp_path / "notes.db").write_bytes(b"just notes\n" * 5_000)
    (tmp_path / "empty.db").write_bytes(b"")
    for name in ("notes.db", "empty.db"):
        with pytest.raises(ph.StoreUnavailable, match="Nothing that playhead wrote"):
            ph.salvage(tmp_path / name)
    with pytest.raises(ph.FileMissing):
        ph.salvage(tmp_path / "absent.db")
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".lock"} == {"notes.db", "empty.db"}


@pytest.mark.parametrize("size", [512, 1024, 4096])
def test_records_are_read_as_sqlite_reads_them(tmp_path: Path, size: int):
    """Every length around where a record leaves its page, and every kind of value."""
    path = tmp_path / "records.db"
    values = [None, 0, 1, -1, 127, 128, -129, 1 << 23, -(1 << 31), 1 << 40, -(1 << 47), (1 << 63) - 1, 1.5, "", "ü", "\0", b"", b"\xff" * 60]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v, long)")
        connection.execute("CREATE TABLE w (v TEXT, long, PRIMARY KEY (v)) WITHOUT ROWID")
        for number, value in enumerate(values):
            connection.execute("INSERT INTO t (v, long) VALUES (?, ?)", (value, b"x" * (number * 97)))
        for length in range(size - 80, size + 20):
            connection.execute("INSERT INTO t (v, long) VALUES (?, ?)", (length, b"y" * length))
            connection.execute("INSERT INTO w VALUES (?, ?)", (f"w{length}", b"z" * (length // 4)))
        connection.execute("INSERT INTO t (id, v, long) VALUES (-5, 'negative', zeroblob(70000))")
        connection.commit()
        wanted = {(id, None, v, long) for id, v, long in connection.execute("SELECT id, v, long FROM t")} | {(None, v, long) for v, long in connection.execute("SELECT v, long FROM w")}
    found = {(record.rowid, *record.values) if record.rowid is not None else (None, *record.values) for record in Pages(str(path)).records()}
    assert wanted <= found


@pytest.mark.parametrize("name", statements("salvage"))
def test_every_statement_fits_the_schema(name: str):
    text = statements("salvage")[name]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script("schema"))
        connection.execute(f"EXPLAIN {text}", [None] * text.count("?"))
