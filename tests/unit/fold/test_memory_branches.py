"""The memory of a tape that branches, is merged, reset, or given another name."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from playhead.entry.message import user
from playhead.errors import BranchClosed
from playhead.fold.ledger.memory import FoldMemory
from playhead.tape.tape import Tape
from playhead.testing.stores import ListStore, SilentListStore
from playhead.view.context import TapeContext
from tests.unit.fold.telling import check, leaf, merge, show, talked, tall, tell, write
from tests.unit.tape.opened import KINDS, run, use


@pytest.fixture(params=KINDS, autouse=True)
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    use(request.param, tmp_path)


def test_a_branch_in_the_past_has_the_forest_of_then():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        leaves = await tell(memory, (1, 2))
        await memory.tape.append_many([user("a"), user("b")])
        leaves += await tell(memory, (3, 4), (5, 6))
        await merge(memory, leaves[:2])
        early, late = FoldMemory(await memory.tape.fork(4)), FoldMemory(await memory.tape.fork())
        assert [root.span for root in (await check(early)).roots] == [(1, 2)]
        assert [root.id for root in (await check(late)).roots] == ["L2-4", "L1-3"]
        await tell(early, (3, 4))
        assert [root.id for root in (await check(early)).roots] == ["L1-1", "L1-2"]
        assert [root.id for root in (await check(memory)).roots] == ["L2-4", "L1-3"]

    run(go)


def test_a_branch_that_nothing_came_before_brings_all_back():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        leaves = await tell(memory, (1, 2))
        branch = await memory.tape.fork()
        other = FoldMemory(branch)
        await branch.append_many([user("a"), user("b")])
        leaves += await tell(other, (3, 4), (5, 6))
        await show(other, await merge(other, leaves))
        theirs = await check(other)
        await branch.merge()
        ours = await check(memory)
        assert (ours.roots, ours.cut, ours.counts, ours.ignored) == (theirs.roots, theirs.cut, theirs.counts, {})

    run(go)


def test_a_summary_over_what_a_merge_parted_is_left_out_and_those_that_moved_as_a_whole_stand():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        branch = await memory.tape.fork()
        await branch.append_many([user("a"), user("b"), user("c")])
        other = FoldMemory(branch)
        leaves = await tell(other, (1, 3), (4, 5), (6, 7))
        await show(other, await merge(other, leaves))
        await memory.tape.append_many([user("meanwhile"), user("more")])
        await branch.merge()
        forest = await check(memory)
        assert [root.span for root in forest.roots] == [(1, 3), (8, 9)]
        assert forest.cut is None
        assert sum(forest.ignored.values()) == 3
        await tell(memory, (4, 7))
        assert [root.span for root in (await check(memory)).roots] == [(1, 3), (4, 7), (8, 9)]

    run(go)


def test_a_span_that_the_tape_and_its_branch_both_told_is_told_once():
    async def go() -> None:
        memory = FoldMemory(await talked(8))
        branch = await memory.tape.fork()
        other = FoldMemory(branch)
        theirs = await tell(other, (1, 3), (4, 5), (6, 7))
        await merge(other, theirs[1:])
        ours = await tell(memory, (1, 2), (3, 4))
        await merge(memory, ours)
        await branch.merge()
        forest = await check(memory)
        assert [(root.id, root.span) for root in forest.roots] == [("L2-3", (1, 4)), ("L1-6", (6, 7))]
        assert forest.ignored == {"the span is told already": 2, "what is merged are no neighbours without a parent that fill the span": 1}

    run(go)


def test_a_memory_of_a_branch_does_not_show_what_the_tape_writes():
    async def go() -> None:
        memory = FoldMemory(await talked(8))
        other = FoldMemory(await memory.tape.fork())
        await tell(memory, (1, 2))
        await tell(other, (3, 4))
        assert [root.span for root in (await check(memory)).roots] == [(1, 2)]
        assert [root.span for root in (await check(other)).roots] == [(3, 4)]

    run(go)


def test_a_tape_that_was_reset_has_an_empty_forest():
    async def go() -> None:
        memory, _ = await tall(4)
        before = await memory.look()
        await memory.checkpoint(every=1)
        await memory.tape.reset()
        forest = await memory.look()
        assert (forest.roots, forest.counter, forest.generation) == ((), 0, before.generation + 1)
        assert await memory.node("L1-1") is None
        await memory.tape.append_many([user("new"), user("again")])
        await tell(memory, (1, 2))
        assert [root.id for root in (await check(memory)).roots] == ["L1-1"]

    run(go)


def test_a_sidecar_that_was_left_when_its_tape_was_reset_tells_nothing():
    async def go() -> None:
        memory, _ = await tall(4)
        await memory.checkpoint(every=1)
        await memory.tape.store.reset(memory.tape.name)
        await memory.tape.append(user("new"))
        assert (await check(memory)).roots == ()
        assert (await FoldMemory(memory.tape).look()).ignored

    run(go)


def test_a_tape_under_another_name_keeps_its_forest():
    async def go() -> None:
        memory, _ = await tall(4)
        before = await memory.look()
        renamed = FoldMemory(await memory.tape.rename("other"))
        assert await check(renamed) == before
        assert (await memory.look()).roots == ()

    run(go)


def test_a_tape_that_took_the_name_of_another_is_not_taken_for_it():
    async def go() -> None:
        memory, _ = await tall(4)
        await memory.look()
        tape = memory.tape.scoped("other")
        await tape.append_many([user(str(n)) for n in range(8)])
        await tell(FoldMemory(tape), (1, 2), (3, 4), (5, 6), (7, 8), (1, 2), (1, 2), (1, 2))
        await memory.tape.rename("moved")
        await tape.rename("t")
        forest = await check(memory)
        assert [root.span for root in forest.roots] == [(1, 2), (3, 4), (5, 6), (7, 8)]

    run(go)


def test_a_branch_that_was_merged_is_read_and_not_written():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        branch = await memory.tape.fork()
        other = FoldMemory(branch)
        await tell(other, (1, 2))
        await branch.merge()
        assert [root.span for root in (await other.look()).roots] == [(1, 2)]
        with pytest.raises(BranchClosed):
            await write(other, leaf(await branch.query().all()))

    run(go)


@pytest.mark.parametrize("kind", [ListStore, SilentListStore])
def test_a_store_of_the_users_own_keeps_a_memory_that_branches(kind):
    async def go() -> None:
        tape = Tape(kind(), "t", context=TapeContext(anchor=None))
        await tape.append_many([user(str(n)) for n in range(6)])
        memory = FoldMemory(tape)
        await merge(memory, await tell(memory, (1, 2), (3, 4)))
        assert await memory.checkpoint(every=1)
        branch = await tape.fork()
        other = FoldMemory(branch)
        assert [root.id for root in (await check(other)).roots] == ["L2-3"]
        await tell(other, (5, 6))
        await tell(memory, (5, 5))
        await branch.merge()
        assert [root.span for root in (await check(memory)).roots] == [(1, 4), (5, 5)]

    anyio.run(go)
