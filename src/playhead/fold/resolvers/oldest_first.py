"""Oldest first: the oldest part goes up to the highest summary over it before the next is touched (specs: folding 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.fold.resolvers.layout import Layout
from playhead.fold.resolvers.protocol import Item, Solution


class OldestFirst:
    """Folds the oldest thing that can be folded, one level up, until the target is met. A baseline: it folds far deeper than it must."""

    name = "oldest-first"

    def solve(self, items: Sequence[Item], *, target: int) -> Solution:
        """Return what to show; the target is looked at behind every single fold."""
        layout = Layout(items)
        for group in layout:
            while layout.tokens > target and group.rest:
                group, _ = layout.fold(group, group.rest[0])
        return layout.solution(target=target)
