"""Looking up: summaries by uid and by number, and where entries stand, from the two tapes of a memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from playhead.fold.ledger import records
from playhead.fold.ledger.entries import NODE
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.numbering import Numbering
from playhead.fold.ledger.reading import Reading, readings, side_by_side
from playhead.fold.node import Node
from playhead.tape.tape import Tape

Answer = TypeVar("Answer")


class Recent(Mapping[str, Node]):
    """The summaries that were looked up last, so many of them, by uid."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._nodes: OrderedDict[str, Node] = OrderedDict()

    def __getitem__(self, uid: str) -> Node:
        node = self._nodes[uid]
        self._nodes.move_to_end(uid)
        return node

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def keep(self, nodes: Iterable[Node]) -> None:
        """Keep more, and let those go that nobody asked for longest."""
        for node in nodes:
            self._nodes[node.uid] = node
            self._nodes.move_to_end(node.uid)
        while len(self._nodes) > self._size:
            self._nodes.popitem(last=False)

    def clear(self) -> None:
        """Let all go."""
        self._nodes.clear()


class Lookup:
    """Reads from a tape and its fold sidecar what a pure decision asks for."""

    def __init__(self, tape: Tape, sidecar: Tape) -> None:
        self._tape = tape
        self._sidecar = sidecar

    async def decided(self, decide: Callable[[], Answer], known: Known, *, numbering: Numbering, upto: int) -> Answer:
        """Return what is decided once all it asks for was looked up; `upto` is the last entry of the sidecar that counts."""
        while True:
            try:
                return decide()
            except Unread as unread:
                await self.fill(known, unread, numbering=numbering, upto=upto)

    async def fill(self, known: Known, unread: Unread, *, numbering: Numbering, upto: int) -> None:
        """Look up what was not read. What lies below a summary that stands fills its span, so the main tape is not asked for it."""
        uids = unread.nodes.union(*(parent.children for parent in unread.below))
        found = await self.readings(uids, upto=upto)
        below: dict[str, Node] = {}
        for parent in unread.below:
            below |= {node.uid: node for node in side_by_side(parent.children, found, numbering, first=parent.first, last=parent.last) or ()}
        alone = {uid: reading for uid, reading in found.items() if uid not in below}
        ends = {uid for reading in alone.values() for uid in (reading.draft.first_uid, reading.draft.last_uid)}
        known.places |= await self._places((unread.places | ends).difference(known.places))
        whole = {uid: reading.node(numbering, first=known.places[reading.draft.first_uid]) for uid, reading in alone.items() if _is_whole(reading, known)}
        known.nodes |= dict.fromkeys(uids) | below | whole

    async def readings(self, uids: Iterable[str], *, upto: int) -> dict[str, Reading]:
        """Return the summaries among entries of the sidecar up to one, by uid."""
        wanted = sorted(uids)
        found = await self._sidecar.store.find(self._sidecar.name, uids=wanted) if wanted else {}
        return readings({uid: entry for uid, entry in found.items() if entry.id <= upto})

    async def places(self, uids: Iterable[str]) -> dict[str, int]:
        """Return where entries of the main tape stand, by uid; those that do not are left out."""
        return {uid: place for uid, place in (await self._places(frozenset(uids))).items() if place}

    async def numbered(self, number: int, *, numbering: Numbering, upto: int) -> str | None:
        """Return the uid of the summary of a number, by halving: numbers rise along the sidecar. None where there is none."""
        low, high = 1, upto + 1
        while low < high:
            middle = (low + high) // 2
            page = await self._sidecar.query().kinds(NODE).after(middle - 1).before(high).limit(1).all()
            if not page:
                high = middle
                continue
            here = numbering.number(entry=page[0].id, written=records.number_in(page[0].payload.get("id")))
            if here == number:
                return str(page[0].uid)
            low, high = (page[0].id + 1, high) if here < number else (low, middle)
        return None

    async def _places(self, uids: frozenset[str]) -> dict[str, int]:
        if not uids:
            return {}
        found = await self._tape.store.find(self._tape.name, uids=sorted(uids))
        end = self._tape.query().ceiling
        places = {uid: entry.id for uid, entry in found.items() if end is None or entry.id <= end}
        return dict.fromkeys(uids, 0) | places


def _is_whole(reading: Reading, known: Known) -> bool:
    first, last = known.places[reading.draft.first_uid], known.places[reading.draft.last_uid]
    return first > 0 and last - first + 1 == reading.draft.entries
