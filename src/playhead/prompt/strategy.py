"""Strategies: what to load of a view, and how to tell it within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from playhead.prompt.budget import Budget
from playhead.view.plan import Plan, Units
from playhead.view.tokens import check_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a strategy wants loaded: so many tokens from the front and from the end of the view; None is all of it.

    Raises InvalidInput for what is no number of tokens.
    """

    head_tokens: int = 0
    tail_tokens: int | None = None

    def __post_init__(self) -> None:
        check_tokens("A need's head_tokens", self.head_tokens)
        if self.tail_tokens is not None:
            check_tokens("A need's tail_tokens", self.tail_tokens)


@runtime_checkable
class Strategy(Protocol):
    """Decides what the model sees: a pure function from loaded units and a budget to a plan.

    The budget it is given is what injections and the provider's frame leave: its `room` is the room for the plan.
    A strategy may also have `need(*, budget, state) -> Need`; without it the tail is loaded up to the budget.
    """

    def plan(self, units: Units, *, budget: Budget, state: object) -> Plan:
        """Return how the units are told; every unit in exactly one span, at most `budget.room` tokens shown."""
        ...


@runtime_checkable
class NeedsMore(Protocol):
    """A strategy that says itself what to load."""

    def need(self, *, budget: Budget, state: object) -> Need:
        """Return what to load for a budget."""
        ...


def need_of(strategy: Strategy, *, budget: Budget, state: object) -> Need:
    """Return what a strategy wants loaded; by default the tail up to the budget."""
    return strategy.need(budget=budget, state=state) if isinstance(strategy, NeedsMore) else Need(tail_tokens=budget.room)
