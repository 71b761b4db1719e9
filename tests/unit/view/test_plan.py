from dataclasses import replace

import pytest

from playhead.entry.message import ToolCall, assistant, tool_result_message, user
from playhead.errors import InvalidPlan, OverBudgetError
from playhead.view.plan import Plan, Span, Units, span_of
from playhead.view.units import Before, Gap, Unit


def unit(id, tokens=10):
    return Unit(kind="message", messages=(user(f"m{id}"),), ids=(id,), uids=(f"u{id}",), tokens=tokens)


def units(*ids, **known):
    return Units(units=tuple(unit(i) for i in ids), **known)


def test_keep_shows_the_kept_units_and_gives_the_rest_the_reason():
    loaded = units(1, 2, 3, 4)
    plan = loaded.keep(loaded[-2:], reason="older than the last two")
    assert [(s.form, s.first, s.last, s.count, s.tokens, s.reason) for s in plan.spans] == [
        ("omitted", 1, 2, 2, 20, "older than the last two"),
        ("raw", 3, 4, 2, 20, "fits"),
    ]
    plan.check(20)
    assert plan.tokens == 20


def test_what_lies_before_the_view_and_what_was_not_read_are_spans_with_reasons():
    loaded = units(8, 20, 21, before=Before(name="a", id=7), gaps=(Gap(first=9, last=19, count=11, at=1),))
    plan = loaded.keep(loaded.units, reason="too old")
    assert [(s.form, s.first, s.last, s.count, s.tokens, s.reason) for s in plan.spans] == [
        ("omitted", 1, 7, 7, None, "before anchor a"),
        ("raw", 8, 8, 1, 10, "fits"),
        ("omitted", 9, 19, 11, None, "too old"),
        ("raw", 20, 21, 2, 20, "fits"),
    ]
    plan.check(30)


def test_an_empty_view_has_a_valid_empty_plan():
    plan = units().keep((), reason="none")
    plan.check(1)
    assert plan.spans == ()


def test_a_plan_over_its_room_is_refused_with_the_numbers():
    loaded = units(1, 2)
    with pytest.raises(OverBudgetError, match="budget") as caught:
        loaded.keep(loaded.units, reason="x").check(19)
    assert (caught.value.needed, caught.value.room) == (20, 19)


def spoiled(loaded, spans):
    return Plan(spans=tuple(spans), units=loaded)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda u, s: [], "loses 3 units"),
        (lambda u, s: [span_of(u[:2], form="raw", reason="x")], "loses 1 units, the first of entries 3 to 3"),
        (lambda u, s: [span_of(u[:2], form="raw", reason="x"), span_of(u[1:], form="raw", reason="x")], "repeats 1 units"),
        (lambda u, s: [span_of(u[::-1], form="raw", reason="x")], "order"),
        (lambda u, s: [span_of((*u[:2], unit(9)), form="raw", reason="x")], "not loaded"),
        (lambda u, s: [replace(s[0], reason="")], "no reason"),
        (lambda u, s: [replace(s[0], tokens=1)], "does not add up"),
        (lambda u, s: [replace(s[0], count=9)], "does not add up"),
        (lambda u, s: [replace(s[0], last=9)], "does not add up"),
        (lambda u, s: [replace(s[0], form="summary")], "shows nothing"),
        (lambda u, s: [replace(s[0], form="summary", messages=(user("s"),))], "does not name its summary"),
        (lambda u, s: [replace(s[0], form="trimmed")], "how it is trimmed"),
        (lambda u, s: [replace(s[0], form="trimmed", how="cut", messages=(user("word " * 100),), tokens=1)], "costs 1"),
        (lambda u, s: [replace(s[0], form="trimmed", how="cut", messages=(user("x"),), tokens=30, first=9)], "does not add up"),
        (lambda u, s: [replace(s[0], form="bogus")], "none of raw"),
        (lambda u, s: [replace(s[0], messages=(user("made up"),))], "other messages"),
        (lambda u, s: [*s, Span(form="omitted", reason="x", first=9, last=9, count=1)], "covers nothing"),
    ],
)
def test_a_plan_that_loses_repeats_or_reorders_something_is_refused(spoil, message):
    loaded = units(1, 2, 3)
    spans = loaded.keep(loaded.units, reason="x").spans
    with pytest.raises(InvalidPlan, match=message):
        spoiled(loaded, spoil(loaded.units, list(spans))).check()


def test_a_plan_must_account_for_what_was_not_read_and_what_lies_before():
    loaded = units(8, 20, before=Before(name="a", id=7), gaps=(Gap(first=9, last=19, count=11, at=1),))
    spans = loaded.keep(loaded.units, reason="x").spans
    with pytest.raises(InvalidPlan, match="before the view"):
        spoiled(loaded, spans[1:]).check()
    with pytest.raises(InvalidPlan, match="9 to 19, which were not read"):
        spoiled(loaded, (*spans[:2], *spans[3:])).check()
    with pytest.raises(InvalidPlan, match="nothing of entries 19 to 19, which were not read"):
        spoiled(loaded, (*spans[:2], replace(spans[2], last=18, count=10), *spans[3:])).check()


PAIR = (user("What do you remember?"), assistant("That we met."))


def told(first, last):
    return Span(form="summary", reason="folded", first=first, last=last, count=last - first + 1, tokens=40, messages=PAIR, node=f"L1-{first}", level=1)


def left(first, last):
    return Span(form="omitted", reason="not read", first=first, last=last, count=last - first + 1)


GAPS = (Gap(first=2, last=9, count=8, at=1), Gap(first=12, last=14, count=3, at=3))


def over_gaps(*between, behind=()):
    """Return a plan of units 1, 10, 11, 15 with spans in the gap between 1 and 10, and in the one between 11 and 15."""
    loaded = units(1, 10, 11, 15, gaps=GAPS)
    shown = [span_of(run, form="raw", reason="fits") for run in (loaded[:1], loaded[1:3], loaded[3:])]
    return Plan(spans=(shown[0], *between, shown[1], *(behind or (left(12, 14),)), shown[2]), units=loaded)


@pytest.mark.parametrize("between", [[left(2, 9)], [told(2, 9)], [told(2, 4), told(5, 9)], [left(2, 2), told(3, 8), left(9, 9)]])
def test_a_gap_is_told_by_summaries_and_left_out_in_any_parts(between):
    plan = over_gaps(*between, behind=[told(12, 14)])
    plan.check(200)
    assert plan.tokens == 40 + 40 * (1 + sum(s.form == "summary" for s in between))


@pytest.mark.parametrize(
    ("between", "message"),
    [
        ([], "nothing of entries 2 to 9, which were not read"),
        ([told(2, 4), told(6, 9)], "nothing of entries 5 to 5, which were not read"),
        ([told(2, 8)], "nothing of entries 9 to 9, which were not read"),
        ([told(3, 9)], "nothing of entries 2 to 2, which were not read"),
        ([told(2, 5), told(5, 9)], "does not lie in what was not read, entries 6 to 9"),
        ([told(5, 9), told(2, 4)], "nothing of entries 2 to 4"),
        ([told(2, 10)], "does not lie in what was not read"),
        ([told(2, 9), left(10, 9)], "covers nothing"),
        ([told(2, 9), told(10, 11)], "covers nothing"),
        ([replace(told(2, 9), count=7)], r"\(7\) does not lie in what was not read"),
        ([replace(told(2, 9), messages=())], "shows nothing"),
        ([replace(told(2, 9), node=None)], "does not name its summary"),
        ([replace(told(2, 9), tokens=5)], "costs"),
        ([replace(told(2, 9), form="raw", messages=())], "omitted, or told by a summary, not raw"),
        ([replace(told(2, 9), form="trimmed", how="cut")], "omitted, or told by a summary, not trimmed"),
        ([replace(told(2, 9), last="9")], "whole numbers"),
    ],
)
def test_a_gap_that_is_not_told_whole_and_once_is_refused(between, message):
    with pytest.raises(InvalidPlan, match=message):
        over_gaps(*between).check()


def test_no_span_stands_over_units_and_over_what_was_not_read():
    loaded = units(1, 10, 15, gaps=(Gap(first=2, last=9, count=8, at=1),))
    across = replace(span_of(loaded[:2], form="summary", reason="x"), messages=PAIR, tokens=40, node="L1-1")
    with pytest.raises(InvalidPlan, match="on both sides of entries 2 to 9"):
        Plan(spans=(across, span_of(loaded[2:], form="raw", reason="x")), units=loaded).check()
    with pytest.raises(InvalidPlan, match="nothing of entries 2 to 9"):
        Plan(spans=(span_of(loaded[:1], form="raw", reason="x"), replace(told(2, 10), units=loaded[1:2]), span_of(loaded[2:], form="raw", reason="x")), units=loaded).check()


def test_gaps_that_touch_where_nothing_is_shown_between_them_are_told_in_order():
    loaded = units(1, 20, gaps=(Gap(first=2, last=5, count=4, at=1), Gap(first=8, last=19, count=12, at=1)))
    plan = loaded.plan([("raw", "fits")] * 2, unread="not read")
    assert [(s.first, s.last) for s in plan.spans] == [(1, 1), (2, 5), (8, 19), (20, 20)]
    plan.check()
    with pytest.raises(InvalidPlan, match="nothing of entries 2 to 5"):
        Plan(spans=(plan.spans[0], plan.spans[2], plan.spans[1], plan.spans[3]), units=loaded).check()


def test_a_gap_that_a_selector_left_out_keeps_its_reason():
    loaded = units(5, gaps=(Gap(first=1, last=4, count=4, reason="older than the last turn"),))
    assert [s.reason for s in loaded.plan([("raw", "fits")], unread="not read").spans] == ["older than the last turn", "fits"]


def test_a_shown_call_without_its_result_is_refused():
    half = Unit(kind="round", messages=(assistant(calls=[ToolCall(id="a", name="f")]),), ids=(1,), uids=(), tokens=5)
    lone = Unit(kind="message", messages=(tool_result_message("z", "Z"),), ids=(2,), uids=(), tokens=5)
    for fault, message in ((half, "call 'a' without its result"), (lone, "call 'z' without the call")):
        loaded = Units(units=(fault,))
        with pytest.raises(InvalidPlan, match=message):
            loaded.keep(loaded.units, reason="x").check()
        loaded.keep((), reason="x").check()


def test_fit_finds_the_longest_tail_for_a_room():
    loaded = Units(units=tuple(unit(i, tokens=t) for i, t in enumerate([5, 10, 20, 1], 1)))
    assert [loaded.fit(room) for room in (0, 1, 20, 21, 31, 36, 99)] == [4, 3, 3, 2, 1, 0, 0]
    assert loaded.fit(99, start=2) == 2


def test_a_slice_of_units_is_a_tuple_of_them():
    loaded = units(1, 2, 3)
    assert loaded[-2:] == loaded.units[1:] and loaded[0] is loaded.units[0] and len(loaded) == 3 and list(loaded) == list(loaded.units)
