"""The ledger: which entries of a tape are messages, which of them were changed or removed, and where the n-th one stands."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.prompt.manager.stored import ROWS
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.tape.tape import Tape
from playhead.view.amends import Amend, Amends

STRIDE = 256
"""How many entry ids at least lie between two places up to which messages were counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A tape as it is where it ends at entry `end`: which changes of its messages count."""

    end: int
    amends: Amends

    def amend(self, entry: TapeEntry) -> Amend | None:
        """Return the change of an entry that counts."""
        return self.amends.of(entry, end=self.end)

    def is_removed(self, entry: TapeEntry) -> bool:
        """Return whether an entry was taken away."""
        amend = self.amend(entry)
        return amend is not None and amend.payload is None

    def at(self, end: int) -> Standing:
        """Return the tape as it was at an earlier end."""
        return Standing(end=min(self.end, end), amends=self.amends)


class Ledger:
    """Counts and finds the messages of one tape. It learns at every look what came since, so that no look misses what others wrote.

    What it remembers is how many messages stand up to some places, at most one in STRIDE entries: entries never change, and another
    tape under the name is noticed by its generation and by the entry that stood last.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._counts: list[tuple[int, int]] = [(0, 0)]
        self._generation = -1
        self._witness: TapeEntry | None = None
        self._is_row: dict[str, bool] = {}
        self._removed: tuple[Standing | None, tuple[int, ...]] = (None, ())

    async def standing(self) -> Standing:
        """Return the tape as it is now, or as its handle shows it."""
        amends = await self._tape.amends()
        ceiling = self._tape.query().ceiling
        return Standing(end=amends.upto if ceiling is None else min(ceiling, amends.upto), amends=amends)

    def rows(self, standing: Standing) -> TapeQuery:
        """Return the query for all messages, removed ones too."""
        return self._tape.query().kinds(*ROWS).up_to(standing.end)

    async def count(self, standing: Standing) -> int:
        """Return how many messages there are; costs what came since the last time."""
        await self._verify(standing)
        return await self._live(standing, standing.end)

    async def stretch(self, standing: Standing, *, offset: int, limit: int) -> tuple[TapeEntry, ...]:
        """Return up to `limit` messages from the place `offset` on, counted from 0 without those removed.

        Costs what it returns, and, where nothing was counted near that place before, a count over the index of kinds.
        """
        await self._verify(standing)
        low, before = await self._below(standing, offset)
        found: list[TapeEntry] = []
        wanted, cursor = offset - before + limit, low
        while len(found) < wanted:
            page = await self._tape.store.fetch_all(self.rows(standing).after(cursor).limit(wanted - len(found)))
            found += [entry for entry in page if not standing.is_removed(entry)]
            if not page:
                break
            cursor = page[-1].id
        return tuple(found[offset - before :])

    async def _below(self, standing: Standing, offset: int) -> tuple[int, int]:
        """Return an entry id less than two strides below the message at a place, and how many messages stand up to it."""
        low, before, high = 0, 0, STRIDE
        while high < standing.end:
            high *= 2
        while high - low > STRIDE:
            middle = (low + high) // 2
            number = await self._live(standing, middle) if middle < standing.end else offset + 1
            if number > offset:
                high = middle
            else:
                low, before = middle, number
        return low, before

    async def _live(self, standing: Standing, id: int) -> int:
        """Return how many messages stand up to an entry."""
        return await self._counted(id) - bisect_right(await self._removed_places(standing), id)

    async def _counted(self, id: int) -> int:
        """Return how many messages were written up to an entry."""
        counts = self._counts
        place, number = counts[bisect_right(counts, id, key=_place) - 1]
        if place < id:
            number += await self._tape.store.count(self._tape.query().kinds(*ROWS).after(place).up_to(id))
        if id - place >= STRIDE and counts[bisect_right(counts, id, key=_place) - 1][0] != id:
            insort(counts, (id, number))
        return number

    async def _removed_places(self, standing: Standing) -> tuple[int, ...]:
        """Return where removed messages stand, in order."""
        known, places = self._removed
        if known is not None and known.amends is standing.amends and known.end == standing.end:
            return places
        gone: dict[str, int] = {}
        for uid, amends in standing.amends.by_target.items():
            last = next((amend for amend in reversed(amends) if amend.id <= standing.end), None)
            if last is not None and last.payload is None:
                gone[uid] = last.target
        unknown = [uid for uid in gone if uid not in self._is_row]
        found = await self._tape.store.find(self._tape.name, uids=unknown) if unknown else {}
        self._is_row |= {uid: entry.kind in ROWS for uid, entry in found.items()}
        places = tuple(sorted(place for uid, place in gone.items() if self._is_row.get(uid)))
        self._removed = (standing, places)
        return places

    async def _verify(self, standing: Standing) -> None:
        """Forget what was counted where the tape is no longer the one it was counted on."""
        head, witness = await self._tape.head(), self._witness
        newest = await self._entry(standing.end)
        if witness is not None and not (head.generation == self._generation and _is_same(witness, newest if witness.id == standing.end else await self._entry(witness.id))):
            self._forget(head)
        if self._witness is None or newest is not None and newest.id > self._witness.id:
            self._generation, self._witness = head.generation, newest

    def _forget(self, head: Head) -> None:
        self._counts, self._generation, self._witness = [(0, 0)], head.generation, None

    async def _entry(self, id: int) -> TapeEntry | None:
        found: Sequence[TapeEntry] = await self._tape.store.fetch_all(self._tape.query().after(id - 1).up_to(id))
        return found[0] if found else None


def _place(count: tuple[int, int]) -> int:
    return count[0]


def _is_same(one: TapeEntry, other: TapeEntry | None) -> bool:
    return other is not None and (one.uid, one.kind, one.date) == (other.uid, other.kind, other.date)
