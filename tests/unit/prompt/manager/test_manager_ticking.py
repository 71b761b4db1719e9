"""Ticks of a manager: one job each, in the background where it is asked for, and what becomes of those that fail."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.message import assistant
from playhead.errors import ModelUnavailable, NoCompressionModel
from playhead.model.protocol import Reply
from playhead.model.scripted import ScriptedModel
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.prompt.folding.managed import SMALL, WIDE, managed, memory, room, spans, talk, told
from tests.unit.prompt.folding.shown import check_told_once

REFUSED = Reply(message=assistant("I would rather not."), stop="refusal")


def run(function):
    anyio.run(function)


class Gate:
    """A model that answers only once it is let, and says when it was asked."""

    def __init__(self):
        self.asked = anyio.Event()
        self.may_answer = anyio.Event()

    async def __call__(self, request):
        self.asked.set()
        await self.may_answer.wait()
        return "I remember that."


def test_a_tick_writes_one_summary_at_most():
    async def go():
        async with managed(writer=told()) as manager:
            await talk(manager, 40)
            for number in range(1, 4):
                ticked = await manager.tick()
                assert (ticked.did, bool(ticked), ticked.node.id) == ("summary", True, f"L1-{number}")

    run(go)


def test_growing_by_one_message_at_a_time_tells_each_chunk_once():
    async def go():
        model = told()
        async with managed(writer=model, hierarchical=False) as manager:
            for number in range(40):
                await talk(manager, 1, start=number)
                await manager.tick()
            found = await spans(manager)
            assert len(model.requests) == len(found) > 5
            assert [first for first, _ in found] == [1, *(last + 1 for _, last in found[:-1])]

    run(go)


def test_a_drain_goes_on_where_a_merge_makes_another_due():
    async def go():
        async with managed(merge_threshold=2) as manager:
            await talk(manager, 60)
            seen = []
            done = await manager.drain(progress=lambda ticked: seen.append(ticked.did))
            assert done == len(seen) and {"summary", "merge"} == set(seen)
            assert await manager.max_summary_level() >= 3
            assert not await manager.tick()

    run(go)


def test_a_drain_lets_others_have_their_turn_between_two_jobs():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            turns = 0

            async def count():
                nonlocal turns
                while True:
                    turns += 1
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as group:
                group.start_soon(count)
                done = await manager.drain()
                group.cancel_scope.cancel()
            assert turns >= done > 5

    run(go)


def test_merges_that_were_due_before_it_was_opened_are_made():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, hierarchical=False) as manager:
            await talk(manager, 60)
            await manager.drain()
        async with managed(store, merge_threshold=3) as manager:
            assert (await manager.tick()).did == "merge"

    run(go)


def test_a_tick_while_another_one_runs_returns_at_once():
    async def go():
        gate = Gate()
        async with managed(writer=ScriptedModel([gate, "More."])) as manager, anyio.create_task_group() as group:
            await talk(manager, 40)
            group.start_soon(manager.tick)
            await gate.asked.wait()
            assert (await manager.tick()).did == "nothing"
            await check_told_once(manager, await manager.compile(WIDE))
            gate.may_answer.set()

    run(go)


def test_no_model_raises_where_a_summary_is_due_and_not_before():
    async def go():
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=AutobiographicalStrategy(**SMALL)) as manager:
            assert not await manager.tick()
            await talk(manager, 40)
            for ask in (manager.tick, manager.drain):
                with pytest.raises(NoCompressionModel, match="compression_model"):
                    await ask()
            await check_told_once(manager, await manager.compile(WIDE))

    run(go)


def test_a_bare_id_without_a_client_warns_once_and_does_nothing(caplog):
    async def go():
        async with managed(writer="claude-sonnet") as manager:
            await talk(manager, 40)
            with caplog.at_level(logging.WARNING, "playhead"):
                assert [(await manager.tick()).did for _ in range(3)] == ["deferred"] * 3
            assert len([r for r in caplog.records if "claude-sonnet" in r.message]) == 1

    run(go)


def test_a_bare_id_is_served_by_the_managers_model():
    async def go():
        model = told()
        async with managed(writer="some-id", manager={"model": model}) as manager:
            await talk(manager, 40)
            assert (await manager.tick()).did == "summary" and len(model.requests) == 1

    run(go)


def test_new_messages_start_a_drain_in_the_background():
    async def go():
        async with managed(auto_tick_on_new_message=True) as manager:
            await talk(manager, 40)
            await manager.settled()
            assert await spans(manager)
            assert (await manager.tick()).did == "nothing"

    run(go)


def test_what_a_drain_in_the_background_raises_is_logged_and_raised_by_the_next_tick_once(caplog):
    async def go():
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=AutobiographicalStrategy(auto_tick_on_new_message=True, **SMALL)) as manager:
            with caplog.at_level(logging.ERROR, "playhead"):
                await talk(manager, 40)
                with pytest.raises(NoCompressionModel):
                    await manager.settled()
            assert "NoCompressionModel" in caplog.text
            await manager.settled()

    run(go)


def test_closing_throws_away_what_is_being_written():
    async def go():
        store, gate = InMemoryTapeStore(), Gate()
        async with managed(store, writer=ScriptedModel([gate]), auto_tick_on_new_message=True) as manager:
            await talk(manager, 40)
            await gate.asked.wait()
        async with managed(store) as manager:
            assert await spans(manager) == []

    run(go)


def test_a_chunk_that_is_refused_stays_raw_and_the_next_tick_goes_on_with_the_next():
    async def go():
        model = ScriptedModel([REFUSED, *["I remember that."] * 50])
        async with managed(writer=model, ladder=(), hierarchical=False) as manager:
            await talk(manager, 40)
            assert [(await manager.tick()).did for _ in range(3)] == ["failed", "summary", "summary"]
            assert (await spans(manager))[0][0] > 1
            status = await manager.quarantine_status()
            assert (status.chunks, status.merges) == (1, 0)
            await check_told_once(manager, await manager.compile(WIDE))

    run(go)


def test_a_refused_request_is_not_made_again_nor_after_another_opening():
    async def go():
        store, model = InMemoryTapeStore(), ScriptedModel([REFUSED] * 100)
        for _ in range(3):
            async with managed(store, writer=model, ladder=(), hierarchical=False) as manager:
                if not await manager.message_count():
                    await talk(manager, 12)
                await manager.drain()
        assert len(model.requests) == len((await _status(store, model)).keys) > 0

    async def _status(store, model):
        async with managed(store, writer=model, ladder=()) as manager:
            return await manager.quarantine_status()

    run(go)


def test_a_cleared_quarantine_is_tried_again():
    async def go():
        model = ScriptedModel([REFUSED, *["I remember that."] * 50])
        async with managed(writer=model, ladder=(), hierarchical=False) as manager:
            await talk(manager, 40)
            await manager.drain()
            (key,) = (await manager.quarantine_status()).keys
            assert await manager.clear_quarantine("L1:nobody") == 0
            assert await manager.clear_quarantine(key) == 1
            assert await manager.drain() == 1
            assert (await manager.quarantine_status()).count == 0 and (await spans(manager))[0][0] == 1

    run(go)


def test_another_model_or_other_settings_try_again_what_was_given_up():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, writer=ScriptedModel([REFUSED] * 50, name="one:model"), ladder=(), hierarchical=False) as manager:
            await talk(manager, 12)
            await manager.drain()
            assert (await manager.quarantine_status()).count > 0
        async with managed(store, writer=ScriptedModel(["I remember that."] * 50, name="other:model"), ladder=(), hierarchical=False) as manager:
            await manager.drain()
            assert (await manager.quarantine_status()).count == 0

    run(go)


def test_an_outage_pauses_and_nothing_is_given_up():
    async def go():
        model = ScriptedModel([ModelUnavailable("down", model="m", status=503, retry_after=20.0), *["I remember that."] * 50])
        async with managed(writer=model, hierarchical=False) as manager:
            await talk(manager, 40)
            ticked = await manager.tick()
            assert (ticked.did, bool(ticked)) == ("paused", False) and "ModelUnavailable" in ticked.why
            assert (await manager.tick()).did == "paused" and len(model.requests) == 1
            assert (await manager.quarantine_status()).count == 0 and (await memory(manager).look()).outcomes == ()

    run(go)


def test_alarms_are_told_while_ticks_go_on_and_once_that_all_is_well(caplog):
    async def go():
        model = ScriptedModel([REFUSED, *["I remember that."] * 50])
        told_of = []
        async with managed(writer=model, ladder=(), hierarchical=False, quarantine_alarm_interval=900.0) as manager:
            manager.on_quarantine_alarm(lambda alarm: told_of.append((alarm.kind, alarm.count)))
            await talk(manager, 12)
            await manager.drain()
            await manager.tick()
            assert told_of == [("alarm", 1)]
            await manager.clear_quarantine()
            await manager.tick()
            await manager.tick()
            assert told_of == [("alarm", 1), ("all_clear", 0)]

    run(go)


def test_a_handler_of_alarms_that_fails_stops_nothing(caplog):
    async def go():
        async with managed(writer=ScriptedModel([REFUSED, *["I remember that."] * 50]), ladder=(), hierarchical=False) as manager:
            manager.on_quarantine_alarm(lambda alarm: 1 / 0)
            await talk(manager, 40)
            assert await manager.drain() > 2

    run(go)


def test_the_agents_own_system_prompt_and_identity_are_in_the_request():
    async def go():
        model = told()
        async with managed(writer=model, identity_reminder="You are Claude, nobody else.") as manager:
            manager.set_system_prompt("You look after gateways.")
            manager.set_system_prompt("")
            manager.set_tool_definitions([])
            await talk(manager, 40)
            await manager.tick()
            (request,) = model.requests
            assert "You look after gateways." in "".join(m.text for m in request.messages if m.role == "system")
            assert request.messages[-1].text.endswith("You are Claude, nobody else.")
            assert [tool.name for tool in request.tools] == ["ping"]

    run(go)


def test_nothing_of_what_came_later_is_in_a_request():
    async def go():
        model = told()
        async with managed(writer=model, l1_holdback_chunks=0) as manager:
            await talk(manager, 40)
            first = (await manager.tick()).node
            said = "".join(m.text for m in model.requests[0].messages)
            assert f"Message {first.last - 1}:" in said and f"Message {first.last}:" not in said

    run(go)


def test_pinned_messages_are_raw_in_a_request_though_a_summary_tells_them():
    async def go():
        model = told(lambda request: "A memory of it.")
        async with managed(writer=model, hierarchical=False) as manager:
            ids = await talk(manager, 12)
            first = (await manager.tick()).node
            await manager.pin_range(ids[0], ids[1])
            await talk(manager, 30, start=12)
            await manager.tick()
            said = "".join(m.text for m in model.requests[-1].messages)
            assert "Message 0:" in said and "A memory of it." not in said and first.first == 1

    run(go)


def test_what_a_long_import_says_stays_within_the_budget_of_a_request():
    async def go():
        model = told("A memory of many words, more of them than there is room for. " * 4)
        async with managed(writer=model, hierarchical=False, compression_recall_budget_tokens=500) as manager:
            await talk(manager, 400)
            await manager.drain()
            last = "".join(m.text for m in model.requests[-1].messages)
            assert 0 < last.count("A memory of many words") <= 8 * 4

    run(go)


def test_a_tape_that_outgrows_its_budget_many_times_over_compiles_every_turn():
    async def go():
        async with managed(merge_threshold=2) as manager:
            for number in range(0, 160, 4):
                await talk(manager, 4, start=number)
                await manager.drain()
                await check_told_once(manager, await manager.compile(room(700)))

    run(go)
