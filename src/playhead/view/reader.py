"""Reading a view from a store: only the part of it that will be sent, and of that only what is new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from playhead.entry.entry import ANCHOR, TapeEntry, event_name
from playhead.errors import InvalidInput, SelectorError
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.view.amends import Amends
from playhead.view.blocks import Block, Extent, cut_of, gaps_of, hidden_in, loaded_from, selected
from playhead.view.context import LAST_ANCHOR, TapeContext, pipe_of, projection_of
from playhead.view.loading import Loader
from playhead.view.pairing import ORPHAN, Built
from playhead.view.pieces import is_beginning, note_of
from playhead.view.pipe import leading
from playhead.view.plan import Units
from playhead.view.prices import MessagePrices
from playhead.view.projection import MINIMAL
from playhead.view.recollection import Recollection
from playhead.view.runs import Run, checked_run, checked_runs, folded_runs, runs_between
from playhead.view.selection import pick, selected_units, selector_name, visible
from playhead.view.tokens import Counter, check_tokens
from playhead.view.units import Before, Hidden, Unit


class TapeReader:
    """Reads views of one tape, and remembers its newest entries and what they say: entries never change.

    All handles of a tape on one store object may share one.
    """

    def __init__(self, store: WholeStore, tape: str) -> None:
        self.store = store
        self.tape = tape
        self.states: dict[str, object] = {}
        self._known = Recollection(store, tape)
        self._loader = Loader(self._known)
        self._prices = MessagePrices()

    async def read(self, context: TapeContext, *, counter: Counter, tail_tokens: int | None = None, head_tokens: int = 0, folded: Iterable[Run] = (), at: int | None = None) -> Units:
        """Load a view beside the runs in `folded`: its tail up to `tail_tokens` (one unit more, None for all), its first `head_tokens`, and its lead.

        A selector of the user's own gets the whole view. `at` reads the tape as it was when that entry was its last.
        Raises AnchorNotFound for a name that no anchor has. LAST_ANCHOR reads the whole tape where it has no anchor, or only the
        `session/start` that a first run has left behind what stood there: it begins nothing, and hides nothing.
        """
        check_tokens("head_tokens", head_tokens)
        if tail_tokens is not None:
            check_tokens("tail_tokens", tail_tokens)
        runs = checked_runs("folded", folded)
        while True:
            head = await self._refreshed()
            units = await self._read(context, head, counter, tail_tokens, head_tokens, runs, at)
            if (await self.store.head(self.tape)).generation == head.generation:
                return units

    async def read_range(self, context: TapeContext, *, counter: Counter, first: int, last: int, at: int | None = None) -> tuple[Unit, ...]:
        """Load the units of the entries `first` to `last` as a context shows them, wherever it starts reading.

        Of a selector of the user's own, which gets the whole view, those units whose entries all lie there.
        """
        first, last = checked_run("read_range", (first, last))
        while True:
            head = await self._refreshed()
            end = head.id if at is None else min(at, head.id)
            if projection_of(context) is None:
                whole = await self._read(context, head, counter, None, 0, (), at)
                units = tuple([u for u in whole if u.ids and first <= u.first and u.last <= last])
            else:
                units = await self._of_run((first, min(last, end)), self._extent(context, head, counter, start=first - 1, end=end, orphan=ORPHAN))
            if (await self.store.head(self.tape)).generation == head.generation:
                return units

    async def amends(self) -> Amends:
        """Return which entries change earlier ones, up to where the tape ends now; costs what came since the last look."""
        head = await self._refreshed()
        await self._known.reach(1, generation=head.generation)
        return self._known.amends

    async def boundary(self, context: TapeContext, *, at: int | None = None) -> TapeEntry | None:
        """Return the anchor that a context reads behind, None for the whole tape. Raises AnchorNotFound."""
        query = TapeQuery(tape=self.tape, ceiling=at)
        if context.anchor is None:
            return None
        if context.anchor is LAST_ANCHOR:
            return await self._newest(query.kinds(ANCHOR))
        if not isinstance(context.anchor, str):
            raise InvalidInput(f"A context's anchor is LAST_ANCHOR, a name or None, not {context.anchor!r}.")
        behind = _only(await self.store.fetch_all(query.after_anchor(context.anchor).limit(1)))
        upto = query if behind is None else query.before(behind.id)
        return _only(await self.store.fetch_all(upto.newest_first().limit(1)))

    async def _newest(self, anchors: TapeQuery) -> TapeEntry | None:
        """Return the newest anchor, None where it is a `session/start` that is the first anchor of the tape and not its first entry."""
        anchor = _only(await self.store.fetch_all(anchors.newest_first().limit(1)))
        if anchor is None or anchor.id == 1 or not is_beginning(anchor):
            return anchor
        return anchor if await self.store.fetch_all(anchors.before(anchor.id).newest_first().limit(1)) else None

    async def _refreshed(self) -> Head:
        head, holds = await self._known.refresh()
        if not holds:
            self._loader.forget()
        return head

    async def _read(self, context: TapeContext, head: Head, counter: Counter, tail_tokens: int | None, head_tokens: int, folded: tuple[Run, ...], at: int | None) -> Units:
        anchor = await self.boundary(context, at=at)
        orphan = ORPHAN if anchor is None else f"its call is before anchor {event_name(anchor)}"
        extent = self._extent(context, head, counter, start=anchor.id if anchor else 0, end=head.id if at is None else min(at, head.id), orphan=orphan)
        if projection_of(context) is None:
            return self._placed(await self._selected(context, extent), extent, anchor)
        units = await self._projected(extent, tail_tokens, head_tokens, folded)
        note = await self._note(anchor, extent) if anchor is not None and extent.projection.anchor_state and anchor.meta.get("context") is not False else None
        if note is not None and extent.steps is not None:
            note = next(iter(extent.steps.apply((note,), counter=counter).units), None)
        return self._placed(units if note is None else _noted(units, note), extent, anchor)

    def _extent(self, context: TapeContext, head: Head, counter: Counter, *, start: int, end: int, orphan: str) -> Extent:
        return Extent(
            generation=head.generation,
            first=start + 1,
            end=end,
            orphan=orphan,
            projection=projection_of(context) or MINIMAL,
            steps=pipe_of(context),
            counter=counter,
        )

    async def _projected(self, extent: Extent, tail_tokens: int | None, head_tokens: int, folded: tuple[Run, ...]) -> Units:
        """Load the tail of a view beside folded runs, and what it opens with; what its steps leave of it is what counts against `tail_tokens`."""
        runs = await self._runs(extent, folded)
        wanted = tail_tokens
        while True:
            blocks, is_whole = await self._loader.newest(runs, extent, tokens=wanted)
            left = selected(blocks, extent, is_whole=is_whole)
            cost = sum([u.tokens for u in left.units])
            if is_whole or tail_tokens is None or wanted is None or left.until or cost > tail_tokens:
                break
            wanted = 2 * wanted + tail_tokens - cost
        lead = min(blocks[0].lead, leading(left.units)) if is_whole and blocks else 0
        cut = cut_of(blocks, left, lead=lead) if left.until and blocks else extent.first
        loaded = loaded_from(blocks, left, cut=cut, lead=lead)
        hidden = tuple([h for b in blocks for h in b.built.hidden])
        if left.hidden or left.until:
            hidden = hidden_in(sorted([*hidden, *left.hidden], key=_id), loaded)
        tail = Units(units=left.units, hidden=hidden, lead=lead)
        front = None if is_whole else await self._front(extent, runs, first=blocks[0].first, tokens=0 if left.until else head_tokens)
        if front is not None:
            goes_on = front.lead == len(front.built.units) and front.last + 1 == blocks[0].first
            lead = front.lead + (leading([u for u in left.units if u.first <= blocks[0].last]) if goes_on else 0)
            tail = Units(units=(*front.built.units, *left.units), hidden=(*front.built.hidden, *hidden), lead=lead)
            loaded = [(front.first, front.last), *loaded]
        return replace(tail, gaps=gaps_of(loaded, tail.units, first=extent.first, end=extent.end, until=left.until, cut=cut))

    async def _runs(self, extent: Extent, folded: tuple[Run, ...]) -> list[Run]:
        """Return the runs of the view to load, what it opens with among them."""
        if not folded:
            return runs_between((), start=extent.first, end=extent.end)
        behind = await self._loader.opening(extent)
        return runs_between(folded_runs(folded, start=behind + 1, end=extent.end), start=extent.first, end=extent.end)

    async def _front(self, extent: Extent, runs: list[Run], *, first: int, tokens: int) -> Block:
        """Return what the view opens with before its first loaded entry, up to the first folded run."""
        opens = runs[0][0] == extent.first
        front = await self._loader.front((extent.first, min(first - 1, runs[0][1]) if opens else extent.first - 1), extent, tokens=tokens)
        if extent.steps is None:
            return front
        left = extent.steps.apply_from_start(front.built.units, lead=front.lead, counter=extent.counter)
        hidden = tuple(sorted((*front.built.hidden, *left.hidden), key=_id))
        return replace(front, built=Built(units=left.units, hidden=hidden), lead=min(front.lead, leading(left.units)))

    async def _of_run(self, run: Run, extent: Extent) -> tuple[Unit, ...]:
        if run[0] > run[1]:
            return ()
        entries = tuple(await self._known.between(run[0] - 1, run[1]))
        await self._known.reach(run[0], generation=extent.generation)
        read = self._known.reading(end=extent.end, counter=extent.counter, generation=extent.generation)
        units = extent.projection.build(entries, counter=extent.counter, read=read).units
        return units if extent.steps is None else extent.steps.apply(units, counter=extent.counter).units

    async def _note(self, anchor: TapeEntry, extent: Extent) -> Unit | None:
        if note_of(anchor) is None:
            return None
        await self._known.reach(anchor.id, generation=extent.generation)
        amend = self._known.amends.of(anchor, end=extent.end)
        if amend is not None and amend.payload is None:
            return None
        message = note_of(anchor if amend is None else amend.applied(anchor))
        if message is None:
            return None
        return Unit(kind="note", messages=(message,), ids=(), uids=message.sources[:1], tokens=self._prices.tokens((message,), counter=extent.counter))

    async def _selected(self, context: TapeContext, extent: Extent) -> Units:
        if context.select is None:
            raise InvalidInput("A context without a selector reads through the minimal projection.")
        entries = tuple(await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=extent.first - 1, stop=extent.end + 1)))
        await self._known.reach(extent.first, generation=extent.generation)
        current, gone = self._known.amends.applied(entries, end=extent.end, counter=extent.counter)
        seen = visible(current)
        picked = await pick(context.select, seen, context)
        built = selected_units(picked, seen, selector=selector_name(context.select), counter=extent.counter)
        if picked and not built.units and built.hidden:
            raise SelectorError(selector_name(context.select), f"returned nothing that is a message: {built.hidden[0].reason}")
        unseen = tuple(Hidden(id=e.id, kind=e.kind, reason="meta.context is False") for e in current if e.meta.get("context") is False)
        return Units(units=built.units, hidden=tuple(sorted((*built.hidden, *unseen, *gone), key=_id)), lead=leading(built.units))

    def _placed(self, units: Units, extent: Extent, anchor: TapeEntry | None) -> Units:
        before = None if anchor is None else Before(name=event_name(anchor) or "-", id=anchor.id)
        return replace(units, before=before, generation=extent.generation, end=extent.end, counter=extent.counter, prices=self._prices)


def _noted(units: Units, note: Unit) -> Units:
    """Put the note behind the system messages that the view opens with: these stay the first of the prompt."""
    lead = units.lead
    gaps = tuple(replace(gap, at=gap.at + 1) if gap.at >= lead else gap for gap in units.gaps)
    return replace(units, units=(*units.units[:lead], note, *units.units[lead:]), lead=lead + 1, gaps=gaps)


def _id(value: Hidden) -> int:
    return value.id


def _only(found: Iterable[TapeEntry]) -> TapeEntry | None:
    return next(iter(found), None)
