"""Blocks: the loaded runs of a view, and how they become its units with the gaps between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from playhead.view.pairing import Built
from playhead.view.pipe import Pipe, Selected
from playhead.view.projection import Projection
from playhead.view.runs import Run
from playhead.view.tokens import Counter
from playhead.view.units import Gap, Hidden, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The entries of a view, `first` to `end` in one generation of the tape, and how they are read.

    `orphan` is the reason for a result whose call is before the view.
    """

    generation: int
    first: int
    end: int
    orphan: str
    projection: Projection
    steps: Pipe | None
    counter: Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of a view's entries that was loaded, as units and what shows nothing; `lead` units of it the view opens with."""

    first: int
    last: int
    built: Built
    lead: int = 0


def selected(blocks: Sequence[Block], extent: Extent, *, is_whole: bool) -> Selected:
    """Return what the steps of a view leave of its newest blocks, or of all of them."""
    units = tuple([u for b in blocks for u in b.built.units]) if len(blocks) != 1 else blocks[0].built.units
    if extent.steps is None:
        return Selected(units=units)
    if not is_whole:
        return extent.steps.apply(units, counter=extent.counter)
    return extent.steps.apply_from_start(units, lead=blocks[0].lead if blocks else 0, counter=extent.counter)


def cut_of(blocks: Sequence[Block], left: Selected, *, lead: int) -> int:
    """Return the first entry of the block that the oldest unit left by the steps stands in, besides the `lead` units that the view opens with.

    Where a step stopped early, everything before it falls out for one reason.
    """
    oldest = left.units[lead].first if len(left.units) > lead else blocks[-1].first
    return max((b.first for b in blocks if b.first <= oldest), default=blocks[0].first)


def loaded_from(blocks: Sequence[Block], left: Selected, *, cut: int, lead: int) -> list[Run]:
    """Return which entries count as loaded where only the blocks from entry `cut` on do, and the `lead` units before."""
    opening = [(blocks[0].first, left.units[lead - 1].last)] if lead and blocks[0].first < cut else []
    return [*opening, *((b.first, b.last) for b in blocks if b.first >= cut)]


def gaps_of(loaded: Sequence[Run], units: Sequence[Unit], *, first: int, end: int, until: str | None, cut: int) -> tuple[Gap, ...]:
    """Return the runs among the entries `first` to `end` that were not loaded; `until` is why those before entry `cut` are left out."""
    gaps: list[Gap] = []
    for start, last in (*loaded, (end + 1, end)):
        if first < start:
            gaps.append(Gap(first=first, last=start - 1, count=start - first, at=bisect_left(units, start, key=_first), reason=until if start <= cut else None))
        first = max(first, last + 1)
    return tuple(gaps)


def hidden_in(hidden: Sequence[Hidden], loaded: Sequence[Run]) -> tuple[Hidden, ...]:
    """Return the entries that show nothing among those that count as loaded."""
    starts = [first for first, _ in loaded]
    places = ((h, bisect_left(starts, h.id + 1) - 1) for h in hidden)
    return tuple(h for h, place in places if place >= 0 and h.id <= loaded[place][1])


def _first(unit: Unit) -> int:
    return unit.first
