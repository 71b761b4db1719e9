"""A family of tapes that is held: nobody else changes it until the transaction ends."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from playhead import clock
from playhead.store.change import BranchRecord
from playhead.store.family import kin_of
from playhead.store.postgres.keys import NONE, Texts, name_key, raw
from playhead.store.postgres.session import Row, Session
from playhead.store.protocol import Head
from playhead.store.rows.row import SEQ_BITS, cell, microseconds
from playhead.store.rows.statements import statements
from playhead.store.rules.tails import LONG_AGO


@dataclass(slots=True)
class Tail:
    """Where a tape ends: its last id, the id its own entries stand behind, the newest date of these that the horizon does not hide, the mark of the last one.

    `lineage` is what it reads through, `closed` what became of the branch that it is, `main` the tape that it is a sidecar of.
    """

    name: str
    tape_no: int
    generation: int
    before: int
    seq: int
    peak: int = LONG_AGO
    mark: int = 0
    turn: int = 0
    lineage: str = "[]"
    closed: str | None = None
    main: str | None = field(default=None)

    @property
    def head(self) -> Head:
        """Where the tape ends."""
        return Head(self.generation, self.seq)

    @property
    def as_mark(self) -> int:
        """The mark of a sidecar's entry that is written now, where this is its main tape."""
        return self.generation << SEQ_BITS | self.seq

    def shown(self) -> list[list[int]]:
        """Return the numbers that it shows, each with its last id, its own at the end."""
        return [*json.loads(self.lineage), [self.tape_no, self.seq]]


class Family:
    """The tapes of a family, as a transaction that holds it sees and changes them.

    A tape that was asked for once is locked; what is asked for first are those that `load` names.
    """

    def __init__(self, session: Session, *, root_id: UUID, last_no: int, tenant: str, label: str) -> None:
        self.session = session
        self.root_id = root_id
        self.tenant = tenant
        self.label = label
        self.touched: set[str] = set()
        self._first_no = self._last_no = last_no
        self._tails: dict[str, Tail | None] = {}
        self.sql = statements("postgres/family")

    def load(self, *names: str) -> None:
        """Lock tapes, the tapes they are sidecars of, and the sidecars of all, and see where they end."""
        wanted = mains(names)
        self.loaded(wanted, self.rows("members", names=Texts(map(name_key, wanted))))

    def loaded(self, wanted: Iterable[str], rows: Iterable[Row]) -> None:
        """Take note of where tapes end; of those that are wanted and not there, that they are not."""
        for row in rows:
            if self._tails.get(row[1]) is None:
                self._tails[row[1]] = _tail(row)
        for name in wanted:
            self._tails.setdefault(name, None)

    def tail(self, tape: str) -> Tail | None:
        """Return where a tape ends, None where it was never written."""
        if tape not in self._tails:
            self.load(tape)
        return self._tails[tape]

    def sidecars(self, tape: str) -> list[Tail]:
        """Return where the sidecars of a tape or branch end, in the order of their names."""
        self.tail(tape)
        return [tail for _, tail in sorted(self._tails.items()) if tail is not None and tail.main == tape]

    def epoch(self, tape: str) -> int:
        """Return the epoch of the newest lease of a tape, 0 where it was never leased."""
        found = self.rows("lease", name=name_key(tape))
        return int(found[0][1]) if found else 0

    def begin(self, tape: str, *, generation: int = 0) -> Tail:
        """Make a tape that was never written, or a sidecar; the tape of its family is made, too."""
        kin = kin_of(tape)
        if not kin.is_root and self.tail(kin.root) is None:
            self.begin(kin.root)
        main = None if kin.sidecar is None else kin.main
        tail = Tail(tape, self.number(), generation, 0, 0, main=main)
        self.send("insert_tape", tape=tail.tape_no, generation=generation, at=now(), key=name_key(tape), main=NONE if main is None else name_key(main), name=tape)
        return self.keep(tail)

    def begin_again(self, tape: str, tail: Tail) -> Tail:
        """Give a tape the number of its next generation; the entries of the old one are out of reach at once and removed when there is time."""
        fresh = Tail(tape, self.number(), tail.generation + 1, 0, 0, main=tail.main)
        self.send("retire", tape=tail.tape_no)
        self.send("begin_again", tape=tail.tape_no, fresh=fresh.tape_no)
        return self.keep(fresh)

    def branch_off(self, record: BranchRecord, *, lineage: list[list[int]], mark: int, at: int) -> None:
        """Make a branch, or the sidecar of one, that goes on behind what it was forked from."""
        kin, tape_no, through = kin_of(record.name), self.number(), json.dumps(lineage, separators=(",", ":"))
        main = None if kin.sidecar is None else kin.main
        tail = Tail(record.name, tape_no, record.base.generation, record.base.id, record.base.id, mark=mark, lineage=through, main=main)
        self.send(
            "insert_branch",
            tape=tape_no,
            generation=tail.generation,
            head=tail.seq,
            mark=mark,
            at=at,
            parent_no=lineage[-1][0] if lineage else 0,
            branch_no=tape_no if main is None else 0,
            key=name_key(record.name),
            main=NONE if main is None else name_key(main),
            name=record.name,
            lineage=tail.lineage,
            parent=record.parent,
            owner=NONE if record.owner is None else raw(cell(record.owner)),
        )
        self.keep(tail)

    def number(self) -> int:
        """Return the number of a new tape."""
        self._last_no += 1
        return self._last_no

    def finish(self) -> None:
        """Write down what was only counted."""
        if self._last_no != self._first_no:
            self.send("note_numbers", last=self._last_no)

    def keep(self, tail: Tail) -> Tail:
        """Take note of where a tape ends now."""
        self._tails[tail.name] = tail
        self.touched.add(tail.name)
        return tail

    def forget(self, names: Iterable[str]) -> None:
        """Take note that tapes are gone."""
        for name in names:
            self._tails[name] = None
            self.touched.add(name)

    def known(self) -> dict[str, Tail]:
        """Return where the tapes end that were touched and are there."""
        return {name: tail for name in self.touched if (tail := self._tails.get(name)) is not None}

    def send(self, statement: str, **values: Any) -> None:
        """Run a statement whose outcome is known."""
        self.session.send(self.sql[statement], {"root": self.root_id, **values})

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""
        return self.session.send(self.sql[statement], {"root": self.root_id, **values}).fetchall()


def mains(names: Iterable[str]) -> list[str]:
    """Return names, those of the tapes that they are sidecars of, and those of their families."""
    return sorted({main for name in names for main in (name, kin_of(name).main, kin_of(name).root)})


def new_id() -> UUID:
    """Return the id of a family or of a piece of work; later ones sort behind earlier ones, so that the pages of indexes are filled."""
    return UUID(clock.machine_uid())


def now() -> int:
    """Return the instant, in microseconds since 1970."""
    return microseconds(clock.now())


def _tail(row: Row) -> Tail:
    tape_no, name, generation, before, seq, peak, mark, turn, lineage, outcome = row
    kin = kin_of(name)
    return Tail(name, tape_no, generation, before, seq, peak, mark, turn, lineage, None if kin.sidecar is not None else outcome, None if kin.sidecar is None else kin.main)
