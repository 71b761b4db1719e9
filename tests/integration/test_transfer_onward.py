"""Where a tape stands that went on in the store it comes from, the rest is appended; another one is left as it is."""

from __future__ import annotations

from pathlib import Path
from random import Random

import anyio
import pytest

import playhead as ph
from playhead.errors import TapeDiffers
from playhead.store.change import Append
from playhead.store.family import sidecar_name
from playhead.store.protocol import Head
from playhead.testing.families import everything
from tests.unit.store.moving import ONWARD, ROOTS, STORES, Breaking, exported, files_of, furnish, grow, opened


@pytest.mark.parametrize("way", ["import", "copy"])
def test_a_tape_that_differs_is_left_as_it_is_and_told_once_all_others_were_moved(way: str, tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await furnish(one)
        await other.append("日本語", ph.TapeEntry.event("another"))
        await ph.copy_store(one, other, tapes=["only*"])
        await other.append(sidecar_name("only a sidecar", "s"), ph.TapeEntry.event("has gone on"))
        before = {root: (await everything(other, root))[1:] for root in ("日本語", "only a sidecar")}
        await ph.export_store(one, tmp_path / "export")
        for _ in range(2):
            with pytest.raises(TapeDiffers, match=r"2 tapes .'only a sidecar', '日本語'. stand there") as raised:
                await (ph.import_store(tmp_path / "export", other) if way == "import" else ph.copy_store(one, other))
            assert raised.value.names == ("only a sidecar", "日本語")
        assert {root: (await everything(other, root))[1:] for root in before} == before
        for root in ("Only Squashed", "support/42"):
            assert (await everything(other, root))[1:] == (await everything(one, root))[1:]
        assert await other.cursor("support/42", "mail") == Head(1, 2)

    anyio.run(run)


@pytest.mark.parametrize("target", STORES)
@pytest.mark.parametrize("way", ["import", "copy"])
def test_where_tapes_went_on_the_rest_is_appended_however_often_that_is_broken_off(way: str, target: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        async with opened(target, tmp_path / "other") as other:
            await ph.copy_store(one, other, tapes=["support/*", "only*"])
            kept = await other.fetch_all(ph.TapeQuery(tape="support/42"))
            await grow(one, "support/42", Random(7), steps=40, weights=ONWARD)
            await one.append(sidecar_name("only a sidecar", "s"), ph.TapeEntry.event("goes on"))
            await ph.export_store(one, tmp_path / "export")
            broken = 0
            while True:
                store = Breaking(other, at=1)
                try:
                    report = await (ph.import_store(tmp_path / "export", store) if way == "import" else ph.copy_store(one, store))  # type: ignore[arg-type]
                except ph.StoreUnavailable:
                    broken += 1
                    assert list(await other.fetch_all(ph.TapeQuery(tape="support/42")))[: len(kept)] == list(kept)
                else:
                    break
            assert broken > 10
            assert {*report.tapes, *report.known} == set(ROOTS)
            assert await exported(other, tmp_path / "again") == files_of(tmp_path / "export")
            assert await everything(other, "support/42") == await everything(one, "support/42")

    anyio.run(run)


def test_a_copy_that_somebody_else_writes_to_meanwhile_is_not_mixed_with_what_comes():
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        await ph.copy_store(one, other)
        await one.append("t", ph.TapeEntry.event("goes on"))

        def write(progress: ph.TransferProgress) -> None:
            if progress.stage == "writing" and not progress.done:
                other._shelf.append(Append(tape="t", entries=[ph.TapeEntry(0, "event", {"name": "mine"}, {"uid": "mine"})]))

        with pytest.raises(ph.Conflict, match="ends with"):
            await ph.copy_store(one, other, progress=write)
        assert [entry.payload["name"] for entry in await other.fetch_all(ph.TapeQuery(tape="t"))] == ["n", "mine"]

    anyio.run(run)


def test_a_reset_of_the_original_takes_nothing_from_the_copy():
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        await ph.copy_store(one, other)
        await one.reset("t", entries=[ph.TapeEntry.event("anew")])
        with pytest.raises(TapeDiffers):
            await ph.copy_store(one, other)
        assert [entry.payload["name"] for entry in await other.fetch_all(ph.TapeQuery(tape="t"))] == ["n"]

    anyio.run(run)
