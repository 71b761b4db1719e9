"""The ledger: what the entries of a fold sidecar come to, without what lies under the roots."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from playhead.fold.forest import Cut, Outcome, Pin
from playhead.fold.ledger.numbering import Numbering
from playhead.fold.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The state after the entries up to `upto`, whose uid is `last`.

    Nothing in here grows with what was merged: `roots` are the summaries without a parent, in order; `locks` holds the places of
    what is locked by uid.
    """

    roots: tuple[Node, ...] = ()
    cut: Cut | None = None
    pins: tuple[Pin, ...] = ()
    locks: Mapping[str, int] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    numbering: Numbering = field(default_factory=Numbering)
    pin_counter: int = 0
    factor: float = 1.0
    factor_epoch: str = ""
    last_written: datetime | None = None
    counts: Mapping[int, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    upto: int = 0
    last: str = ""


def under(roots: Sequence[Node], first: int, last: int) -> slice:
    """Return which of nodes that stand side by side have something of a run of entries."""
    return slice(bisect_left(roots, first, key=lambda node: node.last), bisect_right(roots, last, key=lambda node: node.first))


def is_gapless(nodes: Sequence[Node]) -> bool:
    """Whether each node begins where the one before it ends."""
    return all(later.first == earlier.last + 1 for earlier, later in pairwise(nodes))
