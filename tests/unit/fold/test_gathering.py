"""What a summary is written from: the job itself and what stood around it when it happened, nothing later."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest

from playhead.clock import using
from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.fold.choosing.backlog import Backlog
from playhead.fold.choosing.chunks import chunk_of, chunks
from playhead.fold.choosing.phases import PhaseTools
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.ledger.entries import outcome_entry, pin_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.writing.gathering import BETWEEN, Gathering
from playhead.model.protocol import ToolSpec
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.testing.clock import FakeClock
from playhead.view.context import default_tape_context
from playhead.view.pieces import SHARD
from tests.unit.fold.telling import leaf, merge, over, tell, write

PING = ToolSpec(name="ping", description="Ask a host.", parameters={"type": "object"})


async def taped(items, *, context=None):
    tape = Tape(InMemoryTapeStore(), "t", context=context or default_tape_context(anchor=None))
    await tape.append_many(items)
    return tape


def said(count, start=0):
    return [(assistant if number % 2 else user)(f"message {number}") for number in range(start, start + count)]


def gathering(tape, **options):
    config = AutobiographicalConfig(**options)
    memory = FoldMemory(tape)
    return memory, Gathering(memory, config=config, phase_of=PhaseTools().phase_of_run)


async def chunk(tape, first, last):
    return chunk_of(await tape.read_range(first, last), after=first - 1)


async def around(tape, first, last, *, sources=(), system_prompt=None, **options):
    memory, gathers = gathering(tape, **options)
    config = AutobiographicalConfig(**options)

    def cut(units, /, *, after, before, closes_at_end, is_whole, is_wanted):
        return chunks(units, after=after, before=before, target=config.target_chunk_tokens)

    forest = await memory.look()
    survey = await Backlog(tape, config=config, cut=cut).survey(forest, frozen_from=None)
    job = await gathers.merge_job(sources) if sources else await gathers.chunk_job(await chunk(tape, first, last))
    return await gathers.surroundings(job, forest=forest, survey=survey, system_prompt=system_prompt, tools=(PING,))


def texts(units):
    return [message.text for unit in units for message in unit.messages]


def test_the_job_of_a_chunk_names_its_ends_its_times_its_tools_and_its_phase():
    async def go():
        call = assistant("", calls=[ToolCall(id="a", name="mcpl:find")])
        tape = await taped([user("Hi."), TapeEntry.event("tick", {}), call, tool_result_message("a", "x")])
        entries = await tape.query().all()
        _, gathers = gathering(tape)
        job = await gathers.chunk_job(await chunk(tape, 1, 4))
        assert (job.level, job.first, job.last, job.first_uid, job.last_uid) == (1, 1, 4, entries[0].uid, entries[3].uid)
        assert (job.phase, job.tools, job.voice, job.is_merge) == ("research", ("mcpl:find",), "normal", False)

    anyio.run(go)


def test_a_chunk_that_begins_with_what_shows_nothing_has_the_names_of_those_entries():
    async def go():
        tape = await taped([TapeEntry.event("tick", {}), *said(4), TapeEntry.event("tick", {})])
        entries = await tape.query().all()
        _, gathers = gathering(tape)
        whole = await chunk(tape, 1, 6)
        job = await gathers.chunk_job(whole.__class__(units=whole.units, first=1, last=6, first_uid="", last_uid="", tokens=whole.tokens))
        assert (job.first_uid, job.last_uid, len(job.units)) == (entries[0].uid, entries[5].uid, 4)

    anyio.run(go)


def test_times_are_those_of_the_first_and_the_last_that_is_told():
    async def go():
        clock = FakeClock()
        tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))
        with using(clock):
            for message in said(3):
                await tape.append(message)
                clock.advance(timedelta(minutes=1))
        _, gathers = gathering(tape)
        job = await gathers.chunk_job(await chunk(tape, 1, 3))
        assert (job.until - job.since).total_seconds() == 120

    anyio.run(go)


def test_a_merge_has_the_raw_below_it_at_level_two_and_the_summaries_below_its_sources_above():
    async def go():
        tape = await taped(said(16))
        memory = FoldMemory(tape)
        low = await tell(memory, (1, 2), (3, 4), (5, 6), (7, 8))
        _, gathers = gathering(tape)
        job = await gathers.merge_job(low[:2])
        assert (job.level, job.first, job.last, texts(job.units), [n.id for n in job.sources]) == (2, 1, 4, [f"message {n}" for n in range(4)], ["L1-1", "L1-2"])
        high = [await merge(memory, low[:2]), await merge(memory, low[2:])]
        found = await around(tape, 0, 0, sources=high)
        assert [n.id for n in found.deeper] == ["L1-1", "L1-2", "L1-3", "L1-4"]
        assert (await gathers.merge_job(high)).units == ()

    anyio.run(go)


@pytest.mark.parametrize(("voices", "expected"), [(("witnessed", "witnessed"), "witnessed"), (("reading", "reading"), "reading"), (("witnessed", "normal"), "normal")])
def test_a_merge_of_one_voice_keeps_it_and_of_one_phase_too(voices, expected):
    async def go():
        tape = await taped(said(8))
        memory = FoldMemory(tape)
        entries = await tape.query().all()
        nodes = [await write(memory, leaf(entries[start : start + 2], voice=voice, phase="research")) for start, voice in zip((0, 2), voices, strict=True)]
        job = await gathering(tape)[1].merge_job(nodes)
        assert (job.voice, job.phase) == (expected, "research")

    anyio.run(go)


def test_what_was_inherited_is_witnessed_and_a_portion_of_a_long_text_is_read():
    async def go():
        shards = [TapeEntry.message({"role": "user", "content": f"part {n}"}, **{SHARD: {"body": "b", "index": n, "count": 8}}) for n in range(8)]
        tape = await taped([*said(4), *shards])
        entries = await tape.query().all()
        _, gathers = gathering(tape, witnessed_before=entries[4].uid)
        assert (await gathers.chunk_job(await chunk(tape, 1, 4))).voice == "witnessed"
        assert (await gathers.chunk_job(await chunk(tape, 3, 6))).voice == "normal"
        assert (await gathers.chunk_job(await chunk(tape, 5, 8))).voice == "reading"
        assert (await gathers.chunk_job(await chunk(tape, 5, 10))).voice == "normal"
        assert (await gathering(tape, witnessed_before="nobody")[1].chunk_job(await chunk(tape, 1, 4))).voice == "normal"

    anyio.run(go)


def test_memories_are_the_highest_summaries_before_the_job_and_raw_is_what_none_of_them_tells():
    async def go():
        tape = await taped(said(20))
        memory = FoldMemory(tape)
        low = await tell(memory, (1, 2), (3, 4), (7, 8))
        await merge(memory, low[:2])
        await tell(memory, (13, 14))
        found = await around(tape, 9, 10, recent_window_tokens=0)
        assert [node.id for node in found.memories] == ["L2-4", "L1-3"]
        assert texts(found.between) == ["message 4", "message 5"]

    anyio.run(go)


def test_a_memory_over_something_pinned_is_left_out_and_its_run_is_raw():
    async def go():
        tape = await taped(said(20))
        memory = FoldMemory(tape)
        await tell(memory, (1, 2), (3, 4))
        uid = (await tape.query().all())[2].uid
        await memory.look()
        await memory.append([pin_entry("pin-1", first_uid=uid, last_uid=uid)])
        found = await around(tape, 5, 8, recent_window_tokens=0)
        assert [node.id for node in found.memories] == ["L1-1"] and texts(found.between) == ["message 2", "message 3"]

    anyio.run(go)


def test_of_raw_between_only_the_newest_is_shown_within_a_bound():
    async def go():
        tape = await taped([user("word " * 4_000) for _ in range(8)] + said(10))
        found = await around(tape, 9, 12, recent_window_tokens=0)
        assert 0 < sum(unit.tokens for unit in found.between) <= BETWEEN
        assert found.between[-1].last == 8

    anyio.run(go)


def test_the_head_window_is_shown_unless_a_summary_tells_it_or_the_job_comes_before_it():
    async def go():
        tape = await taped([system("Be brief."), *said(20)])
        found = await around(tape, 6, 9, head_window_tokens=30)
        assert texts(found.head)[0] == "Be brief." and found.head[-1].last < 6
        assert texts((await around(tape, 6, 9, head_window_tokens=30, system_prompt="Be kind.")).head) == texts(found.head)[1:]
        await tell(FoldMemory(tape), (2, 3))
        assert all(unit.first not in (2, 3) for unit in (await around(tape, 6, 9, head_window_tokens=30)).head)
        assert (await around(tape, 2, 2, head_window_tokens=30)).head[-1].last == 1

    anyio.run(go)


def test_the_note_of_an_anchor_is_shown_to_what_comes_behind_it_alone():
    async def go():
        tape = await taped(said(8), context=default_tape_context())
        low = await tell(FoldMemory(tape), (1, 2), (3, 4))
        await tape.handoff("next", {"summary": "It went well."})
        await tape.append_many(said(8, start=8))
        assert [unit.kind for unit in (await around(tape, 11, 14)).head] == ["note"]
        assert (await around(tape, 0, 0, sources=low)).head == ()

    anyio.run(go)


def test_outcomes_are_those_of_the_very_run():
    async def go():
        tape = await taped(said(8))
        uids = [entry.uid for entry in await tape.query().all()]
        memory = FoldMemory(tape)
        facts = {"level": 1, "regime": "r", "rung": "canonical", "shape": "s", "outcome": "refusal", "model": "m"}
        await memory.append([outcome_entry(first_uid=uids[0], last_uid=uids[3], entries=4, **facts), outcome_entry(first_uid=uids[0], last_uid=uids[1], entries=2, **facts)])
        assert [(o.first, o.last) for o in (await around(tape, 1, 4)).outcomes] == [(1, 4)]

    anyio.run(go)


def test_earlier_memories_may_be_expanded_the_newest_of_them():
    async def go():
        tape = await taped(said(40))
        memory = FoldMemory(tape)
        low = await tell(memory, *((first, first + 1) for first in range(1, 17, 2)))
        for start in range(0, 8, 2):
            await write(memory, over(low[start : start + 2]))
        assert [node.id for node in (await around(tape, 17, 20, recall_expansions=2)).deeper] == ["L1-5", "L1-6", "L1-7", "L1-8"]
        assert (await around(tape, 17, 20, recall_expansions=0)).deeper == ()

    anyio.run(go)


def test_a_change_shows_in_what_is_told_and_what_was_removed_does_not():
    async def go():
        tape = await taped(said(6))
        uids = [entry.uid for entry in await tape.query().all()]
        await tape.append_many([TapeEntry(0, AMEND, {"target": uids[1], "content": "other words"}), TapeEntry(0, AMEND, {"target": uids[2], "removed": True})])
        job = await gathering(tape)[1].chunk_job(await chunk(tape, 1, 4))
        assert texts(job.units) == ["message 0", "other words", "message 3"]

    anyio.run(go)
