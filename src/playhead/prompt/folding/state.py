"""What planning is given besides units: the forest, and what of it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.fold.forest import Cut, Forest
from playhead.fold.node import Node
from playhead.view.runs import Run, meets


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState:
    """The forest as it stands and the summaries that are shown of it, in order.

    `cut` is the cut that was kept last, None before the first. `reads` is how often something was folded for this very compile and
    the view loaded anew beside it; `moves` is how many folds that took.
    """

    forest: Forest
    shown: tuple[Node, ...] = ()
    cut: Cut | None = None
    reads: int = 0
    moves: int = 0

    @property
    def folded(self) -> tuple[Run, ...]:
        """The runs of entries that need not be loaded, as a summary tells them."""
        return tuple(node.span for node in self.shown)


def touches(node: Node, runs: Sequence[Run]) -> bool:
    """Whether a summary covers something of runs of entries, which are in order and do not overlap."""
    return meets(runs, node.first, node.last)


def usable(nodes: Iterable[Node], forest: Forest, raw: Sequence[Run]) -> tuple[Node, ...]:
    """Return nodes, in place of those that cover something that stays raw the ones below them that do not.

    Nodes below that are not loaded leave their part raw.
    """
    kept: list[Node] = []
    for node in nodes:
        if not touches(node, raw):
            kept.append(node)
            continue
        kept += usable(forest.below(node) or (), forest, raw)
    return tuple(kept)


def beginning(forest: Forest, raw: Sequence[Run], *, room: int) -> tuple[Node, ...]:
    """Return what to show where nothing was chosen before: the newest parts raw as far as the room could hold them, all before as high as it goes.

    What is loaded below the roots says how far that is (`FoldMemory.reach`): a node whose children are loaded is taken apart while
    its raw tokens fit in what is left.
    """
    shown: list[Node] = []
    left = room
    for root in reversed(forest.roots):
        left = _taken_apart(root, forest, left, shown)
    return usable(reversed(shown), forest, raw)


def _taken_apart(node: Node, forest: Forest, left: int, shown: list[Node]) -> int:
    """Add what of a node is shown, newest first; return the tokens that are left behind it."""
    if left <= 0:
        shown.append(node)
        return 0
    if node.raw_tokens <= left and (node.level == 1 or _is_loaded(node, forest)):
        return left - node.raw_tokens
    below = forest.below(node)
    if below is None:
        shown.append(node)
        return 0
    for child in reversed(below):
        left = _taken_apart(child, forest, left, shown)
    return left


def _is_loaded(node: Node, forest: Forest) -> bool:
    """Whether all below a node is loaded, down to the first level: only then can it be folded again step by step."""
    below = forest.below(node)
    return node.level == 1 or (below is not None and all(_is_loaded(child, forest) for child in below))
