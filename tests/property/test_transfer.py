"""Whatever was done to a family, its copy in any store is the same to the byte, and so is a copy of the copy, and one that is gone on with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead as ph
from playhead.store.archiving.retention import archiving
from playhead.testing.families import everything
from tests.unit.store.moving import ANYTHING, ONWARD, exported, grow, here, opened

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))


@given(seed=st.integers(0, 1 << 32), steps=st.integers(1, 90))
@settings(max_examples=150 if SOAK else 7, deadline=None)
def test_any_family_is_copied_through_every_store_without_a_change(seed: int, steps: int):
    async def run(place: Path) -> None:
        one = source = ph.InMemoryTapeStore()
        await grow(one, "t", Random(seed), steps=steps)
        wanted = await exported(one, place / "wanted")
        for number, kind in enumerate((*here(), "memory")):
            async with opened(kind, place / f"copied {number}") as other:
                await ph.copy_store(source, other)
                assert await exported(other, place / f"exported {number}") == wanted
                assert await everything(other, "t") == await everything(one, "t")
                assert kind == "memory" or ph.verify(other).is_sound  # type: ignore[arg-type]
                for main in ("t", *(record.name for record in await other.branches("t"))):
                    await archiving(other).archive(main, upto=Random(seed).randint(0, 9))
                copied = ph.InMemoryTapeStore()
                await ph.copy_store(other, copied)
                source = copied

    with tempfile.TemporaryDirectory() as place:
        anyio.run(run, Path(place))


@given(seed=st.integers(0, 1 << 32), steps=st.integers(1, 60), more=st.integers(1, 30), onward=st.booleans(), kind=st.sampled_from(["memory", "file", "SQLite", "PostgreSQL"]))
@settings(max_examples=400 if SOAK else 16, deadline=None)
def test_a_copy_is_gone_on_with_or_left_as_it_is_whatever_became_of_the_original(seed: int, steps: int, more: int, onward: bool, kind: str):
    async def run(place: Path) -> None:
        one, chance = ph.InMemoryTapeStore(), Random(seed)
        await grow(one, "t", chance, steps=steps)
        async with opened(kind if kind in here() else "memory", place / "copied") as other:
            await ph.copy_store(one, other)
            before = await exported(other, place / "before")
            await grow(one, "t", chance, steps=more, first=steps, weights=ONWARD if onward else ANYTHING)
            wanted = await exported(one, place / "wanted")
            for move in range(2):
                try:
                    await (ph.import_store(place / "wanted", other) if seed % 2 else ph.copy_store(one, other))
                except ph.TapeDiffers:
                    assert not onward
                    assert await exported(other, place / f"left {move}") == before
                    return
                assert await exported(other, place / f"after {move}") == wanted
                assert await everything(other, "t") == await everything(one, "t")

    with tempfile.TemporaryDirectory() as place:
        anyio.run(run, Path(place))
