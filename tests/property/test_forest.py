"""Whoever writes a fold sidecar, in whatever order and on whatever branch: the forest is sound, and the same for all who read it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, takewhile
from random import Random
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.errors import Conflict
from playhead.fold.forest import Cut, Forest
from playhead.fold.ledger import entries
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.property.forest_model import ForestModel
from tests.unit.fold.telling import check, leaf, over, write

SOUND = ("talk", "leaf", "leaf", "leaf", "merge", "merge", "merge", "cut", "cut", "pin", "unpin", "lock", "unlock", "outcome", "cleared", "forget", "calibrate", "checkpoint")
WILD = ("nonsense", "wild_leaf", "wild_merge", "wild_cut")
DEEDS = SOUND + WILD
deeds = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 2**32)), max_size=25)


class Writer:
    """Writes on a tape and its fold sidecar what the forest allows, as chance says."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.memory = FoldMemory(tape)

    async def grow(self, leaves: int, *, fan_in: int) -> None:
        """Summarise as many pairs of messages, and merge wherever so many neighbours of a level stand."""
        for chance in range(leaves):
            await self.tape.append_many([user(f"pair {chance}"), user("end of it")])
            await self.do("leaf", 7 * 3 * chance + 7)
            while len(run := _newest_alike(await self.memory.look())) >= fan_in:
                await write(self.memory, over(run[:fan_in]))

    async def do(self, deed: str, chance: int) -> None:
        if deed == "talk":
            await self.tape.append_many([user(f"{chance} {number}") for number in range(1 + chance % 4)])
            return
        if deed == "checkpoint":
            await self.memory.checkpoint(every=1 + chance % 4)
            return
        forest = await self.memory.look()
        entry = await getattr(self, f"_{deed}")(forest, chance)
        if entry is not None:
            await self.memory.append([entry], since=forest)

    async def _leaf(self, forest: Forest, chance: int) -> TapeEntry | None:
        told = await self.tape.query().all()
        free = [entry for entry in told if forest.root_at(entry.id) is None]
        if not free:
            return None
        first = free[chance % len(free)] if chance % 3 == 0 else free[0]
        run = [first]
        for entry in told[first.id : first.id + chance // 7 % 4]:
            if forest.root_at(entry.id) is not None:
                break
            run.append(entry)
        return entries.node_entry(leaf(run, f"told {chance}"), id=f"L1-{forest.counter + 1}")

    async def _merge(self, forest: Forest, chance: int) -> TapeEntry | None:
        run = _neighbours(forest, chance)
        return entries.node_entry(over(run, f"merged {chance}"), id=f"L{run[0].level + 1}-{forest.counter + 1}") if run else None

    async def _cut(self, forest: Forest, chance: int) -> TapeEntry:
        shown: list[Node] = []
        for root in forest.roots:
            chance, level = chance // 5 + 1, chance % 5
            shown += [] if level == 4 else await self._at_level(root, max(1, root.level - level))
        return entries.cut_entry(Cut(nodes=tuple(node.uid for node in shown), room=chance % 1000, resolver="chance"))

    async def _at_level(self, node: Node, level: int) -> list[Node]:
        return [node] if node.level <= level else [below for child in await self.memory.children(node) for below in await self._at_level(child, level)]

    async def _pin(self, forest: Forest, chance: int) -> TapeEntry | None:
        told = await self.tape.query().all()
        if not told:
            return None
        first, last = told[chance % len(told)], told[chance // 11 % len(told)]
        return entries.pin_entry(f"pin-{forest.pin_counter + 1}", first_uid=first.uid, last_uid=last.uid)

    async def _unpin(self, forest: Forest, chance: int) -> TapeEntry:
        return entries.unpin_entry(f"pin-{chance % (forest.pin_counter + 2)}")

    async def _lock(self, forest: Forest, chance: int) -> TapeEntry | None:
        told = await self.tape.query().all()
        return entries.lock_entry(told[chance % len(told)].uid) if told else None

    async def _unlock(self, forest: Forest, chance: int) -> TapeEntry | None:
        told = await self.tape.query().all()
        return entries.unlock_entry(told[chance % len(told)].uid) if told else None

    async def _outcome(self, forest: Forest, chance: int) -> TapeEntry | None:
        facts: dict[str, Any] = {"regime": "r", "rung": "plain", "shape": str(chance), "outcome": "refused", "model": "m", "is_stuck": chance % 2 == 0}
        run = _neighbours(forest, chance) if chance % 3 == 0 else ()
        if run:
            return entries.outcome_entry(first_uid=run[0].first_uid, last_uid=run[-1].last_uid, entries=run[-1].last - run[0].first + 1, level=run[0].level + 1, children=[n.uid for n in run], **facts)
        free = [entry for entry in await self.tape.query().all() if forest.root_at(entry.id) is None]
        one = free[chance % len(free)] if free else None
        return None if one is None else entries.outcome_entry(first_uid=one.uid, last_uid=one.uid, entries=1, level=1, **facts)

    async def _cleared(self, forest: Forest, chance: int) -> TapeEntry | None:
        found = forest.outcomes[chance % len(forest.outcomes)] if forest.outcomes else None
        return None if found is None else entries.cleared_entry(found.first_uid, found.level)

    async def _forget(self, forest: Forest, chance: int) -> TapeEntry | None:
        standing = [node async for node in self.memory.nodes()]
        return entries.forgotten_entry(standing[chance % len(standing)].uid, "again") if standing else None

    async def _calibrate(self, forest: Forest, chance: int) -> TapeEntry:
        return entries.calibration_entry(0.5 + chance % 8 / 4, str(chance % 2))

    async def _nonsense(self, forest: Forest, chance: int) -> TapeEntry:
        kind = ("fold.node", "fold.cut", "fold.outcome", "fold.other", "forest.checkpoint", "note")[chance % 6]
        return TapeEntry(0, kind, {"id": "L1-x", "upto": forest.head.id, "state": None, "nodes": ["nobody"], "room": 0})

    async def _wild_leaf(self, forest: Forest, chance: int) -> TapeEntry | None:
        """Tell a run whoever tells it already, or with ends that are not as far apart as is said."""
        told = await self.tape.query().all()
        if not told:
            return None
        first = chance % len(told)
        draft = leaf(told[first : first + 1 + chance // 7 % 4], "wild")
        return entries.node_entry(replace(draft, entries=draft.entries + (chance % 5 == 0)), id=f"L1-{chance % (forest.counter + 3)}")

    async def _wild_merge(self, forest: Forest, chance: int) -> TapeEntry | None:
        """Merge what stands, whether it has a parent, is of one level, or stands side by side."""
        pool = list(forest.roots) if chance % 2 else [node async for node in self.memory.nodes()]
        found = pool[chance // 2 % (len(pool) + 1) :: 1 + chance % 7 // 6][: 2 + chance // 5 % 2]
        if len(found) < 2 or found[0].first >= found[-1].last:
            return None
        draft = over(found, "wild")
        further = [entry for entry in await self.tape.query().all() if entry.id > found[-1].last]
        if chance % 3 == 0 and further:
            draft = replace(draft, last_uid=further[0].uid, entries=draft.entries + 1)
        return entries.node_entry(draft, id="L2-1")

    async def _wild_cut(self, forest: Forest, chance: int) -> TapeEntry:
        """Show any summaries that stand, in any order."""
        standing = [node async for node in self.memory.nodes()]
        Random(chance).shuffle(standing)
        return entries.cut_entry(Cut(nodes=tuple(node.uid for node in standing[: chance % 4]), room=100, resolver="wild"))


def _newest_alike(forest: Forest) -> tuple[Node, ...]:
    """Return the roots at the end that are of the level of the last."""
    alike = takewhile(lambda node: node.level == forest.roots[-1].level, reversed(forest.roots))
    return tuple(alike)[::-1]


def _neighbours(forest: Forest, chance: int) -> tuple[Node, ...]:
    """Return some roots of one level that stand side by side, none where there are no two."""
    runs = [
        forest.roots[start : start + length]
        for start in range(len(forest.roots))
        for length in range(2, 5)
        if len(run := forest.roots[start : start + length]) == length and len({node.level for node in run}) == 1 and all(one.last + 1 == other.first for one, other in pairwise(run))
    ]
    return runs[chance % len(runs)] if runs else ()


async def compare(memory: FoldMemory) -> Forest:
    """Check that the forest is sound, and that it is what one would write down on paper."""
    forest = await check(memory)
    model = ForestModel(places={entry.uid: entry.id for entry in await memory.tape.query().all()})
    for entry in await memory.sidecar.query().all():
        if entry.payload.get("id") != "L1-x" and entry.payload.get("nodes") != ["nobody"]:
            model.take(entry)
        elif entry.kind == entries.NODE:
            model.numbers += 1
    standing = [node async for node in memory.nodes()]
    assert [root.uid for root in forest.roots] == model.roots()
    assert {node.uid: (node.id, node.level, list(range(node.first, node.last + 1)), list(node.children)) for node in standing} == {
        uid: (tree.id, tree.level, tree.told, tree.children) for uid, tree in model.trees.items()
    }
    assert (None if forest.cut is None else list(forest.cut.nodes)) == model.shown
    assert {pin.id: (pin.first, pin.last) for pin in forest.pins} == model.pins
    assert list(forest.locks) == sorted(model.locks)
    assert [(o.level, list(range(o.first, o.last + 1)), list(o.children), o.is_stuck) for o in forest.outcomes] == model.failed
    assert (forest.counter, forest.pin_counter) == (model.numbers, model.pin_numbers)
    return forest


@settings(deadline=None)
@given(st.integers(0, 14), st.integers(2, 3), deeds, deeds, deeds, deeds, st.booleans(), st.booleans(), st.none() | st.integers(0, 40))
def test_two_branches_merge_to_a_sound_forest_whoever_wrote_what(leaves, fan_in, before, on_main, on_branch, after, is_moved, is_merged_twice, at):
    async def go() -> None:
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        main = Writer(tape)
        await main.grow(leaves, fan_in=fan_in)
        for deed in before:
            await main.do(*deed)
        await compare(main.memory)
        branch = await tape.fork(None if at is None else min(at, (await tape.head()).id))
        other = Writer(branch)
        await compare(other.memory)
        for deed in on_branch:
            await other.do(*deed)
        await compare(other.memory)
        for deed in on_main if is_moved else ():
            await main.do(*deed)
        await compare(main.memory)
        if is_merged_twice:
            await branch.merge(seal=False)
            await compare(main.memory)
            for deed in on_main[:3]:
                await other.do(*deed)
            await compare(other.memory)
        await branch.merge()
        await compare(main.memory)
        for deed in after:
            await main.do(*deed)
        await compare(main.memory)

    anyio.run(go)


@settings(deadline=None)
@given(st.integers(0, 12), deeds, st.randoms(), st.booleans())
def test_entries_in_any_order_come_to_a_sound_forest(leaves, written, chance, is_shuffled):
    async def go() -> None:
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        writer = Writer(tape)
        await writer.grow(leaves, fan_in=2)
        for deed in written:
            await writer.do(*deed)
        found = [entry for entry in await writer.memory.sidecar.query().all() if entry.kind != entries.CHECKPOINT]
        again = chance.sample(found, k=len(found) // 3)
        if is_shuffled:
            chance.shuffle(found)
        for entry in again:
            found.insert(chance.randint(0, len(found)), TapeEntry(0, entry.kind, entry.payload))
        copy = Tape(tape.store, "t").sidecar("fold.mixed")
        for start in range(0, len(found), 3):
            await copy.append_many(found[start : start + 3])
            await FoldMemory(tape, namespace="mixed").checkpoint(every=1)
        await compare(FoldMemory(tape, namespace="mixed"))

    anyio.run(go)


def test_a_summary_that_was_decided_on_an_older_look_is_refused():
    async def go() -> None:
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        await tape.append_many([user(str(number)) for number in range(8)])
        memory = FoldMemory(tape)
        forest = await memory.look()
        told = await tape.query().all()
        await memory.append([entries.node_entry(leaf(told[:2]), id="L1-1")], since=forest)
        await memory.look()
        try:
            await memory.append([entries.node_entry(leaf(told[1:3]), id="L1-1")], since=forest)
        except Conflict:
            return
        raise AssertionError("it was kept")

    anyio.run(go)
