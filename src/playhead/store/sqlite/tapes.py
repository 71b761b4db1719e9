"""Writing to the tapes of a SQLite file: appends, resets and other changes on one connection, under the lock, inside its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import repeat

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import PlayheadError
from playhead.store.change import Close, Fork
from playhead.store.parting import is_parted
from playhead.store.rows.row import BLOCK, LAST_SEQ, SEQ_BITS, Row, cell, eid, entry_of, written
from playhead.store.rows.statements import statements
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.lease import check_fence
from playhead.store.rules.making import Making, Standing, Written
from playhead.store.rules.replay import nothing_stands
from playhead.store.rules.tails import expect
from playhead.store.rules.work import Work, Writing
from playhead.store.sqlite import blobs
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.branching import close, fork
from playhead.store.sqlite.tails import Tail, Tails


class Tapes:
    """The tapes of a file, seen from its writer.

    A change that is refused (Conflict, KeyConflict, InvalidInput, ...) is refused before its first write; those made before it in one
    piece of work are undone.
    """

    def __init__(self, connection: sqlite3.Connection, *, path: str = "") -> None:
        self.tails = Tails(connection)
        self._load = partial(blobs.get, connection, path=path)
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._sql = statements("write")
        self._horizon = Horizon()

    def single(self, work: Work) -> tuple[object, ...] | None:
        """Return the one row to insert that an append comes to, None where there is more to do; mostly there is not."""
        if len(work.steps) != 1 or work.unless is not None:
            return None
        step = work.steps[0]
        if type(step) is not Writing or len(step.rows) != 1 or step.marks is not None or step.named:
            return None
        tail, row = self.tails.known.get(step.tape), step.rows[0]
        if tail is None or (tail.seq + 1) % BLOCK == 0 or tail.seq == LAST_SEQ:
            return None
        mark, main = None, tail
        if tail.main is not None:
            if tail.main not in self.tails.known:
                return None
            main = self.tails.known[tail.main]
            mark = main.as_mark
        if main.closed is not None or (row.idem_key is not None and not self._is_surely_new(step, tail, row.idem_key)):
            return None
        if step.fence is not None:
            check_fence(step.tape, fence=step.fence, epoch=self.tails.epoch(step.tape))
        expect(step.expected_head, tail)
        return tail.tape_no << SEQ_BITS | tail.seq + 1, self._peak(tail, row), mark, *row

    def inserted(self, step: Writing) -> Written:
        """Take note that the row of `single` was inserted, and return its entry as stored."""
        tail, row = self.tails.known[step.tape], step.rows[0]
        tail.seq += 1
        tail.peak = self._peak(tail, row)
        return (written(step.entries[0], row, tail.seq),)

    def do(self, work: Work) -> tuple[Written, ...] | None:
        """Make all changes, or none, and return for each the entries as stored; None where the key of `unless` stands."""
        if len(work.steps) == 1:
            return Making(self).make(work)
        with self._undone_on_refusal():
            return Making(self).make(work)

    @contextmanager
    def _undone_on_refusal(self) -> Iterator[None]:
        self._execute(self._sql["savepoint"])
        try:
            yield
        except PlayheadError:
            self._execute(self._sql["undo"])
            self._execute(self._sql["release"])
            self.tails.forget()
            raise
        self._execute(self._sql["release"])

    def fork(self, change: Fork, *, at: datetime) -> None:
        """Make a branch, and one of each sidecar that shows something. Raises InvalidInput, BranchNotFound, NameTaken, StoreDamaged."""
        fork(self.tails, change, at=at)

    def close(self, change: Close, *, at: datetime) -> None:
        """End a branch and its sidecars. Raises InvalidInput, BranchNotFound, BranchClosed, Conflict."""
        close(self.tails, change, at=at)

    def standing(self, tape: str, tail: Tail | None, keys: Sequence[str]) -> Standing:
        """Return what tells which entry that a tape shows has a key; it looks for one at a time, in the index."""
        del keys
        return nothing_stands if tail is None else partial(self._standing, tape, tail)

    def insert(self, step: Writing, tail: Tail, *, places: Sequence[int], marks: Sequence[int] | None) -> None:
        """Write the rows at some places of a change at the end of a tape, with the pieces that they are kept in besides."""
        first, values = tail.seq + 1, []
        for place, mark in zip(places, repeat(None) if marks is None else marks, strict=False):
            row = step.rows[place]
            tail.seq += 1
            tail.peak = self._peak(tail, row)
            values.append((eid(tail.tape_no, tail.seq), tail.peak, mark, *row))
            for piece in step.pieces.get(place, ()):
                blobs.put(self.tails, blob=piece.blob, data=piece.data, at=step.at or clock.now())
        if step.named:
            blobs.renew(self.tails, step.named, at=step.at or clock.now())
        self._execute_many(self._sql["insert_entry"], values)
        self._index(tail, first=first)

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
            self._execute(self._sql["note_indexed"], (full, tail.tape_no))

    def _is_surely_new(self, step: Writing, tail: Tail, key: str | bytes) -> bool:
        """Return whether a key stands nowhere but perhaps among a tape's own entries, where a second one cannot be inserted."""
        if step.expected_head is not None and step.expected_head != tail.head:
            return False
        return tail.lineage == "[]" or self._execute(self._sql["standing_in_lineage"], (tail.lineage, key)).fetchone() is None

    def _standing(self, tape: str, tail: Tail, key: str) -> TapeEntry | None:
        found = self._execute(self._sql["standing"], (tail.tape_no, cell(key))).fetchone()
        if found is None and tail.lineage != "[]":
            found = self._execute(self._sql["standing_in_lineage"], (tail.lineage, cell(key))).fetchone()
        if not found:
            return None
        row = next(filled(self.tails, (found,)))
        entry = entry_of(row, tape=tape, load=lambda digest: self._load(digest=digest))
        return entry.copy() if is_parted(row[5]) else entry  # its blob may not be committed yet: only this connection sees it
