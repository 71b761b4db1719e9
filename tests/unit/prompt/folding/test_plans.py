"""From parts to a plan, to what it is made of, and to the refusal of one that does not fit."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from playhead.errors import OverBudgetError
from playhead.fold.forest import Forest
from playhead.fold.recall import RecallStyle, recall_pair
from playhead.prompt.folding.makeup import HEAD, TAIL, Bucket
from playhead.prompt.folding.middle import parts_of
from playhead.prompt.folding.spans import plan_of
from playhead.prompt.folding.state import FoldState
from playhead.view.plan import Units
from playhead.view.units import Before, Gap
from tests.unit.fold.choosing import node, said
from tests.unit.prompt.folding.managed import WIDE, call, managed, room, talk

STYLE = RecallStyle(question="[Recall {id}]", speaker="Claude")
TOLD = node(1, 3, 6, uid="n", number=7)


def pair(found):
    return recall_pair(found, style=STYLE)


def planned(units, *shown, reason=lambda unit, index: "fits"):
    state = FoldState(forest=Forest(roots=tuple(shown), nodes={one.uid: one for one in shown}), shown=shown)
    plan = plan_of(units, parts_of(units, state, price=lambda one: 60), reason=reason, pair=pair, state=state)
    plan.check()
    return [(span.form, span.reason, span.first, span.last, span.count, span.tokens, span.node) for span in plan.spans]


def test_every_part_is_a_span_and_raw_neighbours_of_one_reason_are_one():
    view = Units(units=(said(1), said(2), said(7), said(8)), gaps=(Gap(first=3, last=6, count=4, at=2),), end=8)
    assert planned(view, TOLD, reason=lambda unit, index: "recent" if index > 2 else "fits") == [
        ("raw", "fits", 1, 2, 2, 20, None),
        ("summary", "told by L1-7: 4 units of 3,000 tokens", 3, 6, 4, 60, "L1-7"),
        ("raw", "fits", 7, 7, 1, 10, None),
        ("raw", "recent", 8, 8, 1, 10, None),
    ]


def test_loaded_units_that_a_summary_tells_stay_in_the_plan():
    view = Units(units=(said(1), said(3), said(6)), end=6)
    assert planned(view, TOLD) == [("raw", "fits", 1, 1, 1, 10, None), ("summary", "told by L1-7: 4 units of 3,000 tokens", 3, 6, 2, 60, "L1-7")]


def test_what_lies_before_an_anchor_and_what_a_selector_left_out_are_omitted_with_their_reason():
    view = Units(units=(replace(said(9), how="mask"), said(10)), gaps=(Gap(first=3, last=8, count=6, at=0, reason="older than the last two"),), before=Before(name="here", id=2), end=10)
    assert planned(view) == [
        ("omitted", "before anchor here", 1, 2, 2, None, None),
        ("omitted", "older than the last two", 3, 8, 6, None, None),
        ("trimmed", "fits", 9, 9, 1, 10, None),
        ("raw", "fits", 10, 10, 1, 10, None),
    ]


def test_one_unit_is_named_in_the_singular():
    view = Units(units=(said(2),), gaps=(Gap(first=1, last=1, count=1, at=0),), end=2)
    assert planned(view, node(1, 1, 1, uid="n"))[0][1] == "told by L1-1: 1 unit of 3,000 tokens"


def test_the_makeup_adds_up_and_says_what_is_where():
    async def go():
        async with managed(head_window_tokens=80, adaptive_resolution=True) as manager:
            await talk(manager, 60)
            await call(manager, 1)
            await manager.drain()
            prompt = await manager.compile(room(900))
            stats = prompt.render_stats
            buckets = [stats.head, stats.tail, stats.middle_raw, *stats.summaries.values()]
            assert stats.total.tokens == prompt.stats.total == sum(bucket.tokens for bucket in buckets)
            assert stats.total.count == len(prompt.messages) == sum(b.count for b in (stats.head, stats.tail, stats.middle_raw)) + 2 * sum(b.count for b in stats.summaries.values())
            assert {row.reason for row in prompt.explain()} >= {HEAD, TAIL}
            assert (stats.factor, stats.ceiling, stats.budget) == (1.0, 1.8, 924) and stats.folds > 0

    anyio.run(go)


def test_summaries_above_the_third_level_count_as_of_the_third():
    async def go():
        async with managed(merge_threshold=2) as manager:
            await talk(manager, 120)
            await manager.drain()
            prompt = await manager.compile(room(500))
            stats = prompt.render_stats
            assert max(stats.by_level) > 3
            assert stats.summaries[3].count == sum(count for level, count in stats.by_level.items() if level >= 3)
            assert stats.head == Bucket()

    anyio.run(go)


def test_a_refusal_says_what_takes_how_much_and_what_would_help():
    async def go():
        async with managed(head_window_tokens=80) as manager:
            await talk(manager, 60)
            whole = (await manager.compile(WIDE)).stats.total
            with pytest.raises(OverBudgetError) as refused:
                await manager.compile(room(700))
            facts = refused.value.diagnostics
            assert facts["head_tokens"] > 0 and facts["tail_tokens"] > 0
            assert facts["head_tokens"] + facts["tail_tokens"] + facts["middle_tokens"] <= whole
            assert (facts["configured_budget"], facts["reserve_for_response"], facts["input_budget"], facts["deepest_available_level"], facts["summary_counts_by_level"]) == (724, 0, 700, 0, {})
            assert facts["raw_pins"] == [] and facts["wanted"]
            assert "tick() or drain()" in str(refused.value)

    anyio.run(go)


def test_a_refusal_has_the_summaries_written_that_it_lacked_also_those_that_would_wait():
    async def go():
        async with managed(l1_holdback_chunks=3) as manager:
            await talk(manager, 16)
            await manager.drain()
            with pytest.raises(OverBudgetError):
                await manager.compile(room(250))
            assert await manager.drain() > 0
            await manager.compile(room(250))

    anyio.run(go)
