"""compile: from a tape and a budget to the prompt a model should see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from playhead import clock
from playhead.errors import InvalidInput, InvalidPlan, OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection, at
from playhead.prompt.prompt import Prompt, flattened
from playhead.prompt.render import messages_of
from playhead.prompt.stats import overhead_tokens, stats_of
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategy import Strategy, need_of
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Units
from playhead.view.tokens import Counter, message_tokens

WRAPPING = 24
"""Tokens kept free for the few words a provider's form may add: a first user turn, a label."""


async def compile(
    tape: Tape,
    budget: Budget | None = None,
    *,
    strategy: Strategy | None = None,
    injections: Iterable[Injection] = (),
    dry_run: bool = False,
    request_overhead: Mapping[str, object] | None = None,
) -> Prompt:
    """Compile what a model should see of a tape: read through the tape's context, told by the strategy within the budget.

    The default strategy shows everything raw, or the newest run that fits. Injections join this prompt only.
    `request_overhead` (`{"system": ..., "tools": ...}`) is counted in the stats and changes nothing else. A dry run
    reports what does not fit in `prompt.over_budget` instead of raising.

    Raises OverBudgetError where what must be shown does not fit, AnchorNotFound for a context's unknown anchor,
    SelectorError where its selector fails, InvalidPlan where a strategy's plan loses something.
    """
    budget = Budget() if budget is None else budget
    strategy = PassthroughStrategy() if strategy is None else strategy
    joined = checked_injections(injections)
    injected = sum(message_tokens(i.message, counter=tape.counter) for i in joined)
    overhead = overhead_tokens(request_overhead, counter=tape.counter)
    over_budget = None
    try:
        plan = await _planned(tape, strategy, budget, injected)
    except OverBudgetError as exc:
        if not dry_run:
            raise
        over_budget = exc
        plan = (await tape.read(tail_tokens=budget.room)).keep((), reason=exc.message)
    return Prompt(
        messages=messages_of(plan, joined),
        system_injections=flattened(at(joined, "system")),
        stats=stats_of(plan, injections=_placed_tokens(plan, joined, tape.counter), room=budget.room, counter=tape.counter, overhead=overhead),
        plan=plan,
        compile_id=clock.new_uid(),
        strategy=strategy_name(strategy),
        tape=tape.name,
        budget=budget,
        counter=tape.counter,
        injections=joined,
        over_budget=over_budget,
    )


def _placed_tokens(plan: Plan, injections: tuple[Injection, ...], counter: Counter) -> int:
    """Return what the injections cost that found their place: those before a user message fall out where there is none."""
    has_user = any(m.role == "user" for m in messages_of(plan))
    return sum(message_tokens(i.message, counter=counter) for i in injections if has_user or i.position != "before_user")


async def _planned(tape: Tape, strategy: Strategy, budget: Budget, injected: int) -> Plan:
    """Load what the strategy needs and let it plan for the room beside the injections."""
    left = budget_beside(budget, injected)
    need = need_of(strategy, budget=left, state=None)
    units = await tape.read(tail_tokens=need.tail_tokens, head_tokens=need.head_tokens)
    return planned(units, strategy=strategy, budget=left)


def budget_beside(budget: Budget, injected: int) -> Budget:
    """Return the budget for the plan: less what injections take and what a provider's form may add."""
    taken = injected + min(WRAPPING, budget.room // 8)
    if taken >= budget.room:
        raise OverBudgetError(needed=injected, room=budget.room, what="The injections")
    return replace(budget, max_tokens=budget.max_tokens - taken)


def planned(units: Units, *, strategy: Strategy, budget: Budget, state: object = None) -> Plan:
    """Return the strategy's plan for loaded units, proved: nothing lost, repeated or reordered, and it fits."""
    plan = strategy.plan(units, budget=budget, state=state)
    if not isinstance(plan, Plan):
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} returned {type(plan).__name__}, not a Plan; build it with units.keep(...) or units.plan(...).")
    if plan.units is not units:
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} planned other units than it was given.")
    plan.check(budget.room)
    return plan


def checked_injections(injections: Iterable[Injection]) -> tuple[Injection, ...]:
    """Return the injections. Raises InvalidInput for anything else."""
    joined = tuple(injections)
    for injection in joined:
        if not isinstance(injection, Injection):
            raise InvalidInput(f"An injection is an Injection(namespace=..., content=..., position=...), not {type(injection).__name__}.")
    return joined


def strategy_name(strategy: Strategy) -> str:
    """Return what a strategy is called in provenance and errors."""
    name = getattr(strategy, "name", None)
    return name if isinstance(name, str) else type(strategy).__name__
