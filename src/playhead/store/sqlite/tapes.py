"""Writing to the tapes of a SQLite file: appends, resets and other changes on one connection, under the lock, inside its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, PlayheadError
from playhead.store.change import Close, Fork
from playhead.store.horizon import Horizon
from playhead.store.lease import check_fence
from playhead.store.parting import is_parted
from playhead.store.replay import Replay, nothing_stands, replay
from playhead.store.row import BLOCK, LAST_SEQ, SEQ_BITS, Row, cell, eid, entry_of, written
from playhead.store.sqlite import blobs
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.branching import close, fork
from playhead.store.sqlite.tails import Tail, Tails, expect
from playhead.store.statements import statements
from playhead.store.work import Rewriting, Work, Writing

Written = tuple[TapeEntry, ...]


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
        self._ends: dict[str, int] = {}

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
            mark = main.mark
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
        if work.unless is not None:
            tape, key = work.unless
            self.tails.main(tape)
            if self._standing(tape, self.tails.tail(tape), key) is not None:
                return None
        self._ends.clear()
        if len(work.steps) == 1:
            return (self._step(work, work.steps[0]),)
        with self._undone_on_refusal():
            return tuple(self._step(work, step) for step in work.steps)

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

    def _step(self, work: Work, step: Writing | Fork | Close) -> Written:
        match step:
            case Rewriting():
                return self._reset(step)
            case Writing():
                return self._append(step)
            case Fork():
                fork(self.tails, step, at=work.at or clock.now())
            case Close():
                close(self.tails, step, at=work.at or clock.now())
        return ()

    def _append(self, step: Writing) -> Written:
        tail = self._writable(step)
        if not any(row.idem_key for row in step.rows):
            expect(step.expected_head, tail)
            return self._insert(step, tail, range(len(step.rows)))
        plan = replay(step.entries, standing=lambda key: self._standing(step.tape, tail, key))
        if plan.fresh:
            expect(step.expected_head, tail)
        return self._insert_fresh(step, tail, plan)

    def _reset(self, step: Rewriting) -> Written:
        tail = self._writable(step)
        expect(step.expected_head, tail)
        plan = replay(step.entries, standing=nothing_stands)
        if (tail is None or _was_never_written(tail)) and not plan.fresh:
            return ()
        fresh = self.tails.begin(step.tape, generation=1) if tail is None else self.tails.begin_again(step.tape, tail)
        self._ends[step.tape] = 0
        return self._insert_fresh(step, fresh, plan)

    def _writable(self, step: Writing) -> Tail | None:
        if step.fence is not None:
            check_fence(step.tape, fence=step.fence, epoch=self.tails.epoch(step.tape))
        return self.tails.writable(step.tape)

    def _insert_fresh(self, step: Writing, tail: Tail | None, plan: Replay) -> Written:
        return plan.results(self._insert(step, tail, plan.fresh))

    def _insert(self, step: Writing, tail: Tail | None, fresh: Sequence[int]) -> Written:
        """Insert some of the rows of a change, by their places in it."""
        if not fresh:
            return ()
        if tail is not None and tail.seq + len(fresh) > LAST_SEQ:
            raise InvalidInput(f"A tape holds at most {LAST_SEQ:,} entries; go on with another one.")
        tail = tail or self.tails.begin(step.tape)
        self._ends.setdefault(step.tape, tail.seq)
        first, values = tail.seq + 1, []
        for place in fresh:
            row, mark = step.rows[place], self._mark(step, tail, place)
            tail.seq += 1
            tail.peak = self._peak(tail, row)
            values.append((eid(tail.tape_no, tail.seq), tail.peak, mark, *row))
            for piece in step.pieces.get(place, ()):
                blobs.put(self.tails, blob=piece.blob, data=piece.data, at=step.at or clock.now())
        if step.named:
            blobs.renew(self.tails, step.named, at=step.at or clock.now())
        self._execute_many(self._sql["insert_entry"], values)
        self._index(tail, first=first)
        return tuple(written(step.entries[place], step.rows[place], id) for id, place in enumerate(fresh, first))

    def _mark(self, step: Writing, tail: Tail, place: int) -> int | None:
        """Return the mark of an entry: where the main tape of its sidecar ends, or so many ids behind where it ended before this work."""
        if tail.main is None:
            return None
        main = self.tails.tail(tail.main) or self.tails.begin(tail.main)
        if step.marks is None:
            return main.mark
        return main.generation << SEQ_BITS | self._ends.get(tail.main, main.seq) + step.marks[place]

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

    def _standing(self, tape: str, tail: Tail | None, key: str) -> TapeEntry | None:
        if tail is None:
            return None
        found = self._execute(self._sql["standing"], (tail.tape_no, cell(key))).fetchone()
        if found is None and tail.lineage != "[]":
            found = self._execute(self._sql["standing_in_lineage"], (tail.lineage, cell(key))).fetchone()
        if not found:
            return None
        row = next(filled(self.tails, (found,)))
        entry = entry_of(row, tape=tape, load=lambda digest: self._load(digest=digest))
        return entry.copy() if is_parted(row[5]) else entry  # its blob may not be committed yet: only this connection sees it


def _was_never_written(tail: Tail) -> bool:
    """Return whether a tape is only there because its family is."""
    return tail.tape_no == tail.root_no and tail.seq == 0
