"""Tapes with summaries: how tests write them, and what holds for every forest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.fold.forest import Cut, Forest
from playhead.fold.ledger.entries import cut_entry, node_entry
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.reduction import advance
from playhead.fold.ledger.state import Ledger
from playhead.fold.node import Node, NodeDraft
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.unit.tape.opened import fresh_store

START = datetime(2026, 1, 1, tzinfo=UTC)
ALIKE = ("roots", "cut", "pins", "outcomes", "pin_counter", "factor", "factor_epoch", "last_written", "counts", "ignored")


def at(minute: int) -> datetime:
    """Return an instant."""
    return START + timedelta(minutes=minute)


def leaf(entries: Sequence[TapeEntry], text: str = "told", **facts: object) -> NodeDraft:
    """Return a summary of level 1 over entries that follow each other."""
    first, last = entries[0], entries[-1]
    known = {"units": len(entries), "raw_tokens": 100 * len(entries), "since": at(first.id), "until": at(last.id), "model": "test"}
    return NodeDraft(level=1, first_uid=first.uid, last_uid=last.uid, entries=last.id - first.id + 1, text=text, **{**known, **facts})


def over(nodes: Sequence[Node], text: str = "merged", **facts: object) -> NodeDraft:
    """Return a summary that merges others."""
    first, last = nodes[0], nodes[-1]
    known = {"units": sum(n.units for n in nodes), "raw_tokens": sum(n.raw_tokens for n in nodes), "since": first.since, "until": last.until, "children": tuple(n.uid for n in nodes)}
    return NodeDraft(level=first.level + 1, first_uid=first.first_uid, last_uid=last.last_uid, entries=last.last - first.first + 1, text=text, **{**known, **facts})


async def talked(count: int = 12) -> Tape:
    """Return a tape in a new store with so many messages, read as a whole."""
    tape = Tape(fresh_store(), "t", context=TapeContext(anchor=None))
    await tape.append_many([user(f"message {number}") for number in range(1, count + 1)])
    return tape


async def write(memory: FoldMemory, draft: NodeDraft) -> Node:
    """Append a summary as the next one, and return it."""
    forest = await memory.look()
    (entry,) = await memory.append([node_entry(draft, id=f"L{draft.level}-{forest.counter + 1}")], since=forest)
    node = await memory.node(entry.uid)
    assert node is not None
    return node


async def tell(memory: FoldMemory, *spans: tuple[int, int]) -> list[Node]:
    """Summarise runs of entries of the tape, each by a summary of its own."""
    entries = await memory.tape.query().all()
    return [await write(memory, leaf(entries[first - 1 : last], f"told {first} to {last}")) for first, last in spans]


async def merge(memory: FoldMemory, nodes: Sequence[Node]) -> Node:
    """Merge summaries into one."""
    return await write(memory, over(nodes, f"merged {nodes[0].first} to {nodes[-1].last}"))


async def tall(pairs: int = 8) -> tuple[FoldMemory, list[Node]]:
    """Return a memory whose pairs of messages were told and merged two by two as far as that goes, and the summaries of level 1."""
    memory = FoldMemory(await talked(2 * pairs))
    line = leaves = await tell(memory, *((n, n + 1) for n in range(1, 2 * pairs, 2)))
    while len(line) > 1:
        line = [await merge(memory, line[n : n + 2]) for n in range(0, len(line), 2)]
    return memory, leaves


async def show(memory: FoldMemory, *nodes: Node, room: int = 1000) -> None:
    """Show summaries, in order, and nothing else."""
    await memory.append([cut_entry(Cut(nodes=tuple(node.uid for node in nodes), room=room, resolver="r"))], since=await memory.look())


async def check(memory: FoldMemory) -> Forest:
    """Fail the test unless the forest is sound, and the same from the start, from a checkpoint, and kept up to date; return it.

    Every summary's leaves follow each other, levels differ by one, each has one parent at most, and no entry is told twice.
    """
    forest = await memory.look()
    walked = [each async for each in memory.walk()]
    nodes = {node.uid: node for node, _ in walked}
    assert len(nodes) == len(walked) == len({node.id for node, _ in walked})
    assert {level: sum(node.level == level for node in nodes.values()) for level in {node.level for node in nodes.values()}} == dict(forest.counts)
    for node in nodes.values():
        children = [nodes[uid] for uid in node.children]
        assert (node.level == 1) == (not children)
        assert all(child.level == node.level - 1 for child in children)
        assert [n for child in children for n in range(child.first, child.last + 1)] in ([], list(range(node.first, node.last + 1)))
    told = [n for node in nodes.values() if node.level == 1 for n in range(node.first, node.last + 1)]
    assert len(told) == len(set(told))
    assert [node for node, parent in walked if parent is None] == list(forest.roots)
    _check_held(forest, nodes)
    assert await FoldMemory(memory.tape, namespace=memory.name.partition(".")[2] or None).look() == forest
    for size in (1, 1000):
        ledger = await replayed(memory, size=size)
        assert {name: getattr(ledger, name) for name in ALIKE} == {name: getattr(forest, name) for name in ALIKE}
        assert (ledger.numbering.counter, sorted(ledger.locks.values())) == (forest.counter, list(forest.locks))
    return forest


async def replayed(memory: FoldMemory, *, size: int) -> Ledger:
    """Return what the sidecar comes to, read from its first entry on, so many at a time."""
    entries = await memory.sidecar.query().all()
    known = Known()
    known.places |= {entry.uid: entry.id for entry in await memory.tape.query().all()}
    ledger = Ledger()
    for start in range(0, len(entries), size):
        ledger = _advanced(ledger, entries[start : start + size], known)
        known.nodes = {uid: node for uid, node in known.nodes.items() if node is not None} | {root.uid: root for root in ledger.roots}
    return ledger


def _advanced(ledger: Ledger, page: Sequence[TapeEntry], known: Known) -> Ledger:
    while True:
        try:
            return advance(ledger, page, known)
        except Unread as unread:
            known.places |= dict.fromkeys(unread.places, 0)
            known.nodes |= dict.fromkeys(unread.nodes.union(*(parent.children for parent in unread.below)))


def _check_held(forest: Forest, nodes: dict[str, Node]) -> None:
    """What a snapshot holds stands, and is all that is shown, above it or beside it."""
    assert all(nodes[uid] == node for uid, node in forest.nodes.items())
    assert dict(forest.parents) == {child: node.uid for node in forest.nodes.values() for child in node.children if child in forest.nodes}
    spans = [node.span for node in forest.shown]
    assert spans == sorted(spans) and all(one[1] < other[0] for one, other in pairwise(spans))
    assert len(forest.shown) == len(forest.cut.nodes if forest.cut else ())
    for node in forest.nodes.values():
        if not forest.shown:
            assert node in forest.roots
        assert not any(above.uid in {n.uid for n in forest.shown} for above in forest.ancestors(node.uid))
