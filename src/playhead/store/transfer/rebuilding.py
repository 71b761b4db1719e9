"""Making a family again in a store, under a name of its own until it is whole: begun again, it goes on from where it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from playhead import clock
from playhead.entry.entry import TapeEntry, parse_date
from playhead.errors import Conflict, InvalidInput, StoreError
from playhead.store.change import Append, Change, Close, Fork, Reset
from playhead.store.family import kin_of
from playhead.store.protocol import Head, WholeStore
from playhead.store.transfer.original import Page
from playhead.store.transfer.outline import Member, Outline, Strip
from playhead.store.transfer.steps import End, Part, Step, Turn, Write, steps_of

RESETS = 256
"""How many resets are made at once."""

BLANK = "transfer.blank"
"""The name of the events that stand, until they are reset, for entries that nothing shows any more."""


class Source(Protocol):
    """A family that can be read from the front."""

    @property
    def outline(self) -> Outline:
        """What is known of it."""
        ...

    async def page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return the first entries of a strip behind an id, none behind `upto`."""
        ...


class Rebuilding:
    """Makes a family again as the family of the tape `draft`. What stands there already, by an earlier try, is gone on from.

    `take` is given each page before it is written; `heads` are where tapes are known to end. Raises Conflict where somebody else writes there.
    """

    def __init__(self, store: WholeStore, draft: str, source: Source, *, take: Callable[[Page], Awaitable[None]], heads: Mapping[str, Head] | None = None) -> None:
        self._store = store
        self._draft = draft
        self._source = source
        self._take = take
        self._heads = dict(heads or {})

    async def run(self) -> None:
        """Make all steps that were not made before."""
        for step in steps_of(self._source.outline):
            await self._make(step)

    async def _make(self, step: Step) -> None:
        match step:
            case Write(member=member, strip=strip, upto=upto):
                await self._write(member, strip, upto)
            case Turn(member=member, generation=generation):
                await self._turn(member, generation)
            case Part(branch=branch):
                await self._part(branch, step)
            case End(branch=branch):
                await self._end(branch)

    async def _write(self, member: Member, strip: Strip, upto: int) -> None:
        name = member.name(self._draft)
        while (head := await self._head(name)) < (strip.generation, upto):
            if head.generation != strip.generation or head.id < strip.first - 1:
                raise Conflict(expected=Head(strip.generation, strip.first - 1), found=head)
            page = await self._page(member, strip, after=head.id, upto=upto)
            await self._take(page)
            marks = None if member.sidecar is None else await self._marks(name, page)
            stored = await self._apply([Append(tape=name, entries=[entry for entry, _ in page], expected_head=head, marks=marks)])
            self._heads[name] = end = Head(head.generation, head.id + len(page))
            if [entry.id for entry in stored[0]] != list(range(head.id + 1, end.id + 1)):
                raise InvalidInput(
                    f"Entries of '{name}' behind {head} share an idempotency key, as another program wrote them; a store keeps each key once. Copy it without them with Tape.append_many."
                )

    async def _page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return entries to write: those of the source, and behind them those that stand for others."""
        if after < strip.last:
            return await self._source.page(member, strip, after=after, upto=upto)
        return [(TapeEntry.event(BLANK), None) for _ in range(min(upto - after, RESETS))]

    async def _marks(self, name: str, page: Page) -> Sequence[int] | None:
        """Return how far behind the head of its main tape each entry of a sidecar was written; what stands for others, as far as the entry before it."""
        main = await self._head(kin_of(name).main)
        if all(mark is None for _, mark in page):
            return await self._blank_marks(name, main, len(page))
        marks = [mark for _, mark in page if mark is not None]
        if any(mark.generation != main.generation or mark < main for mark in marks):
            raise InvalidInput(f"The marks of '{name}' do not fit its main tape, which is at {main}; verify the store that it comes from.")
        return [mark.id - main.id for mark in marks] or None

    async def _blank_marks(self, name: str, main: Head, count: int) -> Sequence[int] | None:
        head = await self._head(name)
        before = await self._store.marks(name, after=head.id - 1, limit=1) if head.id else []
        return [before[0].id - main.id] * count if before and before[0] > main else None

    async def _turn(self, member: Member, generation: int) -> None:
        name = member.name(self._draft)
        while (head := await self._head(name)).generation < generation:
            count = min(generation - head.generation, RESETS)
            begin: list[Change] = [] if head.id or head.generation else [Append(tape=name, entries=[TapeEntry.event(BLANK)], expected_head=head)]
            await self._apply([*begin, *(Reset(tape=name) for _ in range(count))])
            self._heads[name] = Head(head.generation + count, 0)

    async def _part(self, branch: Member, step: Part) -> None:
        name, base = branch.name(self._draft), branch.base
        parent = Member(label=branch.parent, sidecar=None, strips=()).name(self._draft)
        if base is None or await self._store.branch(name) is not None:
            return
        with clock.stopped(parse_date(branch.created_at)):
            await self._apply([Fork(tape=name, parent=parent, at=base.id, owner=branch.owner, cuts=step.cuts)])

    async def _end(self, branch: Member) -> None:
        record = await self._store.branch(branch.name(self._draft))
        if record is not None and record.is_open and branch.closed_at is not None:
            with clock.stopped(parse_date(branch.closed_at)):
                await self._apply([Close(tape=record.name, outcome=branch.state)])

    async def _head(self, name: str) -> Head:
        if name not in self._heads:
            self._heads[name] = await self._store.head(name)
        return self._heads[name]

    async def _apply(self, changes: Sequence[Change]) -> tuple[tuple[TapeEntry, ...], ...]:
        made = await self._store.apply(changes)
        if made is None:
            raise StoreError(f"{type(self._store).__name__}.apply returned None without being asked to.")
        return made
