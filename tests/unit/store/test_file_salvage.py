"""Salvaging a directory of tapes: every good line stays at its place, branches go on from where they were forked, and the store is sound again."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.condition.loss import LOST
from tests.unit.store.families import filled_files, told

TAPE = "support%2F42"
FAMILY = f"{TAPE}.family"
TRIAL = f"{FAMILY}/trial.branch.jsonl"
KEPT = f".playhead/{FAMILY}/@0.jsonl"
Told = dict[str, list[tuple[int, str, object]]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return anyio.run(filled_files, tmp_path_factory.mktemp("whole") / "tapes")


@pytest.fixture(scope="module")
def before(whole: Path) -> Told:
    return read(whole)


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "tapes"))


def read(path: Path) -> Told:
    async def run() -> Told:
        async with ph.FileTapeStore(path) as store:
            return await told(store)

    return anyio.run(run)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def is_lost(payload: object) -> bool:
    return isinstance(payload, dict) and payload.get("name") == LOST


def test_a_sound_store_is_left_alone(copied: Path):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    report = ph.salvage(copied)
    assert (report.path, report.kept, report.lost, report.files, report.is_sound) == (copied, 245, (), (), True)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


def test_every_damaged_file_is_replaced_and_stays_beside_the_new_one(copied: Path, before: Told):
    damaged = {}
    for name, number in ((TRIAL, 11), (KEPT, 20)):
        its = lines(copied / name)
        its[number] = its[number].replace(b'"user"', b'"loser"')
        (copied / name).write_bytes(b"".join(its))
        damaged[name] = (copied / name).read_bytes()
    report = ph.salvage(copied)
    assert {(loss.tape, loss.ids) for loss in report.lost} == {("support/42__branch__trial", (111, 111)), ("support/42", (21, 21))}
    assert (report.kept, report.original) == (243, None)
    assert {str(found.path.relative_to(copied)): found.original.read_bytes() for found in report.files if found.original} == damaged
    assert ph.verify(copied).is_sound
    after = read(copied)
    assert after.keys() == before.keys()
    for name, entries in before.items():
        differ = {one[0] for one, other in zip(entries, after[name], strict=True) if one != other}
        assert differ <= {21, 111}
        assert all(is_lost(entry[2]) for entry in after[name] if entry[0] in differ)


def test_a_branch_whose_first_line_is_lost_goes_on_from_where_its_own_entries_begin(copied: Path, before: Told):
    for change in (lambda its: [b"x" + its[0][1:], *its[1:]], lambda its: its[1:]):
        (copied / TRIAL).write_bytes(b"".join(change(lines(copied / TRIAL))))
        report = ph.salvage(copied)
        assert len(report.files) == 1
        assert ph.verify(copied).is_sound, str(ph.verify(copied))
        after = read(copied)
        assert after["support/42__branch__trial"] == before["support/42__branch__trial"]
        assert after["support/42__branch__deeper"] == before["support/42__branch__deeper"]


def test_what_branches_go_on_from_is_there_again(copied: Path, before: Told):
    """A file that was cut short is filled up with marks as far as branches show it."""
    (copied / KEPT).write_bytes(b"".join(lines(copied / KEPT)[:50]))
    report = ph.salvage(copied)
    assert [(loss.tape, loss.ids) for loss in report.lost] == [("support/42", (51, 159))]
    after = read(copied)
    trial = after["support/42__branch__trial"]
    assert trial[:50] == before["support/42__branch__trial"][:50]
    assert trial[100:] == before["support/42__branch__trial"][100:]
    assert all(is_lost(entry[2]) for entry in trial[50:100])
    assert ph.verify(copied).is_sound


def test_a_closed_branch_is_closed_again(copied: Path):
    path = copied / FAMILY / "gone.discarded.jsonl"
    path.write_bytes(b"".join(lines(path)[:-1]))
    ph.salvage(copied)
    assert ph.verify(copied).is_sound

    async def run() -> None:
        async with ph.FileTapeStore(copied) as store:
            record = await store.branch("support/42__branch__gone")
            assert record is not None
            assert (record.state, record.closed_at is not None) == ("discarded", True)

    anyio.run(run)


def test_marks_of_sidecars_stay(copied: Path, before: Told):
    path = copied / f".playhead/{FAMILY}/spill.sidecar@0.jsonl"
    its = lines(path)
    path.write_bytes(b"".join([its[0].replace(b"beside", b"besidE"), *its[1:]]))

    async def marks() -> list[ph.Head]:
        async with ph.FileTapeStore(copied) as store:
            return await store.marks("support/42__branch__merged__sidecar__spill")

    report = ph.salvage(copied)
    assert [loss.ids for loss in report.lost] == [(1, 1)]
    assert anyio.run(marks)[1] == (0, 158)
    assert ph.verify(copied).is_sound


def test_whatever_is_altered_the_store_is_sound_again_and_nothing_else_changes(copied: Path, whole: Path, before: Told):
    dice = random.Random(5)
    known = {uid: payload for entries in before.values() for _, uid, payload in entries}
    for name in sorted(str(path.relative_to(copied)) for path in copied.rglob("*.jsonl")):
        raw = (whole / name).read_bytes()
        for _ in range(3):
            place, how = dice.randrange(len(raw)), dice.choice(("flip", "zeros", "cut", "line"))
            changed = bytearray(raw)
            if how == "flip":
                changed[place] ^= 1 << dice.randrange(8)
            elif how == "zeros":
                changed[place : place + 300] = bytes(len(changed[place : place + 300]))
            elif how == "cut":
                del changed[place:]
            else:
                its = raw.splitlines(keepends=True)
                del its[dice.randrange(len(its))]
                changed = bytearray(b"".join(its))
            (copied / name).write_bytes(changed)
            ph.salvage(copied)
            report = ph.verify(copied)
            assert report.is_sound, (name, how, place, str(report))
            for entries in read(copied).values():
                assert all(known[uid] == payload for _, uid, payload in entries if not is_lost(payload))
            shutil.rmtree(copied)
            shutil.copytree(whole, copied)


def test_one_file_is_salvaged_by_its_path(copied: Path):
    its = lines(copied / TRIAL)
    (copied / TRIAL).write_bytes(b"".join([*its[:11], b"x" + its[11][1:], *its[12:]]))
    report = ph.salvage(copied / TRIAL)
    assert (report.path, [loss.ids for loss in report.lost]) == (copied / TRIAL, [(111, 111)])
    assert ph.verify(copied).is_sound


def test_a_salvaged_store_is_gone_on_with(copied: Path):
    (copied / KEPT).write_bytes(b"".join(lines(copied / KEPT)[:50]))
    (copied / TRIAL).write_bytes(b"".join(lines(copied / TRIAL)[1:]))
    ph.salvage(f"file:{copied}")

    async def run() -> None:
        async with ph.FileTapeStore(copied) as store:
            tape = ph.Tape(store, "support/42")
            trial = await tape.branch("trial")
            await trial.append(ph.user("goes on"))
            await trial.sidecar("spill").append(ph.user("goes on"))
            assert (await trial.merge()).entries

    anyio.run(run)
    assert ph.verify(copied).is_sound


def test_what_is_no_place_of_tapes_is_refused(tmp_path: Path):
    with pytest.raises(ph.FileMissing):
        ph.salvage(f"file:{tmp_path}/absent")
    with pytest.raises(ph.FileMissing):
        ph.salvage(tmp_path / "absent.jsonl")
    assert list(tmp_path.iterdir()) == []
