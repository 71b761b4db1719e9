"""Layouts: what is shown of a history while a resolver folds it, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playhead.fold.choosing import accounting
from playhead.fold.resolvers.protocol import Item, Solution, Step


@dataclass(slots=True, kw_only=True)
class Group:
    """One thing that is shown: an item, or the summary that stands for items `start` up to `stop`. `rest` are the summaries it can still be folded into, the nearest first."""

    start: int
    stop: int
    level: int
    tokens: int
    node: str | None
    rest: tuple[Step, ...]


class Layout:
    """The items of a history and what is shown for them; folding replaces neighbours by the summary over all of them.

    Only summaries that may be shown and that save tokens are folded into, so every fold brings the tokens down, no item is ever
    un-folded, and folding as far as it goes comes to the floor (`accounting.floor`).
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.tokens = accounting.total(items)
        self.moves = 0
        self._covers = accounting.covers(items)
        worth = accounting.paying(items, self._covers)
        self._groups: list[Group | None] = [
            Group(start=index, stop=index + 1, level=item.level, tokens=item.tokens, node=item.node, rest=tuple(step for step in item.above if step.node in worth)) for index, item in enumerate(items)
        ]

    def at(self, start: int) -> Group | None:
        """Return the group whose first item is the one of this index, None where that one lies inside another group."""
        return self._groups[start]

    def __iter__(self) -> Iterator[Group]:
        """Yield the groups in order; those that are folded meanwhile are not visited again."""
        index = 0
        while index < len(self.items):
            group = self._groups[index]
            if group is not None:
                yield group
            index = self._next(index)

    def fold(self, group: Group, step: Step) -> tuple[Group, tuple[Group, ...]]:
        """Show a summary of `group.rest` in place of all it covers; return its group and those it replaces."""
        cover = self._covers[step.node]
        replaced = tuple(self._within(cover.start, cover.stop))
        for one in replaced:
            self._groups[one.start] = None
        folded = Group(start=cover.start, stop=cover.stop, level=step.level, tokens=step.tokens, node=step.node, rest=group.rest[group.rest.index(step) + 1 :])
        self._groups[cover.start] = folded
        self.tokens += step.tokens - sum(one.tokens for one in replaced)
        self.moves += 1
        return folded, replaced

    def solution(self, *, target: int) -> Solution:
        """Return what is shown as a solution for a target; where that was not reached, with the summaries that would help if they existed."""
        nodes = tuple(group.node for group in self if group.node is not None)
        is_met = self.tokens <= target
        produce = () if is_met else accounting.missing(self.items, accounting.account(self.items, nodes).shown)
        return Solution(nodes=nodes, tokens=self.tokens, moves=self.moves, produce=produce, is_exhausted=not is_met and not produce)

    def _within(self, start: int, stop: int) -> Iterator[Group]:
        while start < stop:
            group = self._groups[start]
            if group is not None:
                yield group
            start = self._next(start)

    def _next(self, index: int) -> int:
        """Return the index behind the group that starts at one, or behind it alone where it lies inside one."""
        group = self._groups[index]
        return index + 1 if group is None else group.stop
