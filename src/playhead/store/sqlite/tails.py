"""Where the tapes of a SQLite file end, as its writer knows it, and the making of new ones."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from playhead import clock
from playhead.store.change import OPEN, BranchRecord
from playhead.store.family import kin_of
from playhead.store.protocol import Head
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, eid, microseconds
from playhead.store.rows.statements import statements
from playhead.store.rules.tails import LONG_AGO
from playhead.store.sqlite.volumes import forget, of_tape

_REMEMBERED = 4096


@dataclass(slots=True)
class Tail:
    """Where a tape ends: its last id, the id its own entries stand behind, and the newest date of these that the horizon does not hide.

    `lineage` is what it reads through, `closed` what became of the branch that it is, `main` the tape that it is a sidecar of.
    """

    tape_no: int
    generation: int
    root_no: int
    before: int
    seq: int
    peak: int = LONG_AGO
    lineage: str = "[]"
    closed: str | None = None
    main: str | None = None

    @property
    def head(self) -> Head:
        """Where the tape ends."""
        return Head(self.generation, self.seq)

    @property
    def as_mark(self) -> int:
        """The mark of a sidecar's entry that is written now, where this is its main tape."""
        return self.generation << SEQ_BITS | self.seq


class Branching(NamedTuple):
    """A branch that is about to be made: what is known of it, its family, what it reads through and the last number of that."""

    record: BranchRecord
    root_no: int
    lineage: str
    parent_no: int | None
    created_at: int


class Tails:
    """Where tapes end and under which epoch they are leased, remembered for as long as nobody else writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = connection.execute
        self.execute_many = connection.executemany
        self.known: dict[str, Tail] = {}
        self._epochs: dict[str, int] = {}
        self._sql = statements("write")
        self._version = -1

    def look(self) -> None:
        """Forget what is known if another connection has written since."""
        (version,) = self.execute(self._sql["data_version"]).fetchone()
        if version != self._version or len(self.known) > _REMEMBERED:
            self.forget()
            self._version = version

    def forget(self) -> None:
        """Forget what is known, as what was written was undone or is another's."""
        self.known.clear()
        self._epochs.clear()

    def tail(self, tape: str) -> Tail | None:
        """Return where a tape ends, None where it was never written."""
        if tape in self.known:
            return self.known[tape]
        found = self.execute(self._sql["tape"], (tape,)).fetchone()
        if found is None:
            return None
        tape_no, generation, before, indexed, lineage, root_no, state = found
        kin = kin_of(tape)
        place, peak = self.execute(self._sql["last_entry"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone() or (0, LONG_AGO)
        tail = self.known[tape] = Tail(tape_no, generation, root_no, before, max(before, indexed, place & LAST_SEQ), peak, lineage)
        tail.closed = None if kin.sidecar is not None or state == OPEN else state
        tail.main = None if kin.sidecar is None else kin.main
        return tail

    def epoch(self, tape: str) -> int:
        """Return the epoch of the newest lease of a tape, 0 where it was never leased."""
        if tape not in self._epochs:
            found = self.execute(statements("family")["lease"], (tape,)).fetchone()
            self._epochs[tape] = 0 if found is None else found[1]
        return self._epochs[tape]

    def leased(self, tape: str, epoch: int) -> None:
        """Take note of the epoch of a lease."""
        self._epochs[tape] = epoch

    def begin(self, tape: str, *, generation: int = 0) -> Tail:
        """Make a tape that was never written, or a sidecar; the tape of its family is made, too."""
        kin = kin_of(tape)
        root = None if kin.is_root else self.tail(kin.root) or self.begin(kin.root)
        tape_no = self.number(generation=generation)
        tail = Tail(tape_no, generation, root.root_no if root else tape_no, 0, 0, main=None if kin.sidecar is None else kin.main)
        self.execute(self._sql["insert_name"], (tape, tape_no, tail.root_no, kin.is_root, microseconds(clock.now())))
        self.known[tape] = tail
        return tail

    def begin_again(self, tape: str, tail: Tail) -> Tail:
        """Give a tape the number of its next generation; the entries of the old one are out of reach at once and removed when there is time."""
        self.execute(self._sql["retire_tape"], (tail.tape_no,))
        tape_no = self.number(generation=tail.generation + 1)
        self.execute(self._sql["renumber"], (tape_no, tape))
        fresh = self.known[tape] = Tail(tape_no, tail.generation + 1, tail.root_no, 0, 0, main=tail.main)
        return fresh

    def branch_off(self, branch: Branching) -> None:
        """Make a branch, or the sidecar of one, that goes on behind what it was forked from."""
        record = branch.record
        kin, generation, seq = kin_of(record.name), *record.base
        tape_no = self.number(generation=generation, parent_no=branch.parent_no, before=seq, lineage=branch.lineage)
        numbered = tape_no if kin.sidecar is None else None
        values = (record.name, tape_no, branch.root_no, numbered, record.parent, generation, seq, record.owner, branch.created_at)
        self.execute(statements("family")["insert_branch"], values)
        self.known[record.name] = Tail(tape_no, generation, branch.root_no, seq, seq, lineage=branch.lineage, main=None if kin.sidecar is None else kin.main)

    def number(self, *, generation: int, parent_no: int | None = None, before: int = 0, lineage: str = "[]") -> int:
        """Return the number of a new tape."""
        (tape_no,) = self.execute(self._sql["next_tape_no"]).fetchone()
        self.execute(self._sql["insert_tape"], (tape_no, parent_no, before, lineage, generation, microseconds(clock.now())))
        return int(tape_no)

    def purge(self) -> bool:
        """Remove some entries of a tape that is out of use and that nobody reads through; return whether there is more to do."""
        found = self.execute(self._sql["retired_tape"]).fetchone()
        if found is None:
            return False
        low, high = eid(found[0], 0), eid(found[0], LAST_SEQ)
        (edge,) = self.execute(self._sql["purge_edge"], (low, high)).fetchone()
        if numbers := of_tape(self.execute, found[0])[:1]:
            forget(self.execute, numbers)
        elif edge is None:
            self.execute(self._sql["purge_segments"], (low, high))
            self.execute(self._sql["forget_tape"], found)
        else:
            for name in ("purge_kinds", "purge_uids", "purge_entries"):
                self.execute(self._sql[name], (low, edge))
        return True
