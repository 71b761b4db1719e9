"""Reading and changing memories through a manager: pins, locks, searches, and taking one back."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest

from playhead.errors import InvalidInput, MessageNotFound, SummaryNotFound
from playhead.fold.ledger.entries import node_entry, pin_entry
from playhead.fold.node import NodeDraft
from playhead.store.memory.store import InMemoryTapeStore
from playhead.testing.clock import FakeClock
from tests.unit.prompt.folding.managed import WIDE, managed, memory, room, shown, spans, talk, told
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


def test_pins_are_numbered_kept_and_listed_with_what_they_hold():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            ids = await talk(manager, 10)
            assert await manager.pin_range(ids[4], ids[2], name="plan", level=2) == "pin-1"
            assert await manager.mark_document(ids[7], max_level=1) == "pin-2"
        async with managed(store) as manager:
            assert [(p.id, p.kind, p.name, p.first, p.last, p.level, p.max_level) for p in await manager.list_pins()] == [
                ("pin-1", "range", "plan", 3, 5, 2, None),
                ("pin-2", "document", None, 8, 8, None, 1),
            ]
            assert [await manager.unpin(pin) for pin in ("pin-1", "pin-1", "pin-9")] == [True, False, False]
            assert [p.id for p in await manager.list_pins()] == ["pin-2"]
            assert await manager.pin_range(ids[0], ids[0]) == "pin-3"

    run(go)


@pytest.mark.parametrize("wrong", [{"level": -1}, {"max_level": 1.5}, {"level": True}])
def test_a_level_that_is_none_is_refused(wrong):
    async def go():
        async with managed() as manager:
            (id,) = await talk(manager, 1)
            with pytest.raises(InvalidInput, match="level"):
                await manager.pin_range(id, id, **wrong)
            with pytest.raises(MessageNotFound):
                await manager.mark_document("nobody")

    run(go)


def test_a_pin_whose_end_is_on_no_tape_counts_for_nothing_and_is_listed():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await memory(manager).append([pin_entry("pin-1", first_uid=ids[0], last_uid="gone")])
            await manager.drain()
            assert [p.id for p in await manager.list_pins()] == ["pin-1"]
            assert (await spans(manager))[0][0] == 1
            await check_told_once(manager, await manager.compile(room(600)))

    run(go)


def test_a_pin_of_one_part_of_a_long_message_holds_all_of_it():
    async def go():
        async with managed(adaptive_resolution=True) as manager:
            await manager.add_message("User", "A sentence that goes on. " * 60)
            await talk(manager, 40)
            parts = [m.id async for m in manager.messages() if m.body is not None]
            await manager.mark_document(parts[1])
            await manager.drain()
            prompt = await manager.compile(room(1_500))
            assert prompt.messages[0].text == "A sentence that goes on. " * 60
            await check_told_once(manager, prompt)

    run(go)


def test_a_chunk_never_joins_two_sides_of_a_pin():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await manager.mark_document(ids[9])
            await manager.drain()
            found = await spans(manager)
            assert not any(first <= 10 <= last for first, last in found)
            assert {last for _, last in found} >= {9} and {first for first, _ in found} >= {11}

    run(go)


def test_a_hole_that_is_filled_later_merges_with_nobody_it_is_not_next_to():
    async def go():
        async with managed(merge_threshold=2) as manager:
            ids = await talk(manager, 40)
            pin = await manager.mark_document(ids[9])
            await manager.drain()
            await manager.unpin(pin)
            await manager.drain()
            await check_told_once(manager, await manager.compile(room(700)))
            assert {n for first, last in await spans(manager) for n in range(first, last + 1)} >= set(range(1, 31))

    run(go)


def test_a_summary_is_found_by_words_by_a_pattern_by_level_and_by_its_name():
    async def go():
        async with managed(writer=told("The gateway was down, the GATEWAY is up."), merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            roots = await manager.search_summaries("gateway")
            assert {hit.matches for hit in roots} == {2} and [hit.node.last for hit in roots] == sorted((hit.node.last for hit in roots), reverse=True)
            every = await manager.search_summaries(include_merged=True, limit=500)
            assert len(every) > len(roots) and {hit.matches for hit in every} == {1}
            assert {hit.node.level for hit in await manager.search_summaries("gateway", levels=[1], include_merged=True)} == {1}
            assert await manager.search_summaries(regex="(?i)gateway is down") == []
            assert (await manager.get_summary(every[0].node.id)) == every[0].node
            with pytest.raises(SummaryNotFound):
                await manager.get_summary("L9-999")

    run(go)


def test_summaries_of_a_time_come_by_when_it_began_with_the_one_they_are_part_of():
    async def go():
        clock = FakeClock()
        async with managed(manager={"clock": clock}, merge_threshold=3) as manager:
            for number in range(40):
                await talk(manager, 1, start=number)
                clock.advance(timedelta(minutes=1))
            await manager.drain()
            start = min([m.timestamp async for m in manager.messages()])
            found = await manager.get_summaries_in_range(start, start + timedelta(minutes=10), level=1)
            assert [placed.node.since for placed in found] == sorted(placed.node.since for placed in found)
            assert all(placed.node.since <= start + timedelta(minutes=10) for placed in found)
            assert any(placed.parent for placed in found)

    run(go)


def test_a_summary_that_is_taken_back_is_told_anew_with_another_model_and_stays_on_record():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, writer=told("The first telling."), merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            merged = (await manager.search_summaries(levels=[2]))[0].node
            child = (await memory(manager).children(merged))[1]
            assert (await manager.forget_summary(child.id, reason="wrong")).id == child.id
            standing = {node.id async for node in memory(manager).nodes()}
            assert child.id not in standing and merged.id not in standing
            await check_told_once(manager, await manager.compile(WIDE))
        async with managed(store, writer=told("The second telling."), merge_threshold=3) as manager:
            await manager.drain()
            assert [node.text async for node in memory(manager).nodes() if node.level == 1 and node.span == child.span] == ["The second telling."]
            assert any(entry.uid == child.uid for entry in await memory(manager).sidecar.query().all())

    run(go)


def test_a_summary_that_was_shown_and_is_taken_back_gives_way_to_what_was_below_it():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            before = shown(await manager.compile(room(600)))
            highest = next(name for name in before if not name.startswith("L1"))
            await manager.forget_summary(highest)
            prompt = await manager.compile(room(1_500))
            assert highest not in shown(prompt)
            await check_told_once(manager, prompt)

    run(go)


def test_a_summary_without_words_is_none_and_its_run_is_told_by_another():
    async def go():
        async with managed(merge_threshold=3) as manager:
            ids = await talk(manager, 40)
            when = (await manager.get_message(ids[0])).timestamp
            empty = NodeDraft(level=1, first_uid=ids[0], last_uid=ids[3], entries=4, units=4, raw_tokens=100, text="  ", since=when, until=when)
            await memory(manager).append([node_entry(empty, id="L1-1")])
            await manager.drain()
            assert all([node.text.strip() async for node in memory(manager).nodes()])
            assert (await spans(manager))[0][0] == 1

    run(go)


def test_locks_stay_with_the_tape_and_end_when_they_are_taken_off():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            ids = await talk(manager, 10)
            await manager.lock_chunk(ids[3])
            with pytest.raises(MessageNotFound):
                await manager.lock_chunk("nobody")
        async with managed(store) as manager:
            assert (await memory(manager).look()).locks == (4,)
            await manager.unlock_chunk(ids[3])
            assert (await memory(manager).look()).locks == ()

    run(go)
