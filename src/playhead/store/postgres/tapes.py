"""Writing to the tapes of a family that is held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from playhead.entry.entry import TapeEntry
from playhead.store.change import Close, Fork
from playhead.store.parting import is_parted
from playhead.store.postgres.archived import filled
from playhead.store.postgres.blobs import get
from playhead.store.postgres.branching import close, fork
from playhead.store.postgres.family import Family, Tail
from playhead.store.postgres.keys import Numbers, Texts, columns, text_key
from playhead.store.rows.row import RawRow, entry_of
from playhead.store.rules.horizon import Horizon
from playhead.store.rules.making import Standing
from playhead.store.rules.replay import key_of, nothing_stands
from playhead.store.rules.tails import LONG_AGO
from playhead.store.rules.work import Work, Writing

_AT_ONCE = 1000
_NOT_MARKED = -1
_by_number = itemgetter(-1)


def names_of(work: Work) -> list[str]:
    """Return the tapes that a piece of work looks at."""
    asked = [step.tape for step in work.steps] + [step.parent for step in work.steps if isinstance(step, Fork)]
    return asked if work.unless is None else [*asked, work.unless[0]]


class Tapes:
    """The tapes of a family that is held, as its transaction sees and writes them."""

    def __init__(self, family: Family, *, horizon: Horizon) -> None:
        self.tails = self._family = family
        self._horizon = horizon

    def fork(self, change: Fork, *, at: datetime) -> None:
        """Make a branch, and one of each sidecar that shows something. Raises InvalidInput, BranchNotFound, NameTaken."""
        fork(self._family, change, at=at)

    def close(self, change: Close, *, at: datetime) -> None:
        """End a branch and its sidecars. Raises InvalidInput, BranchNotFound, BranchClosed, Conflict."""
        close(self._family, change, at=at)

    def standing(self, tape: str, tail: Tail | None, keys: Sequence[str]) -> Standing:
        """Return what tells which entry that a tape shows has one of some keys, asked for at once."""
        return nothing_stands if tail is None else self._standing(tape, tail, keys).get

    def insert(self, step: Writing, tail: Tail, *, places: Sequence[int], marks: Sequence[int] | None) -> None:
        """Write the rows at some places of a change at the end of a tape."""
        if marks is None:
            marks = [_NOT_MARKED] * len(places)
        elif step.marks is None:
            marks = [max(mark, tail.mark) for mark in marks]  # an append to a sidecar and one to its main tape may pass each other, yet marks rise
        for start in range(0, len(places), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            self._insert_some(step, tail, places[some], marks[some])
        self._family.send("advance", tape=tail.tape_no, head=tail.seq, peak=tail.peak, mark=tail.mark)
        self._family.keep(tail)

    def _insert_some(self, step: Writing, tail: Tail, places: Sequence[int], marks: Sequence[int]) -> None:
        before, peaks = tail.seq, Numbers()
        for place in places:
            tail.peak = max(tail.peak, shown_date(step.rows[place].ts, horizon=self._horizon))
            peaks.append(tail.peak)
        tail.seq += len(places)
        tail.mark = max(tail.mark, *marks)
        self._family.send("insert_entries", tape=tail.tape_no, before=before, peaks=peaks, marks=Numbers(marks), **columns([step.rows[place] for place in places]))

    def _standing(self, tape: str, tail: Tail, keys: Sequence[str]) -> dict[str, TapeEntry]:
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
