"""What is done again and again costs few calls to the system: keys that never stood, forks in a large family, reads over many fork points."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import NameTaken, StoreDamaged
from playhead.store.change import MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.disk import Disk
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.query import TapeQuery
from playhead.testing.families import forked, texts, written
from playhead.testing.stage import keyed, note

FILLER = "x" * 900
Answer = TypeVar("Answer")
TICK = 1_700_000_000_000_000_000


class ListeningDisk(Disk):
    """Notes which files and directories are opened, read and listed."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def open_to_read(self, path: str) -> int:
        self.heard.append(f"open {path}")
        return super().open_to_read(path)

    def read(self, fd: int, length: int, offset: int) -> bytes:
        self.heard.append("read")
        return super().read(fd, length, offset)

    def names(self, path: str) -> list[str]:
        self.heard.append(f"list {path}")
        return super().names(path)


class DatelessDisk(Disk):
    """A file system whose directories cannot be given a date."""

    def date(self, path: str, nanoseconds: int) -> None:
        raise PermissionError(1, "not yours")


class StandingClockDisk(Disk):
    """A file system whose clock stands still, as it does between two of its ticks."""

    def open_to_write(self, path: str) -> int:
        was_there = self.exists(path)
        fd = super().open_to_write(path)
        return fd if was_there else self._ticked(path, fd)

    def rename(self, source: str, target: str) -> None:
        self._ticked(target, super().rename(source, target))

    def link(self, source: str, target: str) -> None:
        self._ticked(target, super().link(source, target))

    def remove(self, path: str) -> None:
        self._ticked(path, super().remove(path))

    def _ticked(self, path: str, answer: Answer) -> Answer:
        os.utime(os.path.dirname(path), ns=(TICK, TICK))
        return answer


def long(i: int) -> TapeEntry:
    return TapeEntry.event("e", {"text": FILLER}, **{IDEMPOTENCY_KEY: f"key {i}"})


async def long_tape(store: FileTapeStore, count: int) -> None:
    for first in range(0, count, 100):
        await store.append_many("t", [long(i) for i in range(first, first + 100)])


@pytest.mark.parametrize("count", [100, 3_000])
def test_a_key_that_never_stood_is_not_looked_for_in_any_file(tmp_path: Path, count: int):
    async def play() -> None:
        disk = ListeningDisk()
        async with FileTapeStore(tmp_path, durability="process", disk=disk) as store:
            await long_tape(store, count)
            branch = await forked(store, "t", "b")
            assert (await store.append("t", long(count))).id == count + 1
            assert (await store.append(branch, long(count))).id == count + 1
            looked = 0
            for i in range(count + 1, count + 61):
                disk.heard.clear()
                assert (await store.append("t", long(i))).id == i + 1
                assert (await store.append(branch, long(i))).id == i + 1
                looked += bool(disk.heard)
            assert looked <= 12  # one in thirty looks like one that stood, on each of two files
            for i in (0, count // 2, count + 60):
                assert {(await store.append(tape, long(i))).id for tape in ("t", branch)} == {i + 1}

    anyio.run(play)


def test_appends_with_keys_write_the_index_on_although_they_do_not_need_it(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            await long_tape(store, 3_000)

    anyio.run(play)
    indexed = max(int(path.name.partition("-")[2]) for path in (tmp_path / ".playhead" / "t.index").iterdir())
    assert (tmp_path / "t.jsonl").stat().st_size - indexed < 1 << 21


def test_a_fork_lists_no_directory_however_many_branches_there_were(tmp_path: Path):
    async def play() -> None:
        disk = ListeningDisk()
        async with FileTapeStore(tmp_path, durability="process", disk=disk) as store:
            await written(store, "t", "a")
            for i in range(30):
                branch = branch_name("t", f"old {i}")
                await store.apply([Fork(tape=branch, parent="t"), Close(tape=branch, outcome=MERGED)])
            for i in range(20):
                branch = branch_name("t", f"new {i}")
                disk.heard.clear()
                await store.apply([Fork(tape=branch, parent="t")])
                assert not [call for call in disk.heard if ".family" in call]
                await store.apply([Append(tape="t", entries=[note("b")]), Close(tape=branch, outcome=MERGED)])
                with pytest.raises(NameTaken):
                    await store.apply([Fork(tape=branch, parent="t")])
            assert len(await store.branches("t")) == 50

    anyio.run(play)


@pytest.mark.parametrize("disk", [Disk(), DatelessDisk(), StandingClockDisk()], ids=["dated", "dateless", "soon"])
def test_what_another_store_makes_in_a_family_is_known_at_once_however_soon(tmp_path: Path, disk: Disk):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process", disk=disk) as one, FileTapeStore(tmp_path, durability="process", disk=disk) as other:
            await written(one, "t", "a")
            for i in range(12):
                branch, its = branch_name("t", f"b {i}"), branch_name("t", f"c {i}")
                await one.apply([Fork(tape=branch, parent="t")])
                await written(other, sidecar_name("t", f"s {i}"), "s")
                await other.apply([Fork(tape=its, parent="t")])
                with pytest.raises(NameTaken):
                    await one.apply([Fork(tape=its, parent="t")])
                await one.apply([Fork(tape=f"{branch}+", parent="t")])
                assert len(await one.sidecars(f"{branch}+")) == i + 1
                assert len(await one.sidecars(branch)) == i
                await other.apply([Reset(tape=sidecar_name("t", f"s {i}")), Append(tape=sidecar_name("t", f"s {i}"), entries=[note("s")])])

    anyio.run(play)


def test_sidecars_that_a_branch_was_given_since_it_was_forked_go_along_with_its_branches(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            await written(store, "t", "a")
            outer = await forked(store, "t", "outer")
            for count, name in enumerate("pqr", 1):
                await written(store, sidecar_name(outer, name), "own")
                await store.apply([Append(tape=sidecar_name(outer, name), entries=[note("more")]), Append(tape=outer, entries=[note("b")])])
                inner = await forked(store, outer, f"inner {count}")
                assert len(await store.sidecars(inner)) == count

    anyio.run(play)


def test_what_a_branch_shows_of_short_files_is_read_once(tmp_path: Path):
    async def play() -> None:
        disk = ListeningDisk()
        async with FileTapeStore(tmp_path, durability="process") as store:
            tape = "t"
            await written(store, tape, "0")
            for i in range(1, 31):
                tape = await forked(store, tape, f"level {i}")
                await written(store, tape, str(i))
        async with FileTapeStore(tmp_path, durability="process", disk=disk) as store:
            for again in range(3):
                disk.heard.clear()
                assert await texts(store, tape) == [str(i) for i in range(31)]
                assert (len(disk.heard) < 6) == (again > 0)
            await store.apply([Close(tape=branch_name("t", "level 7"), outcome=MERGED)])
            await store.append(branch_name("t", "level 3"), note("more"))
            await store.apply([Reset(tape=branch_name("t", "level 4"), entries=[note("else")])])
            await store.rename(branch_name("t", "level 5"), branch_name("t", "renamed"))
            assert await texts(store, tape) == [str(i) for i in range(31)]
            assert await texts(store, branch_name("t", "level 4")) == ["else"]

    anyio.run(play)


def test_damage_to_a_file_that_is_remembered_is_seen(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            await written(store, "t", "whole")
            branch = await forked(store, "t", "b")
            await written(store, branch, "own")
            assert await texts(store, branch) == ["whole", "own"]
            path = tmp_path / "t.jsonl"
            path.write_bytes(path.read_bytes().replace(b"whole", b"hole!"))
            with pytest.raises(StoreDamaged):
                await store.fetch_all(TapeQuery(tape=branch))

    anyio.run(play)


def test_keys_stand_that_a_branch_shows_of_a_remembered_file(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            await store.append("t", keyed("a", "k"))
            branch = await forked(store, "t", "b")
            assert await texts(store, branch) == ["a"]
            await store.append("t", keyed("b", "later"))
            for _ in range(2):
                assert (await store.append(branch, keyed("a", "k"))).id == 1
                assert (await store.append(branch, keyed("own", "later"))).id == 2
                assert set(await store.find(branch, keys=["k", "later"])) == {"k", "later"}

    anyio.run(play)
