"""Strategies: what to load of a view, how to tell it within a budget, and what to remember of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from playhead.prompt.budget import Budget
from playhead.tape.tape import Tape
from playhead.view.plan import Plan, Units
from playhead.view.runs import Run, checked_runs
from playhead.view.tokens import check_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a strategy wants loaded: so many tokens from the front and from the end of the view; None is all of it.

    `folded` are runs of entries, first and last id, that need not be loaded: they become gaps, which the plan may tell by summaries.
    A run that does not lie whole in the view, behind the system messages it opens with, is loaded all the same.
    Raises InvalidInput for what is no number of tokens, or no run.
    """

    head_tokens: int = 0
    tail_tokens: int | None = None
    folded: tuple[Run, ...] = ()

    def __post_init__(self) -> None:
        check_tokens("A need's head_tokens", self.head_tokens)
        if self.tail_tokens is not None:
            check_tokens("A need's tail_tokens", self.tail_tokens)
        object.__setattr__(self, "folded", checked_runs("A need's folded", self.folded))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """What a strategy returns in place of a plan where what was loaded shows that it needs something else.

    `need` is loaded, and the strategy plans again with `state`.
    """

    need: Need
    state: object = None


@runtime_checkable
class Strategy(Protocol):
    """Decides what the model sees: a pure function from loaded units and a budget to a plan.

    The budget it is given is what injections and the provider's frame leave: its `room` is the room for the plan.
    A strategy may also have `need(*, budget, state) -> Need`; without it the tail is loaded up to the budget. One that may pass the
    room by a grace says by how much with `wall(budget) -> int`, the tokens that no plan of it passes.
    """

    def plan(self, units: Units, *, budget: Budget, state: object) -> Plan | Reread:
        """Return how the units are told; every unit in exactly one span, at most `budget.room` tokens shown. Or what to load instead."""
        ...


@runtime_checkable
class NeedsMore(Protocol):
    """A strategy that says itself what to load."""

    def need(self, *, budget: Budget, state: object) -> Need:
        """Return what to load for a budget."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """A strategy that keeps what it remembers itself, beside the tape, in place of `tape.states`."""

    async def recall(self, tape: Tape, *, budget: Budget) -> object:
        """Return the state to plan with: what was kept, as it stands for a tape and the budget that the plan will have."""
        ...

    async def keep(self, tape: Tape, state: object) -> None:
        """Keep the state of a plan that was made, where it is another than the one recalled; never asked for by a dry run."""
        ...


def need_of(strategy: Strategy, *, budget: Budget, state: object) -> Need:
    """Return what a strategy wants loaded; by default the tail up to the budget."""
    return strategy.need(budget=budget, state=state) if isinstance(strategy, NeedsMore) else Need(tail_tokens=budget.room)
