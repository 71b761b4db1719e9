"""Summaries as they are read back: an entry, what it says, and where that stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.fold.ledger import records
from playhead.fold.ledger.entries import NODE
from playhead.fold.ledger.numbering import Numbering
from playhead.fold.ledger.reduction import node_of
from playhead.fold.node import Node, NodeDraft
from playhead.tape.reduction import Ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An entry of a summary and what it says; where it stands is looked up, or follows from what it stands beside."""

    entry: TapeEntry
    draft: NodeDraft

    def node(self, numbering: Numbering, *, first: int) -> Node:
        """Return the summary, with its first entry at a place."""
        number = numbering.number(entry=self.entry.id, written=records.number_in(self.entry.payload.get("id")))
        return node_of(self.entry, self.draft, number=number, first=first, last=first + self.draft.entries - 1)


Readings = Mapping[str, Reading]


def readings(found: Mapping[str, TapeEntry]) -> dict[str, Reading]:
    """Return those of some entries, by uid, that are summaries and can be read."""
    return {uid: Reading(entry=entry, draft=draft) for uid, entry in found.items() if (draft := _draft(entry)) is not None}


def side_by_side(uids: Iterable[str], found: Readings, numbering: Numbering, *, first: int, last: int) -> tuple[Node, ...] | None:
    """Return summaries that follow each other without a gap from one place to another; None where they do not fill that, or one was not found."""
    nodes = []
    for uid in uids:
        if uid not in found:
            return None
        nodes.append(found[uid].node(numbering, first=first))
        first = nodes[-1].last + 1
    return tuple(nodes) if first == last + 1 else None


def _draft(entry: TapeEntry) -> NodeDraft | None:
    if entry.kind != NODE:
        return None
    try:
        found = records.read(entry)
    except Ignored:
        return None
    return found if isinstance(found, NodeDraft) else None
