"""By phase: research is folded before conclusions are (specs: context-manager 20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playhead.fold.resolvers.layout import Group, Layout
from playhead.fold.resolvers.protocol import Item, Solution, Step

ORDER: Mapping[str | None, int] = {"research": 0, "subagent": 1, "lesson": 2, "synthesis": 3}
"""What is folded when; phases of other names, and none, go with those of sub-agents."""

_OTHERS = 1


class ByPhase:
    """Folds research first, then the work of sub-agents and what has no phase, then lessons, then syntheses; in each the oldest first.

    Each goes at once into the highest summary that covers nothing whose turn is still to come, until the target is met.
    """

    name = "by-phase"

    def solve(self, items: Sequence[Item], *, target: int) -> Solution:
        """Return what to show."""
        layout = Layout(items)
        turns = _turns(items)
        for turn in sorted(set(ORDER.values())):
            for group in layout:
                if layout.tokens <= target:
                    return layout.solution(target=target)
                step = _highest(group, turn, turns)
                if step is not None:
                    layout.fold(group, step)
        return layout.solution(target=target)


def _turn(item: Item) -> int:
    return ORDER.get(item.phase, _OTHERS)


def _turns(items: Sequence[Item]) -> dict[str, int]:
    """Return for each summary the turn of what it covers that comes last."""
    turns: dict[str, int] = {}
    for item in items:
        turn = _turn(item)
        for step in item.above:
            turns[step.node] = max(turn, turns.get(step.node, turn))
    return turns


def _highest(group: Group, turn: int, turns: Mapping[str, int]) -> Step | None:
    """Return the highest summary over a group that covers nothing of a later turn."""
    return next((step for step in reversed(group.rest) if turns[step.node] <= turn), None)
