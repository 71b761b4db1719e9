"""Highest: what must be folded is shown through the highest summary over it (specs: context-manager 28.1)."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.fold.resolvers.layout import Layout
from playhead.fold.resolvers.protocol import Item, Solution


class Highest:
    """Folds the oldest things first, each at once into the highest summary that may be shown, until the target is met."""

    name = "highest"

    def solve(self, items: Sequence[Item], *, target: int) -> Solution:
        """Return what to show."""
        layout = Layout(items)
        for group in layout:
            if layout.tokens <= target:
                break
            if group.rest:
                layout.fold(group, group.rest[-1])
        return layout.solution(target=target)
