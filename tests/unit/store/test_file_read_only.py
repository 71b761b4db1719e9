"""What is beside the tapes of a store of files, and who may touch it: a store that only reads, side files that are spoilt, files that are emptied."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from playhead.errors import ReadOnly, StoreDamaged, StoreUnavailable
from playhead.store.change import Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import Head
from playhead.testing.families import forked, written
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


def test_a_store_that_only_reads_leaves_all_as_it_is(tmp_path: Path):
    """Also what it would mend, index or finish; what writes is refused."""
    place = tmp_path / "tapes"
    side = sidecar_name("t", "s")

    async def build(store: FileTapeStore) -> None:
        await store.append_many("t", [keyed("x" * 3_000, f"{i}") for i in range(200)])
        await written(store, side, "s")
        await written(store, await forked(store, "t", "b"), "own")

    def state() -> dict[str, tuple[bytes, int]]:
        return {str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns) for path in tmp_path.rglob("*")}

    async def look(store: FileTapeStore) -> None:
        branch = branch_name("t", "b")
        assert (await store.list_tapes(), await store.sidecars("t"), [r.name for r in await store.branches("t")]) == (["t"], ["s"], [branch])
        assert (await store.head("t"), await store.head(branch), await store.cursor("t", "mail")) == (Head(0, 200), Head(0, 201), Head(0, 0))
        assert (await store.find(branch, keys=["3", "own"]))["3"].id == 4
        assert len(await whole(store, branch)) == 201
        refused = (
            store.append("t", note("x")), store.append_many("t", [note("x")]), store.reset("t"), store.apply([Reset(tape="t")]), store.collect("t", before=FAR),
            store.rename("t", "u"), store.lease("t", owner="o", seconds=1), store.move_cursor("t", "mail", Head(0, 1)),
        )  # fmt: skip
        for call in refused:
            with pytest.raises(ReadOnly, match="read only"):
                await call
        with pytest.raises(ReadOnly):
            store.lock("t")

    played(place, build)
    shutil.rmtree(place / ".playhead")
    with (place / "t.jsonl").open("ab") as file:
        file.write(b'{"id":201,"kind":"mess')
    before = state()
    played(place, look, read_only=True)
    assert state() == before
    with pytest.raises(StoreUnavailable, match="No such file"):
        played(tmp_path / "missing", lambda store: store.head("t"), read_only=True)
    assert not (tmp_path / "missing").exists()


def test_a_store_that_only_reads_says_that_a_change_was_not_finished(tmp_path: Path):
    async def build(store: FileTapeStore) -> None:
        await written(store, "t", "a")

    played(tmp_path, build)
    (tmp_path / ".playhead" / "t.redo").write_bytes(b"whatever")
    heard = played(tmp_path, lambda store: whole(store, "t"), read_only=True).heard
    assert [str(finding.what) for finding in heard] == ["a change was begun and not finished; it is read as it is"]


def test_a_file_that_is_emptied_while_it_is_open_is_said_to_be_damaged(tmp_path: Path):
    async def play(store: FileTapeStore) -> None:
        await written(store, "t", "a", "b")
        os.truncate(tmp_path / "t.jsonl", 0)
        for call in (store.append("t", note("c")), store.reset("t"), store.append_many("t", [keyed("x", "k")])):
            with pytest.raises(StoreDamaged, match="emptied while it was open"):
                await call

    played(tmp_path, play)


def test_side_files_that_are_spoilt_or_gone_are_made_anew(tmp_path: Path):
    """Leases and cursors are not flushed: what a loss of power leaves of them is no reason to refuse anything."""

    async def play(store: FileTapeStore) -> None:
        await written(store, "t", "a")
        for epoch in (1, 2):
            lease = await store.lease("t", owner="one", seconds=600)
            assert lease.epoch == epoch
            await store.release(lease)
        await store.move_cursor("t", "mail", Head(0, 1))
        for spoilt in (b"", b"\0" * 90, (tmp_path / ".playhead" / "t.leases").read_bytes().replace(b"2", b"3"), b'{"known":{}}'):
            for name in ("leases", "cursors"):
                (tmp_path / ".playhead" / f"t.{name}").write_bytes(spoilt)
            assert await store.cursor("t", "mail") == Head(0, 0)
            await store.append_many("t", [note("b")], fence=1)
        await store.release(await store.lease("other", owner="one", seconds=600))
        shutil.copy(tmp_path / ".playhead" / "other.leases", tmp_path / ".playhead" / "t.leases")
        shutil.copy(tmp_path / ".playhead" / "other.leases", tmp_path / ".playhead" / "t.cursors")
        assert await store.cursor("t", "mail") == Head(0, 0)
        assert (await store.lease("t", owner="one", seconds=600)).epoch == 1
        await store.move_cursor("t", "mail", Head(0, 2))
        assert await store.cursor("t", "mail") == Head(0, 2)

    played(tmp_path, play)
