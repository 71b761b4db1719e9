"""The index is a cache: with it, without it, with an old one, a wrong one or a damaged one, a tape says the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import KeyConflict
from playhead.store.file.disk import Disk
from playhead.store.file.index.index import UNINDEXED
from playhead.store.file.index.segment import hashed
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery

COUNT = 1_200
FILLER = "x" * 900


def keyed(i: int) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": f"text {i} {FILLER}"}, uid=f"uid {i}", **{IDEMPOTENCY_KEY: f"key {i}"})


def index_of(place: Path, tape: str = "t") -> Path:
    return place / ".playhead" / f"{tape}.index"


def segments(place: Path) -> list[tuple[int, int]]:
    """Return which parts of the file the index has, in order."""
    return sorted((int(start), int(stop)) for start, _, stop in (path.name.partition("-") for path in index_of(place).iterdir()))


async def fill(place: Path, *, tape: str = "t", count: int = COUNT) -> None:
    async with FileTapeStore(place, durability="process") as store:
        for first in range(0, count, 50):
            await store.append_many(tape, [keyed(i) for i in range(first, first + 50)])
        assert len(await store.find(tape, keys=["key 0"])) == 1


async def ask(place: Path) -> None:
    """Compare what the tape says by key and by uid with what stands on it, from a fresh store."""
    async with FileTapeStore(place, durability="process", on_finding=lambda finding: None) as store:
        chance = Random(1)
        numbers = [0, COUNT - 1, *(chance.randrange(COUNT) for _ in range(20))]
        found = await store.find("t", keys=[*(f"key {i}" for i in numbers), "key none"], uids=[*(f"uid {i}" for i in numbers), "uid none"])
        assert {name: entry.id for name, entry in found.items()} == {f"{sort} {i}": i + 1 for i in numbers for sort in ("key", "uid")}
        again = await store.append_many("t", [keyed(i) for i in numbers[:8]])
        assert [entry.id for entry in again] == [i + 1 for i in numbers[:8]]
        with pytest.raises(KeyConflict):
            await store.append("t", TapeEntry.event("other", **{IDEMPOTENCY_KEY: f"key {numbers[3]}"}))
        assert await store.head("t") == Head(0, COUNT)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("filled")
    anyio.run(fill, place)
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "tapes"))


def test_who_looks_for_keys_writes_the_index_on(place: Path):
    parts = segments(place)
    assert parts[0][0] == 0
    assert all(stop == start for (_, stop), (start, _) in pairwise(parts))
    assert (place / "t.jsonl").stat().st_size - parts[-1][1] <= UNINDEXED
    assert len(parts) <= 3
    anyio.run(ask, place)


def test_appends_without_keys_leave_the_index_alone(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            for i in range(900):
                await store.append("t", TapeEntry.event("e", FILLER, uid=f"uid {i}"))
            assert not index_of(tmp_path).exists()
            assert (await store.find("t", uids=["uid 3"]))["uid 3"].id == 4
            before = segments(tmp_path)
            for _ in range(600):
                await store.append("t", TapeEntry.event("e", FILLER))
            assert segments(tmp_path) == before != []

    anyio.run(play)


def test_a_short_tape_needs_no_index(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            for i in range(20):
                await store.append("t", keyed(i))
            assert len(await store.find("t", keys=["key 3", "key 19"])) == 2

    anyio.run(play)
    assert not index_of(tmp_path).exists()


def removed(place: Path) -> None:
    shutil.rmtree(index_of(place))


def one_removed(place: Path) -> None:
    min(index_of(place).iterdir()).unlink()


def swapped(place: Path) -> None:
    anyio.run(lambda: fill(place, tape="other", count=1_000))
    shutil.rmtree(index_of(place))
    shutil.copytree(index_of(place, "other"), index_of(place))


def renamed(place: Path) -> None:
    """Give a segment the name of a longer one."""
    for path in index_of(place).iterdir():
        start, _, stop = path.name.partition("-")
        path.rename(path.with_name(f"{start}-{int(stop) + 4096}"))


def emptied(place: Path) -> None:
    for path in index_of(place).iterdir():
        path.write_bytes(b"")


def shortened(place: Path) -> None:
    for path in index_of(place).iterdir():
        path.write_bytes(path.read_bytes()[:5_000])


def sieves_spoilt(place: Path) -> None:
    for path in index_of(place).iterdir():
        content = path.read_bytes()
        path.write_bytes(content[:-200] + bytes(200))


def sieves_lost(place: Path) -> None:
    for path in index_of(place).iterdir():
        path.write_bytes(path.read_bytes()[:-5])


def flipped(place: Path) -> None:
    chance = Random(3)
    for path in index_of(place).iterdir():
        content = bytearray(path.read_bytes())
        for _ in range(40):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)


def pages_swapped(place: Path) -> None:
    for path in index_of(place).iterdir():
        content = path.read_bytes()
        path.write_bytes(content[:64] + content[64 + 4096 : 64 + 8192] + content[64 : 64 + 4096] + content[64 + 8192 :])


def littered(place: Path) -> None:
    for name in ("0-5.part", "x", "0-999999999999", "7-9", "0--5"):
        (index_of(place) / name).write_bytes(b"junk" * 50)


def made_a_file(place: Path) -> None:
    shutil.rmtree(index_of(place))
    index_of(place).write_text("no directory")


@pytest.mark.parametrize("spoil", [removed, one_removed, swapped, renamed, emptied, shortened, sieves_spoilt, sieves_lost, flipped, pages_swapped, littered, made_a_file])
def test_whatever_happens_to_the_index_the_tape_says_the_same(place: Path, spoil: Callable[[Path], None]):
    spoil(place)
    anyio.run(ask, place)
    anyio.run(ask, place)


def test_an_older_copy_of_the_index_is_written_on(place: Path, tmp_path: Path):
    async def grow() -> None:
        async with FileTapeStore(place, durability="process") as store:
            for i in range(COUNT, COUNT + 900):
                await store.append("t", keyed(i))
            found = await store.find("t", keys=["key 5", f"key {COUNT + 800}"])
            assert [entry.id for entry in found.values()] == [6, COUNT + 801]

    async def look() -> None:
        async with FileTapeStore(place, durability="process") as store:
            found = await store.find("t", keys=["key 5", f"key {COUNT + 400}", f"key {COUNT + 800}"])
            assert [entry.id for entry in found.values()] == [6, COUNT + 401, COUNT + 801]
            assert (await store.append("t", keyed(COUNT + 2))).id == COUNT + 3

    shutil.copytree(index_of(place), tmp_path / "copy")
    anyio.run(grow)
    shutil.rmtree(index_of(place))
    shutil.copytree(tmp_path / "copy", index_of(place))
    anyio.run(look)


def test_an_index_that_vanishes_while_a_store_is_open_hides_no_key(place: Path):
    async def play() -> None:
        async with FileTapeStore(place, durability="process") as store:
            assert (await store.append("t", keyed(3))).id == 4
            removed(place)
            assert (await store.append("t", keyed(5))).id == 6
            removed(place)
            assert (await store.append("t", keyed(COUNT))).id == COUNT + 1

    anyio.run(play)


def test_the_index_of_an_earlier_generation_is_of_no_use_to_the_next(place: Path, tmp_path: Path):
    shutil.copytree(index_of(place), tmp_path / "copy")

    async def play() -> None:
        async with FileTapeStore(place, durability="process") as store:
            await store.reset("t")
            assert not index_of(place).exists() or not list(index_of(place).iterdir())
            shutil.copytree(tmp_path / "copy", index_of(place), dirs_exist_ok=True)
            for first in range(0, COUNT, 50):
                await store.append_many("t", [TapeEntry.event("e", FILLER, **{IDEMPOTENCY_KEY: f"new {i}"}) for i in range(first, first + 50)])
            assert await store.find("t", keys=["key 3"]) == {}
            assert (await store.append("t", keyed(3))).id == COUNT + 1
            assert {e.id for e in (await store.find("t", keys=["new 3", "new 999"])).values()} == {4, 1000}

    anyio.run(play)


def test_keys_that_another_process_appends_are_known(place: Path):
    async def play() -> None:
        async with FileTapeStore(place, durability="process") as one, FileTapeStore(place, durability="process") as other:
            assert (await one.append("t", keyed(1))).id == 2
            for i in range(COUNT, COUNT + 700):
                await other.append("t", keyed(i))
            for i in (COUNT, COUNT + 350, COUNT + 699):
                assert (await one.append("t", keyed(i))).id == i + 1

    anyio.run(play)


def test_the_first_of_several_entries_with_one_uid_is_found(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            await store.append("t", TapeEntry.event("first", uid="u"))
            for _ in range(40):
                await store.append("t", TapeEntry.event("e", FILLER * 20))
            await store.append("t", TapeEntry.event("second", uid="u"))
            for _ in range(2):
                assert (await store.find("t", uids=["u"]))["u"].id == 1
            assert index_of(tmp_path).exists()

    anyio.run(play)


def test_reading_by_key_writes_nothing_where_it_may_not(place: Path):
    class Unwritable(Disk):
        def open_to_write(self, path: str) -> int:
            raise PermissionError(13, "Permission denied")

    async def play() -> None:
        removed(place)
        async with FileTapeStore(place, disk=Unwritable()) as store:
            found = await store.find("t", keys=["key 3", f"key {COUNT - 1}"], uids=["uid 700"])
            assert {entry.id for entry in found.values()} == {4, 701, COUNT}

    anyio.run(play)


def test_a_file_that_was_replaced_in_place_by_a_shorter_one_and_went_on_keeps_no_key_of_the_other(place: Path):
    """The keys of what was there before are not taken for standing, and those of what is there now are not missed."""

    async def play() -> None:
        path = place / "t.jsonl"
        async with FileTapeStore(place, durability="process") as store:
            assert (await store.append("t", keyed(3))).id == 4
            before = path.read_bytes()
            async with FileTapeStore(place, durability="process") as other:
                await other.append_many("u", [TapeEntry.event("e", FILLER, **{IDEMPOTENCY_KEY: f"new {i}"}) for i in range(COUNT + 200)])
            content = (place / "u.jsonl").read_bytes()
            assert len(content) > len(before)
            with path.open("r+b") as file:
                file.write(content)
            for i in (0, 700, COUNT + 199):
                assert (await store.append("t", TapeEntry.event("e", FILLER, **{IDEMPOTENCY_KEY: f"new {i}"}))).id == i + 1
            assert (await store.append("t", keyed(7))).id == COUNT + 201

    anyio.run(play)


def test_a_key_is_no_uid():
    assert hashed("key", "x") != hashed("uid", "x")


def test_pages_are_read_in_small_numbers(place: Path):
    """A lookup in a large index costs a few pages."""

    class Counting(Disk):
        reads = 0

        def read(self, fd: int, length: int, offset: int) -> bytes:
            type(self).reads += 1
            return super().read(fd, length, offset)

    async def play() -> None:
        async with FileTapeStore(place, disk=Counting()) as store:
            await store.head("t")
            before = Counting.reads
            await store.find("t", keys=["key 3"])
            assert Counting.reads - before < 60
            assert len(await store.fetch_all(TapeQuery(tape="t").limit(3))) == 3

    anyio.run(play)


def test_keys_are_known_where_no_index_can_be_written(place: Path):
    class Unwritable(Disk):
        def open_to_write(self, path: str) -> int:
            if ".index" in path:
                raise OSError(28, "No space left on device")
            return super().open_to_write(path)

    async def play() -> None:
        removed(place)
        async with FileTapeStore(place, durability="process", disk=Unwritable()) as store:
            for i in (3, COUNT - 1, COUNT, 7, COUNT):
                assert (await store.append("t", keyed(i))).id == i + 1

    anyio.run(play)
