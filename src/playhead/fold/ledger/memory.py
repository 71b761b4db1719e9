"""The memory of a tape that folds: what its fold sidecar says, kept up to date, and written on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from types import MappingProxyType
from typing import TypeVar

from playhead.entry.entry import TapeEntry, stamped
from playhead.entry.message import Message
from playhead.errors import Conflict, InvalidInput, ReadOnly
from playhead.fold.forest import Forest
from playhead.fold.ledger import records
from playhead.fold.ledger.checkpoints import Opened, checkpoint_entry, is_in_place
from playhead.fold.ledger.descent import broods, covering, held, newest, parents_of, way
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.lookup import Lookup, Recent
from playhead.fold.ledger.opening import opened
from playhead.fold.ledger.reduction import advance, wanted
from playhead.fold.ledger.state import Ledger
from playhead.fold.node import Node
from playhead.store.change import Append
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from playhead.tape.bell import ring
from playhead.tape.tape import Tape
from playhead.view.bodies import messages

Answer = TypeVar("Answer")

LABEL = "fold"
RECENT = 512
"""How many summaries below those of a snapshot are kept in memory."""

_PAGE = 256
_BATCH = 32
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a look found: the heads of both tapes, what the sidecar comes to, the snapshot that was made of it, and the id of the newest checkpoint."""

    main: Head
    side: Head
    ledger: Ledger
    forest: Forest
    checkpoint: int


class FoldMemory:
    """The summaries beside a tape, and what else its fold sidecar says; `namespace` tells apart those of several agents.

    `name` is the sidecar's label. Looks may overlap, in several tasks too. In memory are the roots, what is shown and what lies
    above or beside it, and the last RECENT summaries that were asked for. A handle of the past sees the sidecar as it was then.
    """

    def __init__(self, tape: Tape, *, namespace: str | None = None) -> None:
        self.name = LABEL if namespace is None else f"{LABEL}.{namespace}"
        self.tape = tape
        self.sidecar = tape.sidecar(self.name)
        self._lookup = Lookup(tape, self.sidecar)
        self._recent = Recent(RECENT)
        self._past = tape.query().ceiling
        self._ended = EMPTY, EMPTY
        self._seen: _Seen | None = None
        self._reached: tuple[Forest, object, Forest] | None = None

    def __repr__(self) -> str:
        return f"FoldMemory({self.tape!r}, {self.name!r})"

    async def look(self) -> Forest:
        """Return the forest as it is now. Reads what came since the last look; the first one what stands behind the newest checkpoint."""
        return (await self._look()).forest

    async def reach(self, *, room: int, spans: Iterable[tuple[int, int]] = ()) -> Forest:
        """Return the forest with more below the roots: all on the way down to level 1 under spans of entry ids, and the newest.

        The newest are loaded until the summaries of level 1 among them tell `room` raw tokens; none for 0.
        """
        seen, asked = await self._look(), (room, tuple(spans))
        if self._reached is not None and self._reached[0] is seen.forest and self._reached[1] == asked:
            return self._reached[2]
        roots, known = seen.ledger.roots, self._known(seen)
        found = await self._decided(lambda: covering(roots, asked[1], known) | newest(roots, known, room=room), known, seen.ledger)
        self._recent.keep(node for uid, node in found.items() if uid not in seen.forest.nodes)
        nodes = {**seen.forest.nodes, **found}
        forest = replace(seen.forest, nodes=MappingProxyType(nodes), parents=MappingProxyType(parents_of(nodes)))
        self._reached = seen.forest, asked, forest
        return forest

    async def node(self, name: str) -> Node | None:
        """Return a summary by its id, such as `L1-3`, or by its uid, also one that no longer stands; None where there is none."""
        seen, uid = await self._look(), name
        number = records.number_in(name)
        if number:
            loaded = next((node.uid for node in seen.forest.nodes.values() if node.id == name), None)
            uid = loaded or await self._lookup.numbered(number, numbering=seen.ledger.numbering, upto=seen.ledger.upto) or name
        known = self._known(seen)
        node = await self._decided(lambda: known.several([uid])[0], known, seen.ledger)
        return node if node is not None and name in (node.id, node.uid) else None

    async def above(self, node: Node) -> tuple[Node, ...] | None:
        """Return the summaries that one is part of, the nearest first; None where it does not stand."""
        seen = await self._look()
        known = self._known(seen)
        path = await self._decided(lambda: way(seen.ledger.roots, node, known.several), known, seen.ledger)
        return None if path is None else path[-2::-1]

    async def children(self, node: Node) -> tuple[Node, ...]:
        """Return the summaries that one was merged from, oldest first."""
        seen = await self._look()
        known = self._known(seen)
        several = await self._decided(lambda: known.several(node.children), known, seen.ledger)
        found = tuple(child for child in several if child is not None)
        self._recent.keep(child for child in found if child.uid not in seen.forest.nodes)
        return found

    async def words(self, node: Node) -> tuple[Message, ...]:
        """Return what a summary tells, word for word: the messages under it, as the handle reads them."""
        return tuple(messages(await self.tape.read_range(*node.span)))

    async def nodes(self, *, newest_first: bool = False) -> AsyncIterator[Node]:
        """Yield every summary that stands as of now, by where it stands, each before those that it was merged from."""
        async for node, _ in self.walk(newest_first=newest_first):
            yield node

    async def walk(self, *, newest_first: bool = False) -> AsyncIterator[tuple[Node, Node | None]]:
        """Yield what `nodes` does, each with the one that it is part of."""
        seen, ready = await self._look(), dict[str, list[Node]]()
        step = 1 if newest_first else -1
        waiting: list[tuple[Node, Node | None]] = [(root, None) for root in seen.ledger.roots[::step]]
        while waiting:
            node, parent = waiting.pop()
            yield node, parent
            if node.children and node.uid not in ready:
                next_ones = islice((each for each, _ in reversed(waiting) if each.children and each.uid not in ready), _BATCH - 1)
                batch, known = [node, *next_ones], self._known(seen)
                below = await self._decided(partial(broods, batch, known), known, seen.ledger)
                ready |= {each.uid: brood for each, brood in zip(batch, below, strict=True)}
            waiting += [(child, node) for child in ready.pop(node.uid, [])[::step]]

    async def places(self, uids: Iterable[str]) -> Mapping[str, int]:
        """Return the ids of entries of the main tape by uid; those that are not on it are left out."""
        return await self._lookup.places(uids)

    # -- writing

    async def append(self, entries: Sequence[TapeEntry], *, since: Forest | None = None) -> tuple[TapeEntry, ...]:
        """Keep entries on the sidecar, all or none, and return them as stored.

        Raises Conflict where somebody wrote since the snapshot `since`, or since the last look, ReadOnly for a handle of the past,
        BranchClosed, and InvalidInput for an entry with an idempotency key: such a one need not stand where it is written.
        """
        self._check_writable()
        if any(IDEMPOTENCY_KEY in entry.meta for entry in entries):
            raise InvalidInput("An entry of a fold sidecar has no idempotency key; leave it out: what is told already is not told again.")
        forest = since or (self._seen or await self._look()).forest
        return await self.sidecar.append_many(entries, expected_head=forest.head)

    async def write(self, make: Callable[[Forest], Sequence[TapeEntry]], *, attempts: int = 8) -> tuple[TapeEntry, ...]:
        """Keep what is made of the forest as it stands, made anew where somebody wrote meanwhile; return it as stored.

        Raises Conflict where others kept writing, and what `append` raises besides.
        """
        while True:
            attempts -= 1
            forest = await self.look()
            try:
                return await self.append(make(forest), since=forest)
            except Conflict as conflict:
                if type(conflict) is not Conflict or attempts <= 0:
                    raise

    async def checkpoint(self, *, every: int = 64) -> bool:
        """Write down what the sidecar comes to, where `every` entries, and a quarter as many as it would name summaries, stand behind the last time.

        Returns whether it did; where others keep writing it does not.
        """
        self._check_writable()
        for _ in range(_ATTEMPTS):
            seen = await self._look()
            if seen.ledger.upto - seen.checkpoint < max(every, len(seen.forest.nodes) // 4, 1):
                return False
            entry = stamped(checkpoint_entry(seen.ledger, held=seen.forest.nodes, main=seen.main.id))
            still = Append(tape=self.tape.name, entries=(), expected_head=seen.main)
            try:
                await self.tape.store.apply([still, Append(tape=self.sidecar.name, entries=[entry], expected_head=seen.side)])
            except Conflict as conflict:
                if type(conflict) is not Conflict:
                    raise
                continue
            ring(self.tape.store, self.sidecar.name)
            return True
        return False

    def _check_writable(self) -> None:
        if self._past is not None:
            raise ReadOnly(f"This memory is that of {self.tape!r}, a handle of the past; write through one of the tape itself.")

    # -- reading

    async def _look(self) -> _Seen:
        before = self._seen
        main = await self.tape.head()
        side = await self._side_head(main)
        current: Opened | None = None
        if before is not None and (before.main.generation, before.side.generation) == (main.generation, side.generation):
            current = await self._advanced(before, side)
        if current is None:
            self._recent.clear()
            start = await opened(self.sidecar, self._lookup, main=main, side=side)
            current = replace(await self._read_on(start, side), checkpoint=start.checkpoint)
        seen = await self._snapshot(current, before, main=main, side=side)
        latest = self._seen
        if latest is not None and latest is not before and latest.main.generation == main.generation and latest.ledger.upto > seen.ledger.upto:
            return latest
        self._seen = seen
        return seen

    async def _side_head(self, main: Head) -> Head:
        """Return where the sidecar ends; for a handle of the past where it ended then: marks rise."""
        head = await self.sidecar.head()
        if self._past is None or not head.id:
            return head
        if self._ended[0] != head:
            start = self._ended[1].id if self._ended[1].generation == head.generation else 0
            marks = await self.sidecar.store.marks(self.sidecar.name, after=start)
            past = Head(main.generation, self._past)
            self._ended = head, head._replace(id=start + sum(1 for _ in takewhile(lambda mark: mark <= past, marks)))
        return self._ended[1]

    async def _advanced(self, before: _Seen, side: Head) -> Opened | None:
        """Return the ledger with all that came since; None where its last entry no longer stands."""
        ledger = before.ledger
        if side.id < ledger.upto:
            return None
        if ledger.upto:
            last = await self._page(ledger.upto - 1, upto=ledger.upto)
            if not last or last[0].uid != ledger.last:
                return None
        return await self._read_on(Opened(ledger=ledger, nodes=before.forest.nodes, checkpoint=before.checkpoint), side)

    async def _read_on(self, start: Opened, side: Head) -> Opened:
        ledger, checkpoint, known = start.ledger, start.checkpoint, Known(start.nodes, self._recent)
        while ledger.upto < side.id and (page := await self._page(ledger.upto, upto=side.id)):
            await self._lookup.fill(known, Unread(places=wanted(page)), numbering=ledger.numbering, upto=ledger.upto)
            ledger = await self._decided(partial(advance, ledger, page, known), known, ledger)
            checkpoint = max((entry.id for entry in page if is_in_place(entry)), default=checkpoint)
            known = Known({root.uid: root for root in ledger.roots}, start.nodes, self._recent)
        return Opened(ledger=ledger, nodes=start.nodes, checkpoint=checkpoint)

    async def _page(self, after: int, *, upto: int) -> list[TapeEntry]:
        return list(await self.sidecar.store.fetch_all(TapeQuery(tape=self.sidecar.name).after(after).up_to(upto).limit(_PAGE)))

    async def _snapshot(self, current: Opened, before: _Seen | None, *, main: Head, side: Head) -> _Seen:
        ledger = current.ledger
        if before is not None and ledger is before.ledger:
            return replace(before, main=main, side=side)
        known = Known(current.nodes, self._recent)
        nodes = await self._decided(lambda: held(ledger.roots, ledger.cut, known), known, ledger)
        return _Seen(main=main, side=side, ledger=ledger, forest=_forest(ledger, nodes, generation=main.generation, head=side), checkpoint=current.checkpoint)

    def _known(self, seen: _Seen) -> Known:
        return Known(seen.forest.nodes, self._recent)

    async def _decided(self, decide: Callable[[], Answer], known: Known, ledger: Ledger) -> Answer:
        return await self._lookup.decided(decide, known, numbering=ledger.numbering, upto=ledger.upto)


def _forest(ledger: Ledger, nodes: Mapping[str, Node], *, generation: int, head: Head) -> Forest:
    return Forest(
        roots=ledger.roots,
        nodes=MappingProxyType(nodes),
        parents=MappingProxyType(parents_of(nodes)),
        cut=ledger.cut,
        pins=ledger.pins,
        locks=tuple(sorted(ledger.locks.values())),
        outcomes=ledger.outcomes,
        counter=ledger.numbering.counter,
        pin_counter=ledger.pin_counter,
        factor=ledger.factor,
        factor_epoch=ledger.factor_epoch,
        last_written=ledger.last_written,
        counts=MappingProxyType(ledger.counts),
        ignored=MappingProxyType(ledger.ignored),
        generation=generation,
        head=head,
    )
