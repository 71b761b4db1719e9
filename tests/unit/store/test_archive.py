"""What archiving does to the disk, and what becomes of damage, other programs, resets and branches where entries are archived."""

from __future__ import annotations

import base64
import gzip
import sqlite3
import zlib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.store.archiving.packing import MOST, MOST_BYTES, fitting, packed, unpacked
from playhead.store.file.archive import CHUNK
from playhead.store.protocol import WholeStore
from playhead.testing import FakeClock
from playhead.testing.families import everything
from playhead.testing.stores import ListStore
from tests.unit.store.moving import STORES, here, opened

LONG = "what was said is said again and again, in much the same words. " * 8


def size_of(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


async def told(store: WholeStore, count: int = 800) -> None:
    tape = ph.Tape(store, "t")
    for start in range(0, count, 100):
        await tape.append_many([ph.TapeEntry.event("n", {"n": n, "text": f"{n} {LONG}"}) for n in range(start, start + 100)])


@pytest.mark.parametrize("kind", ["SQLite", "file"])
def test_the_disk_has_room_again(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await told(store)
        before = size_of(tmp_path)
        async with opened(kind, tmp_path) as store:
            report = await store.archive("t", upto=750)
            assert (report.upto, report.entries) == (750, 750)
            assert report.after * 4 < report.before
            await store.compact()
        assert size_of(tmp_path) * 2 < before

    anyio.run(run)


@pytest.mark.parametrize("kind", STORES)
def test_a_tape_is_archived_below_an_anchor_an_entry_or_an_age_and_its_sidecars_with_it(kind: str, tmp_path: Path):
    async def run() -> None:
        now = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
        with clock.using(now):
            async with opened(kind, tmp_path) as store:
                tape = ph.Tape(store, "t")
                for day in range(10):
                    await tape.append(ph.user(f"day {day}"))
                    await tape.sidecar("s").append(ph.TapeEntry.event("beside", {"day": day}))
                    await tape.append(ph.TapeEntry.anchor(f"end of day {day}"))
                    now.advance(timedelta(days=1))
                before = await everything(store, "t")
                first = await tape.archive(below="end of day 2")
                assert (first.tape, first.upto, [(side.tape, side.upto) for side in first.sidecars]) == ("t", 5, [("t__sidecar__s", 3)])
                aged = await tape.archive(older_than=timedelta(days=5))
                assert (aged.upto, aged.entries, aged.sidecars[0].upto) == (10, 5, 5)
                entry = await tape.append(ph.user("last"))
                assert (await tape.archive(below=entry)).upto == 20
                assert (await tape.archive(below=1)).entries == 0
                assert (await everything(store, "t"))[4][:20] == before[4]
                for wrong in ({}, {"below": 1, "older_than": timedelta(1)}, {"below": 99}, {"below": 0}, {"below": ""}, {"older_than": timedelta(-1)}):
                    with pytest.raises(ph.InvalidInput):
                        await tape.archive(**wrong)
                with pytest.raises(ph.AnchorNotFound):
                    await tape.archive(below="never")
                with pytest.raises(ph.ReadOnly):
                    await tape.at(3).archive(below=2)

    anyio.run(run)


@pytest.mark.parametrize("kind", STORES)
def test_what_was_said_long_ago_is_archived_by_age_behind_a_beginning_of_today(kind: str, tmp_path: Path):
    def said(*days: int) -> list[ph.TapeEntry]:
        return [ph.TapeEntry(0, "event", {"name": "n", "data": {"day": day}}, date=f"2025-11-{day:02}T00:00:00+00:00") for day in days]

    async def run() -> None:
        with clock.using(FakeClock(datetime(2026, 1, 1, tzinfo=UTC))):
            async with opened(kind, tmp_path) as store:
                old, mixed, young, bare = (ph.Tape(store, name) for name in ("old", "mixed", "young", "bare"))
                for tape in (old, mixed, young):
                    await tape.bootstrap()
                await old.append_many(said(1, 2, 3, 4))
                await mixed.append_many(said(1, 2))
                await mixed.append_many([ph.TapeEntry.event("n", {}), *said(3, 4)])
                await young.append(ph.user("Today."))
                await young.append_many(said(1))
                await bare.append_many([ph.TapeEntry.event("n", {}), *said(1, 2)])
                month = timedelta(days=30)
                # A file keeps its newest line.
                assert (await old.archive(older_than=month)).upto >= 5
                assert (await mixed.archive(older_than=month)).upto == 4
                assert [(await tape.archive(older_than=month)).upto for tape in (young, bare)] == [0, 0]
                await ph.Tape(store, "only").bootstrap()
                assert (await ph.Tape(store, "only").archive(older_than=month)).upto == 0

    anyio.run(run)


def test_a_store_that_does_not_archive_says_so():
    async def run() -> None:
        with pytest.raises(ph.StoreError, match="copy_store"):
            await ph.Tape(ListStore(), "t").archive(below=1)

    anyio.run(run)


@pytest.mark.parametrize("kind", ["SQLite", "file"])
def test_an_archive_that_is_damaged_is_found_and_what_is_left_is_kept(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await told(store, 3000)
            await store.archive("t", upto=2900)
        place = tmp_path / ("tapes.db" if kind == "SQLite" else "tapes")
        assert ph.verify(place).is_sound
        damage(place)
        report = ph.verify(place)
        assert not report.is_sound
        async with opened(kind, tmp_path) as store:
            with pytest.raises(ph.StoreDamaged):
                [entry.payload for entry in await store.fetch_all(ph.TapeQuery(tape="t"))]
            assert (await store.fetch_all(ph.TapeQuery(tape="t").after(2950)))[0].payload["data"]["n"] == 2950
        saved = ph.salvage(place)
        assert 0 < saved.kept < 3000
        assert ph.verify(saved.path if kind == "SQLite" else place).is_sound
        again = ph.open_store(f"sqlite:///{saved.path}" if kind == "SQLite" else f"file:{place}")
        entries = await again.fetch_all(ph.TapeQuery(tape="t"))
        assert [entry.id for entry in entries] == list(range(1, 3001))
        kept = [entry for entry in entries if entry.payload["name"] == "n"]
        assert len(kept) == saved.kept
        assert all(entry.payload["data"]["n"] == entry.id - 1 for entry in kept)
        await again.aclose()

    anyio.run(run)


def damage(place: Path) -> None:
    """Alter one archived segment."""
    if place.is_dir():
        chunk = min((place / ".playhead" / "segments").rglob("*.gz"))
        raw = bytearray(chunk.read_bytes())
        raw[len(raw) // 2] ^= 1
        chunk.write_bytes(raw)
        return
    with closing(sqlite3.connect(place)) as connection:
        low, data = connection.execute("SELECT low, data FROM segments ORDER BY low LIMIT 1 OFFSET 2").fetchone()
        connection.execute("UPDATE segments SET data = ? WHERE low = ?", (data[:-9] + b"x" + data[-8:], low))
        connection.commit()


@pytest.mark.parametrize("batch", [1200, 1])
@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_chunk_that_is_missing_takes_its_own_entries_alone_and_no_append(number: int, batch: int, tmp_path: Path):
    async def run() -> None:
        async with opened("file", tmp_path) as store:
            entries = [ph.TapeEntry.event("n", {"n": n, "text": "long " * 120}) for n in range(1200)]
            for start in range(0, 1200, batch):
                await store.append_many("t", entries[start : start + batch])
            lines = (tmp_path / "tapes" / "t.jsonl").read_bytes().splitlines(keepends=True)
            await store.archive("t", upto=1199)
        ends = list(accumulate(map(len, lines)))
        chunks = sorted((tmp_path / "tapes" / ".playhead" / "segments").rglob("*.gz"))
        gone = range(CHUNK * (number % len(chunks)), min(CHUNK * (number % len(chunks) + 1), ends[1198]))
        chunks[number].unlink()
        async with opened("file", tmp_path) as store:
            await ph.Tape(store, "t").append(ph.TapeEntry.event("goes on"))
            assert (await store.head("t")).id == 1201
            for id in (*range(1, 1200, 37), *(id for id, end in enumerate(ends, 1) if min(abs(end - gone.start), abs(end - gone.stop)) < 2000)):
                query = ph.TapeQuery(tape="t").after(id - 1).up_to(id)
                if ends[id - 1] <= gone.start or ends[id - 1] - len(lines[id - 1]) >= gone.stop:
                    assert [entry.id for entry in await store.fetch_all(query)] == [id]
                else:
                    with pytest.raises(ph.StoreDamaged):
                        await store.fetch_all(query)

    anyio.run(run)


def test_segments_that_are_gone_or_stray_are_told(tmp_path: Path):
    async def run() -> None:
        async with opened("SQLite", tmp_path) as store:
            await told(store, 600)
            await store.archive("t", upto=500)
        with closing(sqlite3.connect(tmp_path / "tapes.db")) as connection:
            connection.execute("UPDATE segments SET high = high + 5 WHERE low = (SELECT max(low) FROM segments)")
            connection.commit()
        report = ph.verify(tmp_path / "tapes.db")
        assert {flaw.severity for flaw in report.flaws} == {"damage", "fault"}

    anyio.run(run)


def test_files_of_other_programs_and_files_with_a_codec_are_archived_too(tmp_path: Path):
    class Packed:
        def encode(self, said: bytes) -> str:
            return base64.b85encode(zlib.compress(said)).decode()

        def decode(self, text: str) -> bytes:
            return zlib.decompress(base64.b85decode(text))

    (tmp_path / "old.jsonl").write_text("".join(f'{{"id": {n}, "kind": "event", "payload": {{"name": "n{n}"}}}}\n' for n in range(1, 40)))

    async def run() -> None:
        async with ph.FileTapeStore(tmp_path, durability="process") as store:
            await store.append_many("old", [ph.TapeEntry.event(f"n{n}") for n in range(40, 60)])
            before = await everything(store, "old")
            for upto in (10, 39, 45, 60):
                await store.archive("old", upto=upto)
                assert await everything(store, "old") == before
            await store.append("old", ph.TapeEntry.event("n60"))
            assert [entry.payload["name"] for entry in await store.fetch_all(ph.TapeQuery(tape="old"))] == [f"n{n}" for n in range(1, 61)]
        async with ph.FileTapeStore(tmp_path / "packed", codec=Packed()) as store:
            await told(store, 100)
            before = await everything(store, "t")
            await store.archive("t", upto=90)
            assert await everything(store, "t") == before
        assert ph.verify(tmp_path).is_sound

    anyio.run(run)


def test_the_chunks_of_a_file_are_what_stood_in_its_front_and_go_when_nothing_shows_them(tmp_path: Path):
    segments = tmp_path / "tapes" / ".playhead" / "segments"

    async def run() -> None:
        async with opened("file", tmp_path) as store:
            await told(store)
            file = tmp_path / "tapes" / "t.jsonl"
            whole = file.read_bytes()
            await store.archive("t", upto=500)
            first, second, rest = file.read_bytes().split(b"\n", 2)
            assert b'"kind":"archived"' in first
            assert b'"kind":"archived"' in second
            assert b"".join(gzip.decompress(chunk.read_bytes()) for chunk in sorted(segments.rglob("*.gz"))) + rest == whole

            tape = ph.Tape(store, "t")
            branch = await tape.fork(at=400, name="b")
            await tape.reset()
            assert len(list(segments.iterdir())) == 1
            assert len(await store.fetch_all(ph.TapeQuery(tape=branch.name))) == 400
            await branch.discard()
            await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC))
            assert list(segments.iterdir()) == []

            await told(store)
            await store.archive("t", upto=500)
            await store.reset("t")
            assert list(segments.iterdir()) == []

    anyio.run(run)


def test_a_branch_that_is_archived_is_renamed_closed_and_collected(tmp_path: Path):
    async def run() -> None:
        for kind in here():
            async with opened(kind, tmp_path / kind) as store:
                await told(store, 100)
                branch = await ph.Tape(store, "t").fork(at=50, name="b")
                await branch.append_many([ph.TapeEntry.event("own", {"n": n, "text": LONG}) for n in range(80)])
                before = [entry.payload for entry in await store.fetch_all(ph.TapeQuery(tape=branch.name))]
                await branch.archive(below=120)
                renamed = await branch.rename("c")
                await ph.Tape(store, "t").rename("u")
                name = renamed.name.replace("t__", "u__")
                assert [entry.payload for entry in await store.fetch_all(ph.TapeQuery(tape=name))] == before
                branch = await ph.Tape(store, "u").branch("c")
                assert len((await branch.merge()).entries) == 80
                assert await store.collect("u", before=datetime(9000, 1, 1, tzinfo=UTC)) == [name]
            if kind in ("SQLite", "file"):
                assert ph.verify(tmp_path / kind / ("tapes.db" if kind == "SQLite" else "tapes")).is_sound

    anyio.run(run)


@pytest.mark.parametrize("kind", ["SQLite", "file"])
def test_a_store_that_only_reads_and_a_backup_have_what_is_archived(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await told(store, 300)
            before = await everything(store, "t")
            await store.archive("t", upto=290)
            copy = await anyio.to_thread.run_sync(ph.backup, store, tmp_path / "copy.db")
        place = tmp_path / ("tapes.db" if kind == "SQLite" else "tapes")
        for path in (place, copy):
            async with ph.open_store(f"sqlite:///{path}?mode=ro" if kind == "SQLite" else f"file:{path}?mode=ro") as reading:
                assert await everything(reading, "t") == before
                with pytest.raises(ph.ReadOnly):
                    await reading.archive("t", upto=300)
                with pytest.raises(ph.ReadOnly):
                    await reading.compact()

    anyio.run(run)


def test_two_handles_archive_and_append_to_one_tape_at_the_same_time(tmp_path: Path):
    async def run() -> None:
        for kind in here()[1:]:
            async with opened(kind, tmp_path / kind) as one, opened(kind, tmp_path / kind) as other:
                await told(one, 400)

                async def archive(store: WholeStore, upto: int) -> None:
                    await store.archive("t", upto=upto)

                async def append(store: WholeStore) -> None:
                    for n in range(30):
                        await store.append_many("t", [ph.TapeEntry.event("late", {"n": n})])

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(archive, one, 200)
                    tasks.start_soon(archive, other, 390)
                    tasks.start_soon(append, other)
                    tasks.start_soon(append, one)
                entries = await one.fetch_all(ph.TapeQuery(tape="t"))
                assert [entry.id for entry in entries] == list(range(1, 461))
                assert (await one.archive("t", upto=390)).entries == 0

    anyio.run(run)


def test_what_no_file_names_is_removed_a_day_later(tmp_path: Path):
    left = tmp_path / "tapes" / ".playhead" / "segments" / "left"

    async def run() -> None:
        async with opened("file", tmp_path) as store:
            await told(store, 100)
            await store.archive("t", upto=90)
            left.mkdir()
            (left / "00000000.gz").write_bytes(b"left")
            assert [flaw.severity for flaw in ph.verify(tmp_path / "tapes").flaws] == ["remnant"]
            await store.compact()
            assert left.exists()
            with clock.using(FakeClock(datetime.now(UTC) + timedelta(days=2))):
                await store.compact()
            assert not left.exists()
            assert len(await store.fetch_all(ph.TapeQuery(tape="t"))) == 100

    anyio.run(run)


def test_a_segment_is_its_entries_and_nothing_else():
    said = [(b"{}", b'{"a":1}'), (b"", b""), (b"x" * 1000, b"y")]
    assert unpacked(packed(said), what="it") == said
    assert unpacked(packed([]), what="it") == []
    for spoilt in (b"", packed(said)[:-1], zlib.compress(b""), zlib.compress(b"\xff\xff\xff\xff"), zlib.compress(b"\1\0\0\0\5\0\0\0\5\0\0\0abc")):
        with pytest.raises(ph.StoreDamaged):
            unpacked(spoilt, what="it")
    assert [fitting(sizes) for sizes in ([], [MOST_BYTES * 9, 1], [1] * 1000, [MOST_BYTES // 2] * 3)] == [0, 1, MOST, 2]


@pytest.mark.parametrize("place", [3, 60, 200, 300])
def test_a_file_whose_first_line_is_damaged_is_told_by_its_second(place: int, tmp_path: Path):
    async def run() -> None:
        async with opened("file", tmp_path) as store:
            await told(store, 100)
            await store.archive("t", upto=60)
            before = await everything(store, "t")
        file = tmp_path / "tapes" / "t.jsonl"
        raw = bytearray(file.read_bytes())
        raw[place] ^= 1
        file.write_bytes(raw)
        assert not ph.verify(tmp_path / "tapes").is_sound
        assert ph.salvage(tmp_path / "tapes").lost == ()
        assert ph.verify(tmp_path / "tapes").is_sound
        async with opened("file", tmp_path) as store:
            assert await everything(store, "t") == before

    anyio.run(run)


def test_a_file_whose_first_lines_are_both_damaged_keeps_what_stands_behind_them(tmp_path: Path):
    async def run() -> None:
        async with opened("file", tmp_path) as store:
            await told(store, 100)
            await store.archive("t", upto=60)
        file = tmp_path / "tapes" / "t.jsonl"
        first, second, rest = file.read_bytes().split(b"\n", 2)
        file.write_bytes(b"\n".join((first[:-3] + b'x"}', second[:-3] + b'x"}', rest)))
        assert not ph.verify(tmp_path / "tapes").is_sound
        async with opened("file", tmp_path) as store:
            with pytest.raises(ph.StoreDamaged, match="first two lines"):
                await store.fetch_all(ph.TapeQuery(tape="t"))
        assert ph.salvage(tmp_path / "tapes").kept == 40
        assert ph.verify(tmp_path / "tapes").is_sound

    anyio.run(run)
