"""What a store with branches promises, in plain lists: a branch is a copy of what its parent shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from playhead.entry.entry import TapeEntry, placed
from playhead.errors import BranchClosed, BranchNotFound, Conflict, InvalidInput, LeaseLost, NameTaken
from playhead.store.change import DISCARDED, MERGED, OPEN, Append, Close, Fork, Reset
from playhead.store.family import SIDECAR, kin_of
from playhead.store.protocol import Head
from playhead.store.rules.replay import key_of, replay


@dataclass
class Rows:
    """What a tape, branch or sidecar shows, and where its main tape ended when each entry was written."""

    generation: int = 0
    entries: list[TapeEntry] = field(default_factory=list)
    marks: list[Head] = field(default_factory=list)

    @property
    def head(self) -> Head:
        return Head(self.generation, len(self.entries))

    def copy(self, at: int | None = None) -> Rows:
        return Rows(self.generation, self.entries[:at], self.marks[:at])

    def keyed(self, key: str) -> TapeEntry | None:
        return next((entry for entry in self.entries if key_of(entry) == key), None)


class Model:
    """The tapes by name, what is known of each branch (parent, base, state, owner), and who leased what under which epoch."""

    def __init__(self) -> None:
        self.rows: dict[str, Rows] = {}
        self.branches: dict[str, tuple[str, Head, str, str | None]] = {}
        self.sides: dict[str, tuple[str, Head]] = {}
        self.epochs: dict[str, int] = {}

    def shown(self, tape: str) -> Rows:
        main = kin_of(tape).main
        if kin_of(tape).branch is not None and main not in self.branches:
            raise BranchNotFound(main)
        return self.rows.get(tape) or Rows()

    def roots(self) -> list[str]:
        held = {tape for tape, rows in self.rows.items() if rows.entries and kin_of(tape).is_root}
        return sorted(held | {kin_of(name).root for name, (_, _, state, _) in self.branches.items() if state == OPEN})

    def sidecars(self, main: str) -> list[str]:
        return sorted(kin_of(tape).sidecar for tape, rows in self.rows.items() if rows.entries and tape.startswith(main + SIDECAR))

    def append(self, tape: str, entries: list[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        if fence is not None and self.epochs.get(tape, 0) > fence:
            raise LeaseLost(tape, fence=fence, epoch=self.epochs[tape])
        return self.apply([Append(tape=tape, entries=entries, expected_head=expected_head)])[0]

    def apply(self, changes, *, unless=None):
        if len({kin_of(change.tape).root for change in changes}) > 1:
            raise InvalidInput("several families")
        if unless is not None and self.shown(unless[0]).keyed(unless[1]):
            return None
        before = {tape: rows.copy() for tape, rows in self.rows.items()}, dict(self.branches), dict(self.sides)
        try:
            return tuple(self._make(change, before[0]) for change in changes)
        except Exception:
            self.rows, self.branches, self.sides = before
            raise

    def _make(self, change, before: dict[str, Rows]) -> tuple[TapeEntry, ...]:
        if isinstance(change, Fork):
            return self._fork(change)
        rows = self.shown(change.tape)
        main = kin_of(change.tape).main
        if main in self.branches and self.branches[main][2] != OPEN:
            raise BranchClosed(main, self.branches[main][2])
        plan = replay(change.entries, standing=(Rows() if isinstance(change, Reset) else rows).keyed) if not isinstance(change, Close) else None
        if not (isinstance(change, Append) and change.entries and not plan.fresh) and change.expected_head not in (None, rows.head):
            raise Conflict(expected=change.expected_head, found=rows.head)
        if plan is None:
            parent, base, _, owner = self.branches[main]
            self.branches[main] = parent, base, change.outcome, owner
            return ()
        if plan.fresh or (change.tape in self.rows and isinstance(change, Reset)):
            self.rows[change.tape] = rows = Rows(rows.generation + 1) if isinstance(change, Reset) else rows
        written = [placed(change.entries[place], id=len(rows.entries) + number) for number, place in enumerate(plan.fresh, 1)]
        head = self.shown(main).head
        ids = [head.id if change.marks is None else before.get(main, Rows()).head.id + change.marks[place] for place in plan.fresh]
        rows.entries += written
        rows.marks += [Head(head.generation, id) for id in ids]
        return plan.results(written)

    def _fork(self, change: Fork) -> tuple[TapeEntry, ...]:
        rows = self.shown(change.parent)
        at = rows.head.id if change.at is None else change.at
        if not 0 <= at <= rows.head.id:
            raise InvalidInput("beyond the end")
        if change.tape in self.branches:
            raise NameTaken(change.tape)
        self.branches[change.tape] = change.parent, Head(rows.generation, at), OPEN, change.owner
        self.rows[change.tape] = rows.copy(at)
        for name in self.sidecars(change.parent):
            side = self.rows[change.parent + SIDECAR + name]
            cut = len(side.entries) if change.at is None else sum(mark <= (rows.generation, at) for mark in side.marks)
            self.rows[change.tape + SIDECAR + name] = side.copy(cut)
            self.sides[change.tape + SIDECAR + name] = change.parent + SIDECAR + name, Head(side.generation, cut)
        return ()

    def collect(self, root: str) -> list[str]:
        gone: list[str] = []
        for name in reversed(list(self.branches)):
            if kin_of(name).root == root and self.branches[name][2] in (MERGED, DISCARDED) and all(parent != name for parent, *_ in self.branches.values()):
                gone.append(name)
                del self.branches[name]
                for known in (self.rows, self.sides, self.epochs):
                    for tape in [tape for tape in known if kin_of(tape).main == name]:
                        del known[tape]
        return sorted(gone)

    def rename(self, tape: str, name: str) -> None:
        def new(old: str) -> str:
            kin, target = kin_of(old), kin_of(name)
            meant = tape in (kin.root, kin.main)
            return kin._replace(root=target.root, branch=kin.branch if target.branch is None else target.branch).name if meant else old

        if name in self.branches:
            raise NameTaken(name)

        self.rows = {new(old): rows for old, rows in self.rows.items()}
        self.branches = {new(old): (new(parent), *rest) for old, (parent, *rest) in self.branches.items()}
        self.sides = {new(old): (new(parent), base) for old, (parent, base) in self.sides.items()}
        # Whatever is made under the old name later, its epoch goes on: a holder may not have heard of the new one.
        self.epochs |= {new(old): max(epoch, self.epochs.get(new(old), 0)) for old, epoch in self.epochs.items()}
