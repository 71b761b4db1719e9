"""Names under which nothing is kept are let go of, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.change import Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.forgetting import forget
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.testing.families import everything
from tests.unit.store.moving import STORES, opened

SIDE = sidecar_name("t", "s")


async def fill(store: WholeStore) -> None:
    await store.append_many("t", [ph.TapeEntry.event("n")])
    await store.append_many(SIDE, [ph.TapeEntry.event("beside")])


@pytest.mark.parametrize("kind", STORES)
def test_a_sidecar_that_was_reset_is_as_if_it_had_never_been(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await fill(store)
            await store.reset(SIDE)
            assert await store.head(SIDE) == Head(1, 0)
            await forget(store, SIDE)
            assert (await store.head(SIDE), await store.head("t")) == (EMPTY, Head(0, 1))
            await store.append_many(SIDE, [ph.TapeEntry.event("anew")])
            assert (await store.head(SIDE), await store.marks(SIDE)) == (Head(0, 1), [Head(0, 1)])

    anyio.run(run)


@pytest.mark.parametrize("kind", STORES)
def test_a_tape_whose_family_holds_nothing_is_as_if_it_had_never_been(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await fill(store)
            await store.reset("t")
            await forget(store, "t")
            assert (await store.head("t"), await store.sidecars("t")) == (Head(1, 0), ["s"])
            await store.reset(SIDE)
            await forget(store, "t")
            assert [await store.head(name) for name in ("t", SIDE)] == [EMPTY, EMPTY]
            await fill(store)
            assert (await store.list_tapes(), await store.head("t")) == (["t"], Head(0, 1))

    anyio.run(run)


@pytest.mark.parametrize("kind", STORES)
def test_what_holds_something_or_was_forked_stays_as_it_is(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path) as store:
            await fill(store)
            branch = branch_name("t", "b")
            await store.apply([Fork(tape=branch, parent="t")])
            await store.reset(SIDE)
            await store.reset("t")
            before = await everything(store, "t")
            for name in ("t", SIDE, branch, sidecar_name(branch, "s"), "never", sidecar_name("never", "s")):
                await forget(store, name)
            assert await everything(store, "t") == before
            assert (await store.head(SIDE)).generation == 1

    anyio.run(run)
