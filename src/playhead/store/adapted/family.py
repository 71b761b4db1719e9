"""One family in a user's store: what is known of it, and every change to it, made while its turn is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from playhead import clock
from playhead.entry.entry import TapeEntry, format_date
from playhead.errors import BranchClosed, BranchNotFound, Conflict, NameTaken, StoreError
from playhead.store.adapted import events
from playhead.store.adapted.events import Start
from playhead.store.adapted.marks import marked, marked_up_to, marks_for, plain
from playhead.store.adapted.resume import Leftovers, without
from playhead.store.adapted.state import FamilyState, control_tape, reduced
from playhead.store.adapted.tapes import FAMILIES, UserTapes
from playhead.store.change import OPEN, Append, BranchRecord, Close, Fork, Reset, check_cuts, cut_point
from playhead.store.family import kin_of, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.store.rules.intake import taken
from playhead.store.rules.replay import key_of, keyed, replay


class Family:
    """A root, its branches and sidecars; what is known of them is read when it is first needed, and kept for as long as this object lives.

    `resets` counts the resets of tapes that stand alone; of the others they are events of the family.
    """

    def __init__(self, tapes: UserTapes, root: str, resets: dict[str, int]) -> None:
        self.root = root
        self.tapes = tapes
        self._resets = resets
        self._state: FamilyState | None = None

    async def state(self) -> FamilyState:
        """Return what is known of the family."""
        if self._state is None:
            self._state = reduced(await self.tapes.whole(control_tape(self.root)))
        return self._state

    async def note(self, *told: TapeEntry) -> None:
        """Write events and go on by them."""
        state = await self.state()
        for event in await self.tapes.write(control_tape(self.root), taken(told)):
            state.take(event)

    async def members(self) -> list[str]:
        """Return the names of the family's tapes that the store lists, sorted."""
        control = control_tape(self.root)
        return [name for name in await self.tapes.names() if name.startswith(self.root) and name != control and kin_of(name).root == self.root]

    async def known(self) -> set[str]:
        """Return the names of the family's tapes that are listed, forked, or were ever reset."""
        state = await self.state()
        return {*await self.members(), *state.records, *state.starts, *(tape for tape in self._resets if kin_of(tape).root == self.root)}

    async def sidecars(self, tape: str) -> list[str]:
        """Return the names of the sidecars of a tape or branch that are listed, sorted."""
        return sorted(kin.sidecar for kin in map(kin_of, await self.members()) if kin.main == tape and kin.sidecar is not None)

    async def check(self, tape: str) -> BranchRecord | None:
        """Return what is known of the branch that a tape is or stands beside. Raises BranchNotFound where it was never made."""
        kin = kin_of(tape)
        if kin.branch is None or self.tapes.has(*FAMILIES):
            return None
        record = (await self.state()).records.get(kin.main)
        if record is None:
            raise BranchNotFound(kin.main)
        return record

    async def check_open(self, tape: str) -> None:
        """Raise BranchNotFound, or BranchClosed, where a tape cannot be written to."""
        record = await self.check(tape)
        if record is not None and not record.is_open:
            raise BranchClosed(record.name, record.state)

    async def head(self, tape: str) -> Head:
        """Return where a tape ends."""
        counted, end = await self._end(tape)
        start = await self._start(tape)
        return Head(start.generation - start.counted + counted, end)

    async def append(self, change: Append, *, start: Head | None = None, left: Leftovers | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        """Append what is new and was not left by an earlier try; return all as stored.

        `start` is where the main tape of a sidecar ended before these changes; `left` gives what was left.
        """
        tape, entries, kin = change.tape, taken(change.entries), kin_of(change.tape)
        if kin.branch is not None:
            await self.check(tape)
        whole = await self.tapes.whole(tape) if left is not None or keyed(entries) else []
        standing = {key: entry for entry in whole if (key := key_of(entry)) is not None}
        plan = replay(entries, standing=standing.get)
        found = {place: entry for place in plan.fresh if left is not None and (entry := left.take(entries[place])) is not None}
        unwritten = [place for place in plan.fresh if place not in found]
        if kin.branch is not None and (unwritten or left is None):
            await self.check_open(tape)
        if change.expected_head is not None and (unwritten or not entries):
            await self._expect(tape, change.expected_head, whole, found)
        ready = [entries[place] for place in unwritten]
        if kin.sidecar is not None and ready and not self.tapes.has(*FAMILIES):
            ready = await self._marked(kin.main, ready, marks=change.marks, places=unwritten, start=start)
        expected = None if found or change.expected_head is None else await self._counted(tape, change.expected_head)
        written = dict(zip(unwritten, await self.tapes.write(tape, ready, expected=expected, fence=fence), strict=True))
        stored = plan.results([found.get(place) or written[place] for place in plan.fresh])
        return stored if kin.sidecar is None else tuple(map(plain, stored))

    async def reset(self, change: Reset, *, start: Head | None = None) -> tuple[TapeEntry, ...]:
        """Remove every entry of a tape, then append; return what was appended as stored."""
        tape, entries = change.tape, taken(change.entries)
        await self.check_open(tape)
        head = await self.head(tape)
        if change.expected_head is not None and change.expected_head != head:
            raise Conflict(expected=change.expected_head, found=head)
        replay(entries, standing=lambda _: None)
        await self.tapes.clear(tape)
        if head != EMPTY or entries or tape in (await self.state()).records:
            await self._count_reset(tape, head.generation + 1)
        return await self.append(Append(tape=tape, entries=entries, marks=change.marks), start=start)

    async def fork(self, change: Fork) -> tuple[TapeEntry, ...]:
        """Copy a tape up to an entry, and its sidecars up to where they stood then, to a branch."""
        sidecars = [(sidecar_name(change.parent, name), sidecar_name(change.tape, name)) for name in await self.sidecars(change.parent)]
        sources = [(change.parent, change.tape), *sidecars]
        await self.settle(*(source for source, _ in sources))
        copies: list[tuple[BranchRecord, list[TapeEntry]]] = []
        cut = Head((await self.head(change.parent)).generation, -1 if change.at is None else change.at)
        check_cuts(change, [str(kin_of(source).sidecar) for source, _ in sidecars if await self.tapes.whole(source)])
        for source, name in sources:
            whole = await self.tapes.whole(source)
            end = whole[-1].id if whole else 0
            last: int | None = end if change.at is None else change.at
            if name != change.tape:
                last = cut_point(change, str(kin_of(source).sidecar), end=end, marked_up_to=partial(marked_up_to, whole, cut)) if whole else None
            if last is None:
                continue
            whole = [entry for entry in whole if entry.id <= last]
            base = Head((await self.head(source)).generation, whole[-1].id if whole else 0)
            copies.append((BranchRecord(name=name, parent=source, base=base, state=OPEN, owner=change.owner, created_at=format_date(clock.now())), whole))
        try:
            await self.copy({record.name: whole for record, whole in copies}, change.tape)
        except BranchNotFound as exc:
            raise StoreError(f"{type(self.tapes.store).__name__} keeps branches itself, but lacks some of {', '.join(FAMILIES)}; give it all of them.") from exc
        starts = {record.name: Start(record.base.generation, await self._resets_counted(record.name)) for record, _ in copies}
        await self.note(events.forked([record for record, _ in copies], starts))
        return ()

    async def close(self, change: Close) -> tuple[TapeEntry, ...]:
        """End a branch and its sidecars."""
        await self.check_open(change.tape)
        if change.expected_head is not None and (head := await self.head(change.tape)) != change.expected_head:
            raise Conflict(expected=change.expected_head, found=head)
        await self.note(events.closed(change.tape, change.outcome, format_date(clock.now())))
        return ()

    async def copy(self, copies: dict[str, list[TapeEntry]], branch: str) -> None:
        """Write the tapes of a branch as copies; what an earlier try left of them is gone on from, what is left besides is removed.

        Raises NameTaken where tapes of that name are there that are no family's, StoreError where the store numbers copies otherwise.
        """
        there = [name for name in await self.members() if kin_of(name).main == branch]
        if there and branch not in (await self.state()).made:
            raise NameTaken(branch)
        await self.note(events.forks(branch))
        for name in there:
            if name not in copies:
                await self.tapes.clear(name)
        for name, entries in copies.items():
            await self.copy_tape(name, entries)

    async def copy_tape(self, name: str, entries: Sequence[TapeEntry]) -> None:
        """Write a tape as a copy, behind what an earlier try has written of it."""
        standing = await self.tapes.whole(name)
        if not begins_with(entries, standing):
            await self.tapes.clear(name)
            standing = []
        written = await self.tapes.write(name, entries[len(standing) :])
        if [entry.id for entry in written] != [entry.id for entry in entries[len(standing) :]]:
            await self.tapes.clear(name)
            raise StoreError(f"{type(self.tapes.store).__name__} numbers the entries of a copy otherwise than it did before; number the entries of each tape from 1 to have branches.")

    async def lineage(self, tape: str) -> list[int]:
        """Return the ids behind which the parts begin that a branch's tape was copied from, the last part first; none for a tape that is no copy."""
        return [] if kin_of(tape).branch is None else (await self.state()).lineage(tape, (await self.head(tape)).generation)

    async def settle(self, *tapes: str) -> None:
        """Remember the generations of tapes that something will refer to."""
        alone = {tape: Start(self._resets.pop(tape)) for tape in tapes if tape in self._resets}
        if alone:
            await self.note(events.starts(alone))

    async def moved_start(self, tape: str, name: str) -> Start:
        """Return what the generation of a tape is reckoned from once it was copied to another name."""
        return Start((await self.head(tape)).generation, await self._resets_counted(name))

    async def _start(self, tape: str) -> Start:
        known = (await self.state()).starts.get(tape)
        return Start(self._resets.get(tape, 0)) if known is None else known

    async def _end(self, tape: str) -> Head:
        """Return where the store itself says that a tape ends; by its entries, of generation 0, where it does not say."""
        if self.tapes.has("head"):
            return Head(*await self.tapes.ask("head", tape))
        whole = await self.tapes.whole(tape)
        return Head(0, whole[-1].id if whole else 0)

    async def _resets_counted(self, tape: str) -> int:
        return (await self._end(tape)).generation if self.tapes.has("head") else 0

    async def _counted(self, tape: str, head: Head) -> Head:
        """Return a head as the store itself counts it."""
        start = await self._start(tape)
        return head._replace(generation=head.generation - start.generation + start.counted)

    async def _count_reset(self, tape: str, generation: int) -> None:
        if self.tapes.has("head"):
            return
        if (await self.state()).is_known or any(name != tape for name in await self.members()):
            self._resets.pop(tape, None)
            await self.note(events.starts({tape: Start(generation)}))
        else:
            self._resets[tape] = generation

    async def _expect(self, tape: str, expected: Head, whole: Sequence[TapeEntry], found: Mapping[int, TapeEntry]) -> None:
        """Raise Conflict where a tape does not end as expected, or did not before an earlier try."""
        head = await self.head(tape)
        if found:
            before = without(whole, found.values())
            head = head._replace(id=before[-1].id if before else 0)
        if head != expected:
            raise Conflict(expected=expected, found=head)

    async def _marked(self, main: str, entries: Sequence[TapeEntry], *, marks: Sequence[int] | None, places: Sequence[int], start: Head | None) -> list[TapeEntry]:
        await self.settle(main)
        head = await self.head(main)
        found = marks_for(marks, places, main=head, start=head if start is None else start)
        return [marked(entry, mark) for entry, mark in zip(entries, found, strict=True)]


def begins_with(entries: Sequence[TapeEntry], standing: Sequence[TapeEntry]) -> bool:
    """Return whether what stands on a tape is the beginning of a copy of these entries."""
    return len(standing) <= len(entries) and all((one.uid, one.id) == (other.uid, other.id) for one, other in zip(standing, entries, strict=False))
