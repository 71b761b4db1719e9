"""Loading: runs of a view become units, the newest first, as far back as is asked for; what was built before is carried on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playhead.entry.entry import TapeEntry
from playhead.view.amends import Amends
from playhead.view.blocks import Block, Extent
from playhead.view.pairing import Built
from playhead.view.pieces import Piece
from playhead.view.pipe import leading
from playhead.view.projection import Projection
from playhead.view.recollection import Recollection
from playhead.view.runs import Run
from playhead.view.tail import UNREAD_CALL, Tail, TailKey, Tails
from playhead.view.units import Unit

FIRST_PAGE = 256
LARGEST_PAGE = 4096
LEAD_PAGE = 16


class Loader:
    """Loads runs of the views of one tape."""

    def __init__(self, known: Recollection) -> None:
        self._known = known
        self._tails = Tails()
        self._openings: dict[tuple[Projection, int, int], int] = {}

    def forget(self) -> None:
        """Forget what was built."""
        self._tails.clear()
        self._openings.clear()

    async def opening(self, extent: Extent) -> int:
        """Return the last entry of the system messages that a view opens with, the one before the view where there are none."""
        key = (extent.projection, extent.generation, extent.first)
        if key in self._openings and not self._known.amends.places:
            return self._openings[key]
        block = await self.front((extent.first, extent.end), extent, tokens=0)
        last = max((id for u in block.built.units[: block.lead] for id in u.ids), default=extent.first - 1)
        if block.last < extent.end and extent.generation == self._known.generation:
            self._openings[key] = last
        return last

    async def newest(self, runs: Sequence[Run], extent: Extent, *, tokens: int | None) -> tuple[list[Block], bool]:
        """Return the newest units of runs in order that cost more than `tokens` together (None: all), and whether that is all there are."""
        blocks: list[Block] = []
        left = tokens
        for run in reversed(runs):
            if left is not None and left < 0:
                return blocks[::-1], False
            built, is_whole = await self._held(run, extent, left)
            opens = is_whole and run[0] == extent.first
            blocks.append(Block(first=run[0] if is_whole else built.units[0].first, last=run[1], built=built, lead=leading(built.units) if opens else 0))
            if not is_whole:
                return blocks[::-1], False
            left = None if left is None else left - sum([u.tokens for u in built.units])
        return blocks[::-1], True

    async def front(self, run: Run, extent: Extent, *, tokens: int) -> Block:
        """Return what stands at the beginning of the view, inside a run: the system messages it opens with, and units up to `tokens`."""
        built, is_all = await self._ahead(run, extent, tokens=tokens, amends=Amends())
        if leading(built.units) or tokens or not built.units:
            await self._known.reach(extent.first, generation=extent.generation)
            built, is_all = await self._ahead(run, extent, tokens=tokens, amends=None)
        lead = leading(built.units)
        kept = max(lead, _complete(built.units, tokens))
        if is_all and kept == len(built.units):
            return Block(first=extent.first, last=max(run[1], extent.first - 1), built=built, lead=lead)
        units = built.units[:kept]
        last = max((id for u in units for id in u.ids), default=extent.first - 1)
        return Block(first=extent.first, last=last, built=Built(units=units, hidden=tuple([h for h in built.hidden if h.id <= last])), lead=lead)

    async def _ahead(self, run: Run, extent: Extent, *, tokens: int, amends: Amends | None) -> tuple[Built, bool]:
        """Return more units than are needed from the beginning of a run, and whether that is all of it."""
        size, read = LEAD_PAGE, self._known.reading(end=extent.end, counter=extent.counter, generation=extent.generation, amends=amends)
        while True:
            entries = await self._known.front(extent.first - 1, size=size, generation=extent.generation)
            ahead = tuple([e for e in entries if e.id <= run[1]])
            built = extent.projection.build(ahead, counter=extent.counter, read=read, orphan=extent.orphan)
            is_all = len(ahead) < size or ahead[-1].id == run[1]
            may_go_on = bool(tokens) and sum([u.tokens for u in built.units]) <= tokens or 0 < len(built.units) == leading(built.units)
            if is_all or not may_go_on:
                return built, is_all
            size *= 4

    async def _held(self, run: Run, extent: Extent, tokens: int | None) -> tuple[Built, bool]:
        """Return the newest units of a run that cost more than `tokens`, and whether it starts with them."""
        key = self._key(run, extent)
        tail = self._tails.get(key, end=run[1])
        if tail is not None and tail.last < run[1]:
            fresh = await self._known.between(tail.last, run[1])
            tail = self._tails.get(key, end=run[1])
            if tail is not None:
                tail.add([e for e in fresh if e.id > tail.last], read=self._reading(extent))
        held = tail.holding(tokens) if tail is not None and tail.last == run[1] else None
        if held is not None:
            return held
        tail, held = await self._new_tail(run, extent, tokens)
        if extent.generation == self._known.generation:
            self._tails.keep(tail)
        return held

    async def _new_tail(self, run: Run, extent: Extent, tokens: int | None) -> tuple[Tail, tuple[Built, bool]]:
        """Read back from the end of a run until the units cost more than `tokens`, guessing from what was read how far that is."""
        loaded: tuple[TapeEntry, ...] = ()
        size, at_start = FIRST_PAGE if tokens is not None else LARGEST_PAGE, False
        while True:
            while not at_start:
                older = await self._known.older(run, before=loaded[0].id if loaded else run[1] + 1, size=size, generation=extent.generation)
                loaded = (*older, *loaded)
                at_start = not older or older[0].id == run[0]
                if tokens is not None:
                    break
            first = loaded[0].id if loaded else run[0]
            await self._known.reach(first, generation=extent.generation)
            tail = Tail(self._key(run, extent), counter=extent.counter, first=first, is_whole=at_start)
            tail.add(loaded, read=self._reading(extent))
            held = tail.holding(tokens)
            if held is not None:
                return tail, held
            size = max(len(loaded), _next_size(len(loaded), tail.tokens, tokens or 0))

    def _reading(self, extent: Extent) -> Callable[[TapeEntry], Piece]:
        return self._known.reading(end=extent.end, counter=extent.counter, generation=extent.generation)

    def _key(self, run: Run, extent: Extent) -> TailKey:
        return TailKey(
            projection=extent.projection,
            counter=extent.counter.name,
            generation=extent.generation,
            first=run[0],
            last=None if run[1] == extent.end else run[1],
            orphan=extent.orphan if run[0] == extent.first else UNREAD_CALL,
            amend=self._known.amends.newest(*run, end=extent.end),
        )


def _next_size(read: int, cost: int, wanted: int) -> int:
    """Return how many more entries to read where `read` of them cost `cost` tokens and `wanted` are needed."""
    return min(max(FIRST_PAGE, (wanted - cost) * read * 5 // (4 * max(cost, 1))), LARGEST_PAGE)


def _complete(units: Sequence[Unit], room: int) -> int:
    """Return how many units from the front fit in `room` tokens, up to the first that may not be whole."""
    count, left = 0, room
    for unit in units:
        if unit.is_open or unit.tokens > left:
            break
        count, left = count + 1, left - unit.tokens
    return count
