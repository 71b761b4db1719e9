"""Changes to the tapes of a family: decided in memory, each after those before it, then made all at once."""

from __future__ import annotations

from collections.abc import Sequence

from playhead.entry.entry import TapeEntry
from playhead.errors import BranchClosed, InvalidInput
from playhead.store.change import Append, Close, Reset, check_close
from playhead.store.family import Kin
from playhead.store.file.family.household import Household
from playhead.store.file.family.intake import Intake
from playhead.store.file.members import member_stem
from playhead.store.file.names import is_cut
from playhead.store.file.record.draft import Draft, Standing
from playhead.store.file.record.header import Header
from playhead.store.file.record.lines import Body
from playhead.store.file.record.sheet import Sheet
from playhead.store.file.record.tail import Tail
from playhead.store.protocol import Head
from playhead.store.rules.replay import nothing_stands


class Revision:
    """What some changes make of a family. Nothing is written until it is asked for its sheets, one for each tape that was changed."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.sheets: dict[Kin, Sheet] = {}
        self._before: dict[Kin, Head] = {}

    def append(self, work: Intake, change: Append) -> tuple[TapeEntry, ...]:
        """Add entries at the end of a tape. Raises Conflict, KeyConflict, BranchNotFound, BranchClosed."""
        sheet = self.writable(work.kin)
        before = sheet.draft.head
        stored = sheet.draft.add(change.entries, self._marked(work, change.marks), expected_head=change.expected_head)
        if sheet.draft.head != before:
            self._before.setdefault(work.kin, before)
        return stored

    def reset(self, work: Intake, change: Reset) -> tuple[TapeEntry, ...]:
        """Start the next generation of a tape. Raises Conflict, BranchNotFound, BranchClosed."""
        sheet = self.writable(work.kin)
        sheet.draft.expect(change.expected_head)
        if not (work.bodies or sheet.is_begun):
            return ()
        generation = sheet.draft.head.generation + 1
        fresh = Draft(Tail(generation=generation), header=None, codec=self.household.place.codec, standing=nothing_stands)
        stored = fresh.add(change.entries, self._marked(work, change.marks), expected_head=None)
        sheet.turn_over(fresh)
        self._before[work.kin] = Head(generation, 0)
        return stored

    def close(self, work: Intake, change: Close) -> None:
        """End a branch. Raises Conflict, BranchNotFound, BranchClosed, InvalidInput."""
        check_close(change)
        sheet = self.writable(work.kin)
        sheet.draft.expect(change.expected_head)
        sheet.ended = (change.outcome, work.date)

    def writable(self, kin: Kin) -> Sheet:
        """Return the sheet of a tape that can be written to. Raises BranchNotFound, BranchClosed."""
        main = self.sheets.get(kin._replace(sidecar=None))
        if main is not None and main.ended is not None:
            raise BranchClosed(kin.main, main.ended[0])
        sheet = self.sheets.get(kin)
        if sheet is None:
            sheet = self.sheets[kin] = self._beside(kin, main) if main is not None and main.is_new else self._held(kin)
        return sheet

    def head(self, kin: Kin) -> Head:
        """Return where a tape ends by now. Raises BranchNotFound."""
        sheet, main = self.sheets.get(kin), self.sheets.get(kin._replace(sidecar=None))
        if sheet is None and main is not None and main.is_new:
            sheet = self.sheets[kin] = self._beside(kin, main)
        return self.household.head(kin) if sheet is None else sheet.draft.head

    def _held(self, kin: Kin) -> Sheet:
        tail = self.household.look(kin)
        held = self.household.tape(kin)
        header = held.header if held.needs_header else None
        draft = Draft(tail, header=header, codec=self.household.place.codec, standing=held.standing)
        return Sheet(kin=kin, stem=held.stem, header=held.header, draft=draft, tail=tail)

    def _beside(self, kin: Kin, main: Sheet) -> Sheet:
        """Return the sheet of a sidecar of a branch that is new itself."""
        header = main.header.beside(str(kin.sidecar))
        return self.blank(header, standing=main.beside.get(str(kin.sidecar), nothing_stands))

    def blank(self, header: Header, *, standing: Standing) -> Sheet:
        """Return the sheet of a branch, or of a sidecar of one, that is new."""
        tail = Tail(id=header.shared, generation=header.generation)
        stem = member_stem(self.household.family.stem, header.kin)
        needed = header if is_cut(stem) or header.origin is not None else None
        draft = Draft(tail, header=needed, codec=self.household.place.codec, standing=standing)
        return Sheet(kin=header.kin, stem=stem, header=header, draft=draft, tail=tail)

    def _marked(self, work: Intake, marks: Sequence[int] | None) -> Sequence[Body]:
        """Return what the lines of entries say, on a sidecar with where the main tape ends."""
        if work.kin.sidecar is None:
            return work.bodies
        if marks is not None and (len(marks) != len(work.bodies) or not all(isinstance(mark, int) and mark >= 0 for mark in marks)):
            raise InvalidInput(f"Each of {len(work.bodies)} entries for '{work.kin.name}' has a mark of its own, a whole number from 0, or none has: not {list(marks)!r}.")
        main = work.kin._replace(sidecar=None)
        head = self.head(main)
        if marks is None:
            return [body._replace(mark=head) for body in work.bodies]
        before = self._before.get(main, head)
        return [body._replace(mark=(head.generation, before.id + mark)) for body, mark in zip(work.bodies, marks, strict=True)]
