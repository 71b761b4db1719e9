"""Reading a view from a store: only the part of it that will be sent, and of that only what is new."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from playhead.entry.entry import ANCHOR, TapeEntry, event_name
from playhead.errors import InvalidInput, SelectorError
from playhead.store.protocol import Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.view.context import LAST_ANCHOR, TapeContext, pipe_of, projection_of
from playhead.view.pairing import ORPHAN, Built
from playhead.view.pieces import Piece, note_of, priced, read_piece
from playhead.view.pipe import Pipe, Selected, leading
from playhead.view.plan import Units
from playhead.view.projection import Projection
from playhead.view.selection import pick, selected_units, selector_name, visible
from playhead.view.tail import Tail, TailKey
from playhead.view.tokens import Counter, check_tokens
from playhead.view.units import Before, Gap, Hidden, Unit

FIRST_PAGE = 256
LARGEST_PAGE = 4096
LEAD_PAGE = 16
REMEMBERED = 20_000
"""How many of the newest entries, and how many pieces, a reader remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """The entries of a view: behind `start`, up to and with `end`, in one generation of the tape."""

    generation: int
    start: int
    end: int
    orphan: str


class TapeReader:
    """Reads views of one tape, and remembers its newest entries and what they say: entries never change.

    All handles of a tape on one store object may share one; a reset of the tape is noticed by its generation, another tape under its
    name (once it was renamed, or collected) by its newest entry.
    """

    def __init__(self, store: WholeStore, tape: str) -> None:
        self.store = store
        self.tape = tape
        self.states: dict[str, object] = {}
        self._generation = -1
        self._newest: tuple[TapeEntry, ...] = ()
        self._fronts: dict[tuple[int, int], tuple[TapeEntry, ...]] = {}
        self._pieces: dict[tuple[str, int, int], Piece] = {}
        self._tail: Tail | None = None

    async def read(self, context: TapeContext, *, counter: Counter, tail_tokens: int | None = None, head_tokens: int = 0, at: int | None = None) -> Units:
        """Load a view: its tail up to `tail_tokens` (one unit more, None for all), its first `head_tokens`, and its lead.

        A selector of the user's own gets the whole view. `at` reads the tape as it was when that entry was its last.
        Raises AnchorNotFound for a name that no anchor has; without any anchor LAST_ANCHOR reads the whole tape.
        """
        check_tokens("head_tokens", head_tokens)
        if tail_tokens is not None:
            check_tokens("tail_tokens", tail_tokens)
        while True:
            head = await self._refresh()
            units = await self._read(context, head, counter, tail_tokens, head_tokens, at)
            if (await self.store.head(self.tape)).generation == head.generation:
                return units

    async def _read(self, context: TapeContext, head: Head, counter: Counter, tail_tokens: int | None, head_tokens: int, at: int | None) -> Units:
        anchor = await self.boundary(context, at=at)
        projection, steps = projection_of(context), pipe_of(context)
        orphan = ORPHAN if anchor is None else f"its call is before anchor {event_name(anchor)}"
        span = _Range(generation=head.generation, start=anchor.id if anchor else 0, end=head.id if at is None else min(at, head.id), orphan=orphan)
        if projection is None:
            return _placed(await self._selected(context, span, counter), span, anchor, counter)
        units = await self._projected(projection, span, counter, tail_tokens, head_tokens, steps)
        note = self._note(anchor, counter, head.generation) if anchor and projection.anchor_state and anchor.meta.get("context") is not False else None
        if note is not None and steps is not None:
            note = next(iter(steps.apply((note,), counter=counter).units), None)
        return _placed(units if note is None else _noted(units, note), span, anchor, counter)

    async def boundary(self, context: TapeContext, *, at: int | None = None) -> TapeEntry | None:
        """Return the anchor that a context reads behind, None for the whole tape. Raises AnchorNotFound."""
        query = TapeQuery(tape=self.tape, ceiling=at)
        if context.anchor is None:
            return None
        if context.anchor is LAST_ANCHOR:
            return _only(await self.store.fetch_all(query.kinds(ANCHOR).newest_first().limit(1)))
        if not isinstance(context.anchor, str):
            raise InvalidInput(f"A context's anchor is LAST_ANCHOR, a name or None, not {context.anchor!r}.")
        behind = _only(await self.store.fetch_all(query.after_anchor(context.anchor).limit(1)))
        upto = query if behind is None else query.before(behind.id)
        return _only(await self.store.fetch_all(upto.newest_first().limit(1)))

    async def _refresh(self) -> Head:
        """Read what came behind the newest entry remembered, or forget all where another tape has that name now, or the tape was reset."""
        head = await self.store.head(self.tape)
        if head.generation != self._generation or self._newest and self._newest[-1].id > head.id:
            self._forget(head.generation)
        if not self._newest:
            return head
        last = self._newest[-1]
        if head.id - last.id > REMEMBERED:
            self._forget(head.generation)
            return head
        found = tuple(await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=last.id - 1, ceiling=head.id)))
        if head.generation != self._generation or not self._newest or self._newest[-1] is not last:
            return head
        if not found or not _is_same(found[0], last):
            self._forget(head.generation)
        elif len(found) > 1:
            self._newest = (*self._newest, *found[1:])[-REMEMBERED:]
        return head

    def _forget(self, generation: int) -> None:
        self._generation, self._newest, self._tail = generation, (), None
        self._fronts.clear()
        self._pieces.clear()

    def _read_piece(self, counter: Counter, generation: int) -> Callable[[TapeEntry], Piece]:
        pieces, name = self._pieces, counter.name
        if len(pieces) > 2 * REMEMBERED:
            for key in list(pieces)[:REMEMBERED]:
                del pieces[key]

        def read(entry: TapeEntry) -> Piece:
            piece = pieces.get((name, generation, entry.id))
            if piece is None:
                piece = pieces[name, generation, entry.id] = read_piece(entry, counter=counter)
            return piece

        return read

    async def _older(self, span: _Range, before: int, size: int) -> tuple[TapeEntry, ...]:
        """Return up to `size` entries of the range that stand right before the id `before`, in order."""
        newest = self._newest
        if span.generation == self._generation and newest and newest[0].id < before and newest[-1].id >= before - 1:
            stop = bisect_left(newest, before, key=_id)
            begin = max(bisect_right(newest, span.start, key=_id), stop - size)
            if begin < stop or newest[0].id <= span.start + 1:
                return newest[begin:stop]
        query = TapeQuery(tape=self.tape, cursor=span.start, stop=before).newest_first().limit(size)
        found = tuple(reversed(await self.store.fetch_all(query)))
        self._remember(found, span)
        return found

    def _remember(self, found: tuple[TapeEntry, ...], span: _Range) -> None:
        if not found or span.generation != self._generation:
            return
        if not self._newest:
            self._newest = found
        elif found[-1].id == self._newest[0].id - 1 and len(self._newest) < REMEMBERED:
            self._newest = (*found, *self._newest)

    async def _projected(self, projection: Projection, span: _Range, counter: Counter, tail_tokens: int | None, head_tokens: int, steps: Pipe | None) -> Units:
        """Load the tail of a view and what it opens with; what `steps` leave of it is what counts against `tail_tokens`."""
        wanted = tail_tokens
        while True:
            built, starts_view = await self._held(projection, span, counter, wanted)
            left = _left(built.units, steps, counter=counter, starts_view=starts_view)
            cost = sum([u.tokens for u in left.units])
            if starts_view or tail_tokens is None or wanted is None or left.until or cost > tail_tokens:
                break
            wanted = 2 * wanted + tail_tokens - cost
        hidden = tuple(sorted((*built.hidden, *left.hidden), key=_id)) if left.hidden else built.hidden
        tail = Built(units=left.units, hidden=hidden)
        if starts_view:
            return Units(units=tail.units, hidden=tail.hidden, lead=leading(tail.units))
        units = await self._fronted(projection, span, counter, tail, built.units[0].first, 0 if left.until else head_tokens, steps)
        gap = units.unread
        return replace(units, unread=gap and replace(gap, reason=left.until))

    async def _held(self, projection: Projection, span: _Range, counter: Counter, tail_tokens: int | None) -> tuple[Built, bool]:
        """Return the newest units that cost more than `tail_tokens`, and whether the view starts with them."""
        key = TailKey(projection=projection, counter=counter.name, generation=span.generation, start=span.start)
        tail = self._usable_tail(key, span)
        if tail is not None and tail.last < span.end:
            fresh = await self._between(tail.last, span.end)
            tail = self._usable_tail(key, span)
            if tail is not None:
                tail.add([e for e in fresh if e.id > tail.last], read=self._read_piece(counter, span.generation))
        held = tail.holding(tail_tokens) if tail is not None and tail.last == span.end else None
        if held is None:
            tail, held = await self._new_tail(key, span, counter, tail_tokens)
        if tail is not None and key.generation == self._generation and (self._tail is None or self._tail.key != key or tail.last >= self._tail.last):
            self._tail = tail
        return held

    def _usable_tail(self, key: TailKey, span: _Range) -> Tail | None:
        """Return the remembered tail where it serves a view that ends where this one does; others may have moved it meanwhile."""
        tail = self._tail
        return None if tail is None or tail.key != key or tail.last > span.end or tail.is_too_long else tail

    async def _new_tail(self, key: TailKey, span: _Range, counter: Counter, tokens: int | None) -> tuple[Tail, tuple[Built, bool]]:
        """Read back from the end until the units cost more than `tokens`, guessing from what was read how far that is."""
        loaded: tuple[TapeEntry, ...] = ()
        size, at_start = FIRST_PAGE if tokens is not None else LARGEST_PAGE, span.end <= span.start
        while True:
            while not at_start:
                older = await self._older(span, loaded[0].id if loaded else span.end + 1, size)
                loaded = (*older, *loaded)
                at_start = not older or older[0].id == span.start + 1
                if tokens is not None:
                    break
            tail = Tail(key, counter=counter, first=loaded[0].id if loaded else span.start + 1, is_whole=at_start, orphan=span.orphan)
            tail.add(loaded, read=self._read_piece(counter, span.generation))
            held = tail.holding(tokens)
            if held is not None:
                return tail, held
            size = max(len(loaded), _next_size(len(loaded), tail.tokens, tokens or 0))

    async def _between(self, last: int, end: int) -> Sequence[TapeEntry]:
        """Return the entries behind `last` up to `end`, from memory where they are remembered."""
        newest = self._newest
        if newest and newest[0].id <= last + 1 and newest[-1].id >= end:
            return newest[bisect_right(newest, last, key=_id) : bisect_right(newest, end, key=_id)]
        return await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=last, stop=end + 1))

    async def _fronted(self, projection: Projection, span: _Range, counter: Counter, tail: Built, first: int, head_tokens: int, steps: Pipe | None) -> Units:
        """Put what the view opens with before a tail that starts at entry `first`."""
        front, size, room = Built(units=(), hidden=()), LEAD_PAGE, head_tokens
        while True:
            entries = await self._front(span, size)
            ahead = tuple(e for e in entries if e.id < first)
            front = projection.build(ahead, counter=counter, read=self._read_piece(counter, span.generation), orphan=span.orphan)
            if sum(u.tokens for u in front.units) > room or len(ahead) < size or not room:
                break
            size *= 4
        lead = leading(front.units)
        kept = max(lead, _complete(front.units, room))
        units = front.units[:kept] if steps is None else steps.apply(front.units[:kept], counter=counter).units
        last = max((id for u in units for id in u.ids), default=span.start)
        hidden = tuple(h for h in front.hidden if h.id <= last)
        gap = Gap(first=last + 1, last=first - 1, count=first - 1 - last, at=kept) if last + 1 < first else None
        return Units(units=(*units, *tail.units), hidden=(*hidden, *tail.hidden), lead=lead, unread=gap)

    async def _front(self, span: _Range, size: int) -> Sequence[TapeEntry]:
        known = self._fronts.get((span.generation, span.start))
        if known is None or len(known) < size:
            query = TapeQuery(tape=self.tape, cursor=span.start).limit(size)
            known = tuple(await self.store.fetch_all(query))
            if span.generation == self._generation:
                self._fronts[span.generation, span.start] = known
        return known

    def _note(self, anchor: TapeEntry, counter: Counter, generation: int) -> Unit | None:
        key = (counter.name, generation, -anchor.id)
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._pieces[key] = priced(Piece(message=note_of(anchor)), counter=counter)
        if piece.message is None:
            return None
        return Unit(kind="note", messages=(piece.message,), ids=(), uids=piece.message.sources, tokens=piece.tokens)

    async def _selected(self, context: TapeContext, span: _Range, counter: Counter) -> Units:
        if context.select is None:
            raise InvalidInput("A context without a selector reads through the minimal projection.")
        entries = tuple(await self.store.fetch_all(TapeQuery(tape=self.tape, cursor=span.start, stop=span.end + 1)))
        seen = visible(entries)
        picked = await pick(context.select, seen, context)
        built = selected_units(picked, seen, selector=selector_name(context.select), counter=counter)
        if picked and not built.units and built.hidden:
            raise SelectorError(selector_name(context.select), f"returned nothing that is a message: {built.hidden[0].reason}")
        unseen = tuple(Hidden(id=e.id, kind=e.kind, reason="meta.context is False") for e in entries if e.meta.get("context") is False)
        return Units(units=built.units, hidden=tuple(sorted((*built.hidden, *unseen), key=_id)), lead=leading(built.units))


def _left(units: tuple[Unit, ...], steps: Pipe | None, *, counter: Counter, starts_view: bool) -> Selected:
    """Return what steps leave of the newest units of a view."""
    if steps is None:
        return Selected(units=units)
    return steps.apply_from_start(units, counter=counter) if starts_view else steps.apply(units, counter=counter)


def _next_size(read: int, cost: int, wanted: int) -> int:
    """Return how many more entries to read where `read` of them cost `cost` tokens and `wanted` are needed."""
    return min(max(FIRST_PAGE, (wanted - cost) * read * 5 // (4 * max(cost, 1))), LARGEST_PAGE)


def _is_same(one: TapeEntry, other: TapeEntry) -> bool:
    return (one.uid, one.kind, one.date) == (other.uid, other.kind, other.date)


def _id(value: TapeEntry | Hidden) -> int:
    return value.id


def _only(found: Sequence[TapeEntry]) -> TapeEntry | None:
    return found[0] if found else None


def _complete(units: Sequence[Unit], room: int) -> int:
    """Return how many units from the front fit in `room` tokens, up to the first that may not be whole."""
    count, left = 0, room
    for unit in units:
        if unit.is_open or unit.tokens > left:
            break
        count, left = count + 1, left - unit.tokens
    return count


def _noted(units: Units, note: Unit) -> Units:
    """Put the note behind the system messages that the view opens with: these stay the first of the prompt."""
    gap, lead = units.unread, units.lead
    shifted = gap and replace(gap, at=gap.at + 1 if gap.at >= lead else gap.at)
    return replace(units, units=(*units.units[:lead], note, *units.units[lead:]), lead=lead + 1, unread=shifted)


def _placed(units: Units, span: _Range, anchor: TapeEntry | None, counter: Counter) -> Units:
    before = None if anchor is None else Before(name=event_name(anchor) or "-", id=anchor.id)
    return replace(units, before=before, generation=span.generation, end=span.end, counter=counter)
