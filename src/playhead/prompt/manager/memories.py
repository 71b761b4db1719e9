"""Memories: pins, locks and summaries of one manager, asked for and changed by what they are called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import datetime

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.errors import InvalidInput, SummaryNotFound
from playhead.fold.forest import Forest, Pin, PinKind
from playhead.fold.ledger.entries import cleared_entry, forgotten_entry, lock_entry, pin_entry, unlock_entry, unpin_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.ledger.search import Placed, SummaryHit, get_summaries_in_range, search_summaries
from playhead.fold.node import Node
from playhead.prompt.manager.messages import MessageBook
from playhead.prompt.manager.receipts import FoldReceipt, receipts

_ATTEMPTS = 16


class Memories:
    """What a manager can do with the summaries, pins and locks of one tape."""

    def __init__(self, memory: FoldMemory, book: MessageBook) -> None:
        self._memory = memory
        self._book = book

    async def pin(self, first: str, last: str, *, name: str | None, kind: PinKind, level: int | None, max_level: int | None) -> str:
        """Keep messages raw, from one to another, in either order; return the pin's id. Raises MessageNotFound, InvalidInput for a level that is none."""
        for label, value in (("level", level), ("max_level", max_level)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise InvalidInput(f"A pin's {label} is a whole number from 0, or None, not {value!r:.80}.")
        places = await self._book.parts(first) | await self._book.parts(last)
        ends = sorted(places, key=places.__getitem__)

        def entry(forest: Forest) -> TapeEntry:
            return pin_entry(f"pin-{forest.pin_counter + 1}", first_uid=ends[0], last_uid=ends[-1], name=name, kind=kind, level=level, max_level=max_level)

        return str((await self._write(entry)).payload["id"])

    async def unpin(self, pin: str) -> bool:
        """Let go of a pin; whether there was one."""
        found = next((known for known in await self.pins() if known.id == pin), None)
        if found is None:
            return False
        await self._write(lambda _: unpin_entry(found.id, uid=found.uid))
        return True

    async def pins(self) -> tuple[Pin, ...]:
        """Return the pins, in the order they were made."""
        return (await self._memory.look()).pins

    async def lock(self, id: str, *, is_locked: bool) -> None:
        """Have resolvers leave the level of a message as it is, or no longer. Raises MessageNotFound."""
        make = lock_entry if is_locked else unlock_entry
        await self.keep([make(uid) for uid in await self._book.parts(id)])

    async def forget(self, summary: str, *, reason: str) -> Node:
        """Take back a summary, and those above it: their entries stay, and what they told is told anew. Raises SummaryNotFound."""
        node = await self.summary(summary)
        await self._write(lambda _: forgotten_entry(node.uid, reason))
        return node

    async def clear(self, key: str | None) -> int:
        """Lift quarantines: the one of a key (`L1:UID`), or all; return how many there were."""
        stuck = [o for o in (await self._memory.look()).stuck if key is None or key == f"L{o.level}:{o.first_uid}"]
        await self.keep([cleared_entry(outcome.first_uid, outcome.level) for outcome in stuck])
        return len(stuck)

    async def summary(self, id: str) -> Node:
        """Return a summary by what it is called. Raises SummaryNotFound."""
        node = await self._memory.node(id)
        if node is None:
            raise SummaryNotFound(id)
        return node

    async def words(self, id: str) -> tuple[Message, ...]:
        """Return what a summary tells, word for word. Raises SummaryNotFound."""
        return await self._memory.words(await self.summary(id))

    async def search(self, *, text: str | None, regex: str | None, levels: Collection[int] | None, limit: int, include_merged: bool) -> list[SummaryHit]:
        """Return the summaries that hold a text or match an expression, the most matches first, then the newest."""
        return await search_summaries(self._memory, text=text, regex=regex, levels=levels, limit=limit, include_merged=include_merged)

    async def in_range(self, *, since: datetime | str | None, until: datetime | str | None, level: int | None) -> list[Placed]:
        """Return the summaries of what happened between two instants, both included, by when it began."""
        return await get_summaries_in_range(self._memory, since=since, until=until, level=level)

    async def receipts(self, *, limit: int, after: str | None) -> tuple[FoldReceipt, ...]:
        """Return when what is shown of the past changed, and how."""
        return await receipts(self._memory, limit=limit, after=after)

    async def forest(self) -> Forest:
        """Return the forest as it stands."""
        return await self._memory.look()

    async def deepest(self) -> int:
        """Return the highest level of any summary, 0 without one."""
        return max((level for level, count in (await self._memory.look()).counts.items() if count), default=0)

    def all(self) -> AsyncIterator[Node]:
        """Yield every summary that stands."""
        return self._memory.nodes()

    async def keep(self, entries: Sequence[TapeEntry]) -> None:
        """Write entries beside the tape, all or none, whoever else writes there."""
        if entries:
            await self._memory.write(lambda _: entries, attempts=_ATTEMPTS)

    async def _write(self, make: Callable[[Forest], TapeEntry]) -> TapeEntry:
        return (await self._memory.write(lambda forest: [make(forest)], attempts=_ATTEMPTS))[0]
