"""What a resolver is given, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A summary that an item could be told through: its uid, its level and the price of its recall pair."""

    node: str
    level: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing as it is shown now: something raw (level 0), or a summary.

    `above` are the summaries it lies under and that exist, one level up each, the nearest first. `first` and `last` are
    entry ids. `is_fixed` where it may not be folded: head, recent window, pins, locks. `phase` is that of the nearest summary.
    """

    first: int
    last: int
    level: int
    tokens: int
    above: tuple[Step, ...] = ()
    node: str | None = None
    is_fixed: bool = False
    phase: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """A summary that a resolver would have folded to and that does not exist: its level and the entries it would cover."""

    level: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What a resolver chose: for each summary to show its uid, in order; the tokens it comes to and the summaries it asks for.

    `nodes` holds those that were shown before and still are, too. `moves` is how many folds it made. `is_exhausted` where
    it is above the target and has nothing left to fold or to ask for.
    """

    nodes: tuple[str, ...]
    tokens: int
    moves: int = 0
    produce: tuple[Produce, ...] = ()
    is_exhausted: bool = False


@runtime_checkable
class Resolver(Protocol):
    """Folds a history until it costs no more than a target; deterministic, and never un-folds by itself."""

    name: str

    def solve(self, items: Sequence[Item], *, target: int) -> Solution:
        """Return what to show. A summary covers a gapless run of items; one over a fixed item cannot be chosen."""
        ...
