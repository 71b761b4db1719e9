"""What a reader remembers of a tape: its newest entries, how it begins, what entries say, and which of them change others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from playhead.entry.entry import AMEND, TapeEntry
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.view.amends import Amends, target_of
from playhead.view.pieces import Piece
from playhead.view.runs import Run
from playhead.view.tokens import Counter

REMEMBERED = 20_000
"""How many of the newest entries, and how many pieces, are remembered."""


class Recollection:
    """Entries of one tape as a store has them, each read once as far as memory holds it: entries never change.

    A reset of the tape is noticed by its generation, another tape under its name (once it was renamed, or collected) by its
    newest entry.
    """

    def __init__(self, store: WholeStore, tape: str) -> None:
        self.store = store
        self.tape = tape
        self.generation = -1
        self.amends = Amends()
        self._newest: tuple[TapeEntry, ...] = ()
        self._witness: TapeEntry | None = None
        self._fronts: dict[tuple[int, int], tuple[TapeEntry, ...]] = {}
        self._pieces: dict[tuple[str, int, int, int], Piece] = {}

    async def refresh(self) -> tuple[Head, bool]:
        """Learn what came since the last time; return where the tape ends, and whether what was known of it still holds.

        Everything is forgotten where another tape has that name now, or the tape was reset.
        """
        head = await self.store.head(self.tape)
        holds = head.generation == self.generation and (self._witness is None or self._witness.id <= head.id)
        if not holds:
            self._forget(head.generation)
        holds = await self._catch_up(head) and holds
        if self.generation == head.generation and not self.amends.upto:
            self.amends = Amends(since=head.id, upto=head.id)
        while self.generation == head.generation and self.amends.upto < head.id:
            await self._learn_amends(self.amends.upto, head.id)
        if not self._newest:
            await self._know_by_its_end(head)
        return head, holds

    async def _catch_up(self, head: Head) -> bool:
        """Read what came behind the newest entry remembered; return whether what is known still holds."""
        last = self._witness
        if last is None:
            return True
        if self._newest and head.id - last.id > REMEMBERED:
            self._forget(head.generation)
            return False
        query = TapeQuery(tape=self.tape, cursor=last.id - 1, ceiling=head.id)
        found = tuple(await self.store.fetch_all(query if self._newest else query.limit(1)))
        if head.generation != self.generation or self._witness is not last:
            return True
        if not found or not _is_same(found[0], last):
            self._forget(head.generation)
            return False
        if len(found) > 1:
            self._newest, self._witness = (*self._newest, *found[1:])[-REMEMBERED:], found[-1]
        return True

    async def _know_by_its_end(self, head: Head) -> None:
        """Remember the newest entry alone, which tells whether what was learnt up to it still holds."""
        if head.id and (self._witness is None or self._witness.id < head.id):
            found = await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=head.id - 1, ceiling=head.id))
            if found and self.generation == head.generation and not self._newest:
                self._witness = found[0]

    async def reach(self, first: int, *, generation: int) -> None:
        """Learn what changes the entries from `first` on: a change stands behind its target."""
        while self.generation == generation and self.amends.since >= first:
            await self._learn_amends(first - 1, self.amends.since)

    async def _learn_amends(self, behind: int, last: int, *, entries: Sequence[TapeEntry] | None = None) -> None:
        """Learn of the changes among the entries behind `behind` up to `last`, which touch those that are known."""
        known, generation = self.amends, self.generation
        fresh = self._remembered(behind, last) if entries is None else entries
        query = TapeQuery(tape=self.tape, cursor=behind, stop=last + 1).kinds(AMEND)
        found = await self.store.fetch_all(query) if fresh is None else [e for e in fresh if e.kind == AMEND and behind < e.id <= last]
        uids = [uid for e in found if (uid := target_of(e)) is not None]
        targets = await self.store.find(self.tape, uids=uids) if uids else {}
        if self.generation == generation and self.amends is known:
            self.amends = known.grown(found, targets, since=min(known.since, behind), upto=max(known.upto, last))

    def _forget(self, generation: int) -> None:
        self.generation, self._newest, self._witness, self.amends = generation, (), None, Amends()
        self._fronts.clear()
        self._pieces.clear()

    def reading(self, *, end: int, counter: Counter, generation: int, amends: Amends | None = None) -> Callable[[TapeEntry], Piece]:
        """Return how to read entries of the tape as it is where it ends at entry `end`; what was read before is remembered.

        `amends` are the changes to apply, those that are known where it is left out.
        """
        changes = self.amends if amends is None else amends
        pieces, name = self._pieces, counter.name
        if len(pieces) > 2 * REMEMBERED:
            for key in list(pieces)[:REMEMBERED]:
                del pieces[key]

        def read(entry: TapeEntry) -> Piece:
            if entry.kind == AMEND:
                return Piece(hidden=changes.reason(entry))
            amend = changes.of(entry, end=end)
            key = (name, generation, entry.id, 0 if amend is None else amend.id)
            piece = pieces.get(key)
            if piece is None:
                piece = pieces[key] = changes.read(entry, end=end, counter=counter)
            return piece

        return read

    async def older(self, run: Run, *, before: int, size: int, generation: int) -> tuple[TapeEntry, ...]:
        """Return up to `size` entries of a run that stand right before the id `before`, in order."""
        newest = self._newest
        if generation == self.generation and newest and newest[0].id < before and newest[-1].id >= before - 1:
            stop = bisect_left(newest, before, key=_id)
            begin = max(bisect_left(newest, run[0], key=_id), stop - size)
            if begin < stop or newest[0].id <= run[0]:
                return newest[begin:stop]
        query = TapeQuery(tape=self.tape, cursor=run[0] - 1, stop=before).newest_first().limit(size)
        found = tuple(reversed(await self.store.fetch_all(query)))
        if found and generation == self.generation:
            self._remember(found)
            if found[0].id <= self.amends.since <= found[-1].id:
                await self._learn_amends(found[0].id - 1, self.amends.since, entries=found)
        return found

    def _remember(self, found: tuple[TapeEntry, ...]) -> None:
        """Keep entries that are the newest ones of the tape, or stand right before those that are kept."""
        if not self._newest and found[-1].id >= self.amends.upto:
            self._newest, self._witness = found, found[-1]
        elif self._newest and found[-1].id == self._newest[0].id - 1 and len(self._newest) < REMEMBERED:
            self._newest = (*found, *self._newest)
        self._witness = self._witness or found[-1]

    async def between(self, last: int, end: int) -> Sequence[TapeEntry]:
        """Return the entries behind `last` up to `end`."""
        remembered = self._remembered(last, end)
        return remembered if remembered is not None else await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=last, stop=end + 1))

    def _remembered(self, last: int, end: int) -> tuple[TapeEntry, ...] | None:
        """Return the entries behind `last` up to `end` where all of them are remembered."""
        newest = self._newest
        if not newest or newest[0].id > last + 1 or newest[-1].id < end:
            return None
        return newest[bisect_right(newest, last, key=_id) : bisect_right(newest, end, key=_id)]

    async def front(self, start: int, *, size: int, generation: int) -> Sequence[TapeEntry]:
        """Return at least the first `size` entries behind the id `start`, or all there are."""
        known = self._fronts.get((generation, start))
        if known is None or len(known) < size:
            known = tuple(await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=start).limit(size)))
            if generation == self.generation:
                self._fronts[generation, start] = known
        return known


def _is_same(one: TapeEntry, other: TapeEntry) -> bool:
    return (one.uid, one.kind, one.date) == (other.uid, other.kind, other.date)


def _id(entry: TapeEntry) -> int:
    return entry.id
