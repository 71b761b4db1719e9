"""What can be read of a damaged store is exported: as little as can be is passed over, all of that is told, and what was written can be taken in."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

import playhead as ph
from playhead.store.change import Fork
from playhead.store.condition.loss import ALTERED, LOST, MISSING, PART_LOST, Loss
from playhead.store.family import branch_name, sidecar_name
from playhead.store.rows.row import eid
from playhead.testing.stage import note
from tests.integration.test_postgres_verify import ALTERED as ALTERATIONS
from tests.integration.test_postgres_verify import SIDE, TRIAL, lived
from tests.unit.store.moving import files_of

LENGTH = 600
DEEP = branch_name("t", "deep")
"""A branch that reads entries through others."""


async def moved(url: str, place: Path) -> tuple[ph.TransferReport, ph.VerifyReport]:
    """Export a store, look that the same is exported when that goes on, take it in elsewhere; return what was exported, and what the other store is like."""
    report = await ph.export_store(url, place / "export")
    before = files_of(place / "export")
    (place / "export" / "manifest.json").unlink()
    again = await ph.export_store(url, place / "export")
    assert (again.known, again.lost, files_of(place / "export")) == (report.tapes, report.lost, before)
    imported = await ph.import_store(place / "export", f"{place}/there.db")
    assert (imported.tapes, imported.entries, imported.lost) == (report.tapes, report.entries, report.lost)
    return report, ph.verify(f"{place}/there.db")


async def filled(path: Path) -> None:
    async with ph.SQLiteTapeStore(path, durability="process", inline_limit=2_000) as store:
        await store.append_many("a", [note("sound")])
        await store.append_many("b", [note(f"entry {n}") for n in range(LENGTH)])
        await store.append_many(sidecar_name("b", "s"), [note(f"beside {n}") for n in range(20)])
        await store.append_many("b", [note("part " * 1_000), note("the end")])
        await store.apply([Fork(tape=branch_name("b", "x"), parent="b", at=LENGTH)])
        await store.append_many(branch_name("b", "x"), [note("own")])
        await store.append_many("c", [note("sound, too")])


def altered(path: Path, *statements: tuple[str, Any]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement, values in statements:
            assert connection.execute(statement, values).rowcount > 0
        connection.commit()


def number(path: Path, tape: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT tape_no FROM tape_names WHERE name = ?", (tape,)).fetchone()[0])


def test_only_the_entries_that_cannot_be_read_are_lost_and_all_others_keep_their_ids(tmp_path: Path):
    path, side = tmp_path / "tapes.db", sidecar_name("b", "s")
    anyio.run(filled, path)
    main, beside = number(path, "b"), number(path, side)
    altered(
        path,
        ("UPDATE entries SET body = CAST('{}' AS BLOB) WHERE eid IN (?, ?, ?)", (eid(main, 1), eid(main, 257), eid(main, 258))),
        ("DELETE FROM entries WHERE eid IN (?, ?)", (eid(main, 400), eid(beside, 7))),
        ("UPDATE blobs SET data = CAST('torn' AS BLOB)", ()),
    )

    async def run() -> None:
        report, there = await moved(str(path), tmp_path)
        assert report.tapes == ("a", "b", "c")
        assert [(loss.tape, loss.ids, loss.why.partition(" (")[0]) for loss in report.lost] == [
            ("b", (1, 1), ALTERED),
            ("b", (257, 258), ALTERED),
            ("b", (400, 400), MISSING),
            ("b", (LENGTH + 1, LENGTH + 1), PART_LOST),
            (side, (7, 7), MISSING),
        ]
        assert there.is_sound, str(there)
        async with ph.open_store(f"{tmp_path}/there.db") as store:
            found = {entry.id: entry for entry in await store.fetch_all(ph.TapeQuery(tape="b"))}
            lost = {id for loss in report.lost if loss.tape == "b" for id in range(loss.ids[0], loss.ids[1] + 1)}  # type: ignore[index]
            assert {id for id, entry in found.items() if entry.payload.get("name") == LOST} == lost
            assert all(found[n + 1].payload["text"] == f"entry {n}" for n in range(LENGTH) if n + 1 not in lost)
            assert found[257].date == found[256].date
            assert "context" in found[257].meta
            assert [entry.payload.get("text") for entry in await store.fetch_all(ph.TapeQuery(tape=branch_name("b", "x")).after(LENGTH - 1))] == [f"entry {LENGTH - 1}", "own"]
            assert len(await store.marks(side)) == 20

    anyio.run(run)


def test_a_tape_of_which_nothing_can_be_read_is_left_out_and_the_export_is_whole_without_it(tmp_path: Path):
    path = tmp_path / "tapes.db"
    anyio.run(filled, path)
    altered(path, ("UPDATE entries SET body = CAST('{}' AS BLOB) WHERE eid = ?", (eid(number(path, "a"), 1),)))

    async def run() -> None:
        report, there = await moved(str(path), tmp_path)
        ((tape, ids, why),) = [(loss.tape, loss.ids, loss.why) for loss in report.lost]
        assert (report.tapes, tape, ids, "nothing of it was exported" in why) == (("b", "c"), "a", None, True)
        assert not list((tmp_path / "export" / "tapes").glob("a*"))
        assert there.is_sound

    anyio.run(run)


def test_a_blob_that_is_torn_is_told_and_what_refers_to_it_is_exported(tmp_path: Path):
    path = tmp_path / "tapes.db"

    async def run() -> None:
        async with ph.SQLiteTapeStore(path) as store:
            blob = await store.put_blob(b"picture", mime="image/png")
            await store.append_many("t", [ph.TapeEntry.event("see", {"ref": blob.digest})])
        altered(path, ("UPDATE blobs SET data = CAST('torn' AS BLOB)", ()))
        report, _ = await moved(str(path), tmp_path)
        assert (report.tapes, report.entries, report.missing) == (("t",), 1, (blob.digest,))
        assert report.lost == (Loss(why=f"the blob {blob.digest} is not as it was written"),)

    anyio.run(run)


def test_a_copy_does_not_pass_over_damage(tmp_path: Path):
    path = tmp_path / "tapes.db"
    anyio.run(filled, path)
    altered(path, ("UPDATE entries SET body = CAST('{}' AS BLOB) WHERE eid = ?", (eid(number(path, "b"), 3),)))
    with pytest.raises(ph.StoreDamaged):
        anyio.run(ph.copy_store, str(path), f"{tmp_path}/there.db")


TOLD = {
    "a payload": [("t", (2, 2))],
    "a date": [("t", (5, 5)), (DEEP, (5, 5))],
    "an entry in the middle": [("t", (2, 2))],
    "the last entry": [("t", (5, 5)), (DEEP, (5, 5))],
    "a number": [("t", (5, 5))],
    "a branch's state": [(TRIAL, None)],
    "a part": [(DEEP, (5, 7)), (SIDE, (2, 2))],
    "a part's bytes": [(DEEP, (5, 7)), (SIDE, (2, 2))],
}
"""What an export tells of what was altered in a database; of all else nothing is lost."""
UNTOLD = ("a head", "a lineage", "a family", "a name", "a key", "a mark")
OF_THE_ORIGINAL = {"a mark"}
"""What goes along as it is, so that the other store has it, too."""


def test_whatever_is_altered_on_a_server_all_that_can_be_read_is_exported(postgres: Any, tmp_path: Path):
    with postgres.database(fresh=True) as url:
        anyio.run(lived, url)
        for what in (*TOLD, *UNTOLD):
            statement, place = ALTERATIONS[what][0], tmp_path / what.replace("'", "")
            place.mkdir()
            with postgres.copy(url) as copy:
                with psycopg.connect(copy, options="-c search_path=playhead") as connection:
                    connection.execute(statement)
                report, there = anyio.run(moved, copy, place)
            assert [(loss.tape, loss.ids) for loss in report.lost] == TOLD.get(what, []), what
            assert (report.tapes, report.entries) == (("t", "u", "v"), 14 if what == "a head" else 15), what
            assert there.is_sound or what in OF_THE_ORIGINAL, (what, str(there))


EDITS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "the tape": (lambda place: place / "b.jsonl", "b"),
    "a sidecar": (lambda place: place / "b.family" / "s.sidecar.jsonl", sidecar_name("b", "s")),
    "a branch": (lambda place: place / "b.family" / "x.branch.jsonl", branch_name("b", "x")),
}


@pytest.mark.parametrize("what", EDITS)
def test_of_a_directory_all_that_is_not_in_the_damaged_file_is_exported(what: str, tmp_path: Path):
    path, tape = EDITS[what]

    async def run() -> None:
        await filled(tmp_path / "tapes.db")
        await ph.copy_store(f"{tmp_path}/tapes.db", f"file:{tmp_path}/files")
        file = path(tmp_path / "files")
        file.write_bytes(file.read_bytes() + b"nothing of ours\n" * 2)
        shutil.rmtree(tmp_path / "files" / ".playhead", ignore_errors=True)
        report, there = await moved(f"file:{tmp_path}/files", tmp_path)
        forked = [sidecar_name(branch_name("b", "x"), "s")] if what == "a sidecar" else []
        assert [loss.tape for loss in report.lost] == [*forked, tape]
        assert "playhead.salvage(" in report.lost[-1].why
        assert report.tapes == (("a", "c") if what == "the tape" else ("a", "b", "c"))
        assert report.entries == {"the tape": 2, "a branch": LENGTH + 24, "a sidecar": LENGTH + 5}[what]
        assert there.is_sound

    anyio.run(run)
