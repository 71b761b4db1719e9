"""Results that stand behind other units than the turn that asked for them."""

from __future__ import annotations

import anyio

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.fold.choosing.lateness import FAR, NEAR, late_answers, late_entries
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape


def asked(*ids):
    return assistant("", calls=[ToolCall(id=id, name="ping") for id in ids])


def answered(items, *, first=1, last, near=False):
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append_many(items)
        return await (late_entries if near else late_answers)(tape, first=first, last=last)

    return anyio.run(go)


def said(count):
    return [user(str(number)) for number in range(count)]


def test_answers_inside_a_run_are_not_late():
    assert answered([asked("a"), tool_result_message("a", "x"), *said(3)], last=2) == {}


def test_answers_behind_it_are_found_by_the_turn_they_answer_near_and_far():
    items = [asked("a", "b"), *said(2), tool_result_message("a", "x"), *said(NEAR + 5), tool_result_message("b", "y")]
    assert answered(items, last=2) == {1: (4, 4 + NEAR + 6)}
    assert answered(items, last=2, near=True) == (4, 4 + NEAR + 6)


def test_a_call_that_nobody_answers_has_none_and_one_that_comes_too_late_is_not_looked_for():
    assert answered([asked("a"), *said(40)], last=1) == {}
    others = [item for number in range(FAR) for item in (asked(f"o{number}"), tool_result_message(f"o{number}", "x"))]
    assert answered([asked("a"), *others, tool_result_message("a", "x")], last=1) == {}


def test_a_later_turn_with_the_same_id_gets_the_answer():
    assert answered([asked("a"), *said(2), asked("a"), tool_result_message("a", "x")], last=2) == {}
    assert answered([asked("a"), tool_result_message("a", "x"), asked("a"), *said(2), tool_result_message("a", "y")], last=4) == {3: (6,)}


def test_an_answer_without_an_id_answers_the_turn_before_it():
    assert answered([asked("a"), TapeEntry(0, "tool_result", {"results": ["pong"]})], last=1) == {1: (2,)}


def test_an_answer_that_was_removed_counts_as_it_takes_its_round_with_it():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        *_, result = await tape.append_many([asked("a"), *said(2), tool_result_message("a", "x")])
        await tape.append(TapeEntry(0, AMEND, {"target": result.uid, "removed": True}))
        assert await late_answers(tape, first=1, last=2) == {1: (4,)}

    anyio.run(go)


def test_only_the_last_turns_of_a_run_are_looked_at_for_its_end():
    items = [asked("a"), *said(NEAR + 10), tool_result_message("a", "x")]
    assert answered(items, last=NEAR + 5, near=True) == ()
    assert answered(items, last=5, near=True) == (NEAR + 12,)
