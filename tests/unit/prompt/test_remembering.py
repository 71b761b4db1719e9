"""Strategies that remember beside the tape, ask for less than the whole view, and change their mind when they see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import pytest

from playhead.entry.message import assistant, user
from playhead.errors import BranchClosed, InvalidPlan, OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.strategy import Need, Remembers, Reread, Strategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Span, span_of

WIDE = Budget(max_tokens=100_000)


def run(function):
    return anyio.run(function)


async def talk(count):
    tape = Tape(InMemoryTapeStore(), "t")
    await tape.append_many(user(f"m{i}") for i in range(1, count + 1))
    return tape


@dataclass
class Folding:
    """Tells a run of entries as a summary, and remembers how far that run goes."""

    upto: int = 0
    name = "folding"
    kept: list[object] = field(default_factory=list)
    budgets: list[int] = field(default_factory=list)

    async def recall(self, tape, *, budget):
        self.budgets.append(budget.room)
        return self.kept[-1] if self.kept else 0

    async def keep(self, tape, state):
        self.kept.append(state)

    def need(self, *, budget, state):
        return Need(folded=((1, state),) if state else ())

    def plan(self, units, *, budget, state):
        if state != self.upto:
            return Reread(need=self.need(budget=budget, state=self.upto), state=self.upto)
        told = [summary(g.first, g.last) for g in units.gaps]
        return Plan(spans=(*told, span_of(units, form="raw", reason="recent")), units=units, state=self.upto)


def summary(first, last, *, node="L1-1"):
    pair = (user("[Recall]"), assistant("We counted."))
    return Span(form="summary", reason="folded", first=first, last=last, count=last - first + 1, tokens=60, messages=pair, node=node, level=1)


def test_what_was_recalled_is_planned_with_and_what_is_new_is_kept():
    async def go():
        tape, strategy = await talk(20), Folding(upto=10)
        assert isinstance(strategy, Strategy) and isinstance(strategy, Remembers)
        prompt = await compile(tape, WIDE, strategy=strategy)
        assert [m.text for m in prompt.messages][:3] == ["[Recall]", "We counted.", "m11"] and strategy.kept == [10]
        await compile(tape, WIDE, strategy=strategy)
        assert strategy.kept == [10] and tape.states == {}
        strategy.upto = 12
        await compile(tape, WIDE, strategy=strategy)
        assert strategy.kept == [10, 12]

    run(go)


def test_a_dry_run_recalls_and_keeps_nothing():
    async def go():
        tape, strategy = await talk(20), Folding(upto=10)
        dry = await compile(tape, WIDE, strategy=strategy, dry_run=True)
        assert strategy.kept == [] and len(strategy.budgets) == 1
        assert (await compile(tape, WIDE, strategy=strategy)).digest == dry.digest

    run(go)


def test_the_budget_of_the_recall_is_the_one_beside_the_injections():
    async def go():
        tape, strategy = await talk(20), Folding()
        seen = []

        class Watching(Folding):
            def plan(self, units, *, budget, state):
                seen.append(budget.room)
                return super().plan(units, budget=budget, state=state)

        strategy = Watching()
        await compile(tape, WIDE, strategy=strategy, injections=[Injection(namespace="rules", content="word " * 500)])
        assert strategy.budgets == seen and seen[0] < WIDE.room - 500

    run(go)


def test_nothing_is_kept_where_the_plan_is_refused():
    class Lossy(Folding):
        def plan(self, units, *, budget, state):
            return Plan(spans=(), units=units, state=self.upto)

    async def go():
        strategy = Lossy(upto=10)
        with pytest.raises(InvalidPlan):
            await compile(await talk(20), WIDE, strategy=strategy)
        assert strategy.kept == []

    run(go)


@pytest.mark.parametrize("step", ["recall", "keep"])
def test_a_step_that_fails_is_named_and_our_own_errors_pass(step):
    async def go():
        tape = await talk(20)
        strategy = Folding(upto=10)

        async def fail(*args, **named):
            raise KeyError("where")

        async def closed(*args, **named):
            raise BranchClosed("t", "merged")

        setattr(strategy, step, fail)
        with pytest.raises(InvalidPlan, match=rf"folding failed in {step}\(...\) with KeyError"):
            await compile(tape, WIDE, strategy=strategy)
        setattr(strategy, step, closed)
        with pytest.raises(BranchClosed):
            await compile(tape, WIDE, strategy=strategy)

    run(go)


def test_a_strategy_that_never_plans_is_refused():
    class Undecided(Folding):
        def plan(self, units, *, budget, state):
            return Reread(need=Need(), state=state + 1)

    async def go():
        with pytest.raises(InvalidPlan, match="folding was given what it asked for"):
            await compile(await talk(3), WIDE, strategy=Undecided())

    run(go)


def test_a_refusal_keeps_what_the_strategy_says_of_it():
    class Full(Folding):
        def plan(self, units, *, budget, state):
            raise OverBudgetError(needed=999, room=budget.room, what="The view", diagnostics={"head_tokens": 7})

    async def go():
        with pytest.raises(OverBudgetError) as caught:
            await compile(await talk(3), Budget(max_tokens=500, reserve_for_response=100), strategy=Full())
        assert caught.value.diagnostics == {"head_tokens": 7} == caught.value.details["diagnostics"]
        assert caught.value.budget == 500 and caught.value.taken["response"] == 100

    run(go)


def test_a_dry_run_of_a_fold_that_does_not_fit_reports_it():
    class Full(Folding):
        def plan(self, units, *, budget, state):
            raise OverBudgetError(needed=999, room=budget.room, what="The view", diagnostics={"floor_tokens": 999})

    async def go():
        strategy = Full()
        strategy.kept.append(1_500)
        prompt = await compile(await talk(2_000), Budget(max_tokens=500, reserve_for_response=0), strategy=strategy, dry_run=True)
        assert prompt.over_budget.diagnostics == {"floor_tokens": 999} and prompt.messages == ()
        assert sum(s.count for s in prompt.plan.spans) == 2_000 and strategy.kept == [1_500]
        prompt.plan.check()

    run(go)


def test_the_newest_unit_must_be_shown_also_where_the_view_ends_with_a_fold():
    class ToTheEnd(Folding):
        form = "summary"

        def plan(self, units, *, budget, state):
            (gap,) = units.gaps
            last = summary(gap.first, gap.last) if self.form == "summary" else Span(form="omitted", reason="x", first=gap.first, last=gap.last, count=gap.count)
            return Plan(spans=(span_of(units, form="raw", reason="x"), last), units=units)

        def need(self, *, budget, state):
            return Need(folded=((11, 20),))

    async def go():
        tape, strategy = await talk(20), ToTheEnd()
        assert len((await compile(tape, WIDE, strategy=strategy)).messages) == 12
        strategy.form = "omitted"
        with pytest.raises(InvalidPlan, match="leaves out the newest unit"):
            await compile(tape, WIDE, strategy=strategy)

    run(go)
