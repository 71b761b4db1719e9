"""Flat profile: about as many things are shown of each level, the oldest of a level folded first (specs: folding 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush

from playhead.fold.resolvers.layout import Group, Layout
from playhead.fold.resolvers.protocol import Item, Solution


class FlatProfile:
    """Folds the oldest thing of the level that most is shown of, one level up, until the target is met; of levels alike the lower.

    What has no summary above it, or none that may be shown, does not keep the rest from being folded. O(n log n).
    """

    name = "flat-profile"

    def solve(self, items: Sequence[Item], *, target: int) -> Solution:
        """Return what to show; each turn of the loop folds something, so it ends."""
        layout = Layout(items)
        counts: Counter[int] = Counter()
        oldest: dict[int, list[int]] = {}
        for group in layout:
            _enter(group, counts, oldest)
        while layout.tokens > target and counts.total():
            level = max(counts, key=lambda one: (counts[one], -one))
            group = _popped(layout, oldest[level], level)
            folded, replaced = layout.fold(group, group.rest[0])
            counts.subtract(one.level for one in replaced if one.rest)
            _enter(folded, counts, oldest)
        return layout.solution(target=target)


def _enter(group: Group, counts: Counter[int], oldest: dict[int, list[int]]) -> None:
    """Count a group among those of its level, where it can be folded further."""
    if group.rest:
        counts[group.level] += 1
        heappush(oldest.setdefault(group.level, []), group.start)


def _popped(layout: Layout, starts: list[int], level: int) -> Group:
    """Return the oldest group of a level that is still shown; it is counted, so there is one."""
    while True:
        group = layout.at(heappop(starts))
        if group is not None and group.level == level and group.rest:
            return group
