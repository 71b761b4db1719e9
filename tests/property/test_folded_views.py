"""Reading beside folded runs is reading the whole view less what is folded; a plan over gaps tells every entry once, or is refused."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidPlan
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.plan import Plan, Span, span_of
from playhead.view.selectors import drop_tool_results, keep_last, mask

words = st.sampled_from(["hi", "word " * 20, "sk-secret", "x" * 200])
turns = st.one_of(
    st.builds(lambda text: [user(text)], words),
    st.builds(lambda text: [assistant(text)], words),
    st.builds(lambda text: [system(text)], words),
    st.builds(lambda text, answer: [assistant(text, calls=[ToolCall(id="c", name="f"), ToolCall(id="d", name="f")]), tool_result_message("c", answer), tool_result_message("d", text)], words, words),
    st.just([TapeEntry.event("tick", {})]),
    st.just([TapeEntry.message({"role": "user", "content": "hidden"}, context=False)]),
    st.builds(lambda name: [TapeEntry.anchor(name, {"summary": name})], st.sampled_from(["x", "session/start"])),
)
histories = st.lists(turns, max_size=30).map(lambda runs: [item for run in runs for item in run])
unselected = st.sampled_from([default_tape_context(), default_tape_context(anchor=None), TapeContext(anchor=None)])
selected = st.sampled_from([TapeContext(anchor=None, select=mask("sk-")), TapeContext(select=drop_tool_results(over_tokens=30))])
own = TapeContext(anchor=None, select=lambda entries, context: [e.payload for e in entries if e.kind == "message"])


async def filled(history, context):
    tape = Tape(InMemoryTapeStore(), "t", context=context)
    await tape.append_many(history)
    return tape


def borders(units):
    """Return the entries behind which no unit is parted."""
    clean, reach = [], 0
    for unit in (u for u in units if u.ids):
        if unit.first > reach:
            clean.append(unit.first - 1)
        reach = max(reach, unit.last)
    return sorted({*clean, units.end})


def folds(draw, whole):
    """Draw runs of entries that part no unit, touching and overlapping ones among them, some not wholly in the view."""
    marks = borders(whole)
    ends = st.tuples(st.sampled_from(marks), st.sampled_from([*marks, whole.end + 3])).filter(lambda run: run[0] < run[1])
    return [(first + 1, last) for first, last in draw(st.lists(ends, max_size=5) if marks[-1] else st.just([]))]


def counted(whole, runs):
    """Return the entries that are folded: of the runs that lie in the view, behind the system messages it opens with."""
    start = 0 if whole.before is None else whole.before.id
    opening = max((id for unit in whole[: whole.lead] for id in unit.ids), default=start)
    return {id for first, last in runs if opening < first and last <= whole.end for id in range(first, last + 1)}


def shape(units):
    return [(u.kind, u.ids, u.uids, u.tokens, u.messages, u.how) for u in units]


def read_ids(units):
    return {id for unit in units for id in unit.ids} | {h.id for h in units.hidden} | set(range(1, units.before.id + 1 if units.before else 1))


def unread_ids(units):
    return {id for gap in units.gaps for id in range(gap.first, gap.last + 1)}


@settings(max_examples=100, deadline=None)
@given(st.data(), histories, unselected | selected)
def test_reading_beside_folds_is_reading_the_whole_less_what_is_folded(data, history, context):
    async def go():
        tape = await filled(history, context)
        whole = await tape.read()
        runs = folds(data.draw, whole)
        gone = counted(whole, runs)
        found = await tape.read(folded=runs)
        assert unread_ids(found) == gone and found.lead == whole.lead
        assert shape(found) == [s for s, u in zip(shape(whole), whole, strict=True) if not u.ids or u.first not in gone]
        assert read_ids(found) | gone == set(range(1, whole.end + 1))
        assert all(a.last + 1 < b.first for a, b in zip(found.gaps, found.gaps[1:], strict=False))
        found.plan([("raw", "fits")] * len(found), unread="folded").check()

    anyio.run(go)


@settings(max_examples=100, deadline=None)
@given(st.data(), histories, unselected, st.integers(0, 300), st.integers(0, 200))
def test_a_room_is_filled_from_the_end_with_what_is_not_folded_and_from_the_front_up_to_the_first_fold(data, history, context, tail, head):
    async def go():
        tape = await filled(history, context)
        whole = await tape.read()
        runs = folds(data.draw, whole)
        left = [u for u in (await tape.read(folded=runs)) if u.ids]
        found = await tape.read(folded=runs, tail_tokens=tail, head_tokens=head)
        units = [u for u in found if u.ids]
        assert read_ids(found) | unread_ids(found) == set(range(1, whole.end + 1)) and not read_ids(found) & unread_ids(found)
        assert found.lead == whole.lead
        front = next((i for i, (a, b) in enumerate(zip(units, left, strict=False)) if a.ids != b.ids), len(units))
        behind = len(units) - front
        assert shape(units) == shape(left[:front] + left[len(left) - behind :])
        if len(units) < len(left):
            assert sum(u.tokens for u in left[len(left) - behind :]) > tail >= sum(u.tokens for u in left[len(left) - behind + 1 :])
            opening = sum(u.kind != "note" for u in found[: found.lead])
            assert front == opening or sum(u.tokens for u in units[:front]) <= head
        found.plan([("raw", "fits")] * len(found), unread="folded").check()

    anyio.run(go)


@settings(max_examples=60, deadline=None)
@given(st.data(), histories)
def test_a_selector_of_ones_own_gets_the_whole_view_and_a_pipe_that_stops_early_leaves_one_gap(data, history):
    async def go():
        tape = await filled(history, own)
        whole = await tape.read()
        runs = folds(data.draw, whole)
        assert shape(await tape.read(folded=runs)) == shape(whole) and (await tape.read(folded=runs)).gaps == ()
        last = tape.with_context(TapeContext(anchor=None, select=keep_last(2)))
        found = await last.read(folded=runs)
        assert read_ids(found) | unread_ids(found) == set(range(1, whole.end + 1)) and not read_ids(found) & unread_ids(found)
        assert sum(u.role == "user" and u.kind == "message" for u in found) <= 2
        assert [gap.reason for gap in found.gaps[1:]] == [None] * len(found.gaps[1:])
        found.plan([("raw", "fits")] * len(found), unread="folded").check()

    anyio.run(go)


def told(draw, units):
    """Draw a plan for units with gaps: spans of every form, each gap in several."""
    spans: list[Span] = [] if units.before is None else [Span(form="omitted", reason="before", first=1, last=units.before.id, count=units.before.id)]
    start = 0
    for gap in (*units.gaps, None):
        stop = len(units) if gap is None else gap.at
        while start < stop:
            size = draw(st.integers(1, stop - start))
            run = units[start : start + size]
            spans.append(summary(span_of(run, form="summary", reason="folded")) if draw(st.booleans()) else span_of(run, form=draw(st.sampled_from(["raw", "omitted"])), reason="fits"))
            start += size
        first = 0 if gap is None else gap.first
        while gap is not None and first <= gap.last:
            last = draw(st.integers(first, gap.last))
            span = Span(form="omitted", reason="not read", first=first, last=last, count=last - first + 1)
            spans.append(summary(replace(span, form="summary", reason="folded")) if draw(st.booleans()) else span)
            first = last + 1
    return spans


def summary(span):
    return replace(span, tokens=100, messages=(user("What do you remember?"), assistant(f"Of {span.first} to {span.last}: nothing.")), node=f"L1-{span.first}", level=1)


def moved(span, by):
    return replace(span, first=span.first + by, last=span.last + by)


def longer(span, by):
    return replace(span, last=span.last + by, count=span.count + by)


spoilt = {
    "lost": lambda spans, i: [*spans[:i], *spans[i + 1 :]],
    "repeated": lambda spans, i: [*spans[: i + 1], *spans[i:]],
    "swapped with the next": lambda spans, i: [*spans[:i], spans[(i + 1) % len(spans)], spans[i], *spans[i + 2 :]] if i + 1 < len(spans) else [spans[-1], *spans[1:-1], spans[0]],
    "moved": lambda spans, i: [*spans[:i], moved(spans[i], 1), *spans[i + 1 :]],
    "too long": lambda spans, i: [*spans[:i], longer(spans[i], 1), *spans[i + 1 :]],
    "miscounted": lambda spans, i: [*spans[:i], replace(spans[i], count=spans[i].count + 1), *spans[i + 1 :]],
    "shown without words": lambda spans, i: [*spans[:i], replace(spans[i], form="summary", messages=(), node="L1-1"), *spans[i + 1 :]],
    "of another form": lambda spans, i: [*spans[:i], replace(spans[i], form="raw", messages=(user("x"),)), *spans[i + 1 :]],
}


@settings(max_examples=150, deadline=None)
@given(st.data(), histories, unselected, st.sampled_from(sorted(spoilt)))
def test_a_plan_over_units_and_gaps_is_proved_and_a_corrupted_one_is_not(data, history, context, how):
    async def go():
        tape = await filled(history, context)
        units = await tape.read(folded=folds(data.draw, await tape.read()))
        spans = told(data.draw, units)
        plan = Plan(spans=tuple(spans), units=units)
        plan.check()
        assert plan.tokens == sum(s.tokens or 0 for s in spans if s.is_shown)
        assume(spans and (how != "swapped with the next" or len(spans) > 1))
        corrupted = spoilt[how](spans, data.draw(st.integers(0, len(spans) - 1)))
        with pytest.raises(InvalidPlan):
            Plan(spans=tuple(corrupted), units=units).check()

    anyio.run(go)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.lists(turns | st.just("amend"), min_size=1, max_size=15), unselected | selected, st.integers(0, 200))
def test_a_handle_that_read_along_reads_what_a_fresh_one_does_with_folds_and_changes(data, runs, context, room):
    async def go():
        tape, shorter = Tape(InMemoryTapeStore(), "t", context=context), []
        for run in runs:
            said = [e for e in await tape.query().all() if e.kind != AMEND]
            target = data.draw(st.sampled_from(said)).uid if said else "nobody"
            change = data.draw(st.sampled_from([{"content": "changed " * 9}, {"removed": True}, {}]))
            await tape.append_many([TapeEntry(0, AMEND, {"target": target, **change})] if run == "amend" else run)
            whole = await Tape(tape.store, "t", context=context).read()
            folded = folds(data.draw, whole)
            for how in ({"tail_tokens": room, "head_tokens": room}, {}, {"folded": folded}, {"folded": folded, "tail_tokens": room}):
                along, fresh = await tape.read(**how), await Tape(tape.store, "t", context=context).read(**how)
                assert (shape(along), along.hidden, along.gaps, along.lead) == (shape(fresh), fresh.hidden, fresh.gaps, fresh.lead)
            shorter.append((whole.end, folded, shape(await tape.read(folded=folded))))
        for end, folded, then in shorter:
            assert shape(await tape.at(end).read(folded=folded)) == then

    anyio.run(go)
