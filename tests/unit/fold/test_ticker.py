"""Ticks: which job is done, what is kept of it, and what happens where others were faster."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from playhead.entry.message import assistant
from playhead.errors import NoCompressionModel
from playhead.fold.ledger.entries import node_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.resolvers.protocol import Produce
from playhead.fold.ticker import NOTHING, Identity
from playhead.fold.writing.job import Written
from playhead.model.protocol import Reply
from playhead.model.scripted import ScriptedModel
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from tests.unit.fold.telling import check, leaf
from tests.unit.prompt.folding.managed import PING, SMALL, call, managed, memory, room, spans, talk, told

REFUSED = Reply(message=assistant("I would rather not."), stop="refusal")


def run(function):
    anyio.run(function)


class Writing:
    """A summarizer that lets a function look at each job before it writes."""

    name = "test"
    regime = "test"

    def __init__(self, before=None):
        self.jobs = []
        self._before = before

    async def write(self, job, surroundings, *, note):
        self.jobs.append((job, surroundings))
        if self._before is not None:
            await self._before(job)
        return Written(text="Written.")


@asynccontextmanager
async def ticking(summarizer, *, messages=40, frozen=None, is_current=lambda: True, **options):
    """Yield a ticker over a tape with a conversation."""
    async with managed() as manager:
        await talk(manager, messages)

        async def named():
            return summarizer

        async def frozen_from():
            return frozen() if frozen is not None else None

        strategy = AutobiographicalStrategy(**{**SMALL, **options})
        yield strategy.ticker(manager.tape, writer=named, identity=Identity(tools=(PING,)), frozen_from=frozen_from, is_current=is_current), manager


def test_a_span_that_others_told_meanwhile_is_not_told_again():
    async def go():
        async def tell_it_first(job):
            other = FoldMemory(Tape(manager.tape.store, manager.tape.name, context=default_tape_context(anchor=None)))
            entries = await manager.tape.query().after(job.first - 1).up_to(job.last).all()
            forest = await other.look()
            await other.append([node_entry(leaf(entries, "Told by others."), id="L1-1")], since=forest)

        async with ticking(Writing(tell_it_first)) as (ticker, manager):
            ticked = await ticker.tick()
            assert (ticked.did, ticked.why, ticked.node, bool(ticked)) == ("lost", "its span was told by others meanwhile", None, False)
            forest = await check(memory(manager))
            assert [root.text for root in forest.roots] == ["Told by others."] and not forest.ignored

    run(go)


def test_what_others_wrote_elsewhere_meanwhile_is_no_reason_to_lose_a_summary():
    async def go():
        async def write_elsewhere(job):
            other = FoldMemory(Tape(manager.tape.store, manager.tape.name, context=default_tape_context(anchor=None)))
            entries = await manager.tape.query().after(job.last).limit(2).all()
            await other.look()
            await other.append([node_entry(leaf(entries, "Further on."), id="L1-1")])

        async with ticking(Writing(write_elsewhere)) as (ticker, manager):
            assert (await ticker.tick()).node.id == "L1-2"
            assert len((await check(memory(manager))).roots) == 2

    run(go)


def test_a_merge_of_which_a_part_was_taken_back_is_lost():
    async def go():
        async def take_back(job):
            if job.is_merge:
                await manager.forget_summary(job.sources[0].id)

        async with ticking(Writing(take_back), merge_threshold=3, messages=30) as (ticker, manager):
            while (ticked := await ticker.tick()).did == "summary":
                pass
            assert ticked.did == "lost" and (await check(memory(manager))).counts.get(2, 0) == 0

    run(go)


def test_a_result_that_is_no_longer_wanted_or_came_to_be_held_is_thrown_away():
    async def go():
        for given, why in (({"is_current": lambda: False}, "switched"), ({"frozen": iter([None, 2, 2]).__next__}, "held")):
            async with ticking(Writing(), **given) as (ticker, manager):
                ticked = await ticker.tick()
                assert ticked.did == "lost" and why in ticked.why and await spans(manager) == []

    run(go)


def test_a_thin_chunk_gets_a_fixed_note_and_nobody_is_asked():
    async def go():
        writing = Writing()
        async with ticking(writing, messages=0, min_chunk_chars_for_llm=200, target_chunk_tokens=20) as (ticker, manager):
            for _ in range(40):
                await manager.add_message("User", "ok")
            ticked = await ticker.tick()
            assert (ticked.did, ticked.node.text, ticked.node.model, writing.jobs) == ("note", "4 short messages passed here:\nUser: ok\nUser: ok\nUser: ok\nUser: ok", "", [])

    run(go)


def test_a_chunk_with_a_tool_call_is_never_thin():
    async def go():
        writing = Writing()
        async with ticking(writing, messages=0, min_chunk_chars_for_llm=10_000, target_chunk_tokens=20) as (ticker, manager):
            for number in range(12):
                await call(manager, number)
            assert (await ticker.tick()).did == "summary" and len(writing.jobs) == 1

    run(go)


def test_nobody_who_writes_defers_and_no_name_raises():
    async def go():
        async with ticking(None) as (ticker, _):
            ticked = await ticker.tick()
            assert (ticked.did, bool(ticked)) == ("deferred", False)
        async with managed(writer=None) as manager:
            await talk(manager, 40)
            with pytest.raises(NoCompressionModel):
                await manager.tick()

    run(go)


def test_chunks_with_calls_wait_until_the_tools_are_known():
    async def go():
        model = told()
        async with managed(writer=model, hierarchical=False) as manager:
            manager.identity.tools = ()
            await talk(manager, 8)
            for number in range(4):
                await call(manager, number)
            await talk(manager, 40)
            first = (await manager.tick()).node
            assert first.span == (1, 4) and not model.requests[0].tools
            await manager.drain()
            before = len(model.requests)
            ticked = await manager.tick()
            assert (ticked.did, bool(ticked), len(model.requests)) == ("deferred", False, before) and "set_tool_definitions" in ticked.why
            manager.set_tool_definitions([PING])
            assert (await manager.tick()).did == "summary" and model.requests[-1].tools

    run(go)


def test_the_newest_closed_chunk_waits_and_a_demand_does_not():
    async def go():
        writing = Writing()
        async with ticking(writing, hierarchical=False, l1_holdback_chunks=2) as (ticker, manager):
            waiting = await ticker.waiting()
            assert (len(waiting.chunks) > 3, waiting.merges, waiting.tokens) == (True, 0, sum(chunk.tokens for chunk in waiting.chunks))
            while await ticker.tick():
                pass
            held_back = (await spans(manager))[-1][1]
            ticker.demands = (Produce(level=1, first=held_back + 1, last=10_000),)
            while await ticker.tick():
                pass
            found = await spans(manager)
            assert found[-1][1] > held_back and found[-1][1] >= 35

    run(go)


def test_a_demand_merges_what_would_wait():
    async def go():
        async with ticking(Writing(), merge_threshold=50) as (ticker, manager):
            while await ticker.tick():
                pass
            assert await manager.max_summary_level() == 1
            ticker.demands = (Produce(level=2, first=1, last=10_000),)
            assert (await ticker.tick()).did == "merge"

    run(go)


def test_a_merge_that_failed_lets_a_chunk_go_first_and_competes_again():
    async def go():
        model = ScriptedModel([*["I remember that."] * 3, REFUSED, *["I remember that."] * 50])
        async with managed(writer=model, merge_threshold=3, adaptive_resolution=True, l1_holdback_chunks=0) as manager:
            await talk(manager, 20)
            did = []
            while len(did) < 3:
                did.append((await manager.tick()).did)
            await manager.drain()
            assert did == ["summary"] * 3
            assert await manager.max_summary_level() >= 2

    run(go)


def test_outcomes_are_kept_before_the_next_request_and_count_after_another_opening():
    async def go():
        store = InMemoryTapeStore()
        seen = []

        async def refused(request):
            seen.append(len((await FoldMemory(Tape(store, "messages")).look()).outcomes))
            return REFUSED

        async with managed(store, writer=ScriptedModel([refused] * 9), ladder=("source_only",), hierarchical=False) as manager:
            await talk(manager, 12)
            ticked = await manager.tick()
            assert (ticked.did, ticked.why) == ("failed", "canonical: refusal; source_only: refusal")
            outcomes = (await memory(manager).look()).outcomes
            assert [(o.rung, o.outcome, o.is_stuck) for o in outcomes] == [("canonical", "refusal", False), ("source_only", "refusal", True)]
        assert seen == [0, 1]
        async with managed(store, writer=ScriptedModel([refused] * 9), ladder=("source_only",), hierarchical=False) as manager:
            assert not await manager.tick() and len(seen) == 2

    run(go)


def test_a_chunk_that_was_given_up_is_tried_in_another_setting_of_its_past_a_few_times_and_then_no_more():
    async def go():
        asked = []

        def answer(request):
            asked.append(request)
            return REFUSED if any("Message 5:" in m.text for m in request.messages[-6:-1]) else "I remember that."

        async with managed(writer=ScriptedModel([answer] * 200), ladder=(), hierarchical=False) as manager:
            for number in range(0, 80, 4):
                await talk(manager, 4, start=number)
                await manager.drain()
            refused = [r for r in asked if any("Message 5:" in m.text for m in r.messages[-6:-1])]
            assert 1 <= len(refused) <= 3
            assert (await manager.quarantine_status()).chunks == 1

    run(go)


def test_a_node_says_what_it_is_of_when_and_how_it_was_written():
    async def go():
        async with managed(writer=told(), identifier_index_tokens=50) as manager:
            await manager.add_message("User", "Look at src/gateway.py, please.")
            await call(manager, 1)
            await talk(manager, 30)
            node = (await manager.tick()).node
            assert (node.level, node.first, node.model, node.tools, node.voice, node.phase) == (1, 1, "scripted:memory", ("ping",), "normal", None)
            assert "src/gateway.py" in node.index and node.how["rung"] == "canonical" and len(node.how["request_hash"]) == 64
            assert node.units == 1 + 1 + (node.last - 3) and node.raw_tokens > 0
            entries = await manager.tape.query().all()
            assert (node.first_uid, node.last_uid) == (entries[0].uid, entries[node.last - 1].uid)

    run(go)


def test_what_was_given_up_counts_as_told_by_nobody_and_is_no_part_of_a_later_chunk():
    async def go():
        model = ScriptedModel([REFUSED, *["I remember that."] * 50])
        async with managed(writer=model, ladder=(), hierarchical=False) as manager:
            await talk(manager, 40)
            await manager.drain()
            stuck = (await memory(manager).look()).stuck[0]
            assert all(last < stuck.first or stuck.last < first for first, last in await spans(manager))
            assert (await manager.compile(room(5_000))).stats.total > 0

    run(go)


def test_nothing_done_is_false_and_a_failure_for_good_is_true():
    assert not NOTHING and not replace(NOTHING, did="paused") and not replace(NOTHING, did="lost")
    assert replace(NOTHING, did="failed") and replace(NOTHING, did="note") and replace(NOTHING, did="merge")


def test_a_long_backlog_is_drained_into_a_sound_forest():
    async def go():
        async with managed(merge_threshold=2) as manager:
            await talk(manager, 150)
            await manager.drain()
            forest = await check(memory(manager))
            assert max(forest.counts) >= 4 and not forest.ignored

    run(go)
