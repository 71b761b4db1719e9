"""Whole tapes move between stores, with and without files between: nothing is lost, nothing is written twice, nothing half appears."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import anyio
import pytest

import playhead as ph
from playhead.errors import PlayheadError
from playhead.store.adapt import adapt
from playhead.store.change import Append, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.transfer.draft import without_drafts
from playhead.testing.families import everything
from playhead.testing.stores import ListStore
from tests.stores import URL
from tests.unit.store.moving import ROOTS, STORES, Breaking, exported, files_of, furnish, grow, opened


@pytest.mark.parametrize("target", STORES)
@pytest.mark.parametrize("source", STORES)
def test_a_copy_from_any_store_to_any_is_the_same_to_the_byte(source: str, target: str, tmp_path: Path):
    async def run() -> None:
        async with opened(source, tmp_path / "one") as one, opened(target, tmp_path / "other") as other:
            await furnish(one)
            report = await ph.copy_store(one, other)
            assert (sorted(report.tapes), report.known, report.blobs, report.missing) == (sorted(ROOTS), (), 1, ())
            assert await exported(other, tmp_path / "b") == await exported(one, tmp_path / "a")
            for root in ROOTS:
                assert await everything(other, root) == await everything(one, root)
            assert await other.cursor("support/42", "mail") == Head(1, 2)
            again = await ph.copy_store(one, other)
            assert (again.tapes, sorted(again.known), again.entries, again.blobs) == ((), sorted(ROOTS), 0, 0)
            assert (await other.head("support/42")).generation == 1

    anyio.run(run)


@pytest.mark.parametrize("form", ["export", "export.tar"])
@pytest.mark.parametrize("target", STORES)
def test_an_export_is_imported_into_any_store_and_leaves_it_the_same(target: str, form: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        await ph.export_store(one, tmp_path / form)
        async with opened(target, tmp_path / "other") as other:
            report = await ph.import_store(tmp_path / form, other)
            assert (sorted(report.tapes), report.blobs) == (sorted(ROOTS), 1)
            assert (await ph.import_store(tmp_path / form, other)).tapes == ()
            await ph.export_store(other, tmp_path / f"again-{form}")
        if form == "export":
            assert files_of(tmp_path / "again-export") == files_of(tmp_path / "export")
        else:
            assert (tmp_path / "again-export.tar").read_bytes() == (tmp_path / "export.tar").read_bytes()

    anyio.run(run, backend="trio" if form == "export" else "asyncio")


def test_a_store_with_four_methods_is_copied_too(tmp_path: Path):
    async def run() -> None:
        one, other = adapt(ListStore()), adapt(ListStore())
        await one.append_many("t", [ph.TapeEntry.event("n", {"n": n}) for n in range(5)])
        await one.append_many(sidecar_name("t", "s"), [ph.TapeEntry.event("beside")])
        await one.apply([Fork(tape=branch_name("t", "b"), parent="t", at=3)])
        await one.append_many(branch_name("t", "b"), [ph.TapeEntry.event("own")])
        await ph.copy_store(one, other)
        assert await everything(other, "t") == await everything(one, "t")
        assert await exported(other, tmp_path / "b") == await exported(one, tmp_path / "a")

    anyio.run(run)


ON_DISK = [kind for kind in STORES if kind != "memory"]


@pytest.mark.parametrize("target", ON_DISK)
def test_nothing_is_left_of_what_tapes_were_made_under_and_the_store_is_sound(target: str, tmp_path: Path):
    names = ["t", "m/" + "n" * 95, "Support/" + "L" * 130]

    async def run() -> None:
        one = ph.InMemoryTapeStore()
        for name in names:
            await one.append(name, ph.TapeEntry.event("n"))
            await one.apply([Fork(tape=branch_name(name, "b"), parent=name)])
        async with opened(target, tmp_path / "other") as other:
            for name in names:
                with pytest.raises(ph.StoreUnavailable):
                    await ph.copy_store(one, Breaking(other, at=2), tapes=[name])  # type: ignore[arg-type]
                await one.append(name, ph.TapeEntry.event("goes on"))
            await ph.copy_store(one, other)
            await ph.copy_store(one, other)
            assert await other.families() == sorted(names)  # type: ignore[attr-defined]
            report = ph.verify(other)  # type: ignore[arg-type]
            assert (report.is_sound, report.tapes, report.flaws) == (True, 6, ())
        left = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
        assert [path for path in left if ".part" in path] == []
        assert len([path for path in left if path.endswith(".family")]) == (3 if target == "file" else 0)

    anyio.run(run)


@pytest.mark.parametrize("target", STORES)
def test_what_is_left_of_a_mark_by_one_who_died_is_taken_away_by_the_next(target: str, tmp_path: Path):
    mark = sidecar_name("t", "playhead.transfer")

    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        async with opened(target, tmp_path / "other") as other:
            await ph.copy_store(one, other)
            await other.append_many(mark, [ph.TapeEntry.event("transfer.begun")])
            await other.reset(mark)
            assert (await ph.copy_store(one, other)).known == ("t",)
            assert await other.head(mark) == EMPTY

    anyio.run(run)


@pytest.mark.parametrize("target", ON_DISK)
def test_what_stands_for_entries_of_a_sidecar_that_nothing_shows_any_more_is_marked_behind_those_before_it(target: str, tmp_path: Path):
    side, late = sidecar_name("t", "s"), branch_name("t", "late")

    async def run() -> None:
        one = ph.InMemoryTapeStore()
        for _ in range(2):
            await one.append("t", ph.TapeEntry.event("n"))
            await one.append(side, ph.TapeEntry.event("beside"))
        await one.apply([Fork(tape=branch_name("t", "early"), parent="t", at=1)])
        await one.apply([Fork(tape=late, parent="t")])
        await one.apply([Reset(tape=sidecar_name(late, "s"))])
        await one.apply([Reset(tape=side)])
        async with opened(target, tmp_path / "other") as other:
            await ph.copy_store(one, other)
            assert ph.verify(other).flaws == ()  # type: ignore[arg-type]
            assert await everything(other, "t") == await everything(one, "t")

    anyio.run(run)


@pytest.mark.parametrize("target", STORES)
def test_an_import_that_is_broken_off_shows_nothing_and_goes_on_the_next_time(target: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await grow(one, "t", Random(3), steps=60)
        wanted = await exported(one, tmp_path / "export")
        async with opened(target, tmp_path / "other") as other:
            broken = 0
            while True:
                store = Breaking(other, at=2)
                try:
                    await ph.import_store(tmp_path / "export", store)  # type: ignore[arg-type]
                except ph.StoreUnavailable:
                    broken += 1
                    assert "t" not in await other.list_tapes()
                else:
                    break
            assert broken > 10
            assert await exported(other, tmp_path / "again") == wanted
            assert await everything(other, "t") == await everything(one, "t")

    anyio.run(run)


def test_what_was_begun_with_another_content_is_removed_before_a_copy_begins_anew(tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.SQLiteTapeStore(tmp_path / "tapes.db", durability="process")
        await furnish(one)
        with pytest.raises(ph.StoreUnavailable):
            await ph.copy_store(one, Breaking(other, at=6), tapes=["support/42"])  # type: ignore[arg-type]
        assert [name.startswith("support/42.") for name in await other.list_tapes()] == [True]
        await one.append("support/42", ph.TapeEntry.event("goes on"))
        await ph.copy_store(one, other)
        assert await exported(other, tmp_path / "b") == await exported(one, tmp_path / "a")
        assert [name for name in await other.list_tapes() if name.endswith(".part")] == []
        await other.aclose()

    anyio.run(run)


@pytest.mark.parametrize("target", STORES)
def test_a_tape_that_is_called_like_a_draft_and_is_none_is_left_alone(target: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        async with opened(target, tmp_path / "other") as other, opened(target, tmp_path / "named") as named:
            with pytest.raises(ph.StoreUnavailable):
                await ph.copy_store(one, Breaking(named, at=1))  # type: ignore[arg-type]
            ((draft, mark),) = [(family, await named.sidecars(family)) for family in await named.families()]  # type: ignore[attr-defined]
            assert mark == ["playhead.transfer"]
            mine = {draft: "the very draft", "t.0123456789abcdef.part": "another"}
            for name, text in mine.items():
                await other.append(name, ph.TapeEntry.event("mine", {"text": text}))
            await ph.copy_store(one, other)
            assert await other.list_tapes() == sorted(["t", *mine])
            assert [(await other.fetch_all(ph.TapeQuery(tape=name)))[0].payload["data"]["text"] for name in mine] == [*mine.values()]
            assert (await ph.export_store(other, tmp_path / "all")).tapes == tuple(sorted(["t", *mine]))

    anyio.run(run)


@pytest.mark.parametrize("target", STORES)
def test_the_draft_of_another_transfer_is_no_tape_to_those_who_export_copy_or_list(target: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        async with opened(target, tmp_path / "other") as other:
            await other.append("mine", ph.TapeEntry.event("n"))
            with pytest.raises(ph.StoreUnavailable):
                await ph.copy_store(one, Breaking(other, at=6), tapes=["support/42"])  # type: ignore[arg-type]
            assert len(await other.list_tapes()) == 2
            assert await without_drafts(other, await other.list_tapes()) == ["mine"]
            assert (await ph.export_store(other, tmp_path / "a")).tapes == ("mine",)
            assert (await ph.copy_store(other, ph.InMemoryTapeStore())).tapes == ("mine",)
            with pytest.raises(ph.TapeNotFound):
                await ph.export_store(other, tmp_path / "b", tapes=["support/*"])

    anyio.run(run)


def test_a_draft_that_was_removed_halfway_is_removed_and_its_tape_made_anew(tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await furnish(one)
        with pytest.raises(ph.StoreUnavailable):
            await ph.copy_store(one, Breaking(other, at=6), tapes=["support/42"])  # type: ignore[arg-type]
        (draft,) = await other.list_tapes()
        await other.append(sidecar_name(draft, "playhead.transfer"), ph.TapeEntry.event("transfer.going"))
        await other.reset(draft)
        await ph.copy_store(one, other)
        assert await other.list_tapes() == await one.list_tapes()
        assert await exported(other, tmp_path / "b") == await exported(one, tmp_path / "a")

    anyio.run(run)


CHILD = """
import sys, anyio, playhead as ph
anyio.run(lambda: ph.import_store(sys.argv[1], sys.argv[2], progress=lambda told: print(told.done, flush=True)))
"""


@pytest.mark.parametrize("kind", ["sqlite", "file", "postgres"])
def test_an_import_whose_process_is_killed_is_completed_by_the_next(kind: str, store_place: Path, tmp_path: Path):
    url = {"sqlite": f"sqlite:///{tmp_path / 'tapes.db'}", "file": f"file:{tmp_path / 'files'}"}.get(kind) or f"{(store_place / URL).read_text()}&durability=process"
    one, chance = ph.InMemoryTapeStore(), Random(5)

    async def begin(place: Path) -> dict[str, str]:
        if not await one.list_tapes():
            await furnish(one)
        await one.append_many("long/" + "l" * 100, [ph.TapeEntry.event("n", {"n": n, "text": "word " * 50}) for n in range(3500)])
        await one.append_many("support/42", [ph.TapeEntry.event("n", {"n": n}) for n in range(3)])
        return await exported(one, place)

    async def end(place: Path) -> dict[str, str]:
        async with ph.open_store(url) as other:
            await ph.import_store(place, other)
            return await exported(other, place.with_suffix(".again"))

    for place in (tmp_path / "first", tmp_path / "gone on"):
        wanted = anyio.run(begin, place)
        for _ in range(2):
            child = subprocess.Popen([sys.executable, "-c", CHILD, str(place), url], stdout=subprocess.PIPE)
            assert child.stdout is not None
            with child.stdout as told:
                for _ in range(chance.randint(5, 30)):
                    told.readline()
                child.kill()
            child.wait()
        assert anyio.run(end, place) == wanted
        report = ph.verify(url)
        assert report.is_sound, str(report)


def test_only_tapes_that_are_asked_for_move(tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        for name in ("a/1", "a/2", "b", "[x]"):
            await one.append(name, ph.TapeEntry.event("n"))
        assert (await ph.export_store(one, tmp_path / "some", tapes=["a/*", "[x]"])).tapes == ("[x]", "a/1", "a/2")
        with pytest.raises(ph.TapeNotFound, match="c/"):
            await ph.export_store(one, tmp_path / "none", tapes=["c/*"])
        assert not (tmp_path / "none").exists()

    anyio.run(run)


def test_an_export_goes_only_where_there_is_none(tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        await ph.export_store(one, tmp_path / "export")
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "mine.txt").write_text("mine")
        (tmp_path / "x.tar").write_text("mine")
        for place in ("export", "other", "x.tar"):
            with pytest.raises(ph.NameTaken):
                await ph.export_store(one, tmp_path / place)

    anyio.run(run)


def test_an_export_that_was_broken_off_goes_on_with_what_is_there(tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        wanted = await exported(one, tmp_path / "whole")
        await ph.export_store(one, tmp_path / "export")
        (tmp_path / "export" / "manifest.json").unlink()
        left = next((tmp_path / "export" / "tapes").glob("support*"))
        left.write_bytes(left.read_bytes()[:-10])
        (tmp_path / "export" / "tapes" / "gone.jsonl").write_text("a tape that was reset since")
        report = await ph.export_store(one, tmp_path / "export")
        assert (report.tapes, len(report.known), report.blobs) == (("support/42",), 3, 0)
        assert files_of(tmp_path / "export") == wanted

    anyio.run(run)


def test_entries_of_another_program_get_the_same_uids_each_time_and_gaps_are_refused(tmp_path: Path):
    (tmp_path / "tapes").mkdir()
    (tmp_path / "tapes" / "old.jsonl").write_text('{"id": 1, "kind": "message", "payload": {"role": "user", "content": "Hello"}, "timestamp": 1700000000}\n')
    (tmp_path / "tapes" / "gaps.jsonl").write_text('{"id": 2, "kind": "event", "payload": {"name": "a"}}\n{"id": 5, "kind": "event", "payload": {"name": "b"}}\n')

    async def run() -> None:
        async with ph.FileTapeStore(tmp_path / "tapes") as one:
            other = ph.InMemoryTapeStore()
            await ph.copy_store(one, other, tapes=["old"])
            await ph.export_store(one, tmp_path / "a", tapes=["old"])
            assert await exported(other, tmp_path / "b") == files_of(tmp_path / "a")
            with pytest.raises(ph.InvalidInput, match="gaps"):
                await ph.copy_store(one, other)
            assert await other.list_tapes() == ["old"]

    anyio.run(run)


def test_a_tape_that_is_reset_while_it_is_copied_is_no_half_copy(tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await one.append_many("t", [ph.TapeEntry.event("n", {"n": n}) for n in range(2000)])
        told: list[ph.TransferProgress] = []

        def reset_in_the_middle(progress: ph.TransferProgress) -> None:
            told.append(progress)
            if progress.stage == "writing" and progress.done > 500:
                one._shelf.reset(Reset(tape="t"))

        with pytest.raises(ph.Conflict, match="was reset or removed"):
            await ph.copy_store(one, other, progress=reset_in_the_middle)
        assert "t" not in await other.list_tapes()
        assert told[-1].total == 4000

    anyio.run(run)


def test_what_is_appended_while_a_tape_is_exported_is_left_out(tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append_many("t", [ph.TapeEntry.event("n", {"n": n}) for n in range(1000)])
        entry = ph.TapeEntry.event("late", {})

        def append(progress: ph.TransferProgress) -> None:
            if progress.done:
                one._shelf.append(Append(tape="t", entries=[ph.TapeEntry(0, "event", entry.payload, {"uid": f"late {progress.done}"})]))

        assert (await ph.export_store(one, tmp_path / "a", progress=append)).entries == 1000
        assert (await ph.import_store(tmp_path / "a", ph.InMemoryTapeStore())).entries == 1000
        assert (await one.head("t")).id > 1000

    anyio.run(run)


def test_the_twins_move_tapes_without_await(tmp_path: Path):
    with ph.sync.open_tape(f"sqlite:///{tmp_path / 'a.db'}", "t") as tape:
        tape.append(ph.user("one"))
    ph.sync.export_store(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "export")
    assert ph.sync.import_store(tmp_path / "export", f"file:{tmp_path / 'files'}").tapes == ("t",)
    assert ph.sync.copy_store(f"file:{tmp_path / 'files'}", f"sqlite:///{tmp_path / 'a.db'}").known == ("t",)
    with pytest.raises(PlayheadError):
        ph.sync.copy_store("nothing", tmp_path / "a.db")
