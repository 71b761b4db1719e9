"""A grove: the summaries beside a tape as commands read them, with what of them is shown and what stays raw."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from dataclasses import dataclass

from playhead.cli.folding import outcome_facts
from playhead.fold.choosing.quarantine import quarantined
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Forest, Pin, held_raw
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node
from playhead.fold.recall import RecallPrices, RecallStyle
from playhead.prompt.folding.state import usable
from playhead.tape.tape import Tape


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A summary in the tree: how deep it lies, the one it is part of, what it costs as it is shown, and whether it is shown now."""

    node: Node
    depth: int
    parent: str | None
    tokens: int
    is_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Grove:
    """The memory of a tape as a command reads it."""

    tape: Tape
    memory: FoldMemory
    forest: Forest
    shown: frozenset[str]
    end: int

    async def leaves(self, *, depth: int | None = None) -> AsyncIterator[Leaf]:
        """Yield the summaries, roots oldest first, each before those that it was merged from; down to a depth."""
        prices = RecallPrices(self.tape.counter, RecallStyle.of(AutobiographicalConfig()))
        depths: dict[str, int] = {}
        async for node, parent in self._walked(depth):
            at = 1 if parent is None else depths[parent.uid] + 1
            depths[node.uid] = at
            if depth is None or at <= depth:
                yield Leaf(node=node, depth=at, parent=None if parent is None else parent.id, tokens=prices.of(node), is_shown=node.uid in self.shown)

    async def _walked(self, depth: int | None) -> AsyncIterator[tuple[Node, Node | None]]:
        if depth == 1:
            for root in self.forest.roots:
                yield root, None
            return
        async for node, parent in self.memory.walk():
            yield node, parent


async def grown(tape: Tape, args: Namespace) -> Grove:
    """Return the memory of a tape as it stands."""
    memory = FoldMemory(tape, namespace=args.namespace)
    forest = await memory.look()
    held = held_raw(forest)
    shown = forest.shown
    if held and shown:
        forest = await memory.reach(room=0, spans=held)
        shown = usable(shown, forest, held)
    return Grove(tape=tape, memory=memory, forest=forest, shown=frozenset(node.uid for node in shown), end=(await tape.head()).id)


def untold(grove: Grove) -> list[str]:
    """Return the runs of entries that no summary tells."""
    edges = [0, *(edge for root in grove.forest.roots for edge in root.span), grove.end + 1]
    runs = ((end + 1, begin - 1) for end, begin in zip(edges[::2], edges[1::2], strict=True))
    return [str(first) if first == last else f"{first}-{last}" for first, last in runs if first <= last]


def pinned(pin: Pin) -> str:
    """Return the entries that a pin keeps raw."""
    if not (pin.first and pin.last):
        return "not on the tape"
    return str(pin.first) if pin.first == pin.last else f"{pin.first}-{pin.last}"


def facts(grove: Grove, args: Namespace) -> dict[str, object]:
    """Return what is known of a memory besides its summaries, as JSON tells it."""
    forest = grove.forest
    cut = forest.cut
    shown = sorted((forest.nodes[uid] for uid in grove.shown), key=lambda node: node.first)
    return {
        "tape": args.tape,
        "namespace": args.namespace,
        "head": grove.end,
        "told_to": forest.told_to,
        "levels": {str(level): count for level, count in sorted(forest.counts.items()) if count},
        "shown": None if cut is None else {"room": cut.room, "resolver": cut.resolver, "summaries": [node.id for node in shown]},
        "pins": [pin_facts(pin) for pin in forest.pins],
        "given_up": [outcome_facts(outcome) for outcome in quarantined(forest)],
        "ignored": dict(forest.ignored),
    }


def pin_facts(pin: Pin) -> dict[str, object]:
    """Return a pin as JSON tells it; the ends of one that is not on the tape are null."""
    return {"id": pin.id, "first": pin.first or None, "last": pin.last or None, "kind": pin.kind, "name": pin.name, "level": pin.level, "max_level": pin.max_level}


def leaf_facts(leaf: Leaf) -> dict[str, object]:
    """Return a summary as JSON tells it."""
    node = leaf.node
    return {
        "id": node.id,
        "uid": node.uid,
        "level": node.level,
        "parent": leaf.parent,
        "first": node.first,
        "last": node.last,
        "since": node.since.isoformat(),
        "until": node.until.isoformat(),
        "units": node.units,
        "raw_tokens": node.raw_tokens,
        "tokens": leaf.tokens,
        "is_shown": leaf.is_shown,
        "model": node.model,
        "created": node.created.isoformat(),
        "voice": node.voice,
        "phase": node.phase,
        "tools": list(node.tools),
        "names": list(node.index),
        "text": node.text,
    }
