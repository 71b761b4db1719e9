"""The shelf: all tapes, branches and sidecars of a store in memory, and what is known of the branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial

from playhead import clock
from playhead.entry.entry import TapeEntry, format_date, parse_date
from playhead.errors import BranchClosed, BranchNotFound, InvalidInput, NameTaken, TapeNotFound
from playhead.store.change import DISCARDED, MERGED, OPEN, Append, BranchRecord, Close, Fork, Reset, check_close, check_cuts, cut_point, fork_names, fork_point
from playhead.store.family import SIDECAR, Kin, kin_of, renaming, sidecar_name
from playhead.store.memory.roll import Roll
from playhead.store.memory.strip import Strip
from playhead.store.protocol import Head
from playhead.store.rules.replay import replay

_COLLECTED = (MERGED, DISCARDED)


class Shelf:
    """Tapes by name. A change that is refused leaves all as it was."""

    def __init__(self) -> None:
        self.records: dict[str, BranchRecord] = {}
        self._rolls: dict[str, Roll] = {}
        self._families: dict[str, dict[str, None]] = {}
        self._undo: list[Callable[[], object]] = []
        self._heads: dict[str, Head] = {}

    def __len__(self) -> int:
        return len(self._rolls)

    def roots(self) -> list[str]:
        """Return the names of the tapes that hold something, or have an open branch, sorted."""
        held = {name for name, roll in self._rolls.items() if roll.head.id and kin_of(name).is_root}
        return sorted(held | {kin_of(record.name).root for record in self.records.values() if record.is_open})

    def families(self) -> list[str]:
        """Return the names of the tapes of which anything is there, sorted."""
        held = {kin_of(name).root for name, roll in self._rolls.items() if roll.head.id}
        return sorted(held | {kin_of(name).root for name in self.records})

    def roll(self, tape: str) -> Roll:
        """Return what a tape shows; an empty one where there is none of that name. Raises BranchNotFound."""
        kin = kin_of(tape)
        self._record(kin)
        return self._rolls.get(tape) or Roll(generation=0)

    def strips(self) -> list[Strip]:
        """Return all that any tape shows something of, each once."""
        return list({id(strip): strip for roll in self._rolls.values() for strip in roll.strips()}.values())

    def branches(self, tape: str) -> list[BranchRecord]:
        """Return the branches of a tape's family, in the order they were made."""
        family = self._families.get(kin_of(tape).root, {})
        return [record for record in self.records.values() if record.name in family and kin_of(record.name).sidecar is None]

    def sidecars(self, tape: str) -> list[str]:
        """Return the names of the sidecars of a tape or branch that show something, sorted."""
        kins = (kin_of(name) for name in self._families.get(kin_of(tape).root, {}) if name.startswith(tape + SIDECAR))
        return sorted(kin.sidecar for kin in kins if kin.sidecar is not None and kin.main == tape and self._rolls[kin.name].head.id)

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Undo what was changed inside the block where it raises."""
        self._undo.clear()
        self._heads.clear()
        try:
            yield
        except BaseException:
            for undo in reversed(self._undo):
                undo()
            raise
        finally:
            self._undo.clear()

    def append(self, work: Append) -> tuple[TapeEntry, ...]:
        """Append what is new and return all as stored."""
        roll = self._writable(work.tape)
        plan = replay(work.entries, standing=roll.keyed)
        if plan.fresh or not work.entries:
            roll.expect(work.expected_head)
        if not plan.fresh:
            return plan.results(())
        self._keep(work.tape, roll)
        self._heads.setdefault(work.tape, roll.head)
        end = roll.head.id
        self._undo.append(lambda: roll.cut(end))
        return plan.results(roll.add([work.entries[i] for i in plan.fresh], self._marks(work, plan.fresh)))

    def reset(self, work: Reset) -> tuple[TapeEntry, ...]:
        """Start a tape anew."""
        roll = self._writable(work.tape)
        roll.expect(work.expected_head)
        fresh = Roll(generation=roll.generation + 1)
        plan = replay(work.entries, standing=fresh.keyed)
        written = plan.results(fresh.add([work.entries[i] for i in plan.fresh], self._marks(work, plan.fresh)))
        self._heads[work.tape] = Head(fresh.generation, 0)
        if work.tape in self._rolls or written:
            self._keep(work.tape, fresh)
        return written

    def fork(self, work: Fork) -> tuple[TapeEntry, ...]:
        """Make a branch, and one of each sidecar."""
        fork_names(work)
        roll = self.roll(work.parent)
        at = fork_point(work, end=roll.head.id)
        if work.tape in self.records:
            raise NameTaken(work.tape)
        names = self.sidecars(work.parent)
        check_cuts(work, names)
        cuts = {name: cut for name in names if (cut := self._cut(work, name, Head(roll.generation, at))) is not None}
        now = format_date(clock.now())
        self._fork(work, work.tape, work.parent, Head(roll.generation, at), now)
        for name, cut in cuts.items():
            beside = sidecar_name(work.parent, name)
            self._fork(work, sidecar_name(work.tape, name), beside, Head(self.roll(beside).generation, cut), now)
        return ()

    def _cut(self, work: Fork, name: str, head: Head) -> int | None:
        """Return the last id of a sidecar that a branch takes with it, None where it takes none of it."""
        beside = self.roll(sidecar_name(work.parent, name))
        return cut_point(work, name, end=beside.head.id, marked_up_to=partial(beside.marked_up_to, head))

    def _fork(self, work: Fork, name: str, parent: str, base: Head, at: str) -> None:
        self._keep(name, self.roll(parent).forked(base.id))
        self._note(BranchRecord(name=name, parent=parent, base=base, state=OPEN, owner=work.owner, created_at=at))

    def close(self, work: Close) -> tuple[TapeEntry, ...]:
        """End a branch and its sidecars."""
        check_close(work)
        self._writable(work.tape).expect(work.expected_head)
        at = format_date(clock.now())
        for record in self._with_sidecars(work.tape):
            self._note(replace(record, state=work.outcome, closed_at=at))
        return ()

    def collect(self, tape: str, before: datetime) -> list[str]:
        """Remove closed branches that none was forked from, or that one that `tape` names; return the names of all tapes that are gone."""
        gone: list[str] = []
        asked = kin_of(tape)
        for record in reversed([r for r in self.branches(tape) if asked.branch is None or r.name == asked.main]):
            is_old = record.closed_at is not None and parse_date(record.closed_at) < before
            if is_old and record.state in _COLLECTED and not any(other.parent == record.name for other in self.records.values()):
                names = [name for name in self._families[kin_of(tape).root] if kin_of(name).main == record.name]
                gone += names
                for name in names:
                    self._drop(name)
        return gone

    def forget(self, tape: str) -> list[str]:
        """Take away a sidecar that holds nothing and that nothing was forked from, or a family that is only such; return the names that are gone."""
        kin = kin_of(tape)
        family = self._families.get(kin.root, {})
        gone = [name for name in family if name == tape or kin.is_root]
        if kin.is_branch or any(record.parent == tape for record in self.records.values()) or any(name in self.records or self._rolls[name].head.id for name in gone):
            return []
        for name in gone:
            self._drop(name)
        return gone

    def rename(self, tape: str, name: str) -> dict[str, str]:
        """Rename a tape or branch and what belongs to it; return the new names by the old ones."""
        old, new = renaming(tape, name)
        self._record(old)
        family = self._families.get(old.root, {})
        members = [kin for kin in map(kin_of, family) if old.branch is None or kin.branch == old.branch]
        if not members:
            raise TapeNotFound(tape)
        renamed = {tape: name, **{kin.name: kin.moved_to(new) for kin in members}}
        taken = self._families.get(new.root, {})
        if any(target in taken and (target not in self._rolls or self._rolls[target].head.id or target in self.records) for target in (taken if old.branch is None else renamed.values())):
            raise NameTaken(name)
        for kin in members:
            self._keep(renamed[kin.name], self._rolls[kin.name])
            self._take(kin.name)
        self.records = {renamed.get(key, key): _renamed(record, renamed) for key, record in self.records.items()}
        return renamed

    def _record(self, kin: Kin) -> BranchRecord | None:
        """Return what is known of the branch that a tape is or stands beside. Raises BranchNotFound where it was never made."""
        if kin.branch is None:
            return None
        record = self.records.get(kin.main)
        if record is None:
            raise BranchNotFound(kin.main)
        return record

    def _writable(self, tape: str) -> Roll:
        record = self._record(kin_of(tape))
        if record is not None and not record.is_open:
            raise BranchClosed(record.name, record.state)
        return self.roll(tape)

    def _marks(self, work: Append | Reset, fresh: Sequence[int]) -> list[Head | None]:
        """Return the marks of the entries to write: none on a main tape."""
        kin = kin_of(work.tape)
        if kin.sidecar is None:
            return [None] * len(fresh)
        main = self.roll(kin.main).head
        if work.marks is None:
            return [main] * len(fresh)
        if len(work.marks) != len(work.entries) or not all(isinstance(mark, int) and mark >= 0 for mark in work.marks):
            raise InvalidInput(f"Marks are whole numbers from 0, one for each entry, not {list(work.marks)!r} for {len(work.entries)} entries of '{work.tape}'.")
        before = self._heads.get(kin.main, main)
        return [Head(main.generation, before.id + work.marks[i]) for i in fresh]

    def _with_sidecars(self, branch: str) -> list[BranchRecord]:
        return [record for record in self.records.values() if kin_of(record.name).main == branch]

    def _keep(self, name: str, roll: Roll) -> None:
        family = self._families.setdefault(kin_of(name).root, {})
        before = self._rolls.get(name)
        self._rolls[name], family[name] = roll, None
        self._undo.append(lambda: self._take(name) if before is None else self._rolls.__setitem__(name, before))

    def _take(self, name: str) -> None:
        del self._rolls[name]
        root = kin_of(name).root
        del self._families[root][name]
        if not self._families[root]:
            del self._families[root]

    def _drop(self, name: str) -> None:
        self._take(name)
        self.records.pop(name, None)

    def _note(self, record: BranchRecord) -> None:
        before = self.records.get(record.name)
        self.records[record.name] = record
        self._undo.append(lambda: self.records.pop(record.name) if before is None else self.records.__setitem__(record.name, before))


def _renamed(record: BranchRecord, renamed: dict[str, str]) -> BranchRecord:
    return replace(record, name=renamed.get(record.name, record.name), parent=renamed.get(record.parent, record.parent))
