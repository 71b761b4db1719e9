"""Writing to the tapes of a SQLite file: appends and resets on one connection, under the lock, inside its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict
from playhead.errors import Conflict, InvalidInput
from playhead.store.horizon import Horizon
from playhead.store.protocol import EMPTY, Head
from playhead.store.replay import Replay, replay
from playhead.store.row import BLOCK, LAST_SEQ, SEQ_BITS, Row, cell, eid, entry_of, microseconds, row_of, written
from playhead.store.statements import statements

_LONG_AGO = -(1 << 62)
_REMEMBERED = 4096


@dataclass(slots=True)
class Append:
    """Entries to write at the end of a tape, with the metas to keep; `rows` is what they come to, made by the writer."""

    tape: str
    entries: Sequence[TapeEntry]
    metas: Sequence[FrozenDict]
    expected_head: Head | None
    rows: Sequence[Row] = ()

    def prepare(self) -> None:
        """Make the rows; raises InvalidInput where an idempotency key is no text."""
        self.rows = [row_of(entry, meta) for entry, meta in zip(self.entries, self.metas, strict=True)]


@dataclass(slots=True)
class Reset(Append):
    """The entries that start the next generation of a tape."""


@dataclass(slots=True)
class Tail:
    """Where a tape ends: its last id, and the newest date up to there that the horizon does not hide."""

    tape_no: int
    generation: int
    root_no: int
    seq: int
    peak: int


class Tapes:
    """The tapes of a file, seen from its writer, which remembers where they end for as long as nobody else writes.

    What is refused (Conflict, KeyConflict, InvalidInput) is refused before the first write.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._sql = statements("write")
        self._tails: dict[str, Tail] = {}
        self._horizon = Horizon()
        self._version = -1

    def look(self) -> None:
        """Forget where tapes end if another connection has written since."""
        (version,) = self._execute(self._sql["data_version"]).fetchone()
        if version != self._version or len(self._tails) > _REMEMBERED:
            self._tails.clear()
            self._version = version

    def forget(self) -> None:
        """Forget where tapes end, as what was written was undone."""
        self._tails.clear()

    def single(self, work: Append) -> tuple[object, ...] | None:
        """Return the one row to insert that an append comes to, None where there is more to do; mostly there is not."""
        if len(work.rows) != 1:
            return None
        tail, row = self._tails.get(work.tape), work.rows[0]
        if tail is None or row.idem_key is not None or (tail.seq + 1) % BLOCK == 0 or tail.seq == LAST_SEQ:
            return None
        _expect(work.expected_head, tail)
        return tail.tape_no << SEQ_BITS | tail.seq + 1, self._peak(tail, row), *row

    def inserted(self, work: Append) -> tuple[TapeEntry, ...]:
        """Take note that the row of `single` was inserted, and return its entry as stored."""
        tail, row = self._tails[work.tape], work.rows[0]
        tail.seq += 1
        tail.peak = self._peak(tail, row)
        return (written(work.entries[0], row, tail.seq),)

    def do(self, work: Append | Reset | None) -> tuple[TapeEntry, ...]:
        """Append or reset, and return the entries as stored."""
        if work is None:
            return ()
        tail = self._tail(work.tape)
        return self._reset(work, tail) if isinstance(work, Reset) else self._append(work, tail)

    def _append(self, work: Append, tail: Tail | None) -> tuple[TapeEntry, ...]:
        if not any(row.idem_key for row in work.rows):
            _expect(work.expected_head, tail)
            return self._insert(work.tape, tail, work.entries, work.rows)
        plan = replay(work.entries, standing=lambda key: self._standing(work.tape, tail, key))
        if plan.fresh:
            _expect(work.expected_head, tail)
        return self._insert_fresh(plan, work, tail)

    def _reset(self, work: Reset, tail: Tail | None) -> tuple[TapeEntry, ...]:
        """Give the name a new tape number; the old entries are out of reach at once and purged when there is time."""
        _expect(work.expected_head, tail)
        plan = replay(work.entries, standing=_nothing_stands)
        if tail is not None:
            self._execute(self._sql["retire_tape"], (tail.tape_no,))
        elif not plan.fresh:
            return ()
        fresh = self._new_tape(work.tape, generation=tail.generation + 1 if tail else 1, root_no=tail.root_no if tail else None)
        return self._insert_fresh(plan, work, fresh)

    def _insert_fresh(self, plan: Replay, work: Append, tail: Tail | None) -> tuple[TapeEntry, ...]:
        return plan.results(self._insert(work.tape, tail, [work.entries[i] for i in plan.fresh], [work.rows[i] for i in plan.fresh]))

    def _insert(self, tape: str, tail: Tail | None, entries: Sequence[TapeEntry], rows: Sequence[Row]) -> tuple[TapeEntry, ...]:
        if not entries:
            return ()
        if tail is None:
            tail = self._new_tape(tape, generation=0, root_no=None)
        if tail.seq + len(rows) > LAST_SEQ:
            raise InvalidInput(f"A tape holds at most {LAST_SEQ:,} entries; go on with another one.")
        first, values = tail.seq + 1, []
        for row in rows:
            tail.seq += 1
            tail.peak = self._peak(tail, row)
            values.append((eid(tail.tape_no, tail.seq), tail.peak, *row))
        self._execute_many(self._sql["insert_entry"], values)
        self._index(tail, first=first)
        return tuple(map(written, entries, rows, range(first, tail.seq + 1)))

    def _peak(self, tail: Tail, row: Row) -> int:
        """Return the newest date of a tape with one more row on it."""
        return tail.peak if row.ts <= tail.peak or self._horizon.hides(row.ts) else row.ts

    def _index(self, tail: Tail, *, first: int) -> None:
        """Index the blocks that became full with the entries from `first` on."""
        begun, full = (first - 1) // BLOCK * BLOCK, tail.seq // BLOCK * BLOCK
        if full > begun:
            block = eid(tail.tape_no, begun + 1), eid(tail.tape_no, full)
            self._execute(self._sql["index_kinds"], block)
            self._execute(self._sql["index_uids"], block)

    def _tail(self, tape: str) -> Tail | None:
        if tape in self._tails:
            return self._tails[tape]
        found = self._execute(self._sql["tape"], (tape,)).fetchone()
        if found is None:
            return None
        tape_no, generation, lowest, root_no = found
        place, peak = self._execute(self._sql["last_entry"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone() or (0, _LONG_AGO)
        tail = self._tails[tape] = Tail(tape_no, generation, root_no, max(lowest, place & LAST_SEQ), peak)
        return tail

    def _new_tape(self, tape: str, *, generation: int, root_no: int | None) -> Tail:
        (tape_no,) = self._execute(self._sql["next_tape_no"]).fetchone()
        root = tape_no if root_no is None else root_no
        self._execute(self._sql["insert_tape"], (tape_no, root, generation, microseconds(clock.now())))
        self._execute(self._sql["name_tape"], (tape, tape_no, root))
        tail = self._tails[tape] = Tail(tape_no, generation, root, 0, _LONG_AGO)
        return tail

    def _standing(self, tape: str, tail: Tail | None, key: str) -> TapeEntry | None:
        if tail is None:
            return None
        found = self._execute(self._sql["standing"], (tail.tape_no, cell(key))).fetchone()
        return entry_of(found, tape=tape) if found else None

    def purge(self) -> bool:
        """Remove some entries of a generation that was reset; return whether there is more to do."""
        found = self._execute(self._sql["retired_tape"]).fetchone()
        if found is None:
            return False
        low, high = eid(found[0], 0), eid(found[0], LAST_SEQ)
        (edge,) = self._execute(self._sql["purge_edge"], (low, high)).fetchone()
        if edge is None:
            self._execute(self._sql["forget_tape"], found)
        else:
            for name in ("purge_kinds", "purge_uids", "purge_entries"):
                self._execute(self._sql[name], (low, edge))
        return True


def _nothing_stands(key: str) -> None:
    del key


def _expect(expected: Head | None, tail: Tail | None) -> None:
    if expected is None:
        return
    found = EMPTY if tail is None else Head(tail.generation, tail.seq)
    if expected != found:
        raise Conflict(expected=expected, found=found)
