"""A salvaged SQLite store while it is put together: marks where entries were lost, dates and indexes as they must be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.store.condition.loss import LOST, PART_LOST, Loss
from playhead.store.family import kin_of
from playhead.store.proving.catalogue import REMOVED, Numbered
from playhead.store.rows.row import BLOCK, LAST_SEQ, SEQ_BITS, date_text, eid, microseconds, row_of
from playhead.store.rows.statements import statements
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.intake import meta_to_keep
from playhead.store.rules.tails import LONG_AGO
from playhead.store.sqlite.upkeep.remains import Remains

_PAGE = 4096


class Restored:
    """The tapes of a new file, whose good entries are in it already.

    `most` is how many entries can have been lost at most: an entry that would stand behind more is misplaced. `altered` are the
    places of entries that were found, but cannot be kept, each with why. `marked` counts the entries that stand for lost ones.
    """

    def __init__(self, connection: sqlite3.Connection, found: Remains, *, most: int, altered: Mapping[int, str]) -> None:
        self.marked = 0
        self._execute = connection.execute
        self._found = found
        self._most = most
        self._altered = altered
        self._sql = statements("salvage")
        self._horizon = Horizon()
        self._ends: dict[int, int] = {}
        self._names: dict[int, str] = {row.tape_no: row.name for row in found.named.values()}

    def fill(self) -> tuple[Loss, ...]:
        """Put each tape in order and return what was lost; sidecars come last, as their marks must lie on their main tapes."""
        losses: list[Loss] = []
        for row in sorted(self._found.numbered.values(), key=lambda row: (self._is_sidecar(row.tape_no), row.tape_no)):
            if row.state != REMOVED:
                losses += self._fill_tape(row)
        return tuple(losses)

    def keep_records(self) -> None:
        """Write the tape numbers, the names, the leases and the places of consumers."""
        for row in self._found.numbered.values():
            indexed = self._ends.get(row.tape_no, 0) // BLOCK * BLOCK
            self._execute(self._sql["insert_tape"], (row.tape_no, row.parent_no, row.fork_seq, row.lineage, row.generation, row.state, indexed, row.created_at))
        for name in self._found.named.values():
            self._execute(self._sql["insert_name"], name)
        for lease in self._found.leases:
            self._execute(statements("family")["keep_lease"], lease)
        for tape, consumer, generation, id in self._found.cursors:
            known = self._found.named.get(tape)
            if known is not None and (generation, id) <= self._head(known.tape_no):
                self._execute(statements("family")["keep_cursor"], (tape, consumer, generation, id, microseconds(clock.now())))

    def _fill_tape(self, row: Numbered) -> Iterator[Loss]:
        tape = _Filling(self, row)
        for place, ts, mark in self._entries(row.tape_no):
            id = place & LAST_SEQ
            if id <= tape.last or id - tape.last - 1 > self._most:
                self._execute(self._sql["leave_out"], (place, place + 1))
                yield Loss(tape=self.called(row.tape_no), why=f"an entry was found at the place {id}, where it cannot have stood")
                continue
            yield from tape.mark_lost(id - 1)
            tape.keep(place, ts, mark)
        yield from tape.mark_lost(min(self._needed(row), tape.last + self._most))
        self._ends[row.tape_no] = tape.last
        block = eid(row.tape_no, 0), eid(row.tape_no, tape.last // BLOCK * BLOCK)
        for statement in ("index_kinds", "index_uids"):
            self._execute(statements("write")[statement], block)

    def _entries(self, tape_no: int) -> Iterator[tuple[int, int, Any]]:
        """Yield place, date and mark of the entries of a tape number, which may be changed meanwhile."""
        place = eid(tape_no, 0)
        while page := self._execute(self._sql["entries"], (place, eid(tape_no, LAST_SEQ), _PAGE)).fetchall():
            yield from page
            place = page[-1][0] + 1

    def _needed(self, row: Numbered) -> int:
        """Return up to which id others say that a tape number goes: its index, branches that read through it, and entries of which only a part is lost."""
        read = (last for other in self._found.numbered.values() for number, last in other.inherited() or () if number == row.tape_no)
        parted = (place & LAST_SEQ for place, why in self._altered.items() if place >> SEQ_BITS == row.tape_no and why.startswith(PART_LOST))
        return max(row.indexed if row.indexed % BLOCK == 0 else 0, *read, *parted, 0)

    def _is_sidecar(self, tape_no: int) -> bool:
        name = self._names.get(tape_no) or self._reader(tape_no)
        return name is not None and kin_of(name).sidecar is not None

    def _reader(self, tape_no: int) -> str | None:
        """Return the name of a tape that reads through an earlier generation."""
        found = (row.tape_no for row in self._found.numbered.values() if row.tape_no in self._names and any(number == tape_no for number, _ in row.inherited() or ()))
        number = next(found, None)
        return None if number is None else self._names[number]

    def called(self, tape_no: int) -> str:
        """Return the name of a tape number."""
        return self._names.get(tape_no, f"no. {tape_no}")

    def _head(self, tape_no: int) -> tuple[int, int]:
        return self._found.numbered[tape_no].generation, self._ends.get(tape_no, 0)

    def highest_mark(self, tape_no: int) -> int | None:
        """Return the mark that no entry of a sidecar may have passed; None where the tape number is no sidecar's."""
        if not self._is_sidecar(tape_no):
            return None
        main = self._found.named.get(kin_of(self._names[tape_no]).main) if tape_no in self._names else None
        if main is None:
            return (1 << 62) - 1
        generation, id = self._head(main.tape_no)
        return generation << SEQ_BITS | id

    def lowest_mark(self, row: Numbered) -> int:
        """Return the mark of the entry that a tape number's own ones stand behind."""
        nearest = (row.inherited() or [(0, 0)])[-1]
        found = self._execute(statements("family")["mark"], (eid(*nearest),)).fetchone()
        return found[0] if found is not None and found[0] is not None else 0

    def why(self, place: int) -> str:
        """Return why an entry is not there."""
        return self._altered.get(place, "nothing of it can be read")

    def hides(self, ts: int) -> bool:
        """Return whether a date lies too far ahead to be the newest of its tape."""
        return self._horizon.hides(ts)

    def put(self, statement: str, values: tuple[Any, ...]) -> None:
        """Run one of the statements that salvage runs."""
        self._execute(self._sql[statement], values)


class _Filling:
    """One tape number, entry by entry."""

    def __init__(self, restored: Restored, row: Numbered) -> None:
        self.last = row.before
        self._restored = restored
        self._tape_no = row.tape_no
        self._date = row.created_at
        self._peak = LONG_AGO
        self._highest = restored.highest_mark(row.tape_no)
        self._mark = restored.lowest_mark(row)

    def keep(self, place: int, ts: int, mark: Any) -> None:
        """Give the next entry its newest date and its mark."""
        self.last = place & LAST_SEQ
        self._date = ts
        self._advance(ts)
        self._restored.put("settle", (self._peak, self._marked(mark), place))

    def mark_lost(self, upto: int) -> Iterator[Loss]:
        """Put marks in the place of the entries up to one, and yield what was lost, the same reason at a time."""
        first, why = self.last + 1, ""
        while self.last < upto:
            place = eid(self._tape_no, self.last + 1)
            reason = self._restored.why(place)
            if why and reason != why:
                yield Loss(tape=self._restored.called(self._tape_no), ids=(first, self.last), why=why)
                first = self.last + 1
            why = reason
            self._put_mark(place, why)
        if why:
            yield Loss(tape=self._restored.called(self._tape_no), ids=(first, self.last), why=why)

    def _put_mark(self, place: int, why: str) -> None:
        entry = replace(TapeEntry.event(LOST, {"why": why}, context=False), date=date_text(self._date))
        row = row_of(entry, meta_to_keep(entry))
        self.last = place & LAST_SEQ
        self._restored.marked += 1
        self._advance(row.ts)
        self._restored.put("insert_entry", (place, self._peak, self._marked(None), *row))

    def _advance(self, ts: int) -> None:
        if ts > self._peak and not self._restored.hides(ts):
            self._peak = ts

    def _marked(self, mark: Any) -> int | None:
        if self._highest is None:
            return None
        if type(mark) is int and self._mark < mark <= self._highest:
            self._mark = mark
        return self._mark
