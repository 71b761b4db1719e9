"""Making changes to a family that is held: what an append, a reset, a fork and a close come to, and what is refused, whatever keeps the tapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, Protocol

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.change import Close, Fork
from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, text, written
from playhead.store.rules.lease import check_fence
from playhead.store.rules.replay import nothing_stands, replay
from playhead.store.rules.tails import AnyTail, Tail, Tails, expect, main_of, writable
from playhead.store.rules.work import Rewriting, Work, Writing

Written = tuple[TapeEntry, ...]
Standing = Callable[[str], TapeEntry | None]
"""Tells which entry of a tape has a key."""


class Tapes(Protocol[AnyTail]):
    """The tapes of a family, as a transaction sees and writes them."""

    @property
    def tails(self) -> Tails[AnyTail]:
        """Where they end."""
        ...

    def standing(self, tape: str, tail: AnyTail | None, keys: Sequence[str]) -> Standing:
        """Return what tells which entry that a tape shows has one of some keys."""
        ...

    def insert(self, step: Writing, tail: AnyTail, *, places: Sequence[int], marks: Sequence[int] | None) -> None:
        """Write the rows at some places of a change at the end of a tape, and move that; `marks` are theirs on a sidecar."""
        ...

    def fork(self, change: Fork, *, at: datetime) -> None:
        """Make a branch, and one of each sidecar that shows something. Raises InvalidInput, BranchNotFound, NameTaken."""
        ...

    def close(self, change: Close, *, at: datetime) -> None:
        """End a branch and its sidecars. Raises InvalidInput, BranchNotFound, BranchClosed, Conflict."""
        ...


class Making(Generic[AnyTail]):
    """Makes one piece of work. A change that is refused (Conflict, KeyConflict, InvalidInput, ...) is refused before its first write."""

    def __init__(self, tapes: Tapes[AnyTail]) -> None:
        self._tapes = tapes
        self._tails = tapes.tails
        self._ends: dict[str, int] = {}

    def make(self, work: Work) -> tuple[Written, ...] | None:
        """Make all changes and return for each the entries as stored; None where the key of `unless` stands."""
        if work.unless is not None and self._stands(*work.unless):
            return None
        return tuple([self._step(work, step) for step in work.steps])

    def _stands(self, tape: str, key: str) -> bool:
        main_of(self._tails, tape)
        return self._tapes.standing(tape, self._tails.tail(tape), [key])(key) is not None

    def _step(self, work: Work, step: Writing | Fork | Close) -> Written:
        match step:
            case Rewriting():
                return self._reset(step)
            case Writing():
                return self._append(step)
            case Fork():
                self._tapes.fork(step, at=work.at or clock.now())
            case Close():
                self._tapes.close(step, at=work.at or clock.now())
        return ()

    def _append(self, step: Writing) -> Written:
        tail = self._writable(step)
        keys = [text(row.idem_key) for row in step.rows if row.idem_key is not None]
        if not keys:
            expect(step.expected_head, tail)
            return self._insert(step, tail, range(len(step.rows)))
        plan = replay(step.entries, standing=self._tapes.standing(step.tape, tail, keys))
        if plan.fresh:
            expect(step.expected_head, tail)
        return plan.results(self._insert(step, tail, plan.fresh))

    def _reset(self, step: Rewriting) -> Written:
        tail = self._writable(step)
        expect(step.expected_head, tail)
        plan = replay(step.entries, standing=nothing_stands)
        if not plan.fresh and (tail is None or _was_never_written(step.tape, tail)):
            return ()
        fresh = self._tails.begin(step.tape, generation=1) if tail is None else self._tails.begin_again(step.tape, tail)
        self._ends[step.tape] = 0
        return plan.results(self._insert(step, fresh, plan.fresh))

    def _writable(self, step: Writing) -> AnyTail | None:
        if step.fence is not None:
            check_fence(step.tape, fence=step.fence, epoch=self._tails.epoch(step.tape))
        return writable(self._tails, step.tape)

    def _insert(self, step: Writing, tail: AnyTail | None, places: Sequence[int]) -> Written:
        """Insert some of the rows of a change, by their places in it."""
        if not places:
            return ()
        if tail is not None and tail.seq + len(places) > LAST_SEQ:
            raise InvalidInput(f"A tape holds at most {LAST_SEQ:,} entries; go on with another one.")
        tail = tail or self._tails.begin(step.tape)
        self._ends.setdefault(step.tape, tail.seq)
        first = tail.seq + 1
        self._tapes.insert(step, tail, places=places, marks=None if tail.main is None else self._marks(step, tail.main, places))
        return tuple([written(step.entries[place], step.rows[place], id) for id, place in enumerate(places, first)])

    def _marks(self, step: Writing, tape: str, places: Sequence[int]) -> list[int]:
        """Return the marks of entries on a sidecar: where its main tape ends, or so many ids behind where that ended before this work."""
        main = self._tails.tail(tape) or self._tails.begin(tape)
        if step.marks is None:
            return [main.as_mark] * len(places)
        end = self._ends.get(tape, main.seq)
        return [main.generation << SEQ_BITS | end + step.marks[place] for place in places]


def _was_never_written(tape: str, tail: Tail) -> bool:
    """Return whether a tape is only there because its family is."""
    return kin_of(tape).is_root and tail.head == EMPTY
