"""What a store of files makes of branches and sidecars: files that are read by eye, hints that are checked, earlier generations that are kept."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import BranchClosed, BranchNotFound, InvalidInput, StoreDamaged
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.disk import Disk
from playhead.store.file.record.header import header_in
from playhead.store.file.record.lines import load
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.testing.families import everything, forked, texts, written
from playhead.testing.stage import keyed, note, whole
from tests.crash.file_stage import Ear

FAR = datetime(9000, 1, 1, tzinfo=UTC)
LONG = "a name that is longer than the name of a file may be, " * 8
Play = Callable[[FileTapeStore], Awaitable[object]]


def played(place: Path, *plays: Play, **options: object) -> Ear:
    """Do one thing after the other, each with a store that is opened anew; return who heard of findings."""
    ear = Ear()

    async def play(do: Play) -> None:
        async with FileTapeStore(place, on_finding=ear, **{"durability": "process", **options}) as store:  # type: ignore[arg-type]
            await do(store)

    for do in plays:
        anyio.run(play, do)
    return ear


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*.jsonl")}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_branch_and_sidecar_is_a_file_that_says_by_its_name_what_it_is(tmp_path: Path):
    async def play(store: FileTapeStore) -> None:
        await written(store, "demo-user", "a")
        await written(store, sidecar_name("demo-user", "spill"), "s")
        trial = await forked(store, "demo-user", "trial", owner="run")
        await written(store, trial, "b")
        await written(store, sidecar_name(trial, "spill"), "t")
        for label, outcome in (("one", MERGED), ("two", SQUASHED), ("3/3", DISCARDED)):
            await store.apply([Close(tape=await forked(store, trial, label), outcome=outcome)])

    played(tmp_path, play)
    assert files(tmp_path) == {
        "demo-user.jsonl",
        *(f"demo-user.family/{name}.jsonl" for name in ("spill.sidecar", "trial.branch", "trial.branch.spill.sidecar", "one.merged", "two.squashed", "3%2F3.discarded")),
    }
    header, entry = lines(tmp_path / "demo-user.family" / "trial.branch.jsonl")
    place = (tmp_path / "demo-user.jsonl").stat().st_size
    beside = (tmp_path / "demo-user.family" / "spill.sidecar.jsonl").stat().st_size
    said = {"branch": "trial", "generation": 0, "parent": None, "base": [0, 1], "source": None, "place": place, "owner": "run"}
    assert header["payload"] == said | {"sidecars": {"spill": {"parent": None, "base": [0, 1], "source": None, "place": beside}}}
    assert (header["id"], header["kind"], header["~s"], entry["id"]) == (0, "tape", 1, 2)
    first, marked = lines(tmp_path / "demo-user.family" / "trial.branch.spill.sidecar.jsonl")
    assert (first["payload"]["sidecar"], marked["id"], marked["~m"]) == ("spill", 2, [0, 2])
    assert lines(tmp_path / "demo-user.family" / "one.merged.jsonl")[-1]["payload"] == {"state": "merged", "generation": 0}


def test_names_that_no_file_can_have_are_kept_apart(tmp_path: Path):
    """Dots that would divide a name, capitals, long names, names of devices; all read back from the directory."""
    labels = ["v1.2", "a.branch", "a.branch.b", "A.Branch.b", "a.b.sidecar", "x.merged", "con", "Trial", "trial", f"{LONG}1", f"{LONG}2", "日本語", "a@3"]

    async def play(store: FileTapeStore) -> None:
        for root in ("t", LONG):
            for label in labels:
                branch = await forked(store, root, label)
                await written(store, branch, label)
                for name in labels[-5:]:
                    await written(store, sidecar_name(branch, name), name)
            for name in labels:
                await written(store, sidecar_name(root, name), name)

    async def look(store: FileTapeStore) -> None:
        assert await store.list_tapes() == sorted(["t", LONG])
        for root in ("t", LONG):
            branches = await store.branches(root)
            assert [record.name for record in branches] == [branch_name(root, label) for label in labels]
            assert await store.sidecars(root) == sorted(labels)
            for record, label in zip(branches, labels, strict=True):
                assert await texts(store, record.name) == [label]
                assert await store.sidecars(record.name) == sorted(labels[-5:])
            for name in labels:
                assert await texts(store, sidecar_name(root, name)) == [name]

    played(tmp_path, play, look)
    assert len({name.casefold() for name in files(tmp_path)}) == len(files(tmp_path))
    assert all(len(Path(name).name.encode()) < 240 for name in files(tmp_path))


def test_a_long_tape_that_was_never_written_is_listed_for_its_branch(tmp_path: Path):
    async def play(store: FileTapeStore) -> None:
        await forked(store, LONG, "b")
        assert (await store.list_tapes(), await store.head(LONG)) == ([LONG], Head(0, 0))
        await written(store, LONG, "a")
        await store.rename(LONG, f"{LONG}!")
        assert await store.list_tapes() == [f"{LONG}!"]
        await store.rename(f"{LONG}!", "short")
        assert (await store.list_tapes(), await texts(store, "short")) == (["short"], ["a"])

    played(tmp_path, play)
    assert lines(tmp_path / "short.jsonl")[0]["id"] == 1


def test_where_a_fork_point_is_said_to_be_is_only_a_hint(tmp_path: Path):
    """Files are rewritten: every line of the header that points into the parent may be wrong."""

    async def play(store: FileTapeStore) -> None:
        await store.append_many("t", [keyed(f"{i}", f"key {i}") for i in range(30)])
        await store.append("t", TapeEntry.anchor("here"))
        branch = await forked(store, "t", "b", at=20)
        inner = await forked(store, await forked(store, "t", "c"), "inner")
        await written(store, branch, "own")
        await written(store, inner, "own")

    async def look(store: FileTapeStore) -> None:
        found.append(await everything(store, "t"))
        assert (await store.append_many(branch_name("t", "b"), [keyed("3", "key 3")]))[0].id == 4
        assert len(await store.fetch_all(TapeQuery(tape=branch_name("t", "inner")).last_anchor())) == 1

    found: list[object] = []
    played(tmp_path, play, look)
    for name in ("b", "inner"):
        path = tmp_path / "t.family" / f"{name}.branch.jsonl"
        first, _, rest = path.read_bytes().partition(b"\n")
        header = header_in(load(first))
        assert header is not None
        assert header.origin is not None
        for place in (1, header.origin.place - 1, header.origin.place + 1, 10**9, 0):
            path.write_bytes(replace(header, origin=replace(header.origin, place=place)).dump() + rest)
            played(tmp_path, look)
    assert len(found) == 11
    assert all(each == found[0] for each in found)


def test_a_generation_that_a_branch_shows_is_kept_until_none_does(tmp_path: Path):
    kept = tmp_path / ".playhead" / "t.family" / "@0.jsonl"
    label = branch_name("t", "b")

    async def play(store: FileTapeStore) -> None:
        await store.append_many("t", [keyed("a", "k"), note("b")])
        await store.reset("other", entries=[note("x")])
        await forked(store, "t", "b")
        await store.reset("t", entries=[note("new")])
        assert kept.exists()
        assert (await texts(store, label), await texts(store, "t")) == (["a", "b"], ["new"])
        assert [e.id for e in await store.append_many(label, [keyed("a", "k"), note("c")])] == [1, 3]
        assert [e.id for e in (await store.find(label, keys=["k"])).values()] == [1]
        await store.reset("t")
        assert not kept.with_name("@1.jsonl").exists(), "nobody shows the second generation"

    async def end(store: FileTapeStore) -> None:
        await store.collect("t", before=FAR)
        assert kept.exists()
        inner = await forked(store, label, "inner", at=1)
        await store.apply([Close(tape=label, outcome=DISCARDED)])
        assert await store.collect("t", before=FAR) == []
        await store.apply([Close(tape=inner, outcome=DISCARDED)])
        assert await store.collect("t", before=FAR) == [inner, label]
        assert not kept.exists()

    played(tmp_path, play, end)


def test_what_a_branch_shows_stays_on_a_file_system_without_second_names(tmp_path: Path):
    class NoLinks(Disk):
        def link(self, source: str, target: str) -> None:
            raise PermissionError(1, "no links here")

    async def play(store: FileTapeStore) -> None:
        await written(store, "t", *"abc")
        branch = await forked(store, "t", "b")
        await store.apply([Append(tape="t", entries=[note("d")]), Fork(tape=branch_name("t", "c"), parent="t"), Reset(tape="t")])
        assert [await texts(store, tape) for tape in (branch, branch_name("t", "c"), "t")] == [[*"abc"], [*"abcd"], []]

    played(tmp_path, play, disk=NoLinks())


def test_a_branch_goes_on_from_lines_of_another_program(tmp_path: Path):
    """Wherever it is cut: between them, behind them, in front of them; ids may have gaps there."""
    older = [{"id": id, "kind": "anchor" if id == 3 else "note", "payload": {"text": str(id), "name": "here"}} for id in (1, 3, 5)]
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in older))

    async def play(store: FileTapeStore) -> None:
        before = [await forked(store, "t", f"before {at}", at=at) for at in range(6)]
        await written(store, "t", "6", "7")
        behind = [await forked(store, "t", f"behind {at}", at=at) for at in range(8)]
        for at, branch in [*enumerate(before), *enumerate(behind)]:
            shown = [id for id in (1, 3, 5, 6, 7) if id <= at]
            assert await written(store, branch, "own") == [at + 1]
            assert [e.id for e in await whole(store, branch)] == [*shown, at + 1]
            assert await store.count(TapeQuery(tape=branch)) == len(shown) + 1
            assert [e.id for e in await store.fetch_all(TapeQuery(tape=branch).newest_first().limit(2))] == [*shown, at + 1][:-3:-1]
            if at >= 3:
                assert len(await store.fetch_all(TapeQuery(tape=branch).last_anchor())) == len(shown) - 1

    played(tmp_path, play)
    ours = (tmp_path / "t.jsonl").read_bytes()
    with pytest.raises(InvalidInput, match="another program"):
        played(tmp_path, lambda store: store.rename("t", LONG))
    assert (tmp_path / "t.jsonl").read_bytes() == ours


@pytest.mark.parametrize("left", [b"", b"\0" * 900, b'{"id":0,"kind":"tape","payl'])
def test_what_is_left_of_a_fork_that_was_cut_off_is_no_branch(tmp_path: Path, left: bytes):
    label = branch_name("t", "b")

    async def before(store: FileTapeStore) -> None:
        await written(store, "t", "a")
        await forked(store, "t", "b")
        await written(store, sidecar_name(label, "s"), "orphan")

    async def after(store: FileTapeStore) -> None:
        for call in (store.head(label), store.append(label, note("x")), store.reset(label), store.lease(label, owner="o", seconds=1)):
            with pytest.raises(BranchNotFound):
                await call
        assert (await store.branches("t"), await store.branch(label), await store.sidecars(label)) == ([], None, [])
        assert await store.list_tapes() == ["t"]
        await forked(store, "t", "b")
        assert (await texts(store, label), await store.sidecars(label)) == (["a"], [])

    played(tmp_path, before)
    (tmp_path / "t.family" / "b.branch.jsonl").write_bytes(left)
    played(tmp_path, after)


def test_a_first_line_that_is_damaged_is_said_to_be(tmp_path: Path):
    label = branch_name("t", "b")

    async def before(store: FileTapeStore) -> None:
        await written(store, "t", "a")
        await written(store, await forked(store, "t", "b"), "b")

    async def after(store: FileTapeStore) -> None:
        for call in (store.head(label), store.append(label, note("x")), whole(store, label)):
            with pytest.raises(StoreDamaged, match="first line"):
                await call
        assert await texts(store, "t") == ["a"]

    played(tmp_path, before)
    path = tmp_path / "t.family" / "b.branch.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind":"tape"', b'"kind":"tabe"', 1))
    played(tmp_path, after)


def test_a_parent_that_is_gone_is_said_to_be(tmp_path: Path):
    async def before(store: FileTapeStore) -> None:
        await written(store, "t", "a", "b")
        await written(store, await forked(store, "t", "b"), "c")

    async def after(store: FileTapeStore) -> None:
        with pytest.raises(StoreDamaged, match="entry 2 of generation 0"):
            await whole(store, branch_name("t", "b"))
        newest = TapeQuery(tape=branch_name("t", "b")).newest_first().limit(1)
        assert [e.id for e in await store.fetch_all(newest)] == [3], "what does not need the parent is answered"

    played(tmp_path, before)
    (tmp_path / "t.jsonl").unlink()
    played(tmp_path, after)


def test_indexes_of_branches_may_be_removed_swapped_and_restored(tmp_path: Path):
    """Whatever stands beside the files, lookups over fork points are answered from these."""
    text = "x" * 3_000
    inner = branch_name("t", "inner")

    def many(front: str) -> list[TapeEntry]:
        return [TapeEntry(0, "note", {"text": text}, {"uid": f"{front} {i}", "idempotency_key": f"key {front} {i}"}) for i in range(200)]

    async def build(store: FileTapeStore) -> None:
        await store.append_many("t", many("t"))
        await store.append_many(await forked(store, "t", "b", at=150), many("b"))
        await store.append_many(await forked(store, branch_name("t", "b"), "inner", at=250), many("inner"))
        await store.append_many("t", many("late"))

    async def look(store: FileTapeStore) -> None:
        found = await store.find(inner, keys=["key t 3", "key t 160", "key b 70", "key b 170", "key late 1", "key inner 199"], uids=["t 149", "b 0", "late 0"])
        assert {name: entry.id for name, entry in found.items()} == {"key t 3": 4, "key b 70": 221, "key inner 199": 450, "t 149": 150, "b 0": 151}
        again = await store.append_many(inner, [many("t")[7], many("b")[9], many("inner")[11]])
        assert [entry.id for entry in again] == [8, 160, 262]
        assert (await store.append_many("t", [many("late")[5]]))[0].id == 206

    hidden = tmp_path / ".playhead"
    played(tmp_path, build, look)
    indexes = [hidden / "t.index", *sorted((hidden / "t.family").glob("*.index"))]
    assert len(indexes) == 3
    shutil.copytree(hidden, tmp_path / "saved")
    for one, other in ((0, 1), (1, 2), (2, 0)):
        for index in indexes:
            shutil.rmtree(index)
        shutil.copytree(tmp_path / "saved" / indexes[one].relative_to(hidden), indexes[other])
        played(tmp_path, look)
    for index in indexes:
        shutil.rmtree(index, ignore_errors=True)
    played(tmp_path, look)
    for piece in hidden.rglob("*-*"):
        if piece.is_file() and ".index" in str(piece.parent):
            piece.write_bytes(piece.read_bytes()[:-200])
    played(tmp_path, look)


def test_the_keys_of_a_file_that_was_rewritten_are_looked_for_again(tmp_path: Path):
    """A branch is renamed while another store appends to one that was forked from it."""

    async def play(store: FileTapeStore) -> None:
        await store.append_many("t", [keyed("a", "k")])
        middle = await forked(store, "t", "m")
        await store.append_many(middle, [keyed(f"{i}", f"key {i}") for i in range(5)])
        inner = await forked(store, middle, "inner")
        last = await forked(store, inner, "last")
        await written(store, last, "own")
        for branch in (inner, last):
            assert [e.id for e in await store.append_many(branch, [keyed("1", "key 1"), keyed("a", "k")])] == [3, 1]
        async with FileTapeStore(tmp_path, durability="process") as other:
            await other.rename(middle, branch_name("t", "a much longer label"))
        assert [e.id for e in await store.append_many(inner, [keyed("2", "key 2"), keyed("a", "k"), note("own")])] == [4, 1, 7]
        assert [e.id for e in await store.append_many(last, [keyed("2", "key 2"), keyed("a", "k"), note("own")])] == [4, 1, 8]
        with pytest.raises(BranchNotFound):
            await store.append(middle, note("x"))

    played(tmp_path, play)


def test_a_branch_that_another_store_closed_is_closed_here_too(tmp_path: Path):
    async def play(store: FileTapeStore) -> None:
        await written(store, "t", "a")
        branch = await forked(store, "t", "b")
        await written(store, branch, "b")
        await written(store, sidecar_name(branch, "s"), "s")
        async with FileTapeStore(tmp_path, durability="process") as other:
            await other.apply([Close(tape=branch, outcome=MERGED)])
        for tape in (branch, sidecar_name(branch, "s")):
            with pytest.raises(BranchClosed):
                await store.append(tape, note("x"))
        assert (await store.list_tapes(), await texts(store, branch)) == (["t"], ["a", "b"])
        assert sorted(os.listdir(tmp_path / "t.family")) == ["b.branch.s.sidecar.jsonl", "b.merged.jsonl"]

    played(tmp_path, play)


def test_anchors_stay_where_they_are_when_a_file_is_written_anew(tmp_path: Path):
    async def play(store: FileTapeStore) -> None:
        branch = await forked(store, "t", "b")
        for number in range(5):
            await store.append_many(branch, [note(f"{number}"), TapeEntry.anchor(f"anchor {number}"), note("behind")])
        before = await whole(store, branch)
        for name in (branch_name("t", "another label, and a longer one"), branch_name("t", "s")):
            await store.rename(branch, name)
            branch = name
            assert await whole(store, branch) == before
            assert [e.id for e in await store.fetch_all(TapeQuery(tape=branch).kinds("anchor").newest_first())] == [14, 11, 8, 5, 2]
            assert [e.id for e in await store.fetch_all(TapeQuery(tape=branch).after_anchor("anchor 1"))] == list(range(6, len(before) + 1))
            await written(store, branch, "on")
            before = await whole(store, branch)

    played(tmp_path, play)
