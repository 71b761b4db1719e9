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
    loaded = units(8, 20, 21, before=Before(name="a", id=7), unread=Gap(first=9, last=19, count=11, at=1))
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
    loaded = units(8, 20, before=Before(name="a", id=7), unread=Gap(first=9, last=19, count=11, at=1))
    spans = loaded.keep(loaded.units, reason="x").spans
    with pytest.raises(InvalidPlan, match="before the view"):
        spoiled(loaded, spans[1:]).check()
    with pytest.raises(InvalidPlan, match="9 to 19, which were not read"):
        spoiled(loaded, (*spans[:2], *spans[3:])).check()
    with pytest.raises(InvalidPlan, match="not read is omitted 9 to 18"):
        spoiled(loaded, (*spans[:2], replace(spans[2], last=18), *spans[3:])).check()


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
