"""The view as parts and as items: each unit and each entry that was not read in exactly one."""

from __future__ import annotations

import pytest

from playhead.fold.choosing import accounting
from playhead.fold.forest import Forest, Pin
from playhead.prompt.folding.middle import Missing, Windows, items_of, parts_of
from playhead.prompt.folding.state import FoldState
from playhead.view.plan import Units
from playhead.view.units import Before, Gap
from tests.unit.fold.choosing import node, said

OPEN = Windows(head=0, tail=1_000)
LOW = [node(1, first, first + 9, uid=f"a{first}") for first in (1, 11, 21, 31)]
HIGH = node(2, 1, 20, uid="b1", children=("a1", "a11"))


def price(found):
    return 40 + found.level


def units(*ids, gaps=(), end=None, before=None):
    return Units(units=tuple(said(id) for id in ids), gaps=tuple(gaps), end=end or max(ids, default=0), before=before)


def gap(first, last, at, reason=None):
    return Gap(first=first, last=last, count=last - first + 1, at=at, reason=reason)


def known(*nodes, shown=(), pins=(), locks=()):
    children = {child: one.uid for one in nodes for child in one.children}
    roots = tuple(one for one in nodes if one.uid not in children)
    return FoldState(forest=Forest(roots=roots, nodes={one.uid: one for one in nodes}, parents=children, pins=tuple(pins), locks=tuple(locks)), shown=tuple(shown))


def parts(view, state):
    return [(len(part.units), part.node and part.node.uid, part.gap and part.gap.first, part.missing, part.tokens) for part in parts_of(view, state, price=price)]


def items(view, state, *, windows=OPEN):
    return items_of(view, parts_of(view, state, price=price), state, windows=windows, price=price)


def steps(item):
    return [(step.node, step.level, step.tokens) for step in item.above]


def test_a_view_without_gaps_is_one_run_of_raw_units():
    assert parts(units(1, 2, 3), known()) == [(3, None, None, None, 30)]
    assert parts(units(), known()) == []


def test_a_gap_that_a_shown_summary_tells_stands_between_the_runs_around_it():
    view = units(1, 2, 11, 12, gaps=[gap(3, 10, 2)])
    told = node(1, 3, 10, uid="n")
    assert parts(view, known(told, shown=[told])) == [(2, None, None, None, 20), (0, "n", None, None, 41), (2, None, None, None, 20)]


def test_what_of_a_gap_no_shown_summary_tells_is_missing():
    told = node(1, 4, 6, uid="n")
    assert parts(units(11, gaps=[gap(1, 10, 0)]), known(told, shown=[told])) == [
        (0, None, None, Missing(first=1, last=3), 0),
        (0, "n", None, None, 41),
        (0, None, None, Missing(first=7, last=10), 0),
        (1, None, None, None, 10),
    ]


def test_a_gap_that_a_selector_left_out_is_neither_told_nor_missing():
    told = node(1, 1, 10, uid="n")
    view = units(11, gaps=[gap(1, 10, 0, reason="older")])
    assert parts(view, known(told, shown=[told])) == [(0, None, 1, None, 0), (1, None, None, None, 10)]
    found, untold = items(view, known(told, shown=[told]))
    assert [item.first for item in found] == [11] and untold == ()


def test_the_units_of_a_view_that_was_loaded_whole_are_told_by_the_summary_over_them():
    told = node(1, 2, 3, uid="n")
    state = known(told, shown=[told])
    assert parts(units(1, 2, 3, 4), state) == [(1, None, None, None, 10), (2, "n", None, None, 41), (1, None, None, None, 10)]
    found, _ = items(units(1, 2, 3, 4), state)
    assert [(item.first, item.node, item.tokens) for item in found] == [(1, None, 10), (2, "n", 41), (4, None, 10)]


def test_units_that_a_selector_arranged_otherwise_are_shown_raw():
    told = node(1, 1, 2, uid="n")
    view = Units(units=(said(2), said(1)), end=2)
    assert parts(view, known(told, shown=[told])) == [(2, None, None, None, 20)]
    assert [steps(item) for item in items(view, known(told))[0]] == [[], []]


def test_a_raw_unit_may_be_folded_into_the_summaries_over_it_the_nearest_first():
    found, _ = items(units(5, 15, 25), known(*LOW[:2], HIGH))
    assert [steps(item) for item in found] == [[("a1", 1, 41), ("b1", 2, 42)], [("a11", 1, 41), ("b1", 2, 42)], []]


def test_a_root_that_nobody_looked_into_stands_for_what_lies_under_it():
    found, untold = items(units(21, gaps=[gap(1, 20, 0)]), known(HIGH))
    assert untold == ()
    assert [(item.first, item.last, item.tokens, steps(item)) for item in found] == [(1, 20, 3_000, [("b1", 2, 42)]), (21, 21, 10, [])]


def test_what_was_not_loaded_is_an_item_at_the_price_it_has_raw_less_what_was_loaded_of_it():
    found, untold = items(units(8, 9, 10, gaps=[gap(1, 7, 0)]), known(LOW[0]))
    assert [(item.first, item.last, item.tokens) for item in found] == [(1, 7, 2_970), (8, 8, 10), (9, 9, 10), (10, 10, 10)]
    assert untold == ()


def test_what_was_not_loaded_and_lies_under_no_summary_is_untold():
    found, untold = items(units(31, gaps=[gap(1, 30, 0)]), known(LOW[1]))
    assert untold == (Missing(first=1, last=10), Missing(first=21, last=30))
    assert [(item.first, item.last) for item in found] == [(11, 20), (31, 31)]


@pytest.mark.parametrize(("index", "is_fixed"), [(0, True), (1, False), (2, True), (3, False), (4, False), (5, True)])
def test_windows_pins_and_locks_are_fixed(index, is_fixed):
    pin = Pin(id="pin-1", first=3, last=3, first_uid="u3", last_uid="u3", name=None, kind="range", level=None, max_level=None, uid="p")
    found, _ = items(units(1, 2, 3, 4, 5, 6), known(pins=[pin]), windows=Windows(head=1, tail=5))
    assert found[index].is_fixed == is_fixed


def test_a_shown_summary_over_a_lock_is_not_folded_further():
    view = units(21, gaps=[gap(1, 20, 0)])
    state = known(*LOW[:2], HIGH, shown=LOW[:2], locks=[15])
    assert [(item.node, item.is_fixed) for item in items(view, state)[0]] == [("a1", False), ("a11", True), (None, False)]


def test_summaries_that_do_not_lie_whole_in_the_view_are_none_of_its():
    before = Before(name="here", id=5)
    found, _ = items(Units(units=(said(6), said(15)), end=20, before=before), known(*LOW[:2], HIGH))
    assert [steps(item) for item in found] == [[], [("a11", 1, 41)]]
    left_out = units(25, gaps=[gap(1, 12, 0, reason="older"), gap(13, 24, 0)], end=40)
    found, untold = items(left_out, known(*LOW))
    assert untold == (Missing(first=13, last=20),)
    assert [steps(item) for item in found] == [[("a21", 1, 41)], [("a21", 1, 41)]]


def test_items_come_to_what_the_parts_show():
    view = units(1, 21, 22, gaps=[gap(2, 20, 1)])
    told = node(2, 2, 20, uid="n")
    state = known(told, shown=[told])
    assert accounting.total(items(view, state)[0]) == sum(part.tokens for part in parts_of(view, state, price=price))
