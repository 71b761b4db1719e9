"""Checkpoints: what was read once need not be read again, and one that no longer fits is not believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.frozen import thaw
from playhead.entry.message import user
from playhead.errors import BranchClosed, ReadOnly
from playhead.fold.forest import Cut
from playhead.fold.ledger import entries
from playhead.fold.ledger.checkpoints import checkpoint_entry, checkpoint_of
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.state import Ledger
from playhead.store.change import Append
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.unit.fold.telling import check, leaf, merge, over, talked, tell
from tests.unit.tape.opened import KINDS, run, use

FAILED: dict[str, Any] = {"level": 1, "regime": "r", "rung": "plain_prose", "shape": "f00", "outcome": "refused", "model": "m", "is_stuck": True}


@pytest.fixture(params=KINDS, autouse=True)
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    use(request.param, tmp_path)


async def grown() -> FoldMemory:
    """Return a memory with a little of everything."""
    tape = await talked(16)
    memory = FoldMemory(tape)
    told = await tape.query().all()
    leaves = await tell(memory, (1, 2), (3, 4), (5, 6), (7, 8), (11, 12))
    upper = await merge(memory, leaves[:2])
    await memory.look()
    await memory.append(
        [
            entries.node_entry(leaf(told[12:13]), id="L1-1"),
            entries.cut_entry(Cut(nodes=(leaves[0].uid, leaves[2].uid), room=300, resolver="r")),
            entries.pin_entry("pin-1", first_uid=told[9].uid, last_uid=told[8].uid, name="here"),
            entries.pin_entry("pin-2", first_uid="gone", last_uid=told[8].uid),
            entries.lock_entry(told[3].uid),
            entries.outcome_entry(first_uid=told[13].uid, last_uid=told[14].uid, entries=2, **FAILED),
            entries.calibration_entry(1.25, "prices"),
            entries.node_entry(leaf(told[:3]), id="L1-90"),
            entries.forgotten_entry("nobody", "wrong"),
        ]
    )
    assert upper.level == 2
    return memory


async def forge(memory: FoldMemory, *, main: int | None = None, upto: int | None = None, **state: Any) -> None:
    """Write a checkpoint that says something else than what it stands behind."""
    forest = await memory.look()
    head = await memory.tape.head()
    ledger = Ledger(roots=forest.roots, upto=forest.head.id if upto is None else upto)
    said = thaw(checkpoint_entry(ledger, held=forest.nodes, main=head.id if main is None else main).payload)
    said["state"] |= {"factor": 9.0, "counts": {str(level): count for level, count in forest.counts.items()}, **state}
    await memory.sidecar.append(TapeEntry(0, entries.CHECKPOINT, said))


async def is_believed(memory: FoldMemory) -> bool:
    """Whether the newest checkpoint, which says that the factor is 9, is what a memory opens from."""
    return (await FoldMemory(memory.tape).look()).factor == 9.0


def test_a_memory_that_opens_from_a_checkpoint_knows_all_that_one_knows_that_read_everything():
    async def go() -> None:
        memory = await grown()
        before = await check(memory)
        assert len(before.nodes) > len(before.roots) and len(before.ignored) == 2 and before.counter == 90
        assert await memory.checkpoint(every=1)
        again = await FoldMemory(memory.tape).look()
        assert {**vars_of(again), "head": None} == {**vars_of(before), "head": None}
        await tell(memory, (9, 10))
        await check(memory)

    run(go)


def vars_of(forest: Any) -> dict[str, Any]:
    return {name: getattr(forest, name) for name in forest.__slots__}


def test_a_memory_believes_its_newest_checkpoint():
    async def go() -> None:
        memory = await grown()
        await forge(memory)
        assert await is_believed(memory)
        await tell(memory, (9, 10))
        assert await is_believed(memory)

    run(go)


@pytest.mark.parametrize(
    "lie",
    [
        {"upto": 1},
        {"main": 3},
        {"counter": "many"},
        {"runs": [["nobody"]]},
        {"runs": [[]]},
        {"below": ["nobody"]},
        {"locks": ["gone"]},
        {"last_written": "yesterday"},
        {"failed": [[{}, 2]]},
        {"factor": 0},
        {"factor": -9.0},
        {"counter": -1},
        {"pin_counter": -1},
        {"counts": {"1": -2}},
        {"counts": {"-1": 2}},
        {"counts": {"0": 2}},
        {"ignored": {"x": -1}},
        {"shifts": [[-1, 1]]},
    ],
)
def test_a_checkpoint_that_does_not_fit_is_not_believed(lie):
    async def go() -> None:
        memory = await grown()
        await memory.checkpoint(every=1)
        before = await memory.look()
        await forge(memory, **lie)
        assert not await is_believed(memory)
        assert (await FoldMemory(memory.tape).look()).roots == before.roots
        await check(memory)

    run(go)


def test_a_checkpoint_that_shows_what_is_not_there_harms_nothing():
    async def go() -> None:
        memory = await grown()
        await forge(memory, cut={"nodes": ["nobody"], "room": 10, "resolver": "r"})
        forest = await FoldMemory(memory.tape).look()
        assert forest.shown == () and forest.nodes.keys() == {root.uid for root in forest.roots}

    run(go)


def test_a_checkpoint_whose_roots_are_not_where_they_were_is_not_believed():
    async def go() -> None:
        memory = await grown()
        runs = [[root.uid for root in (await memory.look()).roots]]
        await forge(memory, runs=runs)
        assert not await is_believed(memory)

    run(go)


def test_a_checkpoint_whose_failed_spans_are_not_whole_is_not_believed():
    async def go() -> None:
        memory = await grown()
        forest = await memory.look()
        ((outcome, length),) = thaw(checkpoint_entry(Ledger(outcomes=forest.outcomes), held=(), main=0).payload["state"]["failed"])
        await forge(memory, failed=[[outcome, length + 1]])
        assert not await is_believed(memory)
        await forge(memory, failed=[[outcome, length]])
        assert await is_believed(memory)

    run(go)


def test_where_newer_ones_are_not_believed_an_older_one_is():
    async def go() -> None:
        memory = await grown()
        await forge(memory)
        for _ in range(9):
            await forge(memory, main=1, factor=3.0)
        assert await is_believed(memory)

    run(go)


def test_a_checkpoint_is_written_once_so_many_entries_stand_behind_the_last():
    async def go() -> None:
        memory = await grown()
        assert not await memory.checkpoint()
        assert not await memory.checkpoint(every=16)
        assert await memory.checkpoint(every=15)
        assert not await memory.checkpoint(every=1)
        await tell(memory, (9, 9), (10, 10))
        assert not await FoldMemory(memory.tape).checkpoint(every=3)
        assert not await memory.checkpoint(every=3)
        assert await FoldMemory(memory.tape).checkpoint(every=2)
        assert not await memory.checkpoint(every=1)
        await check(memory)

    run(go)


def test_a_checkpoint_that_is_not_believed_does_not_keep_the_next_one_from_being_written():
    async def go() -> None:
        memory = await grown()
        await forge(memory, counter="many")
        assert await FoldMemory(memory.tape).checkpoint(every=16)

    run(go)


def test_a_checkpoint_is_small_where_there_are_many_roots():
    async def go() -> None:
        memory = FoldMemory(await talked(40))
        await tell(memory, *((n, n) for n in range(1, 41)))
        assert await memory.checkpoint(every=1)
        await memory.append([entries.calibration_entry(1.0, "a")], since=await memory.look())
        assert not await memory.checkpoint(every=1)
        for number in range(9):
            await memory.append([entries.calibration_entry(1.0, str(number))], since=await memory.look())
        assert await memory.checkpoint(every=1)

    run(go)


def test_a_branch_opens_from_the_checkpoint_of_the_tape_that_it_left():
    async def go() -> None:
        memory = await grown()
        await forge(memory)
        assert await is_believed(FoldMemory(await memory.tape.fork()))
        early = FoldMemory(await memory.tape.fork(4))
        assert not await is_believed(early)

    run(go)


def test_a_checkpoint_that_came_back_with_a_branch_is_believed_where_nothing_came_before_it():
    async def go() -> None:
        memory = await grown()
        branch = await memory.tape.fork()
        await branch.append(user("more"))
        other = FoldMemory(branch)
        await tell(other, (9, 9))
        await forge(other)
        assert await is_believed(other)
        await branch.merge()
        assert await is_believed(memory)

    run(go)


@pytest.mark.parametrize("moved", ["tape", "sidecar", "both"])
def test_a_checkpoint_that_came_back_behind_something_else_is_not_believed(moved):
    async def go() -> None:
        memory = await grown()
        branch = await memory.tape.fork()
        await branch.append(user("more"))
        other = FoldMemory(branch)
        await tell(other, (9, 9))
        await forge(other)
        if moved != "sidecar":
            await memory.tape.append(user("meanwhile"))
        if moved != "tape":
            await tell(memory, (10, 10))
        await branch.merge()
        assert not await is_believed(memory)
        await check(memory)

    run(go)


def test_a_checkpoint_is_not_believed_where_a_merge_arranged_the_entries_otherwise():
    """The ends of the root stand where they were, so only the mark tells that those between them do not."""

    async def go() -> None:
        tape = await talked(2)
        branch = await tape.fork()
        told = await branch.append_many([user(str(n)) for n in range(4)])
        other = FoldMemory(branch)
        leaves = await tell(other, (3, 4), (5, 6))
        await merge(other, leaves)
        assert await other.checkpoint(every=1)
        assert checkpoint_of((await other.sidecar.query().all())[-1]) is not None
        await branch.merge(policy=lambda delta: [delta.entries[n] for n in (0, 2, 1, 3)])
        places = await FoldMemory(tape).places([entry.uid for entry in told])
        assert [places[entry.uid] for entry in told] == [3, 5, 4, 6]
        forest = await check(FoldMemory(tape))
        assert forest.roots == ()
        assert sum(forest.ignored.values()) == 3

    run(go)


def test_a_copy_opens_from_its_checkpoint():
    async def go() -> None:
        memory = await grown()
        await forge(memory)
        assert await is_believed(FoldMemory(await memory.tape.copy("copy")))
        assert await is_believed(FoldMemory(await memory.tape.rename("renamed")))

    run(go)


def test_a_handle_of_the_past_writes_no_checkpoint():
    async def go() -> None:
        memory = await grown()
        with pytest.raises(ReadOnly):
            await FoldMemory(memory.tape.at(4)).checkpoint(every=1)

    run(go)


def test_a_closed_branch_gets_no_checkpoint():
    async def go() -> None:
        memory = await grown()
        branch = await memory.tape.fork()
        await branch.discard()
        with pytest.raises(BranchClosed):
            await FoldMemory(branch).checkpoint(every=1)

    run(go)


class Busy(InMemoryTapeStore):
    """Gets an entry of somebody else's before it makes changes, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    async def apply(self, changes, *, unless=None):
        if self.left and any(isinstance(change, Append) for change in changes):
            self.left -= 1
            await self.append("t", stamped(TapeEntry.message({"role": "user", "content": "busy"})))
        return await super().apply(changes, unless=unless)


@pytest.mark.parametrize(("times", "is_written"), [(0, True), (2, True), (3, False), (9, False)])
def test_a_checkpoint_is_written_while_nobody_else_writes_or_not_at_all(times, is_written):
    async def go() -> None:
        tape = Tape(Busy(times), "t", context=TapeContext(anchor=None))
        told = await tape.append_many([user("a"), user("b")])
        memory = FoldMemory(tape)
        await memory.append([entries.node_entry(leaf(told), id="L1-1")])
        assert await memory.checkpoint(every=1) is is_written
        assert len(await memory.sidecar.query().kinds(entries.CHECKPOINT).all()) == is_written
        (root,) = (await check(memory)).roots
        assert over([root, root]).level == 2

    anyio.run(go)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("-inf"), float("nan")])
def test_a_factor_that_no_price_can_be_multiplied_with_is_not_read(factor):
    state = checkpoint_of(replace(checkpoint_entry(Ledger(), held=(), main=0), id=1))
    assert state is not None and state.is_sound and not replace(state, factor=factor).is_sound
