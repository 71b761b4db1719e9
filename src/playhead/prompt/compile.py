"""compile: from a tape and a budget to the prompt a model should see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from playhead import clock
from playhead.errors import InvalidInput, InvalidPlan, OverBudgetError, PlayheadError
from playhead.prompt.budget import Budget
from playhead.prompt.injection import Injection, at
from playhead.prompt.prompt import Prompt, flattened
from playhead.prompt.render import has_user_message, messages_of
from playhead.prompt.stats import overhead_tokens, stats_of
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategy import Need, Remembers, Reread, Strategy, need_of
from playhead.tape.tape import Tape
from playhead.tracing import span
from playhead.view.plan import Plan, Units
from playhead.view.tokens import Counter, message_tokens

WRAPPING = 24
"""Tokens kept free for the few words a provider's form may add: a first user turn, a label."""

MOST_READS = 4
"""How often a strategy may ask for something else to be loaded before it has to plan."""


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
    if not isinstance(tape, Tape):
        raise InvalidInput(f"compile reads a Tape, not {type(tape).__module__}.{type(tape).__name__}; a blocking handle goes with playhead.sync.compile.")
    budget = _checked_budget(budget)
    strategy = _checked_strategy(strategy)
    joined = checked_injections(injections)
    with span("compile", tape=tape.name, strategy=strategy_name(strategy), budget=budget) as told:
        prompt = await _compiled(tape, budget, strategy=strategy, joined=joined, dry_run=dry_run, request_overhead=request_overhead)
        told.add(prompt=prompt)
        return prompt


async def _compiled(tape: Tape, budget: Budget, *, strategy: Strategy, joined: tuple[Injection, ...], dry_run: bool, request_overhead: Mapping[str, object] | None) -> Prompt:
    injected = sum(message_tokens(i.message, counter=tape.counter) for i in joined)
    overhead = overhead_tokens(request_overhead, counter=tape.counter)
    over_budget, recalled = None, None
    try:
        left = budget_beside(budget, injected)
        recalled = await _recalled(tape, strategy, left)
        plan = await _planned(tape, strategy, left, recalled)
    except OverBudgetError as exc:
        over_budget = _with_facts(exc, budget, injected)
        if not dry_run:
            raise over_budget from exc
        units = await tape.read(tail_tokens=budget.room)
        plan = units.plan([("omitted", over_budget.message)] * len(units), unread=over_budget.message)
    if not dry_run and plan.state is not None and plan.state is not recalled:
        await _kept(tape, strategy, plan.state)
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
    if not injections:
        return 0
    has_user = has_user_message(plan)
    return sum(message_tokens(i.message, counter=counter) for i in injections if has_user or i.position != "before_user")


async def _recalled(tape: Tape, strategy: Strategy, budget: Budget) -> object:
    """Return what a strategy remembers of a tape."""
    if not isinstance(strategy, Remembers):
        return tape.states.get(strategy_name(strategy))
    with _told_as(strategy, " in recall(...)"):
        return await strategy.recall(tape, budget=budget)


async def _kept(tape: Tape, strategy: Strategy, state: object) -> None:
    """Keep what a strategy wants to be told at the next compile."""
    if not isinstance(strategy, Remembers):
        tape.states[strategy_name(strategy)] = state
        return
    with _told_as(strategy, " in keep(...)"):
        await strategy.keep(tape, state)


async def _planned(tape: Tape, strategy: Strategy, budget: Budget, state: object) -> Plan:
    """Load what the strategy needs and let it plan for a budget."""
    need = _needed(strategy, budget=budget, state=state)
    for _ in range(MOST_READS):
        units = await tape.read(tail_tokens=need.tail_tokens, head_tokens=need.head_tokens, folded=need.folded)
        plan = planned(units, strategy=strategy, budget=budget, state=state)
        if not isinstance(plan, Reread):
            return plan
        need, state = plan.need, plan.state
    raise InvalidPlan(f"Strategy {strategy_name(strategy)} was given what it asked for {MOST_READS} times and asks for more; it has to plan with what it has.")


def _needed(strategy: Strategy, *, budget: Budget, state: object) -> Need:
    """Return what a strategy wants loaded. Raises InvalidPlan where it fails to say."""
    with _told_as(strategy, " in need(...)"):
        need = need_of(strategy, budget=budget, state=state)
    if not isinstance(need, Need):
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} needs {type(need).__name__}; its need(...) returns a Need.")
    return need


@contextmanager
def _told_as(strategy: Strategy, where: str = "") -> Iterator[None]:
    """Raise what a strategy fails with as an InvalidPlan that names it; errors of ours pass as they are."""
    try:
        yield
    except PlayheadError:
        raise
    except Exception as exc:
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} failed{where} with {type(exc).__name__}: {exc}") from exc


def budget_beside(budget: Budget, injected: int) -> Budget:
    """Return the budget for the plan: less what injections take and what a provider's form may add."""
    taken = _rounded(injected, budget) + wrapping(budget)
    if taken >= budget.room:
        raise OverBudgetError(needed=injected, room=budget.room, what="The injections")
    return replace(budget, max_tokens=budget.max_tokens - taken)


def _rounded(injected: int, budget: Budget) -> int:
    """Return the room for injections, in steps: a few tokens more or less in them must not move a window."""
    step = max(1, min(512, budget.room // 64))
    return -(-injected // step) * step


def wrapping(budget: Budget) -> int:
    """Return the tokens kept free for what a provider's form may add; less than WRAPPING of a tiny budget."""
    return min(WRAPPING, budget.room // 8)


def _with_facts(error: OverBudgetError, budget: Budget, injected: int) -> OverBudgetError:
    """Return the error with the budget as its user set it, and with what takes how much of it."""
    is_injections = error.room == budget.room
    taken = {"response": budget.reserve_for_response, "injections": 0 if is_injections else _rounded(injected, budget), "provider's frame": 0 if is_injections else wrapping(budget)}
    return OverBudgetError(needed=error.needed, room=error.room, what=error.what, budget=budget.max_tokens, taken=taken, diagnostics=_of_budget(error.diagnostics, budget), advice=error.advice)


def _of_budget(diagnostics: Mapping[str, object], budget: Budget) -> Mapping[str, object]:
    """Return diagnostics that speak of the budget as its user set it."""
    return {**diagnostics, "configured_budget": budget.max_tokens} if "configured_budget" in diagnostics else diagnostics


def planned(units: Units, *, strategy: Strategy, budget: Budget, state: object = None) -> Plan | Reread:
    """Return the strategy's plan for loaded units, proved: nothing lost, repeated or reordered, and it fits. Or what it wants loaded instead."""
    with _told_as(strategy):
        plan = strategy.plan(units, budget=budget, state=state)
    if isinstance(plan, Reread):
        return plan
    if not isinstance(plan, Plan):
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} returned {type(plan).__name__}, not a Plan; build it with units.keep(...) or units.plan(...).")
    if plan.units is not units:
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} planned other units than it was given.")
    wall = getattr(strategy, "wall", None)
    plan.check(wall(budget) if callable(wall) else budget.room)
    if len(units) > units.lead and not (plan.spans and plan.spans[-1].is_shown) and not getattr(strategy, "may_hide_newest", False):
        raise InvalidPlan(f"Strategy {strategy_name(strategy)} leaves out the newest unit; show it, or set may_hide_newest = True on the strategy.")
    return plan


def _checked_budget(budget: Budget | None) -> Budget:
    if budget is None:
        return Budget()
    if not isinstance(budget, Budget):
        raise InvalidInput(f"A budget is a Budget(max_tokens=..., reserve_for_response=...), not {budget!r}.")
    return budget


def _checked_strategy(strategy: Strategy | None) -> Strategy:
    if strategy is None:
        return PassthroughStrategy()
    if isinstance(strategy, type) or not isinstance(strategy, Strategy):
        raise InvalidInput(f"A strategy is an object with plan(units, *, budget, state), not {strategy!r}.")
    return strategy


def checked_injections(injections: Iterable[Injection]) -> tuple[Injection, ...]:
    """Return the injections. Raises InvalidInput for anything else."""
    joined = (injections,) if isinstance(injections, Injection) else tuple(injections)
    for injection in joined:
        if not isinstance(injection, Injection):
            raise InvalidInput(f"An injection is an Injection(namespace=..., content=..., position=...), not {type(injection).__name__}.")
    return joined


def strategy_name(strategy: Strategy) -> str:
    """Return what a strategy is called in provenance and errors."""
    name = getattr(strategy, "name", None)
    return name if isinstance(name, str) else type(strategy).__name__
