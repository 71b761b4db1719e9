"""The forest: the summaries of a tape as they stand, and what else is known about its folding."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from playhead.fold.node import Node
from playhead.store.protocol import EMPTY, Head
from playhead.view.runs import Run, joined

PinKind = Literal["range", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A request to keep a run of entries raw. `first` and `last` are entry ids, 0 where an end is not on the tape: it then counts for nothing.

    `uid` is its entry's: of two pins that branches called alike it tells which is meant.
    """

    id: str
    first: int
    last: int
    first_uid: str
    last_uid: str
    name: str | None = None
    kind: PinKind = "range"
    level: int | None = None
    max_level: int | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What of the past is shown as summaries: node uids, oldest first, as they were chosen for a room by a resolver."""

    nodes: tuple[str, ...] = ()
    room: int = 0
    resolver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one rung came to for one span; `is_stuck` where it was the last one, and the span stays as it is.

    `first` and `last` are entry ids of the span, `children` the uids of the nodes of a merge.
    """

    first: int
    last: int
    first_uid: str
    last_uid: str
    level: int
    regime: str
    rung: str
    shape: str
    outcome: str
    model: str
    children: tuple[str, ...] = ()
    is_stuck: bool = False
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """A snapshot of all that a fold sidecar says.

    `roots` are the nodes without a parent, by where they stand; they never overlap. `nodes` holds by uid the roots and those
    below them that are loaded, `parents` the parent of each loaded node that has one. `cut` is what is shown, None before
    anything was folded. `outcomes` are the deterministic failures that still count; `counter` is the number of the newest
    node. `ignored` counts entries that would have broken a constraint, by reason; `generation` is the main tape's. `head` is where
    the sidecar ended, so that what is decided on a snapshot can be written only where it still holds.
    """

    roots: tuple[Node, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    cut: Cut | None = None
    pins: tuple[Pin, ...] = ()
    locks: tuple[int, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    counter: int = 0
    pin_counter: int = 0
    factor: float = 1.0
    factor_epoch: str = ""
    last_written: datetime | None = None
    counts: Mapping[int, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    generation: int = 0
    head: Head = EMPTY

    @property
    def told_to(self) -> int:
        """The last entry id under any summary, 0 without one."""
        return self.roots[-1].last if self.roots else 0

    def root_at(self, entry: int) -> Node | None:
        """Return the root that an entry id lies under."""
        index = bisect_right(self.roots, entry, key=lambda node: node.first) - 1
        return self.roots[index] if index >= 0 and self.roots[index].covers(entry) else None

    def ancestors(self, uid: str) -> Iterator[Node]:
        """Yield the nodes above a loaded one, the nearest first."""
        above = self.parents.get(uid)
        while above is not None:
            yield self.nodes[above]
            above = self.parents.get(above)

    def below(self, node: Node) -> tuple[Node, ...] | None:
        """Return the children of a node where all of them are loaded; None where one is not, and for level 1."""
        found = tuple(self.nodes[uid] for uid in node.children if uid in self.nodes)
        return found if node.children and len(found) == len(node.children) else None

    @property
    def shown(self) -> tuple[Node, ...]:
        """The nodes of the cut, in order; none where nothing is folded."""
        return () if self.cut is None else tuple(self.nodes[uid] for uid in self.cut.nodes if uid in self.nodes)

    @property
    def stuck(self) -> tuple[Outcome, ...]:
        """The spans that are quarantined."""
        return tuple(outcome for outcome in self.outcomes if outcome.is_stuck)


def held_raw(forest: Forest) -> tuple[Run, ...]:
    """Return the runs of entries that pins keep raw, in order; those that overlap or touch are one."""
    return tuple(joined((pin.first, pin.last) for pin in forest.pins if is_raw(pin)))


def is_raw(pin: Pin) -> bool:
    """Whether a pin counts: both its ends are on the tape. A level is no more than that under the resolvers there are."""
    return pin.first > 0 and pin.last > 0
