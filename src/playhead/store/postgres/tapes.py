"""Appends, resets and other changes to the tapes of a family that is held."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.change import Close, Fork, expect
from playhead.store.family import kin_of
from playhead.store.horizon import Horizon
from playhead.store.lease import check_fence
from playhead.store.parting import is_parted
from playhead.store.postgres.archived import filled
from playhead.store.postgres.blobs import get
from playhead.store.postgres.branching import close, fork
from playhead.store.postgres.family import LONG_AGO, Family, Tail, room_for
from playhead.store.postgres.keys import Numbers, Texts, columns, text_key
from playhead.store.protocol import EMPTY
from playhead.store.replay import Replay, key_of, nothing_stands, replay
from playhead.store.row import LAST_SEQ, SEQ_BITS, RawRow, entry_of, written
from playhead.store.work import Rewriting, Work, Writing

Written = tuple[TapeEntry, ...]

_AT_ONCE = 1000
_NOT_MARKED = -1
_by_number = itemgetter(-1)


def names_of(work: Work) -> list[str]:
    """Return the tapes that a piece of work looks at."""
    asked = [step.tape for step in work.steps] + [step.parent for step in work.steps if isinstance(step, Fork)]
    return asked if work.unless is None else [*asked, work.unless[0]]


class Tapes:
    """Makes changes to a family. What is refused raises (Conflict, KeyConflict, InvalidInput, ...), and the transaction is undone."""

    def __init__(self, family: Family, *, horizon: Horizon) -> None:
        self._family = family
        self._horizon = horizon
        self._ends: dict[str, int] = {}

    def do(self, work: Work) -> tuple[Written, ...] | None:
        """Make all changes and return for each the entries as stored; None where the key of `unless` stands."""
        if work.unless is not None:
            tape, key = work.unless
            self._family.main(tape)
            if self._standing(tape, self._family.tail(tape), [key]):
                return None
        return tuple(self._step(work, step) for step in work.steps)

    def _step(self, work: Work, step: Writing | Fork | Close) -> Written:
        match step:
            case Rewriting():
                return self._reset(step)
            case Writing():
                return self._append(step)
            case Fork():
                fork(self._family, step, at=work.at or clock.now())
            case Close():
                close(self._family, step, at=work.at or clock.now())
        return ()

    def _append(self, step: Writing) -> Written:
        tail = self._writable(step)
        keys = [key for entry in step.entries if (key := key_of(entry)) is not None]
        if not keys:
            expect(step.expected_head, EMPTY if tail is None else tail.head)
            return self._insert(step, tail, range(len(step.rows)))
        standing = self._standing(step.tape, tail, keys)
        plan = replay(step.entries, standing=standing.get)
        if plan.fresh:
            expect(step.expected_head, EMPTY if tail is None else tail.head)
        return self._insert_fresh(step, tail, plan)

    def _reset(self, step: Rewriting) -> Written:
        tail = self._writable(step)
        expect(step.expected_head, EMPTY if tail is None else tail.head)
        plan = replay(step.entries, standing=nothing_stands)
        if (tail is None or _was_never_written(tail)) and not plan.fresh:
            return ()
        fresh = self._family.begin(step.tape, generation=1) if tail is None else self._family.begin_again(tail)
        self._ends[step.tape] = 0
        return self._insert_fresh(step, fresh, plan)

    def _writable(self, step: Writing) -> Tail | None:
        if step.fence is not None:
            check_fence(step.tape, fence=step.fence, epoch=self._family.epoch(step.tape))
        return self._family.writable(step.tape)

    def _insert_fresh(self, step: Writing, tail: Tail | None, plan: Replay) -> Written:
        return plan.results(self._insert(step, tail, plan.fresh))

    def _insert(self, step: Writing, tail: Tail | None, fresh: Sequence[int]) -> Written:
        """Insert some of the rows of a change, by their places in it."""
        if not fresh:
            return ()
        if tail is not None and not room_for(tail, len(fresh)):
            raise InvalidInput(f"A tape holds at most {LAST_SEQ:,} entries; go on with another one.")
        tail = tail or self._family.begin(step.tape)
        self._ends.setdefault(step.tape, tail.seq)
        first = tail.seq + 1
        for start in range(0, len(fresh), _AT_ONCE):
            self._insert_some(step, tail, fresh[start : start + _AT_ONCE])
        self._family.send("advance", tape=tail.tape_no, head=tail.seq, peak=tail.peak, mark=tail.mark)
        self._family.keep(tail)
        return tuple(written(step.entries[place], step.rows[place], id) for id, place in enumerate(fresh, first))

    def _insert_some(self, step: Writing, tail: Tail, places: Sequence[int]) -> None:
        before, peaks, marks = tail.seq, Numbers(), Numbers()
        for place in places:
            tail.peak = max(tail.peak, shown_date(step.rows[place].ts, horizon=self._horizon))
            mark = self._mark(step, tail, place)
            tail.mark = max(tail.mark, mark)
            tail.seq += 1
            peaks.append(tail.peak)
            marks.append(mark)
        self._family.send("insert_entries", tape=tail.tape_no, before=before, peaks=peaks, marks=marks, **columns([step.rows[place] for place in places]))

    def _mark(self, step: Writing, tail: Tail, place: int) -> int:
        """Return the mark of an entry: where the main tape of its sidecar ends, or so many ids behind where it ended before this work."""
        if tail.main is None:
            return _NOT_MARKED
        main = self._family.tail(tail.main) or self._family.begin(tail.main)
        if step.marks is None:
            return max(main.as_mark, tail.mark)
        return main.generation << SEQ_BITS | self._ends.get(tail.main, main.seq) + step.marks[place]

    def _standing(self, tape: str, tail: Tail | None, keys: Sequence[str]) -> dict[str, TapeEntry]:
        if tail is None:
            return {}
        segments = tail.shown()
        rows = self._family.rows("standing", tapes=Numbers(no for no, _ in segments), lasts=Numbers(last for _, last in segments), wanted=Texts(map(text_key, dict.fromkeys(keys))))
        by_number = groupby(sorted(rows, key=_by_number), key=_by_number)
        whole = (row for tape_no, its in by_number for row in filled(self._family.session, [*its], root_id=self._family.root_id, tape_no=tape_no))
        return {key: entry for entry in (self._entry(row, tape) for row in whole) if (key := key_of(entry)) is not None}

    def _entry(self, row: RawRow, tape: str) -> TapeEntry:
        """Return an entry; one that is kept in parts whole, as nobody but this transaction may see its blobs yet."""
        entry = entry_of(row, tape=tape, load=self._load)
        return entry.copy() if is_parted(row[5]) else entry

    def _load(self, digest: str) -> bytes:
        return get(self._family.session, digest=digest, tenant=self._family.tenant, path=self._family.label)


def shown_date(ts: int, *, horizon: Horizon) -> int:
    """Return a date as it counts for the newest of its tape: not at all where it lies behind the horizon."""
    return LONG_AGO if horizon.hides(ts) else ts


def _was_never_written(tail: Tail) -> bool:
    """Return whether a tape is only there because its family is."""
    return kin_of(tail.name).is_root and tuple(tail.head) == (0, 0)
