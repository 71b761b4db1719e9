"""A search says the same with volumes, with some, with old ones and wrong ones, and with none; they are made and removed behind the tapes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.concordance.binding import bound, made_at_once
from playhead.store.concordance.patience import PATIENCE
from playhead.store.file.disk import Disk
from playhead.store.file.place import Place
from playhead.store.file.record.stretch import Stretch
from playhead.store.file.words.volumes import write
from playhead.store.query import TapeQuery
from playhead.store.ranked.words import Words
from playhead.store.sqlite.volumes import forget, keep
from tests import stores
from tests.unit.store.searches import Kept, caught_up, check, fill, flaws, said, volumes

ON_THE_DISK = pytest.mark.parametrize("sort", ["sqlite", "file"])


def opened(sort: str, place: Path, **options: object) -> Kept:
    store: Kept = stores.opened(sort, place, durability="process", **options)
    return store


@asynccontextmanager
async def filled(sort: str, place: Path) -> AsyncIterator[Kept]:
    """Open a store with a tape of which all but the end stands in volumes."""
    async with opened(sort, place) as store:
        await fill(store, "t", count=700)
        await caught_up(store, "t")
        await fill(store, "t", first=700, count=50)
        yield store


async def turned(store: Kept, *, count: int) -> None:
    """Wait until so many volumes are there: they are made and removed in pauses, and nobody is told."""
    with anyio.fail_after(60):
        while True:
            if len(await volumes(store)) == count:
                return
            await anyio.sleep(0.01)


@pytest.fixture(params=stores.KEPT)
def sort(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a kind of store, with a database for it where it needs one."""
    if request.param == "postgres":
        (tmp_path / stores.URL).write_text(request.getfixturevalue("postgres_url"))
    return str(request.param)


def test_a_search_says_the_same_before_and_behind_each_volume(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path) as store:
            await check(store, "t")
            for first in range(0, 2_400, 600):
                await fill(store, "t", first=first, count=600)
                await check(store, "t")
                await caught_up(store, "t")
                assert [(low, high) for _, low, high in await volumes(store)] == [(n + 1, n + 600) for n in range(0, first + 600, 600)]
                await check(store, "t")
        async with opened(sort, tmp_path) as store:
            await store.append("t", said(5_000))
            await check(store, "t")
            assert await flaws(store) == []

    anyio.run(scenario)


def test_a_pause_is_used_to_make_volumes_and_there_are_none_of_short_tapes(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path) as store:
            await fill(store, "t", count=700)
            await fill(store, "short", count=500)
            await turned(store, count=1)
            assert [(low, high) for _, low, high in await volumes(store)] == [(1, 700)]

    anyio.run(scenario)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_search_of_much_that_is_in_no_volume_has_them_made_first(sort: str, tmp_path: Path, backend: str):
    async def scenario() -> None:
        async with opened(sort, tmp_path, search="scan") as store:
            await fill(store, "t", count=PATIENCE + 1)
            await check(store, "t")
            assert await volumes(store) == []
        async with opened(sort, tmp_path, read_only=True) as store:
            await store.search(TapeQuery(tape="t"), "gate")
            assert await volumes(store) == []
        async with opened(sort, tmp_path) as store:
            await store.search(TapeQuery(tape="t"), "gate")
            assert [(low, high) for _, low, high in await volumes(store)] == [(1, PATIENCE + 1)]
            await check(store, "t")

    anyio.run(scenario, backend=backend)


def test_eight_volumes_become_one(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path) as store:
            for number in range(8):
                await fill(store, "t", first=number * 512, count=512)
                await caught_up(store, "t")
            assert [(low, high) for _, low, high in await volumes(store)] == [(1, 8 * 512)]
            await check(store, "t")
            assert await flaws(store) == []

    anyio.run(scenario)


def test_branches_are_searched_through_what_they_were_forked_from(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with filled(sort, tmp_path) as store:
            tape = ph.Tape(store, "t")
            trial = await tape.fork(at=600, name="trial")
            await fill(store, trial.name, first=3_000, count=600)
            deeper = await trial.fork(at=1_100, name="deeper")
            await fill(store, deeper.name, first=4_000, count=20)
            names = ("t", trial.name, deeper.name)
            await check(store, *names)
            await caught_up(store, *names)
            await check(store, *names)
            await tape.reset()
            await fill(store, "t", first=5_000, count=600)
            await caught_up(store, *names)
            await check(store, *names)
            await deeper.merge(policy="append")
            await trial.discard()
            await check(store, "t", trial.name)
            await store.rename("t", "other")
            await check(store, "other")
            await store.collect("other", before=datetime.now(UTC) + timedelta(days=1))
            await check(store, "other")

    anyio.run(scenario)


def test_the_volumes_of_a_generation_go_with_its_entries(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with filled(sort, tmp_path) as store:
            assert len(await volumes(store)) == 1
            await store.reset("t", entries=[said(1)])
            await turned(store, count=0)
            await check(store, "t")

    anyio.run(scenario)


@ON_THE_DISK
def test_a_store_that_only_reads_searches_with_the_volumes_there_are_and_writes_nothing(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with filled(sort, tmp_path):
            pass
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        async with opened(sort, tmp_path, read_only=True) as store:
            await check(store, "t")
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before

    anyio.run(scenario)


def test_two_stores_on_one_place_say_the_same_while_either_writes(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path) as one, opened(sort, tmp_path) as other:
            for first in range(0, 1_800, 600):
                await fill(one, "t", first=first, count=300)
                await check(other, "t")
                await fill(other, "t", first=first + 300, count=300)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(caught_up, one, "t")
                    tasks.start_soon(caught_up, other, "t")
                await check(one, "t")
            assert await flaws(one) == []

    anyio.run(scenario)


@ON_THE_DISK
def test_a_backup_brings_its_volumes_or_makes_them_anew(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with filled(sort, tmp_path) as store:
            (tmp_path / "copy").mkdir()
            ph.backup(store, tmp_path / "copy" / store.path.name)
        async with opened(sort, tmp_path / "copy") as store:
            await check(store, "t")

    anyio.run(scenario)


def test_odd_texts_and_kinds_stand_in_volumes(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path) as store:
            odd = [ph.TapeEntry(0, f"\ud83d {number % 3}", {"text": f"\ud83d lone gate 一二三 {number}"}) for number in range(600)]
            await store.append_many("t", odd)
            await caught_up(store, "t")
            assert len(await volumes(store)) == 1
            await check(store, "t")

    anyio.run(scenario)


def test_what_is_archived_or_kept_in_parts_stands_in_volumes_and_is_found(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with opened(sort, tmp_path, inline_limit=1_024) as store:
            await store.append_many("t", [ph.TapeEntry.message({"role": "user", "content": f"gate {number} " + f"pebble{number} " * (300 if number % 40 == 0 else 1)}) for number in range(700)])
            await store.archive("t", upto=300)
            assert [hit.entry.id for hit in await store.search(TapeQuery(tape="t"), "pebble80")] == [81]
            await caught_up(store, "t")
            assert len(await volumes(store)) == 1
            await check(store, "t")
            assert [hit.entry.id for hit in await store.search(TapeQuery(tape="t"), "pebble680 pebble80")] == [681, 81]
            assert await flaws(store) == []

    anyio.run(scenario)


SPOILT = {
    "all pages are altered": "UPDATE search_pages SET content = zeroblob(length(content))",
    "a page is altered": "UPDATE search_pages SET content = zeroblob(length(content)) WHERE place & 16777215 = 1",
    "a page is gone": "DELETE FROM search_pages WHERE place & 16777215 = 1",
    "all pages are gone": "DELETE FROM search_pages",
    "the size is another": "UPDATE search_volumes SET size = size - 1",
}


@pytest.mark.parametrize("statement", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_spoilt_volume_of_sqlite_is_left_aside_and_made_anew(statement: str, tmp_path: Path, *, read_only: bool):
    async def scenario() -> None:
        async with filled("sqlite", tmp_path):
            pass
        with closing(sqlite3.connect(tmp_path / "tapes.db", isolation_level=None)) as connection:
            connection.execute(statement)
        report = ph.verify(tmp_path / "tapes.db")
        assert report.is_sound
        assert {flaw.severity for flaw in report.flaws} == {"remnant"}
        async with opened("sqlite", tmp_path, read_only=read_only) as store:
            await check(store, "t")
            await check(store, "t")
        assert bool(ph.verify(tmp_path / "tapes.db").flaws) is read_only

    anyio.run(scenario)


def test_volumes_of_other_rules_are_left_aside_until_new_ones_are_made(tmp_path: Path):
    async def scenario() -> None:
        async with filled("sqlite", tmp_path) as store:
            pass
        with closing(sqlite3.connect(tmp_path / "tapes.db", isolation_level=None)) as connection:
            connection.execute("UPDATE search_volumes SET rules = 'of yesterday'")
        assert "other rules" in str(ph.verify(store))
        async with opened("sqlite", tmp_path) as store:
            await check(store, "t")
            await caught_up(store, "t")
            assert [(low, high) for _, low, high in await volumes(store)] == [(1, 750)]
            await check(store, "t")
        assert ph.verify(store).flaws == ()

    anyio.run(scenario)


def spoil(volume: Path, what: str) -> None:
    """Do something to the file of a volume."""
    raw = volume.read_bytes()
    match what:
        case "gone":
            volume.unlink()
        case "all gone":
            shutil.rmtree(volume.parent)
        case "emptied":
            volume.write_bytes(b"")
        case "cut":
            volume.write_bytes(raw[:-100])
        case "front altered":
            volume.write_bytes(b"x" + raw[1:])
        case "altered":
            volume.write_bytes(raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :])
        case "called otherwise":
            volume.rename(volume.with_name("1-650"))
        case "a directory":
            volume.unlink()
            volume.mkdir()


@pytest.mark.parametrize("what", ["gone", "all gone", "emptied", "cut", "front altered", "altered", "called otherwise", "a directory"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_spoilt_volume_beside_a_file_is_left_aside(what: str, tmp_path: Path, *, read_only: bool):
    async def scenario() -> None:
        async with filled("file", tmp_path):
            pass
        (volume,) = (tmp_path / "tapes" / ".playhead" / "t.words").iterdir()
        spoil(volume, what)
        assert ph.verify(tmp_path / "tapes").is_sound
        async with opened("file", tmp_path, read_only=read_only) as store:
            await check(store, "t")
            await check(store, "t")
            if not read_only:
                await caught_up(store, "t")
                await check(store, "t")

    anyio.run(scenario)


def test_the_volumes_of_an_earlier_file_or_of_another_tape_are_left_aside(tmp_path: Path):
    async def scenario() -> None:
        async with filled("file", tmp_path) as store:
            await fill(store, "other", first=9_000, count=800)
        hidden = tmp_path / "tapes" / ".playhead"
        shutil.copytree(hidden / "t.words", hidden / "other.words", dirs_exist_ok=True)
        older = (tmp_path / "tapes" / "t.jsonl").read_bytes()
        async with opened("file", tmp_path) as store:
            await check(store, "other", "t")
            old_volumes = shutil.copytree(hidden / "t.words", tmp_path / "kept")
            await store.reset("t")
            await fill(store, "t", first=20_000, count=900)
        shutil.rmtree(hidden / "t.words", ignore_errors=True)
        shutil.copytree(old_volumes, hidden / "t.words")
        async with opened("file", tmp_path) as store:
            await check(store, "t")
            await caught_up(store, "t")
            await check(store, "t")
        (tmp_path / "tapes" / "t.jsonl").write_bytes(older)
        async with opened("file", tmp_path) as store:
            await check(store, "t")

    anyio.run(scenario)


def put(place: Place, file: Stretch, raw: bytes) -> None:
    write(place, file.stem, file.recording, raw, first=1, last=700, stop=file.recording.tail.end)


@ON_THE_DISK
def test_verify_finds_a_volume_that_says_something_else_than_the_entries(sort: str, tmp_path: Path):
    async def scenario() -> None:
        async with filled(sort, tmp_path) as store:
            others = Words()
            for number in range(700):
                others.add(said(number + 1))
            raw = made_at_once(bound(others))
        if sort == "sqlite":
            with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
                forget(connection.execute, [1])
                keep(connection, 1, raw, first=1, last=700)
        else:
            async with opened(sort, tmp_path) as files:
                await files._ask(
                    "t", lambda lineage: [write(files._place, stretch.stem, stretch.recording, raw, first=1, last=700, stop=stretch.recording.tail.end) for stretch in lineage.stretches()]
                )
        report = ph.verify(store)
        assert [flaw.severity for flaw in report.flaws] == ["fault"]
        assert "index of words" in str(report)

    anyio.run(scenario)


class NoRoomForWords(Disk):
    """Has no room for volumes."""

    def open_to_write(self, path: str) -> int:
        if ".words/" in path:
            raise OSError(28, "No space left on device", path)
        return super().open_to_write(path)


@ON_THE_DISK
def test_where_no_volume_can_be_written_appends_and_searches_go_on(sort: str, tmp_path: Path):
    async def scenario() -> None:
        if sort == "sqlite":
            async with opened(sort, tmp_path):
                pass
            with closing(sqlite3.connect(tmp_path / "tapes.db", isolation_level=None)) as connection:
                connection.execute("CREATE TRIGGER full BEFORE INSERT ON search_pages BEGIN SELECT RAISE(ABORT, 'no room'); END")
        async with opened(sort, tmp_path) if sort == "sqlite" else ph.FileTapeStore(tmp_path / "tapes", durability="process", disk=NoRoomForWords()) as store:
            await fill(store, "t", count=700)
            with suppress(ph.StoreError):
                await caught_up(store, "t")
            await store.append("t", said(7))
            await check(store, "t")
            assert await volumes(store) == []

    anyio.run(scenario)


class Hidden:
    """Hides what is said from a casual look."""

    def encode(self, said: bytes, /) -> str:
        return said[::-1].decode("latin-1")

    def decode(self, text: str, /) -> bytes:
        return text.encode("latin-1")[::-1]


def test_what_a_codec_may_have_enciphered_is_never_kept_as_words(tmp_path: Path):
    async def scenario() -> None:
        async with ph.FileTapeStore(tmp_path, durability="process", codec=Hidden()) as store:
            await fill(store, "t", count=700)
            await caught_up(store, "t")
            await check(store, "t")
            assert await volumes(store) == []

    anyio.run(scenario)


def test_a_search_is_by_index_or_by_scan(sort: str, tmp_path: Path):
    with pytest.raises(ph.InvalidInput, match="'index' or by 'scan'"):
        opened(sort, tmp_path, search="words")
