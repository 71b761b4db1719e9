"""Holds: what is provisional reaches no memory until it is released, and neither does what follows it."""

from __future__ import annotations

import logging
from datetime import timedelta

import anyio
import pytest

from playhead.errors import InvalidInput, MessageNotFound
from playhead.model.scripted import ScriptedModel
from playhead.store.memory.store import InMemoryTapeStore
from playhead.testing.clock import FakeClock
from tests.unit.prompt.folding.managed import WIDE, call, managed, spans, talk, told
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


def last_told(found):
    return max((last for _, last in found), default=0)


def test_a_placeholder_never_reaches_memory_and_what_was_edited_in_does_once_it_is_released():
    async def go():
        model = told(lambda request: " ".join(m.text for m in request.messages)[-4_000:])
        async with managed(writer=model) as manager:
            await talk(manager, 4)
            staged = await manager.add_message("User", "PLACEHOLDER", hold=True)
            await talk(manager, 40, start=5)
            await manager.drain()
            assert not any("PLACEHOLDER" in m.text for request in model.requests for m in request.messages)
            await manager.edit_message(staged, "WHAT CAME")
            await manager.release_compression(staged)
            await manager.drain()
            said = "".join(m.text for request in model.requests for m in request.messages)
            assert "WHAT CAME" in said and "PLACEHOLDER" not in said

    run(go)


def test_a_hold_that_comes_after_its_chunk_closed_still_protects_it_and_all_behind():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await manager.hold_compression(ids[9])
            await manager.drain()
            assert last_told(await spans(manager)) <= 9
            await manager.release_compression([ids[9], "nobody"])
            await manager.drain()
            assert last_told(await spans(manager)) > 30

    run(go)


def test_a_hold_of_a_result_is_one_of_its_call():
    async def go():
        async with managed(l1_holdback_chunks=0) as manager:
            await talk(manager, 8)
            (calling,) = await call(manager, 1, result=None)
            await talk(manager, 2, start=8)
            result = await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": "c1", "content": "…"}], hold=True)
            await talk(manager, 30, start=10)
            await manager.drain()
            assert last_told(await spans(manager)) < 9
            assert {hold.uid for hold in manager.compression_holds()} >= {result}
            assert calling

    run(go)


def test_all_parts_of_a_long_message_are_held_to_the_same_instant_and_released_together():
    async def go():
        async with managed(adaptive_resolution=True) as manager:
            head = await manager.add_message("User", "A sentence that goes on. " * 60, hold=60.0)
            holds = manager.compression_holds()
            assert len(holds) > 2 and len({hold.expires_at for hold in holds}) == 1
            await manager.release_compression(head)
            assert manager.compression_holds() == ()

    run(go)


def test_a_hold_that_is_placed_while_a_summary_is_written_throws_it_away():
    async def go():
        asked, may_answer = anyio.Event(), anyio.Event()

        async def answer(request):
            asked.set()
            await may_answer.wait()
            return "I remember that."

        async with managed(writer=ScriptedModel([answer, "Later."])) as manager:
            ids = await talk(manager, 40)
            came = []

            async def tick():
                came.append(await manager.tick())

            async with anyio.create_task_group() as group:
                group.start_soon(tick)
                await asked.wait()
                await manager.hold_compression(ids[0])
                may_answer.set()
            assert (came[0].did, came[0].why) == ("lost", "it is held") and await spans(manager) == []

    run(go)


def test_a_merge_that_a_hold_bars_waits_and_is_made_after_the_release():
    async def go():
        async with managed(merge_threshold=3) as manager:
            ids = await talk(manager, 40)
            while (await manager.tick()).did == "summary" and len(await spans(manager)) < 3:
                pass
            await manager.hold_compression(ids[(await spans(manager))[1][0]])
            await manager.drain()
            assert await manager.max_summary_level() == 1
            await manager.release_compression([hold.uid for hold in manager.compression_holds()])
            await manager.drain()
            assert await manager.max_summary_level() > 1

    run(go)


def test_a_hold_ends_when_its_time_is_up_and_the_log_names_it(caplog):
    async def go():
        clock = FakeClock()
        async with managed(manager={"clock": clock}) as manager:
            ids = await talk(manager, 40)
            await manager.hold_compression(ids[5], timeout=60)
            await manager.hold_compression(ids[6], timeout=30)
            await manager.hold_compression(ids[6], timeout=90)
            assert [(hold.expires_at - hold.held_at).total_seconds() for hold in manager.compression_holds()] == [60, 90]
            clock.advance(timedelta(seconds=61))
            with caplog.at_level(logging.WARNING, "playhead"):
                await manager.tick()
            assert ids[5] in caplog.text and ids[6] not in caplog.text
            assert [hold.uid for hold in manager.compression_holds()] == [ids[6]]

    run(go)


def test_the_hold_of_a_part_that_is_up_does_not_end_one_that_was_placed_anew():
    async def go():
        clock = FakeClock()
        async with managed(manager={"clock": clock}, adaptive_resolution=True) as manager:
            head = await manager.add_message("User", "A sentence that goes on. " * 60, hold=30.0)
            parts = [hold.uid for hold in manager.compression_holds()]
            clock.advance(timedelta(seconds=31))
            await manager.hold_compression(head)
            assert [hold.uid for hold in manager.compression_holds()] == parts and parts[0] == head
            await manager.tick()
            assert [hold.uid for hold in manager.compression_holds()] == parts

    run(go)


def test_removing_messages_drops_their_holds():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await manager.hold_compression(ids[3:7])
            await manager.remove_messages(ids[3], ids[5])
            await manager.remove_message(ids[6])
            assert manager.compression_holds() == ()
            await manager.drain()
            assert last_told(await spans(manager)) > 30

    run(go)


def test_a_release_resumes_the_drain_in_the_background():
    async def go():
        async with managed(auto_tick_on_new_message=True) as manager:
            (first,) = await talk(manager, 1)
            await manager.hold_compression(first)
            await talk(manager, 40, start=1)
            await manager.settled()
            assert await spans(manager) == []
            await manager.release_compression(first)
            await manager.settled()
            assert await spans(manager)

    run(go)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "soon"])
def test_a_timeout_is_a_positive_number_of_seconds(timeout):
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 1)
            with pytest.raises(InvalidInput):
                await manager.hold_compression(ids, timeout=timeout)

    run(go)


def test_a_message_that_nobody_knows_cannot_be_held_and_can_be_released():
    async def go():
        async with managed() as manager:
            with pytest.raises(MessageNotFound):
                await manager.hold_compression("nobody")
            await manager.release_compression("nobody")

    run(go)


def test_holds_live_in_memory_alone():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            await manager.hold_compression((await talk(manager, 40))[0])
        async with managed(store) as manager:
            assert manager.compression_holds() == ()
            await manager.drain()
            assert await spans(manager)
            await check_told_once(manager, await manager.compile(WIDE))

    run(go)
