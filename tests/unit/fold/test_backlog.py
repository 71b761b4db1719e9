"""What of a tape may be summarised next, found without reading what is told already."""

from __future__ import annotations

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.fold.choosing.backlog import PAGE, Backlog, Run, free_runs
from playhead.fold.choosing.chunks import LEAST_MESSAGES, chunks
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.ledger.entries import outcome_entry, pin_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.resolvers.protocol import Produce
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from tests.unit.fold.telling import tell

WORDS = "some words that are said here"


class Counting(InMemoryTapeStore):
    """A store that counts the entries it gives."""

    def __init__(self):
        super().__init__()
        self.read = 0

    async def fetch_all(self, query):
        found = await super().fetch_all(query)
        self.read += len(found)
        return found


async def taped(items, *, context=None, store=None):
    tape = Tape(store or InMemoryTapeStore(), "t", context=context or default_tape_context(anchor=None))
    await tape.append_many(items)
    return tape


def said(count):
    return [(assistant if number % 2 else user)(f"{number}: {WORDS}") for number in range(count)]


def asked(id):
    return assistant("Let me see.", calls=[ToolCall(id=id, name="ping")])


def backlog(tape, **options):
    config = AutobiographicalConfig(**{"recent_window_tokens": 60, "target_chunk_tokens": 40, **options})

    def cut(units, /, *, after, before, closes_at_end, is_whole, is_wanted):
        least = 1 if is_wanted else LEAST_MESSAGES
        return chunks(units, after=after, before=before, target=config.target_chunk_tokens, closes_at_end=closes_at_end, least_messages=least)

    return Backlog(tape, config=config, cut=cut)


async def found(tape, *, enough=1 << 30, demands=(), frozen_from=None, fresh=True, **options):
    reading = Tape(tape.store, tape.name, context=tape.context) if fresh else tape
    forest = await FoldMemory(reading).look()
    log = backlog(reading, **options)
    survey = await log.survey(forest, frozen_from=frozen_from)
    closed, more = await log.chunks(survey, enough=enough, demands=demands)
    return survey, [(chunk.first, chunk.last) for chunk in closed], more


def test_free_runs_are_what_no_held_run_covers():
    assert list(free_runs(1, 10, [(3, 4), (8, 12)])) == [Run(first=1, last=2, is_closed=True), Run(first=5, last=7, is_closed=True)]
    assert list(free_runs(1, 10, [(6, 8), (3, 7)])) == [Run(first=1, last=2, is_closed=True), Run(first=9, last=10, is_closed=False)]
    assert list(free_runs(5, 10, [(1, 3), (11, 12)])) == [Run(first=5, last=10, is_closed=False)]
    assert list(free_runs(5, 4, [])) == []


def test_what_lies_before_the_recent_window_is_cut_and_its_end_waits():
    async def go():
        survey, closed, more = await found(await taped(said(20)))
        assert (survey.start, survey.runs[0].last) == (1, survey.border - 1)
        assert closed[0] == (1, 4) and closed[-1][1] < survey.border and not more

    anyio.run(go)


def test_the_newest_unit_stays_raw_however_long_it_is():
    async def go():
        survey, _, _ = await found(await taped([*said(8), user("word " * 200)]))
        assert survey.border == 9
        survey, _, _ = await found(await taped(said(8)), recent_window_tokens=0)
        assert survey.border == 8

    anyio.run(go)


def test_system_messages_and_the_head_window_are_left_out():
    async def go():
        tape = await taped([system("Be brief."), *said(20)])
        survey, closed, _ = await found(tape, head_window_tokens=45)
        assert [unit.first for unit in survey.head] == [1, 2, 3] and survey.start == 4 and closed[0][0] == 4
        survey, _, _ = await found(tape)
        assert survey.start == 2

    anyio.run(go)


def test_what_is_told_given_up_or_pinned_is_passed_over_and_closes_what_is_before_it():
    async def go():
        tape = await taped(said(40))
        memory = FoldMemory(tape)
        await tell(memory, (5, 8))
        uids = [entry.uid for entry in await tape.query().all()]
        await memory.look()
        await memory.append([pin_entry("pin-1", first_uid=uids[13], last_uid=uids[14])])
        await memory.look()
        await memory.append([outcome_entry(first_uid=uids[19], last_uid=uids[21], entries=3, level=1, regime="r", rung="canonical", shape="s", outcome="refusal", model="m", is_stuck=True)])
        survey, closed, _ = await found(tape)
        assert [(run.first, run.last, run.is_closed) for run in survey.runs] == [(1, 4, True), (9, 13, True), (16, 19, True), (23, survey.border - 1, False)]
        assert closed[:4] == [(1, 4), (9, 12), (13, 13), (16, 19)]

    anyio.run(go)


def test_what_is_held_and_all_behind_it_waits():
    async def go():
        survey, closed, _ = await found(await taped(said(40)), frozen_from=10)
        assert survey.border == 10 and all(last < 10 for _, last in closed)

    anyio.run(go)


def test_with_a_demand_a_few_long_messages_are_a_chunk():
    async def go():
        tape = await taped([user("The gateway drops a packet now and then. " * 8) for _ in range(3)] + list(said(6)))
        _, before, _ = await found(tape, target_chunk_tokens=60)
        _, closed, _ = await found(tape, demands=[Produce(level=1, first=1, last=99)], target_chunk_tokens=60)
        assert before[0] == (1, 4) and closed[:3] == [(1, 1), (2, 2), (3, 3)]
        assert (await found(tape, demands=[Produce(level=2, first=1, last=99)], target_chunk_tokens=60))[1] == before

    anyio.run(go)


def test_hidden_entries_at_the_end_of_a_run_that_cannot_grow_go_with_its_last_chunk():
    async def go():
        tape = await taped([*said(4), TapeEntry.event("tick", {}), TapeEntry.event("tick", {}), *said(20)])
        await tell(FoldMemory(tape), (7, 10))
        assert (await found(tape))[1][0] == (1, 6)

    anyio.run(go)


def test_a_view_behind_an_anchor_begins_there():
    async def go():
        tape = await taped(said(10), context=default_tape_context())
        await tape.handoff("next", {"summary": "It went well."})
        await tape.append_many(said(20))
        survey, closed, _ = await found(tape)
        assert survey.start == 12 and closed[0][0] == 12 and [unit.kind for unit in survey.head] == ["note"]

    anyio.run(go)


def test_a_call_that_waits_keeps_itself_and_what_follows_from_being_told_without_its_result():
    async def go():
        tape = await taped([*said(4), asked("a"), *said(8), tool_result_message("a", "pong"), user("Thanks.")])
        _, closed, _ = await found(tape, recent_window_tokens=30, demands=[Produce(level=1, first=1, last=99)])
        assert closed == [(1, 4)]
        await tape.append_many(said(12))
        _, closed, _ = await found(tape)
        assert (5, 14) in closed or any(first == 5 and last >= 14 for first, last in closed)

    anyio.run(go)


def test_a_call_whose_result_never_came_is_told_once_a_whole_chunk_stands_behind_it():
    async def go():
        _, closed, _ = await found(await taped([*said(4), asked("a"), *said(30)]))
        assert closed[0] == (1, 4) and closed[1][0] == 5

    anyio.run(go)


def test_the_result_of_a_pinned_call_is_told_by_nobody_else():
    async def go():
        tape = await taped([*said(4), asked("a"), tool_result_message("a", "pong"), *said(8)])
        uids = [entry.uid for entry in await tape.query().all()]
        await FoldMemory(tape).append([pin_entry("pin-1", first_uid=uids[4], last_uid=uids[4])])
        survey, _, _ = await found(tape, recent_window_tokens=0)
        assert [(run.first, run.last) for run in survey.runs] == [(1, 4), (7, 13)]

    anyio.run(go)


def test_a_round_on_both_sides_of_a_pin_stays_raw_and_its_result_with_it():
    async def go():
        tape = await taped([*said(4), asked("a"), *said(4), tool_result_message("a", "pong"), *said(20)])
        uids = [entry.uid for entry in await tape.query().all()]
        await FoldMemory(tape).append([pin_entry("pin-1", first_uid=uids[6], last_uid=uids[6])])
        _, closed, _ = await found(tape)
        assert closed[0] == (1, 4)
        assert not any(first <= 5 <= last or first <= 10 <= last for first, last in closed)

    anyio.run(go)


def test_an_answer_that_came_when_its_call_had_been_told_does_not_keep_others_waiting():
    async def go():
        tape = await taped([asked("a"), *said(20)])
        memory = FoldMemory(tape)
        await tell(memory, (1, 4))
        await tape.append_many([tool_result_message("a", "late pong"), *said(20)])
        _, closed, _ = await found(tape)
        assert closed[0][0] == 5 and any(first <= 22 <= last for first, last in closed)

    anyio.run(go)


@pytest.mark.parametrize("enough", [1, 3])
def test_no_more_is_read_than_is_asked_for(enough):
    async def go():
        counts = []
        for length in (1_000, 4_000):
            store = Counting()
            tape = await taped(said(length), store=store)
            store.read = 0
            _, closed, more = await found(tape, enough=enough)
            assert len(closed) >= enough and more
            counts.append(store.read)
        assert counts[0] == counts[1] < 10 * PAGE

    anyio.run(go)
