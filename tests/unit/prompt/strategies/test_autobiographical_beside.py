"""What AutobiographicalStrategy keeps as it is, and what it works with: pins, locks, holds, rounds, edits, selectors, injections, other handles."""

from __future__ import annotations

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import assistant, user
from playhead.errors import InvalidInput, InvalidOption, OverBudgetError, ReadOnly
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Cut
from playhead.fold.ledger.entries import cut_entry
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from playhead.view.selectors import mask
from tests.unit.prompt.folding.managed import WIDE, call, managed, room, shown, spans, talk
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


def test_a_pin_keeps_its_messages_raw_though_a_summary_over_them_was_shown():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 60)
            await manager.drain()
            folded = await manager.compile(room(500))
            assert not any(ids[9] in m.sources for m in folded.messages)
            await manager.pin_range(ids[10], ids[9], name="the plan")
            prompt = await manager.compile(room(1_000))
            assert sum(ids[9] in m.sources or ids[10] in m.sources for m in prompt.messages) == 2
            assert any(row.reason == "pinned (the plan)" for row in prompt.explain())
            await check_told_once(manager, prompt)

    run(go)


def test_a_pin_of_what_lies_further_back_than_the_room_is_found_and_shown():
    async def go():
        async with managed() as manager:
            first, *_ = await talk(manager, 2)
            await manager.mark_document(first)
            await talk(manager, 90, start=2)
            await manager.drain()
            prompt = await manager.compile(room(700))
            assert prompt.messages[0].sources == (first,)
            await check_told_once(manager, prompt)

    run(go)


def test_pins_that_cannot_fit_are_named_with_what_they_take():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 60)
            pin = await manager.pin_range(ids[0], ids[30], name="all of it")
            await manager.drain()
            with pytest.raises(OverBudgetError, match=r"all of it of more than [\d,]+ tokens") as refused:
                await manager.compile(room(500))
            assert [(held["id"], held["name"]) for held in refused.value.diagnostics["raw_pins"]] == [(pin, "all of it")]

    run(go)


def test_an_unpinned_range_may_be_folded_again():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 60)
            pin = await manager.pin_range(ids[0], ids[30])
            await manager.drain()
            assert await manager.unpin(pin) and not await manager.unpin(pin)
            await manager.drain()
            await check_told_once(manager, await manager.compile(room(700)))

    run(go)


def test_a_locked_message_is_not_folded_and_one_under_a_summary_stays_so():
    async def go():
        async with managed(adaptive_resolution=True, merge_threshold=2) as manager:
            ids = await talk(manager, 60)
            await manager.lock_chunk(ids[3])
            await manager.drain()
            prompt = await manager.compile(room(700))
            assert any(ids[3] in m.sources for m in prompt.messages)
            await check_told_once(manager, prompt)

    run(go)


def test_locks_before_and_behind_a_pin_are_kept_as_the_pin_is():
    async def go():
        async with managed(merge_threshold=3) as manager:
            ids = await talk(manager, 90)
            await manager.drain()
            for number in (30, 4):
                await manager.lock_chunk(ids[number])
            await manager.pin_range(ids[60], ids[61])
            prompt = await manager.compile(room((await manager.compile(WIDE, dry_run=True)).stats.total - 100))
            said = [message.text for message in prompt.messages]
            assert shown(prompt) and all(any(text.startswith(f"Message {number}:") for text in said) for number in (4, 30, 60, 61))
            await check_told_once(manager, prompt)

    run(go)


def test_a_held_message_and_all_behind_it_stay_raw():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 20)
            await manager.hold_compression(ids[10])
            await talk(manager, 20, start=20)
            await manager.drain()
            assert max(last for _, last in await spans(manager)) < 11
            prompt = await manager.compile(WIDE)
            assert prompt.render_stats.tail.count >= 30

    run(go)


def test_a_tool_round_is_folded_whole_or_not_at_all():
    async def go():
        async with managed() as manager:
            for number in range(30):
                await talk(manager, 1, start=number)
                await call(manager, number, result="pong " * 10)
            await manager.drain()
            for tokens in (700, 1_000, 1_500):
                await check_told_once(manager, await manager.compile(room(tokens)))

    run(go)


def test_a_call_that_still_waits_for_its_result_is_told_with_it():
    async def go():
        async with managed(recent_window_tokens=0, l1_holdback_chunks=0) as manager:
            await call(manager, 1, result=None)
            await talk(manager, 6)
            await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": "c1", "content": "late pong"}])
            await talk(manager, 12, start=6)
            await manager.drain()
            first = (await spans(manager))[0]
            assert first[0] == 1 and first[1] >= 8

    run(go)


def test_a_round_that_is_raw_on_both_sides_of_a_pin_keeps_its_result():
    async def go():
        async with managed(l1_holdback_chunks=0) as manager:
            (waiting,) = await call(manager, 1, result=None)
            await manager.mark_document(waiting)
            late = await manager.add_message("Tool", [{"type": "tool_result", "tool_use_id": "c1", "content": "pong"}])
            await talk(manager, 40)
            await manager.drain()
            prompt = await manager.compile(room(500))
            assert any(late in m.sources for m in prompt.messages)
            await check_told_once(manager, prompt)

    run(go)


def test_the_parts_of_a_long_message_are_one_message_and_name_all_their_sources():
    async def go():
        async with managed(adaptive_resolution=True, recent_window_tokens=2_000) as manager:
            head = await manager.add_message("User", "A sentence that goes on. " * 60)
            prompt = await manager.compile(WIDE)
            (message,) = prompt.messages
            assert message.text == "A sentence that goes on. " * 60
            assert message.sources[0] == head and len(message.sources) > 2
            await check_told_once(manager, prompt)

    run(go)


def test_a_long_message_may_be_shown_in_part_and_told_in_part():
    async def go():
        async with managed(adaptive_resolution=True) as manager:
            await manager.add_message("User", " ".join(f"Sentence {number} of the report." for number in range(200)))
            await talk(manager, 6)
            await manager.drain()
            prompt = await manager.compile(room(1_000))
            assert shown(prompt)
            await check_told_once(manager, prompt)

    run(go)


def test_an_edit_shows_at_once_and_leaves_the_summaries_over_it_as_they_are():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 60)
            await manager.drain()
            folded = await manager.compile(room(500))
            await manager.edit_message(ids[1], "Other words.")
            assert (await manager.compile(room(500))).digest == folded.digest
            await manager.edit_message(ids[-1], "The newest, other words.")
            assert (await manager.compile(room(500))).messages[-1].text == "The newest, other words."

    run(go)


def test_a_message_that_was_removed_is_shown_nowhere_raw():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 30)
            await manager.remove_messages(ids[5], ids[8])
            await manager.drain()
            prompt = await manager.compile(WIDE)
            assert len(prompt.messages) == 26
            await check_told_once(manager, prompt)

    run(go)


def test_a_view_that_begins_behind_an_anchor_shows_no_summary_of_what_is_before_it():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, manager={"context": TapeContext()}) as manager:
            await talk(manager, 40)
            await manager.drain()
            await manager.compile(room(500))
            await manager.tape.handoff("next", {"summary": "It went well."})
            await talk(manager, 3)
            prompt = await manager.compile(WIDE)
            assert shown(prompt) == [] and len(prompt.plan.units) == 3
            assert prompt.plan.spans[0].reason == "before anchor next"

    run(go)


def test_selectors_work_in_front_of_it():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, manager={"context": TapeContext(anchor=None, select=mask("w3"))}) as manager:
            await talk(manager, 40)
            await manager.drain()
            for tokens in (500, 5_000):
                prompt = await manager.compile(room(tokens))
                assert "w3 " not in "".join(m.text for m in prompt.messages)
                await check_told_once(manager, prompt)

    run(go)


def test_a_selector_of_ones_own_gets_all_and_what_it_leaves_is_folded():
    async def go():
        context = TapeContext(anchor=None, select=lambda entries, context: [e.payload for e in entries if e.id % 3])
        async with managed(manager={"context": context}) as manager:
            await talk(manager, 60)
            await manager.drain()
            prompt = await manager.compile(room(500))
            assert shown(prompt) and prompt.stats.total <= 500

    run(go)


def test_injections_stand_beside_summaries_under_a_name_of_their_own():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            prompt = await manager.compile(Budget(800, reserve_for_response=0), [Injection(namespace="clock", position="after_user", content="Noon.")])
            (injected,) = [m for m in prompt.messages if m.text == "Noon."]
            assert injected.name == "system_context:clock" and shown(prompt)

    run(go)


def test_an_overhead_is_counted_and_changes_nothing():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            plain = await manager.compile(room(600), dry_run=True)
            prompt = await manager.compile(room(600), request_overhead={"system": "Be brief.", "tools": [{"name": "ping"}]})
            assert prompt.digest == plain.digest
            assert prompt.render_stats.request > 0 and prompt.render_stats.request_total == prompt.stats.total + prompt.render_stats.request

    run(go)


def test_an_anthropic_and_an_openai_body_are_made_of_a_folded_prompt():
    async def go():
        async with managed() as manager:
            for number in range(20):
                await talk(manager, 2, start=2 * number)
                await call(manager, number)
            await manager.drain()
            prompt = await manager.compile(room(700))
            assert shown(prompt)
            for provider in ("anthropic", "openai", "openai-responses"):
                assert prompt.to(provider)

    run(go)


def test_a_tape_that_cannot_be_written_to_keeps_its_cut_as_long_as_its_handle_lives():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            await talk(manager, 80)
            await manager.drain()
            past = manager.tape.at((await manager.tape.head()).id)
            strategy = manager.strategy_in_force
            first = await compile(past, room(500), strategy=strategy)
            assert shown(first)
            with pytest.raises(ReadOnly):
                await strategy.memory(past).append([cut_entry(Cut(nodes=()))])
            assert (await compile(past, room(600), strategy=strategy)).digest == first.digest

    run(go)


def test_a_handle_of_the_past_shows_what_was_told_then_and_leaves_the_present_as_it_is():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            then = manager.tape.at((await manager.tape.head()).id)
            strategy = manager.strategy_in_force
            past = await compile(then, room(600), strategy=strategy)
            await talk(manager, 60, start=60)
            await manager.drain()
            now = await manager.compile(room(900))
            assert (await compile(then, room(600), strategy=strategy)).digest == past.digest
            assert {node.last <= 60 for node in (await strategy.memory(then).look()).roots} == {True}
            assert (await manager.compile(room(900))).digest == now.digest
            await check_told_once(manager, now)

    run(go)


def test_the_state_of_two_namespaces_is_kept_apart():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, manager={"namespace": "agents/a"}) as one, managed(store, manager={"namespace": "agents/b"}) as other:
            await talk(one, 60)
            await one.drain()
            assert shown(await one.compile(room(500)))
            with pytest.raises(OverBudgetError):
                await other.compile(room(500))
            assert await spans(other) == []

    run(go)


def test_it_takes_options_by_name_or_one_config():
    assert AutobiographicalStrategy(merge_threshold=3).config == AutobiographicalConfig(merge_threshold=3)
    assert "merge_threshold=3" in repr(AutobiographicalStrategy(AutobiographicalConfig(merge_threshold=3)))
    with pytest.raises(InvalidInput, match="by name"):
        AutobiographicalStrategy(AutobiographicalConfig(), merge_threshold=3)
    with pytest.raises(InvalidOption, match="recent_window_tokens"):
        AutobiographicalStrategy(recent_window_token=3)


def test_bound_to_an_agent_it_keeps_its_settings():
    strategy = AutobiographicalStrategy(merge_threshold=3).bound("agents/a", agent="Ada")
    assert (strategy.namespace, strategy.agent, strategy.config.merge_threshold) == ("agents/a", "Ada", 3)
    assert strategy.bound("agents/b").agent == "Ada"


def test_summaries_of_somebody_else_are_a_users_words():
    async def go():
        async with managed(summary_participant="Bob") as manager:
            await talk(manager, 60)
            await manager.drain()
            prompt = await manager.compile(room(500))
            question, answer = prompt.messages[:2]
            assert (question.role, question.name, answer.role, answer.name) == ("user", "Context Manager", "user", "Bob")

    run(go)


def test_it_plans_a_tape_without_a_manager():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        await tape.append_many([user("Hello."), assistant("Hello."), TapeEntry.event("tick", {})])
        prompt = await compile(tape, WIDE, strategy=AutobiographicalStrategy())
        assert [m.text for m in prompt.messages] == ["Hello.", "Hello."]

    run(go)
