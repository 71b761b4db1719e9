"""Proving a directory of tapes: what is sound is called sound, and whatever is altered in a line, an index or a name is found."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.file.record.lines import Body, Line, dump, load, marks
from tests.unit.store.families import filled_files

TAPE = "support%2F42"
FAMILY = f"{TAPE}.family"
TRIAL = f"{FAMILY}/trial.branch.jsonl"
SIDE = f"{FAMILY}/deeper.branch.notes.sidecar.jsonl"
MAIN = f"{TAPE}.jsonl"
MERGED = f"{FAMILY}/merged.merged.jsonl"
KEPT = f".playhead/{FAMILY}/@0.jsonl"

Edit = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return anyio.run(filled_files, tmp_path_factory.mktemp("whole") / "tapes")


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "tapes"))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def rewritten(path: Path, number: int, **changes: object) -> None:
    """Write a line anew, with a checksum that matches; the places of anchors behind it may no longer be right."""
    its = lines(path)
    line = load(its[number][:-1])
    said = {name: getattr(line, name) for name in Line.__struct_fields__} | changes
    own = marks(batch=said["batch"], anchor=said["anchor"], generation=said["generation"], older=said["older"], shared=said["shared"], mark=said["mark"])
    its[number] = dump(Body(kind=said["kind"], payload=bytes(said["payload"]), meta=bytes(said["meta"]), date=said["date"]), id=said["id"], marks=own)
    path.write_bytes(b"".join(its))


def without(path: Path, number: int) -> None:
    its = lines(path)
    del its[number]
    path.write_bytes(b"".join(its))


def swapped(path: Path, one: int, other: int) -> None:
    its = lines(path)
    its[one], its[other] = its[other], its[one]
    path.write_bytes(b"".join(its))


def flipped(path: Path, place: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)


DAMAGE: dict[str, Edit] = {
    "a bit of a line": lambda place: flipped(place / TRIAL, 3000),
    "a bit of a kept line": lambda place: flipped(place / KEPT, 3000),
    "a line is gone": lambda place: without(place / TRIAL, 5),
    "lines are swapped": lambda place: swapped(place / TRIAL, 5, 6),
    "a line of another generation": lambda place: rewritten(place / TRIAL, 5, generation=7),
    "a line of another file": lambda place: rewritten(place / TRIAL, 5, older=7),
    "a batch without its first line": lambda place: rewritten(place / KEPT, 150, batch=None),
    "a batch without its last line": lambda place: rewritten(place / KEPT, 151, batch=None),
    "a branch without its first line": lambda place: without(place / TRIAL, 0),
    "a branch whose first line says nothing": lambda place: rewritten(place / TRIAL, 0, payload=b"{}"),
    "a branch of an entry that is not there": lambda place: (place / KEPT).write_bytes(b"".join(lines(place / KEPT)[:90])),
    "a generation that a branch shows is gone": lambda place: (place / KEPT).unlink(),
    "something else behind the last line": lambda place: (place / MAIN).write_bytes((place / MAIN).read_bytes() + b"nothing of ours\n"),
    "a file that is no file of ours": lambda place: (place / MAIN).write_bytes(lines(place / MAIN)[0] + b"x\n" + lines(place / MAIN)[1]),
}
FAULTS: dict[str, Edit] = {
    "an anchor that stands elsewhere": lambda place: rewritten(place / KEPT, -1, anchor=7),
    "a mark of no sidecar": lambda place: rewritten(place / TRIAL, -1, mark=(0, 1)),
    "a mark behind the end": lambda place: rewritten(place / SIDE, -1, mark=(0, 9000)),
    "marks that fall": lambda place: rewritten(place / f".playhead/{FAMILY}/spill.sidecar@0.jsonl", 1, mark=(0, 0)),
    "a first line that counts otherwise": lambda place: rewritten(place / TRIAL, 0, shared=99),
    "a branch under another's name": lambda place: (place / TRIAL).rename(place / FAMILY / "mine.branch.jsonl"),
    "a branch in another state": lambda place: (place / MERGED).rename(place / FAMILY / "merged.branch.jsonl"),
    "a branch closed by its name alone": lambda place: (place / TRIAL).rename(place / FAMILY / "trial.discarded.jsonl"),
    "a parent that is gone": lambda place: (place / TRIAL).unlink(),
    "a name that is no member's": lambda place: shutil.copy(place / TRIAL, place / FAMILY / "trial.jsonl"),
    "a tape nobody can name": lambda place: shutil.copy(place / "other.jsonl", place / "x~~0123456789abcdef0123456789abcdef.jsonl"),
    "a tape that is hidden by another": lambda place: shutil.copy(place / MAIN, place / "Support~1.jsonl") and shutil.copy(place / MAIN, place / "Support.jsonl"),
    "leases that cannot be read": lambda place: flipped(place / f".playhead/{TAPE}.leases", 20),
}
REMNANTS: dict[str, Edit] = {
    "an append that was not finished": lambda place: (place / MAIN).write_bytes((place / MAIN).read_bytes() + b'{"id":4,"kind":"mess'),
    "a newline that is missing": lambda place: (place / MAIN).write_bytes((place / MAIN).read_bytes()[:-1]),
    "a draft": lambda place: (place / ".playhead" / f"{TAPE}.0123.draft").write_bytes(b"x"),
    "an index that does not fit": lambda place: (place / ".playhead" / f"{TAPE}.index").mkdir() or (place / ".playhead" / f"{TAPE}.index" / "0-10").write_bytes(b"x"),
    "a generation nobody shows": lambda place: shutil.copy(place / "other.jsonl", place / f".playhead/{FAMILY}/@7.jsonl") and rewritten(place / f".playhead/{FAMILY}/@7.jsonl", 0, generation=7),
}


def test_a_sound_store_is_sound(copied: Path):
    report = ph.verify(copied)
    assert (report.is_sound, report.flaws, report.more) == (True, (), 0)
    assert report.entries == 245


def test_looking_changes_nothing(copied: Path):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    ph.verify(copied)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("edit", DAMAGE.values(), ids=DAMAGE)
def test_what_is_altered_or_gone_is_damage(copied: Path, edit: Edit):
    edit(copied)
    report = ph.verify(copied)
    assert "damage" in {flaw.severity for flaw in report.flaws}, report


@pytest.mark.parametrize("edit", FAULTS.values(), ids=FAULTS)
def test_what_says_something_else_than_the_entries_is_a_fault(copied: Path, edit: Edit):
    edit(copied)
    report = ph.verify(copied)
    assert "fault" in {flaw.severity for flaw in report.flaws}, report
    assert not report.is_sound


@pytest.mark.parametrize("edit", REMNANTS.values(), ids=REMNANTS)
def test_what_is_left_over_does_no_harm(copied: Path, edit: Edit):
    edit(copied)
    report = ph.verify(copied)
    assert (report.is_sound, {flaw.severity for flaw in report.flaws}) == (True, {"remnant"}), report


def test_every_flipped_bit_is_found(copied: Path):
    """Any bit but one: the newline at the very end may be any byte, which the next who writes mends."""
    dice = random.Random(11)
    paths = sorted(copied.rglob("*.jsonl"))
    for path in paths:
        raw = path.read_bytes()
        for place in sorted(dice.sample(range(len(raw) - 1), 6)):
            changed = bytearray(raw)
            changed[place] ^= 1 << dice.randrange(8)
            path.write_bytes(changed)
            report = ph.verify(copied)
            assert report.flaws, (path.name, place)
        path.write_bytes(raw)
    assert ph.verify(copied).flaws == ()


def test_missing_entries_are_named(copied: Path):
    its = lines(copied / TRIAL)
    (copied / TRIAL).write_bytes(b"".join(its[:5] + its[8:]))
    assert "tape 'support/42__branch__trial', entries 105 to 107" in {flaw.where for flaw in ph.verify(copied).flaws}


def test_an_index_must_say_what_the_lines_say(tmp_path: Path):
    async def write() -> None:
        async with ph.FileTapeStore(tmp_path, durability="process") as store:
            tape = ph.Tape(store, "long")
            await tape.append_many([ph.user("x" * 1500) for _ in range(400)])
            await tape.append(ph.user("keyed"), key="k")
            await store.find("long", uids=["none"])

    anyio.run(write)
    (segment,) = (tmp_path / ".playhead" / "long.index").iterdir()
    assert ph.verify(tmp_path).flaws == ()
    raw = bytearray(segment.read_bytes())
    raw[64 + 5] ^= 1
    segment.write_bytes(raw)
    report = ph.verify(tmp_path)
    assert (report.is_sound, [flaw.severity for flaw in report.flaws]) == (True, ["remnant"])
    segment.unlink()
    swap_uids(tmp_path / "long.jsonl")
    anyio.run(index_of_another, tmp_path)
    report = ph.verify(tmp_path)
    assert [flaw.severity for flaw in report.flaws] == ["fault"]


def swap_uids(path: Path) -> None:
    """Give the first two entries each other's meta, so that an index of the file before covers the same bytes and says otherwise."""
    first, second = (load(raw[:-1]) for raw in lines(path)[:2])
    rewritten(path, 0, meta=second.meta)
    rewritten(path, 1, meta=first.meta)


async def index_of_another(place: Path) -> None:
    """Index the file as it is, then swap the metas back."""
    async with ph.FileTapeStore(place, durability="process") as store:
        await store.find("long", uids=["none"])
    swap_uids(place / "long.jsonl")


def test_a_store_is_proved_while_others_write(tmp_path: Path):
    async def run() -> None:
        async with ph.FileTapeStore(tmp_path, durability="process") as store:
            tape = ph.Tape(store, "t")
            reports = []
            async with anyio.create_task_group() as group:

                async def prove() -> None:
                    reports.extend([await anyio.to_thread.run_sync(ph.verify, store) for _ in range(6)])

                group.start_soon(prove)
                for number in range(40):
                    async with tape.fork_tape() as branch:
                        await branch.append(ph.user(str(number)))
                    if number % 10 == 9:
                        await tape.reset()
            assert all(report.is_sound for report in reports), [str(report) for report in reports]

    anyio.run(run)


def test_files_of_other_programs_are_read_as_they_are(tmp_path: Path):
    (tmp_path / "theirs.jsonl").write_bytes(b'{"id": 1, "kind": "message", "payload": {"role": "user", "content": "Hi"}}\nno entry\n')
    report = ph.verify(tmp_path)
    assert (report.is_sound, report.entries, [flaw.severity for flaw in report.flaws]) == (True, 1, ["remnant"])


def test_entries_that_are_encoded_are_proved_without_their_codec(tmp_path: Path):
    class Reversed:
        def encode(self, said: bytes, /) -> str:
            return said.hex()

        def decode(self, text: str, /) -> bytes:
            return bytes.fromhex(text)

    async def write() -> None:
        async with ph.FileTapeStore(tmp_path, durability="process", codec=Reversed()) as store:
            await ph.Tape(store, "long").append_many([ph.user("x" * 1500) for _ in range(300)])
            await store.find("long", uids=["none"])
            assert ph.verify(store).flaws == ()

    anyio.run(write)
    assert (ph.verify(tmp_path).flaws, ph.verify(tmp_path).entries) == ((), 300)


def test_a_directory_that_is_missing_or_empty(tmp_path: Path):
    with pytest.raises(ph.FileMissing):
        ph.verify(f"file:{tmp_path}/absent")
    assert ph.verify(tmp_path).entries == 0
    assert list(tmp_path.iterdir()) == []
