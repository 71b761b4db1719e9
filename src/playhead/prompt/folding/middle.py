"""The view as parts, and as items: what is shown of it how, what of it may be folded, into which summaries, and what stays as it is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from playhead.fold.forest import Forest, held_raw
from playhead.fold.node import Node
from playhead.fold.resolvers.protocol import Item, Step
from playhead.prompt.folding.state import FoldState, touches
from playhead.view.plan import Units
from playhead.view.runs import meets
from playhead.view.units import Gap, Unit

Price = Callable[[Node], int]
"""What a summary costs as it is rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Which loaded units always stay raw: those before index `head`, and those from index `tail` on."""

    head: int
    tail: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A run of entries that was not loaded, as it does not fit, and that no shown summary tells."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of the view in order: units that are shown raw, what a summary tells, or what of a gap is neither loaded nor shown.

    A `node` tells `units` where the view was loaded whole, else a run that was not loaded. A `gap` is what a selector left out, `missing`
    what did not fit. `tokens` is what is shown.
    """

    units: tuple[Unit, ...] = ()
    node: Node | None = None
    gap: Gap | None = None
    missing: Missing | None = None
    tokens: int = 0


def parts_of(units: Units, state: FoldState, *, price: Price) -> tuple[Part, ...]:
    """Return the view as parts, in order: every unit and every entry of a gap in exactly one."""
    if not units.gaps:
        return tuple(_loaded(units, [node for node in state.shown if _is_inside(node, units)] if _rises(units) else [], price=price))
    parts: list[Part] = []
    start = 0
    for gap in units.gaps:
        parts += _raw(units[start : gap.at])
        parts += _unloaded(gap, state.shown, price=price)
        start = gap.at
    return (*parts, *_raw(units[start:]))


def items_of(units: Units, parts: Iterable[Part], state: FoldState, *, windows: Windows, price: Price) -> tuple[tuple[Item, ...], tuple[Missing, ...]]:
    """Return what a resolver sees of the parts, and what it cannot: runs that were not loaded and that no summary tells."""
    itemiser = _Itemiser(units, state, windows=windows, price=price)
    items: list[Item] = []
    untold: list[Missing] = []
    index = 0
    for part in parts:
        if part.missing is not None:
            for one in itemiser.unread(part.missing):
                items.append(one) if isinstance(one, Item) else untold.append(one)
        elif part.node is not None:
            items.append(itemiser.shown(part.node, part.tokens))
        else:
            items += [itemiser.raw(unit, index + offset) for offset, unit in enumerate(part.units)]
        index += len(part.units)
    return tuple(items), tuple(untold)


def _raw(units: tuple[Unit, ...]) -> Iterator[Part]:
    if units:
        yield Part(units=units, tokens=sum([unit.tokens for unit in units]))


def _loaded(units: Units, over: Sequence[Node], *, price: Price) -> Iterator[Part]:
    """Yield a view that was loaded whole, with the summaries that tell units of it."""
    for node, run in groupby(units, key=lambda unit: next((node for node in over if unit.ids and node.covers(unit.first)), None)):
        if node is None:
            yield from _raw(tuple(run))
        else:
            yield Part(units=tuple(run), node=node, tokens=price(node))


def _unloaded(gap: Gap, shown: Iterable[Node], *, price: Price) -> Iterator[Part]:
    """Yield a gap as the summaries that tell it, and what stands between these."""
    if gap.reason is not None:
        yield Part(gap=gap)
        return
    at = gap.first
    for node in shown:
        if gap.first <= node.first and node.last <= gap.last:
            if at < node.first:
                yield Part(missing=Missing(first=at, last=node.first - 1))
            yield Part(node=node, tokens=price(node))
            at = node.last + 1
    if at <= gap.last:
        yield Part(missing=Missing(first=at, last=gap.last))


class _Itemiser:
    """Says of what stands in one view what it could be folded into."""

    def __init__(self, units: Units, state: FoldState, *, windows: Windows, price: Price) -> None:
        self._units = units
        self._forest = state.forest
        self._windows = windows
        self._price = price
        self._raw = held_raw(state.forest)
        self._leaves = sorted((node for node in _deepest(state.forest) if _is_inside(node, units)), key=lambda node: node.first)
        self._starts = [node.first for node in self._leaves]
        self._is_straight = _rises(units)

    def raw(self, unit: Unit, index: int) -> Item:
        """Return the item of a unit that is shown raw."""
        is_window = index < self._windows.head or index >= self._windows.tail
        is_fixed = is_window or unit.first in self._forest.locks or meets(self._raw, unit.first, unit.first)
        leaf = self._leaf(unit.first) if self._is_straight and unit.ids else None
        above, phase = ((), None) if leaf is None else (self._chain(leaf), leaf.phase)
        return Item(first=unit.first, last=unit.last, level=0, tokens=unit.tokens, above=above, is_fixed=is_fixed, phase=phase)

    def shown(self, node: Node, tokens: int) -> Item:
        """Return the item of a summary that is shown."""
        is_fixed = any(node.covers(lock) for lock in self._forest.locks)
        above = self._steps(self._forest.ancestors(node.uid))
        return Item(first=node.first, last=node.last, level=node.level, tokens=tokens, above=above, node=node.uid, is_fixed=is_fixed, phase=node.phase)

    def unread(self, run: Missing) -> Iterator[Item | Missing]:
        """Yield what was neither loaded nor is shown: where a summary could tell it, an item at the price that it has raw."""
        first = run.first
        while first <= run.last:
            leaf = self._leaf(first)
            last = min(run.last, leaf.last if leaf is not None else self._leaf_behind(first) - 1)
            if leaf is None:
                yield Missing(first=first, last=last)
            else:
                loaded = sum(unit.tokens for unit in self._units if leaf.covers(unit.first)) if last < leaf.last or first > leaf.first else 0
                yield Item(first=first, last=last, level=0, tokens=max(1, leaf.raw_tokens - loaded), above=self._chain(leaf), is_fixed=self._stays(first, last), phase=leaf.phase)
            first = last + 1

    def _stays(self, first: int, last: int) -> bool:
        """Whether a run that was not loaded holds something that a pin or a lock keeps as it is."""
        return meets(self._raw, first, last) or any(first <= lock <= last for lock in self._forest.locks)

    def _leaf_behind(self, entry: int) -> int:
        """Return the first entry of the next of the deepest summaries behind an entry; one behind the end of the view where there is none."""
        index = bisect_right(self._starts, entry)
        return self._starts[index] if index < len(self._starts) else self._units.end + 1

    def _leaf(self, entry: int) -> Node | None:
        index = bisect_right(self._starts, entry) - 1
        return self._leaves[index] if index >= 0 and self._leaves[index].covers(entry) else None

    def _chain(self, leaf: Node) -> tuple[Step, ...]:
        return self._steps((leaf, *self._forest.ancestors(leaf.uid)))

    def _steps(self, nodes: Iterable[Node]) -> tuple[Step, ...]:
        steps = []
        for node in nodes:
            if not _is_inside(node, self._units) or touches(node, self._raw):
                break
            steps.append(Step(node=node.uid, level=node.level, tokens=self._price(node)))
        return tuple(steps)


def _deepest(forest: Forest) -> Iterable[Node]:
    """Return the summaries that nothing is loaded below: those of level 1, and others as far as nobody looked into them."""
    return (node for node in forest.nodes.values() if not any(child in forest.nodes for child in node.children))


def _is_inside(node: Node, units: Units) -> bool:
    """Whether a summary lies in the view, and in nothing that a selector left out of it."""
    first = 1 if units.before is None else units.before.id + 1
    return first <= node.first and node.last <= units.end and not any(gap.reason is not None and gap.first <= node.last and node.first <= gap.last for gap in units.gaps)


def _rises(units: Units) -> bool:
    """Whether the units stand in the order of their entries, as they do unless a selector of the user's own arranged them otherwise."""
    firsts = [u.first for u in units if u.ids]
    return all(a <= b for a, b in pairwise(firsts))
