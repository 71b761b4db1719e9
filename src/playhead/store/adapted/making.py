"""Making changes to a family one after the other: rehearsed first, begun by an event, gone on with where an earlier try was cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from anyio import CancelScope

from playhead.entry.entry import TapeEntry
from playhead.store.adapted import events
from playhead.store.adapted.family import Family
from playhead.store.adapted.rehearsal import Rehearsal, Sketch
from playhead.store.adapted.resume import Leftovers, takes_one_write, work_of
from playhead.store.change import Append, Change, Close, Fork, Reset
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.rules.intake import taken
from playhead.store.rules.replay import key_of

Made = tuple[tuple[TapeEntry, ...], ...]
_Expecting = TypeVar("_Expecting", Append, Reset, Close)


async def make(family: Family, changes: Sequence[Change], *, unless: tuple[str, str] | None) -> Made | None:
    """Make changes; None where an entry with the key of `unless` stands and the changes were not begun before.

    Changes that were begun are made to the end, also where the task is cancelled meanwhile.
    """
    for change in changes:
        if isinstance(change, (Append, Reset)):
            taken(change.entries)
    work = None if takes_one_write(changes) else work_of(changes)
    heads = (await family.state()).begun.get(work) if work is not None else None
    if heads is not None:
        return await _made(family, changes, _Making(family, heads, is_again=True), work)
    if unless is not None and await _stands(family, *unless):
        return None
    heads = await _rehearsed(family, changes)
    if work is not None:
        await family.note(events.begun(work, heads))
    return await _made(family, changes, _Making(family, heads, is_again=False), work)


async def _made(family: Family, changes: Sequence[Change], making: _Making, work: str | None) -> Made:
    with CancelScope(shield=not takes_one_write(changes)):
        made = tuple([await making.make(change) for change in changes])
        if work is not None:
            await family.note(events.done(work))
    return made


async def _stands(family: Family, tape: str, key: str) -> bool:
    await family.check(tape)
    return any(key_of(entry) == key for entry in await family.tapes.whole(tape))


async def _rehearsed(family: Family, changes: Sequence[Change]) -> dict[str, Head]:
    """Rehearse the changes and return where the tapes end before them. Raises what one of them would be refused with."""
    state = await family.state()
    names: set[str] = set()
    for change in changes:
        names |= {change.tape, kin_of(change.tape).main}
        if isinstance(change, Fork) and kin_of(change.parent).sidecar is None:
            names |= {change.parent, *(sidecar_name(change.parent, name) for name in await family.sidecars(change.parent))}
    known = [name for name in sorted(names) if kin_of(name).branch is None or kin_of(name).main in state.records]
    sketches = {name: Sketch((await family.head(name)).generation, await family.tapes.whole(name)) for name in known}
    heads = {name: sketch.head for name, sketch in sketches.items()}
    rehearsal = Rehearsal(sketches, {record.name: record.state for record in state.branches})
    for change in changes:
        rehearsal.play(change)
    return heads


class _Making:
    """Makes changes in order; `heads` are where the tapes ended before the first of them, `is_again` whether some may be made already."""

    def __init__(self, family: Family, heads: Mapping[str, Head], *, is_again: bool) -> None:
        self._family = family
        self._heads = heads
        self._starts = dict(heads)
        self._is_again = is_again
        self._left: dict[str, Leftovers] = {}

    async def make(self, change: Change) -> tuple[TapeEntry, ...]:
        """Make a change, or what is left of it; return its entries as stored."""
        match change:
            case Append():
                return await self._append(change)
            case Reset():
                return await self._reset(change)
            case Fork():
                return () if self._is_again and await self._is_known(change.tape) else await self._family.fork(change)
            case Close():
                return () if self._is_again and not await self._is_open(change.tape) else await self._family.close(self._unexpecting(change))

    async def _append(self, change: Append) -> tuple[TapeEntry, ...]:
        left = await self._leftovers(change.tape) if self._is_again else None
        return await self._family.append(self._unexpecting(change), start=self._start(change.tape), left=left)

    async def _reset(self, change: Reset) -> tuple[TapeEntry, ...]:
        tape = change.tape
        target = self._starts.get(tape, EMPTY).generation + 1
        self._starts[tape] = Head(target, 0)
        if self._is_again and (await self._family.head(tape)).generation >= target:
            self._left[tape] = Leftovers(await self._family.tapes.whole(tape))
            return await self._family.append(Append(tape=tape, entries=change.entries, marks=change.marks), start=self._start(tape), left=self._left[tape])
        self._left[tape] = Leftovers(())
        return await self._family.reset(self._unexpecting(change), start=self._start(tape))

    def _start(self, tape: str) -> Head | None:
        return self._starts.get(kin_of(tape).main)

    def _unexpecting(self, change: _Expecting) -> _Expecting:
        """Return a change without its expected head, which was compared before the first try."""
        return replace(change, expected_head=None) if self._is_again else change

    async def _leftovers(self, tape: str) -> Leftovers:
        if tape not in self._left:
            before = self._heads.get(tape)
            if before is None:
                record = (await self._family.state()).records.get(tape)
                before = record.base if record is not None else EMPTY
            is_same = (await self._family.head(tape)).generation == before.generation
            whole = await self._family.tapes.whole(tape)
            self._left[tape] = Leftovers(entry for entry in whole if not is_same or entry.id > before.id)
        return self._left[tape]

    async def _is_known(self, branch: str) -> bool:
        return branch in (await self._family.state()).records

    async def _is_open(self, branch: str) -> bool:
        record = await self._family.check(branch)
        return record is None or record.is_open
