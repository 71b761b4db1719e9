"""Proving a SQLite file: what is sound is called sound, and whatever is altered, column by column and page by page, is found and named."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.rows.statements import script, statements
from tests.unit.store.families import filled_sqlite

EID = "tape_no << 32 | {}"
A_TAPE = "(SELECT tape_no FROM tape_names WHERE name = 'support/42__branch__trial')"
A_SIDECAR = "(SELECT tape_no FROM tape_names WHERE name = 'support/42__branch__trial__sidecar__spill')"
IN_TRIAL = f"eid = ({A_TAPE} << 32 | 110)"
BESIDE_TRIAL = f"eid = ({A_SIDECAR} << 32 | 2)"
ENTRY_CHANGES = {
    "kind": ("kind = 'system'", "damage"),
    "kind to one that is no text": ("kind = x'ff'", "damage"),
    "kind to a text that is no UTF-8": ("kind = CAST(x'ff' AS TEXT)", "damage"),
    "ts": ("ts = ts + 1", "damage"),
    "ts to a text": ("ts = 'soon'", "damage"),
    "digest": ("digest = zeroblob(32)", "damage"),
    "digest to one that is too short": ("digest = x'00'", "damage"),
    "meta": ("meta = '{}'", "damage"),
    "body": ("body = replace(CAST(body AS TEXT), 'trial', 'error')", "damage"),
    "peak": ("peak = peak + 1", "fault"),
    "peak to a text": ("peak = 'late'", "fault"),
    "uid": ("uid = x'00'", "fault"),
    "uid to a number": ("uid = 7", "fault"),
    "idem_key": ("idem_key = 'mine'", "fault"),
    "anchor": ("anchor = 'here'", "fault"),
    "mark": ("mark = 1", "fault"),
    "enc": ("enc = 1", "fault"),
    "search": ("search = 'words'", "fault"),
}
MARK_CHANGES = {"nothing": "mark = NULL", "one before": "mark = 0", "one behind the end": "mark = mark + 1000", "a text": "mark = 'x'"}
RECORD_CHANGES = {
    "an entry is gone": f"DELETE FROM entries WHERE {IN_TRIAL}",
    "the last entries are gone": f"DELETE FROM entries WHERE eid > ({A_TAPE} << 32 | 120) AND eid < ({A_TAPE} + 1) << 32",
    "an entry stands elsewhere": f"UPDATE entries SET eid = eid + 1000 WHERE {IN_TRIAL}",
    "an entry stands before the fork": f"UPDATE entries SET eid = eid - 50 WHERE {IN_TRIAL}",
    "entries of no tape": "UPDATE entries SET eid = 999 << 32 | 1 WHERE eid = (SELECT max(eid) FROM entries)",
    "a kind is not indexed": f"DELETE FROM entry_kinds WHERE {IN_TRIAL}",
    "a kind is indexed as another": f"UPDATE entry_kinds SET kind = 'system' WHERE {IN_TRIAL}",
    "a kind is indexed that is not there": "INSERT INTO entry_kinds VALUES ('message', 999 << 32 | 1)",
    "a kind is indexed too early": f"INSERT INTO entry_kinds SELECT kind, eid FROM entries WHERE eid = ({A_TAPE} << 32 | 170)",
    "a uid is not indexed": f"DELETE FROM entry_uids WHERE {IN_TRIAL}",
    "a uid is indexed as another": f"UPDATE entry_uids SET uid = x'01' WHERE {IN_TRIAL}",
    "a uid is indexed that is not there": "INSERT INTO entry_uids VALUES (x'01', 999 << 32 | 1)",
    "a lineage is no list": f"UPDATE tapes SET lineage = '{{' WHERE tape_no = {A_TAPE}",
    "a lineage of texts": f"UPDATE tapes SET lineage = '[[\"a\", 1]]' WHERE tape_no = {A_TAPE}",
    "a lineage is empty": f"UPDATE tapes SET lineage = '[]' WHERE tape_no = {A_TAPE}",
    "a lineage goes too far": f"UPDATE tapes SET lineage = '[[1,9000]]', fork_seq = 9000 WHERE tape_no = {A_TAPE}",
    "a lineage of a number that is not there": f"UPDATE tapes SET lineage = '[[888,100]]', parent_no = 888 WHERE tape_no = {A_TAPE}",
    "a parent number": f"UPDATE tapes SET parent_no = NULL WHERE tape_no = {A_TAPE}",
    "a fork point": f"UPDATE tapes SET fork_seq = 99 WHERE tape_no = {A_TAPE}",
    "a state": f"UPDATE tapes SET state = 9 WHERE tape_no = {A_TAPE}",
    "a state out of use": f"UPDATE tapes SET state = 3 WHERE tape_no = {A_TAPE}",
    "a generation": f"UPDATE tapes SET generation = -1 WHERE tape_no = {A_TAPE}",
    "an index that says it goes further": f"UPDATE tapes SET indexed = 6400 WHERE tape_no = {A_TAPE}",
    "a low water mark": f"UPDATE tapes SET low_water = 'x' WHERE tape_no = {A_TAPE}",
    "when a tape was made": f"UPDATE tapes SET created_at = 'x' WHERE tape_no = {A_TAPE}",
    "a tape nobody names": "DELETE FROM tape_names WHERE name = 'other'",
    "a name of nothing": "UPDATE tape_names SET tape_no = 777 WHERE name = 'other'",
    "a name of another's entries": "UPDATE tape_names SET tape_no = (SELECT tape_no FROM tape_names WHERE name = 'support/42') WHERE name = 'other'",
    "a name no tape can have": "UPDATE tape_names SET name = CAST(x'ff' AS TEXT) WHERE name = 'other'",
    "a family": "UPDATE tape_names SET root_no = 5 WHERE name = 'support/42__branch__trial'",
    "a family without its tape": "DELETE FROM tape_names WHERE name = 'support/42'",
    "a listed branch": "UPDATE tape_names SET listed = 1 WHERE name = 'support/42__branch__trial'",
    "a branch without a number": "UPDATE tape_names SET branch_no = NULL WHERE name = 'support/42__branch__trial'",
    "a branch without a parent": "UPDATE tape_names SET parent = NULL WHERE name = 'support/42__branch__trial'",
    "a parent that is not there": "UPDATE tape_names SET parent = 'support/42__branch__none' WHERE name = 'support/42__branch__trial'",
    "a parent of another family": "UPDATE tape_names SET parent = 'other' WHERE name = 'support/42__branch__trial'",
    "a base": "UPDATE tape_names SET base_seq = 99 WHERE name = 'support/42__branch__trial'",
    "a base that is no number": "UPDATE tape_names SET base_generation = 'x' WHERE name = 'support/42__branch__trial'",
    "a branch's state": "UPDATE tape_names SET state = 'lost' WHERE name = 'support/42__branch__trial'",
    "an open branch with an end": "UPDATE tape_names SET closed_at = 1 WHERE name = 'support/42__branch__trial'",
    "a closed branch without an end": "UPDATE tape_names SET closed_at = NULL WHERE name = 'support/42__branch__gone'",
    "when a name was made": "UPDATE tape_names SET created_at = 'x' WHERE name = 'other'",
    "a lease": "UPDATE leases SET epoch = 'x'",
    "a reader who is ahead": "UPDATE cursors SET generation = 9",
    "an index that was dropped": "DROP INDEX entries_key",
    "an index that was made otherwise": "DROP INDEX entries_anchors; CREATE INDEX entries_anchors ON entries (eid)",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound file, its log emptied into it."""
    return anyio.run(filled_sqlite, tmp_path_factory.mktemp("whole") / "whole.db")


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "tapes.db"))


def altered(path: Path, change: str) -> ph.VerifyReport:
    """Make a change behind the store's back and return what is found."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF; {change};")
    return ph.verify(path)


def test_a_sound_store_is_sound(copied: Path):
    report = ph.verify(copied)
    assert (report.is_sound, report.flaws, report.more) == (True, (), 0)
    assert (report.tapes, report.entries) == (14, 245)
    assert str(report) == f"{copied}: 14 tapes, 245 entries, sound"


def test_looking_changes_nothing(copied: Path):
    before = copied.read_bytes()
    ph.verify(copied)
    assert copied.read_bytes() == before
    assert [path.name for path in copied.parent.iterdir()] == [copied.name]


@pytest.mark.parametrize(("change", "severity"), ENTRY_CHANGES.values(), ids=ENTRY_CHANGES)
def test_every_altered_column_of_an_entry_is_found_and_named(copied: Path, change: str, severity: str):
    report = altered(copied, f"UPDATE entries SET {change} WHERE {IN_TRIAL}")
    found = [flaw for flaw in report.flaws if (flaw.tape, flaw.id) == ("support/42__branch__trial", 110)]
    assert not report.is_sound
    assert severity in {flaw.severity for flaw in found}, report


@pytest.mark.parametrize("change", MARK_CHANGES.values(), ids=MARK_CHANGES)
def test_an_altered_mark_is_found(copied: Path, change: str):
    report = altered(copied, f"UPDATE entries SET {change} WHERE {BESIDE_TRIAL}")
    assert "support/42__branch__trial__sidecar__spill" in {flaw.tape for flaw in report.flaws}
    assert not report.is_sound


@pytest.mark.parametrize("change", RECORD_CHANGES.values(), ids=RECORD_CHANGES)
def test_whatever_else_is_altered_is_found(copied: Path, change: str):
    assert not altered(copied, change).is_sound


def test_missing_entries_are_told_as_one_range(copied: Path):
    report = altered(copied, f"DELETE FROM entries WHERE eid BETWEEN ({A_TAPE} << 32 | 105) AND ({A_TAPE} << 32 | 110)")
    assert "tape 'support/42__branch__trial', entries 105 to 110" in {flaw.where for flaw in report.flaws if flaw.severity == "damage"}


def test_what_is_left_over_does_no_harm(copied: Path):
    report = altered(copied, "CREATE TABLE notes (x)")
    assert (report.is_sound, [flaw.severity for flaw in report.flaws]) == (True, ["remnant"])


def test_a_page_that_cannot_be_read_is_damage(copied: Path):
    raw, found = copied.read_bytes(), 0
    for page in range(1, len(raw) // 4096):
        copied.write_bytes(raw[: page * 4096] + bytes(4096) + raw[(page + 1) * 4096 :])
        report = ph.verify(copied)
        assert not report.is_sound, page
        found += any(flaw.severity == "damage" for flaw in report.flaws)
    assert found > len(raw) // 4096 // 2


def test_more_flaws_than_anybody_reads_are_counted(tmp_path: Path):
    async def write() -> None:
        async with ph.SQLiteTapeStore(tmp_path / "many.db", durability="process") as store:
            await ph.Tape(store, "t").append_many([ph.user(str(n)) for n in range(700)])

    anyio.run(write)
    report = altered(tmp_path / "many.db", "UPDATE entries SET digest = zeroblob(32)")
    assert (len(report.flaws), report.more) == (500, 200)
    assert str(report).endswith("... and 200 more")


def test_a_store_is_proved_while_others_write(tmp_path: Path):
    async def run() -> None:
        async with ph.SQLiteTapeStore(tmp_path / "busy.db", durability="process") as store:
            tape = ph.Tape(store, "t")
            await tape.append(ph.user("first"))
            async with anyio.create_task_group() as group:
                reports = []

                async def prove() -> None:
                    reports.extend([await anyio.to_thread.run_sync(ph.verify, store) for _ in range(5)])

                group.start_soon(prove)
                for number in range(300):
                    await tape.append(ph.user(str(number)))
            assert all(report.is_sound for report in reports), [str(report) for report in reports]
            assert reports[-1].entries > 1

    anyio.run(run)


def test_a_store_is_proved_and_copied_while_others_open_and_close_it(tmp_path: Path):
    """The last one who closes a file empties its log into it, under the eyes of whoever reads it."""
    path, ended = tmp_path / "busy.db", threading.Event()

    async def write(number: int) -> None:
        async with ph.SQLiteTapeStore(path, durability="process") as store:
            await ph.Tape(store, "t").append_many([ph.user(f"{number} {n} {'x' * 500}") for n in range(20)])
            if number % 5 == 4:
                await store.reset("t")

    def keep_writing() -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            anyio.run(write, number)

    anyio.run(write, 0)
    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        reports = [ph.verify(path) for _ in range(15)]
        copies = [ph.verify(ph.backup(path, tmp_path / f"copy-{n}.db")) for n in range(10)]
    finally:
        ended.set()
        writer.join()
    assert [str(report) for report in (*reports, *copies) if not report.is_sound] == []


def test_what_is_no_store_is_refused(tmp_path: Path):
    (tmp_path / "notes.db").write_bytes(b"just notes\n" * 500)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    for name, error in (("absent.db", ph.FileMissing), ("notes.db", ph.StoreUnavailable), ("other.db", ph.StoreUnavailable)):
        with pytest.raises(error):
            ph.verify(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.db", "other.db"]


@pytest.mark.parametrize("name", statements("verify"))
def test_every_statement_fits_the_schema(name: str):
    text = statements("verify")[name]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script("schema"))
        connection.execute(f"EXPLAIN {text}", [None] * text.count("?"))
