"""Ways down from the roots: to one summary, to what is shown, and to the newest part of the past."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from playhead.fold.forest import Cut
from playhead.fold.ledger.known import Known
from playhead.fold.ledger.state import under
from playhead.fold.node import Node

_MARGIN = 2
"""How much more than the room of a cut is looked at before what it shows: rooms are counted by other prices than raw tokens."""

Several = Callable[[Iterable[str]], list[Node | None]]
"""Looks up summaries by uid, None for what is none; raises Unread."""


def way(roots: Sequence[Node], node: Node, several: Several) -> tuple[Node, ...] | None:
    """Return the summaries from a root down to a node, both included; None where it does not stand under any."""
    found = roots[under(roots, node.first, node.first)]
    path = list(found)
    while path and path[-1].uid != node.uid:
        if path[-1].level <= node.level:
            return None
        below = next((child for child in several(path[-1].children) if child is not None and child.covers(node.first)), None)
        if below is None:
            return None
        path.append(below)
    return tuple(path) or None


def held(roots: Sequence[Node], cut: Cut | None, known: Known) -> dict[str, Node]:
    """Return by uid what a snapshot holds: the roots, and of what lies below them all that is shown, above it, or beside it.

    Before anything is shown the roots alone; and of what lies before the first and behind the last that is shown as much as its room
    could hold: that may stand before the view, and where summaries were written for long without anything being shown the rest is
    folded as it stands.
    """
    nodes = {root.uid: root for root in roots}
    names = () if cut is None else cut.nodes
    deeper = known.several(uid for uid in names if uid not in nodes)
    shown = {node.uid: node for node in (*(nodes[uid] for uid in names if uid in nodes), *deeper) if node is not None}
    if cut is None or not shown:
        return nodes
    begins, ends = min(node.first for node in shown.values()), max(node.last for node in shown.values())
    before: list[Node] = []
    behind: list[Node] = []
    level: list[Node] = list(roots)
    while level:
        before += [node for node in level if node.last < begins]
        behind += [node for node in level if node.first > ends]
        children = known.children(node for node in level if node.last >= begins and node.first <= ends and node.uid not in shown)
        nodes |= {child.uid: child for child in children}
        level = children
    for tops in (before, behind):
        nodes |= newest(sorted(tops, key=lambda node: node.first), known, room=_MARGIN * cut.room)
    return nodes


def newest(tops: Sequence[Node], known: Known, *, room: int) -> dict[str, Node]:
    """Return what lies below nodes that stand side by side, newest first, until the summaries of level 1 among it tell as many raw tokens as a room has."""
    nodes: dict[str, Node] = {}
    line = list(tops)
    while True:
        left, begins = room, len(line)
        while begins and left > 0:
            begins -= 1
            left -= line[begins].raw_tokens
        children = known.children(line[begins:])
        if not children:
            return nodes
        nodes |= {child.uid: child for child in children}
        parts = ([nodes[uid] for uid in node.children if uid in nodes] or [node] for node in line[begins:])
        line[begins:] = [each for part in parts for each in part]


def covering(roots: Sequence[Node], spans: Iterable[tuple[int, int]], known: Known) -> dict[str, Node]:
    """Return all below the roots that has something of runs of entries, down to level 1, with what stands beside it under the same parent."""
    runs = tuple(spans)
    nodes: dict[str, Node] = {}
    level = list(roots)
    while level:
        level = known.children(node for node in level if any(first <= node.last and node.first <= last for first, last in runs))
        nodes |= {child.uid: child for child in level}
    return nodes


def broods(nodes: Sequence[Node], known: Known) -> list[list[Node]]:
    """Return for each of some summaries those that it was merged from."""
    known.children(nodes)
    return [known.children([node]) for node in nodes]


def parents_of(nodes: Mapping[str, Node]) -> dict[str, str]:
    """Return the parent of each of some summaries whose parent is among them."""
    return {child: node.uid for node in nodes.values() for child in node.children if child in nodes}
