"""Whatever was done to a family, its copy in any store is the same to the byte, and so is a copy of the copy."""

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
from tests.unit.store.moving import exported, grow, here, opened

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
                for main in ("t", *(record.name for record in await other.branches("t"))):
                    await archiving(other).archive(main, upto=Random(seed).randint(0, 9))
                copied = ph.InMemoryTapeStore()
                await ph.copy_store(other, copied)
                source = copied

    with tempfile.TemporaryDirectory() as place:
        anyio.run(run, Path(place))
