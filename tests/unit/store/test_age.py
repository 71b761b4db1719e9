"""Ages and graces that are none, or lead to no date, are refused with what to give instead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

import playhead as ph


@pytest.mark.parametrize("age", [None, 5, timedelta(seconds=-1), timedelta.max])
@pytest.mark.parametrize("what", ["gc_blobs", "unused_blobs", "archive", "gc"])
def test_an_age_that_is_none_is_refused(what: str, age: Any):
    async def run() -> None:
        store = ph.InMemoryTapeStore()
        tape = ph.Tape(store, "t")
        await tape.append(ph.TapeEntry.event("n"))
        with pytest.raises(ph.InvalidInput):
            await (getattr(ph, what)(store, grace=age) if "blobs" in what else getattr(tape, what)(older_than=age))

    anyio.run(run)
