"""The memory of a tape: looks, what is loaded below the roots, names, and what is written on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from playhead.entry.message import user
from playhead.errors import Conflict, InvalidInput, ReadOnly
from playhead.fold.forest import Forest
from playhead.fold.ledger import entries
from playhead.fold.ledger import memory as fold_memory
from playhead.fold.ledger.memory import FoldMemory
from playhead.store.protocol import IDEMPOTENCY_KEY
from tests.unit.fold.telling import check, leaf, merge, show, talked, tall, tell
from tests.unit.tape.opened import KINDS, run, use


@pytest.fixture(params=KINDS, autouse=True)
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    use(request.param, tmp_path)


def ids(nodes: object) -> list[str]:
    return [node.id for node in nodes]


# -- looking


def test_a_tape_without_summaries_has_an_empty_forest():
    async def go() -> None:
        memory = FoldMemory(await talked(2))
        assert await memory.look() == Forest()
        assert [node async for node in memory.nodes()] == []
        assert await memory.node("L1-1") is None
        assert await memory.reach(room=100, spans=[(1, 2)]) == Forest()
        assert not await memory.checkpoint(every=0)

    run(go)


def test_a_look_is_the_same_object_until_something_is_written():
    async def go() -> None:
        memory, _ = await tall(2)
        before = await memory.look()
        await memory.tape.append(user("more"))
        assert await memory.look() is before
        await FoldMemory(memory.tape).append([entries.calibration_entry(1.5, "a")])
        after = await memory.look()
        assert (before.factor, after.factor) == (1.0, 1.5)

    run(go)


def test_namespaces_keep_memories_apart():
    async def go() -> None:
        tape = await talked(4)
        one, other = FoldMemory(tape), FoldMemory(tape, namespace="agents/bot")
        await tell(one, (1, 2))
        await tell(other, (1, 4))
        assert [root.span for root in (await check(one)).roots] == [(1, 2)]
        assert [root.span for root in (await check(other)).roots] == [(1, 4)]
        assert (one.name, other.name) == ("fold", "fold.agents/bot")
        assert await tape.store.sidecars("t") == ["fold", "fold.agents/bot"]

    run(go)


def test_before_anything_is_shown_a_snapshot_holds_the_roots_alone():
    async def go() -> None:
        memory, _ = await tall(8)
        forest = await check(memory)
        assert ids(forest.nodes.values()) == ids(forest.roots) == ["L4-15"]
        assert forest.told_to == 16 and forest.root_at(9) is forest.roots[0] and forest.root_at(17) is None

    run(go)


def test_a_snapshot_holds_what_is_shown_what_lies_above_it_and_what_lies_beside_it():
    async def go() -> None:
        memory, _ = await tall(8)
        quarter = await memory.node("L2-9")
        await show(memory, quarter)
        forest = await check(memory)
        assert ids(forest.shown) == ["L2-9"]
        assert sorted(ids(forest.nodes.values())) == ["L1-3", "L1-4", "L1-5", "L1-6", "L1-7", "L1-8", "L2-10", "L2-11", "L2-12", "L2-9", "L3-13", "L3-14", "L4-15"]
        assert ids(forest.ancestors(quarter.uid)) == ["L3-13", "L4-15"]
        assert forest.below(quarter) is None
        await show(memory, await memory.node("L3-13"), await memory.node("L3-14"))
        assert sorted(ids((await check(memory)).nodes.values())) == ["L3-13", "L3-14", "L4-15"]

    run(go)


def test_of_what_lies_before_all_that_is_shown_only_as_much_is_held_as_may_be_in_view():
    async def go() -> None:
        memory, _ = await tall(8)
        await show(memory, await memory.node("L3-14"), room=150)
        held = ids((await check(memory)).nodes.values())
        assert "L1-4" in held and "L1-3" in held
        assert "L1-1" not in held and "L1-2" not in held

    run(go)


def test_summaries_that_come_later_are_held_too():
    async def go() -> None:
        memory, _ = await tall(4)
        await show(memory, await memory.node("L2-5"))
        await memory.tape.append_many([user(str(n)) for n in range(4)])
        later = await tell(memory, (9, 10), (11, 12))
        await merge(memory, later)
        assert {"L1-8", "L1-9", "L2-10"} <= set(ids((await check(memory)).nodes.values()))

    run(go)


# -- below the roots


def test_the_newest_are_loaded_until_they_tell_as_much_as_the_room():
    async def go() -> None:
        memory, _ = await tall(8)
        forest = await memory.reach(room=450)
        assert sorted(node.id for node in forest.nodes.values() if node.level == 1) == ["L1-5", "L1-6", "L1-7", "L1-8"]
        assert (await memory.reach(room=0)).nodes == (await memory.look()).nodes
        assert forest.parents[next(n.uid for n in forest.nodes.values() if n.id == "L1-8")] in forest.nodes
        assert sorted(node.id for node in (await memory.reach(room=10**9)).nodes.values() if node.level == 1) == [f"L1-{n}" for n in range(1, 9)]

    run(go)


def test_all_on_the_way_down_to_spans_is_loaded():
    async def go() -> None:
        memory, leaves = await tall(8)
        forest = await memory.reach(room=0, spans=[(3, 3), (15, 15)])
        for entry in (3, 15):
            found = next(node for node in forest.nodes.values() if node.level == 1 and node.covers(entry))
            assert len(list(forest.ancestors(found.uid))) == 3
        assert leaves[2].uid not in forest.nodes
        assert await memory.reach(room=0, spans=[(3, 3), (15, 15)]) is forest
        assert (await memory.look()).nodes.keys() < forest.nodes.keys()

    run(go)


def test_a_reach_is_up_to_date():
    async def go() -> None:
        memory, _ = await tall(2)
        before = await memory.reach(room=10**9)
        await memory.tape.append_many([user("a"), user("b")])
        await tell(memory, (5, 6))
        after = await memory.reach(room=10**9)
        assert len(after.nodes) == len(before.nodes) + 1

    run(go)


def test_what_a_summary_was_merged_from_is_found_below_any_root():
    async def go() -> None:
        memory, leaves = await tall(8)
        top = (await memory.look()).roots[0]
        assert ids(await memory.children(top)) == ["L3-13", "L3-14"]
        assert await memory.children(leaves[0]) == ()
        assert ids(await FoldMemory(memory.tape).above(leaves[2])) == ["L2-10", "L3-13", "L4-15"]
        assert await memory.above(top) == ()
        await memory.append([entries.forgotten_entry(leaves[2].uid, "wrong")], since=await memory.look())
        assert await memory.above(leaves[2]) is None
        assert await memory.above(top) is None
        assert ids(await memory.children(top)) == ["L3-13", "L3-14"]

    run(go)


def test_every_summary_that_stands_is_passed_in_order():
    async def go() -> None:
        memory, leaves = await tall(4)
        await memory.tape.append_many([user("a"), user("b")])
        await tell(memory, (9, 10))
        assert [node.id async for node in memory.nodes()] == ["L3-7", "L2-5", "L1-1", "L1-2", "L2-6", "L1-3", "L1-4", "L1-8"]
        assert [node.id async for node in memory.nodes(newest_first=True)] == ["L1-8", "L3-7", "L2-6", "L1-4", "L1-3", "L2-5", "L1-2", "L1-1"]
        assert [(node.id, parent and parent.id) async for node, parent in memory.walk()][:3] == [("L3-7", None), ("L2-5", "L3-7"), ("L1-1", "L2-5")]
        await memory.append([entries.forgotten_entry(leaves[3].uid, "wrong")], since=await memory.look())
        assert [node.id async for node in memory.nodes()] == ["L2-5", "L1-1", "L1-2", "L1-3", "L1-8"]

    run(go)


def test_more_summaries_than_fit_in_memory_are_all_found(monkeypatch):
    async def go() -> None:
        monkeypatch.setattr(fold_memory, "RECENT", 3)
        memory, leaves = await tall(16)
        assert len([node async for node in memory.nodes()]) == 31
        assert len((await memory.reach(room=10**9)).nodes) == 31
        await show(memory, *leaves)
        assert len((await check(memory)).shown) == 16
        assert len(memory._recent) <= 3

    run(go)


# -- names


def test_a_summary_is_found_by_its_id_and_by_its_uid():
    async def go() -> None:
        memory, leaves = await tall(16)
        for fresh in (memory, FoldMemory(memory.tape)):
            for number, node in enumerate(leaves, 1):
                assert await fresh.node(f"L1-{number}") == node == await fresh.node(node.uid)
        for name in ("L1-17", "L2-3", "L9-1", "L1-99", "L1-0", "nobody", "", "pin-1", leaves[0].first_uid):
            assert await memory.node(name) is None

    run(go)


def test_a_summary_that_no_longer_stands_is_found_still():
    async def go() -> None:
        memory, leaves = await tall(4)
        await memory.append([entries.forgotten_entry(leaves[1].uid, "wrong")], since=await memory.look())
        assert await memory.node("L1-2") == leaves[1]
        assert (await memory.node("L3-7")).span == (1, 8)

    run(go)


def test_a_summary_whose_span_is_not_on_the_tape_is_not_found():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        told = await memory.tape.query().all()
        other = await talked(1)
        entry = await other.append(user("elsewhere"))
        await memory.append([entries.node_entry(leaf([told[0], entry]), id="L1-1"), entries.node_entry(replace(leaf(told[1:3]), entries=3), id="L1-2")])
        assert await memory.node("L1-1") is None
        assert await memory.node("L1-2") is None

    run(go)


def test_summaries_that_two_branches_called_alike_are_told_apart_by_new_names():
    async def go() -> None:
        memory = FoldMemory(await talked(12))
        await tell(memory, (1, 2))
        branch = await memory.tape.fork()
        other = FoldMemory(branch)
        theirs = [*await tell(other, (3, 4), (7, 8), (9, 10)), *await tell(memory, (5, 6), (7, 8))]
        await branch.merge()
        forest = await check(memory)
        assert [(root.id, root.span) for root in forest.roots] == [("L1-1", (1, 2)), ("L1-4", (3, 4)), ("L1-2", (5, 6)), ("L1-3", (7, 8)), ("L1-6", (9, 10))]
        assert forest.ignored == {"the span is told already": 1}
        assert [(await memory.node(f"L1-{n}")).span for n in range(1, 7)] == [(1, 2), (5, 6), (7, 8), (3, 4), (7, 8), (9, 10)]
        assert (await memory.node(theirs[2].uid)).id == "L1-6"
        await tell(memory, (11, 12))
        assert (await check(memory)).roots[-1].id == "L1-7"
        assert (await FoldMemory(memory.tape).node("L1-7")).span == (11, 12)

    run(go)


def test_places_of_entries_are_found_by_uid():
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        told = await memory.tape.query().all()
        assert await memory.places([told[2].uid, "nobody"]) == {told[2].uid: 3}
        assert await FoldMemory(memory.tape.at(2)).places([told[2].uid, told[1].uid]) == {told[1].uid: 2}
        assert await memory.places([]) == {}

    run(go)


# -- writing


def test_what_was_decided_before_somebody_else_wrote_is_refused():
    async def go() -> None:
        tape = await talked(8)
        one, other = FoldMemory(tape), FoldMemory(tape)
        await one.look()
        await tell(other, (1, 2))
        with pytest.raises(Conflict):
            await one.append([entries.calibration_entry(2.0, "a")])
        before = await one.look()
        await tell(other, (3, 4))
        await one.look()
        with pytest.raises(Conflict):
            await one.append([entries.calibration_entry(2.0, "a")], since=before)
        await one.append([entries.calibration_entry(2.0, "a"), entries.calibration_entry(3.0, "a")])
        assert (await check(other)).factor == 3.0

    run(go)


def test_an_entry_with_an_idempotency_key_is_refused():
    async def go() -> None:
        memory = FoldMemory(await talked(2))
        entry = entries.calibration_entry(2.0, "a")
        with pytest.raises(InvalidInput):
            await memory.append([type(entry)(0, entry.kind, entry.payload, {IDEMPOTENCY_KEY: "k"})])
        assert (await memory.look()).factor == 1.0

    run(go)


def test_a_handle_of_the_past_sees_the_forest_as_it_was_and_cannot_write():
    async def go() -> None:
        tape = await talked(4)
        memory = FoldMemory(tape)
        await tell(memory, (1, 2))
        await memory.append([entries.calibration_entry(2.0, "a")], since=await memory.look())
        past = FoldMemory(tape.at(4))
        before = await past.look()
        assert [root.span for root in before.roots] == [(1, 2)] and before.factor == 2.0
        await tape.append(user("later"))
        (late,) = await tell(memory, (3, 4))
        await memory.append([entries.calibration_entry(3.0, "a")], since=await memory.look())
        assert await past.look() == before == await FoldMemory(tape.at(4)).look()
        assert (await FoldMemory(tape.at(3)).look()).roots == ()
        assert await past.node("L1-2") is None and await past.node(late.uid) is None
        assert [node.id async for node in past.nodes()] == ["L1-1"]
        with pytest.raises(ReadOnly):
            await past.append([entries.calibration_entry(4.0, "a")])

    run(go)


def test_many_may_look_and_write_at_the_same_time():
    async def go() -> None:
        memory = FoldMemory(await talked(30))

        async def work(first: int) -> None:
            for start in range(first, 31, 6):
                while True:
                    forest = await memory.look()
                    told = await memory.tape.query().all()
                    try:
                        await memory.append([entries.node_entry(leaf(told[start - 1 : start + 1]), id=f"L1-{forest.counter + 1}")], since=forest)
                    except Conflict:
                        continue
                    break

        async with anyio.create_task_group() as group:
            for first in (1, 3, 5):
                group.start_soon(work, first)
        forest = await check(memory)
        assert [root.span for root in forest.roots] == [(n, n + 1) for n in range(1, 31, 2)] and not forest.ignored

    run(go)


@pytest.mark.parametrize("name", [["L1-1"], {"L1-1": 1}, {"L1-1"}, None, 3], ids=repr)
def test_a_name_of_another_type_is_that_of_no_summary(name):
    async def go() -> None:
        memory = FoldMemory(await talked(4))
        await tell(memory, (1, 2))
        assert await memory.node(name) is None

    run(go)
