"""Backups: a store of the same kind, whole, sound, of one moment, made while others write, and never in the place of anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.file.disk import Disk
from tests.unit.store.families import fill, told

Opener = Callable[[Path], "ph.SQLiteTapeStore | ph.FileTapeStore"]


def sqlite(place: Path) -> ph.SQLiteTapeStore:
    return ph.SQLiteTapeStore(place, durability="process")


def files(place: Path) -> ph.FileTapeStore:
    return ph.FileTapeStore(place, durability="process")


@pytest.fixture(params=[sqlite, files])
def opened(request: pytest.FixtureRequest) -> Opener:
    return request.param


def in_thread(function: Callable[..., object], *args: object) -> Awaitable[object]:
    return anyio.to_thread.run_sync(function, *args)


def test_a_backup_is_a_store_with_all_that_the_first_one_has(opened: Opener, tmp_path: Path):
    async def run() -> None:
        async with opened(tmp_path / "store.db") as store:
            await fill(store)
            made = await in_thread(ph.backup, store, tmp_path / "deep" / "copy.db")
            assert made == tmp_path / "deep" / "copy.db"
            before = await told(store)
        assert ph.verify(tmp_path / "deep" / "copy.db").is_sound
        async with opened(tmp_path / "deep" / "copy.db") as copy:
            assert await told(copy) == before
            assert [r.name for r in await copy.branches("support/42")] == [f"support/42__branch__{label}" for label in ("trial", "deeper", "merged", "gone", "again")]
            assert await copy.cursor("support/42", "reader") == (0, 7)
            with pytest.raises(ph.LeaseHeld):
                await copy.lease("support/42", owner="another", seconds=1)
            await (await ph.Tape(copy, "support/42").branch("trial")).append(ph.user("goes on"))

    anyio.run(run)
    assert ph.verify(tmp_path / "deep" / "copy.db").is_sound


def test_a_backup_shows_each_family_as_it_was_at_one_moment_while_others_write(opened: Opener, tmp_path: Path):
    """Each round adds an entry to a tape and its sidecar at once, and a branch that is merged: in any copy they go together."""

    async def write(tape: ph.Tape, done: anyio.Event) -> None:
        number = 0
        while not done.is_set():
            number += 1
            async with tape.fork_tape() as branch:
                await branch.append(ph.user(f"main {number}"))
                await branch.sidecar("side").append(ph.user(f"side {number}"))
            if number % 7 == 0:
                await tape.reset()

    async def run() -> None:
        async with opened(tmp_path / "store.db") as store:
            done = anyio.Event()
            tapes = [ph.Tape(store, name) for name in ("a", "b")]
            async with anyio.create_task_group() as group:
                for tape in tapes:
                    group.start_soon(write, tape, done)
                for number in range(6):
                    await in_thread(ph.backup, store, tmp_path / f"copy-{number}.db")
                done.set()
        for number in range(6):
            report = ph.verify(tmp_path / f"copy-{number}.db")
            assert report.is_sound, str(report)
            async with opened(tmp_path / f"copy-{number}.db") as copy:
                for name in await copy.list_tapes():
                    tape = ph.Tape(copy, name)
                    main = [e.payload["content"] async for e in tape.query().kinds("message")]
                    side = [e.payload["content"] async for e in tape.sidecar("side").query()]
                    assert [text.split()[1] for text in main] == [text.split()[1] for text in side]

    anyio.run(run)


@pytest.mark.parametrize("there", ["a file", "a directory"])
def test_nothing_is_overwritten(opened: Opener, tmp_path: Path, there: str):
    async def run() -> None:
        async with opened(tmp_path / "store.db") as store:
            await ph.Tape(store, "t").append(ph.user("x"))

    anyio.run(run)
    target = tmp_path / "there"
    target.mkdir() if there == "a directory" else target.write_bytes(b"mine")
    with pytest.raises(ph.NameTaken):
        ph.backup(tmp_path / "store.db", target)
    assert target.is_dir() or target.read_bytes() == b"mine"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_store_is_named_by_itself_its_path_or_its_url(opened: Opener, tmp_path: Path):
    place = tmp_path / "store.db"
    scheme = "file:" if opened is files else "sqlite:///"

    async def run() -> None:
        async with opened(place) as store:
            await ph.Tape(store, "t").append(ph.user("x"))
            for number, named in enumerate((store, place, str(place), f"{scheme}{place}")):
                ph.backup(named, tmp_path / f"copy-{number}.db")
                assert ph.verify(named).entries == 1
            ph.backup(place, f"{scheme}{tmp_path}/by-url.db")

    anyio.run(run)
    assert all(ph.verify(tmp_path / f"copy-{number}.db").entries == 1 for number in range(4))
    assert ph.verify(tmp_path / "by-url.db").entries == 1
    with pytest.raises(ph.InvalidInput, match="same kind"):
        ph.backup(place, f"{'sqlite:///' if opened is files else 'file:'}{tmp_path}/other")


def test_what_keeps_nothing_on_a_disk_is_refused(tmp_path: Path):
    for store in (ph.InMemoryTapeStore(), "memory:", 7):
        for function in (ph.verify, lambda store: ph.backup(store, tmp_path / "copy")):
            with pytest.raises(ph.InvalidInput):
                function(store)
    with pytest.raises(ph.InvalidInput):
        ph.salvage(ph.InMemoryTapeStore())
    with pytest.raises(ph.FileMissing):
        ph.backup(tmp_path / "absent.db", tmp_path / "copy")
    with pytest.raises(ph.FileMissing):
        ph.backup(f"file:{tmp_path}/absent", tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_what_an_append_left_torn_is_no_more_in_a_copy_than_in_the_store(tmp_path: Path):
    async def run() -> None:
        async with files(tmp_path / "store") as store:
            await ph.Tape(store, "t").append_many([ph.user("one"), ph.user("two")])

    anyio.run(run)
    with (tmp_path / "store" / "t.jsonl").open("ab") as file:
        file.write(b'{"id":3,"kind":"mess')
    ph.backup(tmp_path / "store", tmp_path / "copy")
    report = ph.verify(tmp_path / "copy")
    assert (report.is_sound, [flaw.severity for flaw in report.flaws]) == (True, ["remnant"])


def test_a_change_that_was_begun_is_finished_before_it_is_copied(tmp_path: Path):
    class Dying(Disk):
        """A disk whose process dies once a redo file has its name."""

        is_dead = False

        def rename(self, source: str, target: str) -> None:
            if self.is_dead:
                raise OSError(5, "dead")
            super().rename(source, target)
            self.is_dead = target.endswith(".redo")

        def remove(self, path: str) -> None:
            if self.is_dead:
                raise OSError(5, "dead")
            super().remove(path)

    async def run() -> None:
        store = ph.FileTapeStore(tmp_path / "store", disk=Dying())
        tape = ph.Tape(store, "t")
        await tape.append(ph.user("before"))
        with suppress(ph.StoreError):
            await tape.reset()
        await store.aclose()

    anyio.run(run)
    assert [path.name for path in (tmp_path / "store" / ".playhead").glob("*.redo")] == ["t.redo"]
    report = ph.verify(tmp_path / "store")
    assert (report.is_sound, {flaw.severity for flaw in report.flaws}) == (True, {"remnant"})
    ph.backup(tmp_path / "store", tmp_path / "copy")
    assert ph.verify(tmp_path / "copy").flaws == ()

    async def read() -> None:
        async with files(tmp_path / "copy") as copy:
            assert (await copy.head("t")).generation == 1

    anyio.run(read)


def test_a_store_that_is_only_read_is_proved_and_copied_without_a_trace(opened: Opener, tmp_path: Path):
    async def run() -> None:
        async with opened(tmp_path / "store.db") as store:
            await fill(store)

    anyio.run(run)
    for path in tmp_path.rglob("*.lock"):
        path.unlink()
    url = f"{'file:' if opened is files else 'sqlite:///'}{tmp_path}/store.db?mode=ro"
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert ph.verify(url).is_sound
    ph.backup(url, tmp_path / "copy")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not [path for path in tmp_path.rglob("*.lock") if "copy" not in path.parts]
    assert ph.verify(tmp_path / "copy").entries == ph.verify(tmp_path / "store.db").entries
