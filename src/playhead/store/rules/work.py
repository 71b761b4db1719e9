"""What the writer of a store is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict
from playhead.errors import InvalidInput, PlayheadError
from playhead.store.blobs import names_in
from playhead.store.change import Append, Change, Close, Fork, Reset, family_of
from playhead.store.parting import Piece, parted
from playhead.store.protocol import Head
from playhead.store.rows.row import Row, parted_row, row_of
from playhead.store.rules.intake import meta_to_keep
from playhead.store.rules.names import checked_name


@dataclass(slots=True)
class Writing:
    """Entries to write at the end of a tape, with the metas to keep; `rows` is what they come to, made by the writer.

    `pieces` are the blobs that the entry of a row is kept in besides, by its place, `named` the digests that stand in the rows,
    `at` is when they were asked for.
    """

    tape: str
    entries: Sequence[TapeEntry]
    metas: Sequence[FrozenDict]
    expected_head: Head | None = None
    fence: int | None = None
    marks: Sequence[int] | None = None
    rows: Sequence[Row] = ()
    pieces: dict[int, tuple[Piece, ...]] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    at: datetime | None = None

    def prepare(self, *, limit: int | None = None) -> None:
        """Make the rows, of payloads over the limit in parts; raises InvalidInput where an idempotency key is no text."""
        rows = [row_of(entry, meta) for entry, meta in zip(self.entries, self.metas, strict=True)]
        for place, row in enumerate(rows):
            if limit is not None and len(row.body) > limit:
                parts = parted(self.entries[place].payload, limit=limit)
                rows[place], self.pieces[place] = parted_row(row, parts), parts.pieces
        self.rows = rows
        self.named = frozenset().union(*(names_in(said) for row in rows for said in (row.meta, row.body)))


@dataclass(slots=True)
class Rewriting(Writing):
    """The entries that start the next generation of a tape."""


@dataclass(slots=True)
class Work:
    """Changes to make in order, all or none; `at` is when they were asked for, None where none of them says when it was made.

    None of them is made where an entry with the key of `unless` stands on its tape.
    """

    steps: Sequence[Writing | Fork | Close]
    unless: tuple[str, str] | None = None
    at: datetime | None = None


@dataclass(slots=True)
class Act:
    """Something else that is done in the writer's transaction; what it refuses it refuses before the first write.

    What is `fleeting` need not survive a loss of power, so it does not wait for the disk. `size` is how many bytes it writes, at most.
    """

    do: Callable[[Any], Any]
    fleeting: bool = False
    size: int = 0


@dataclass(slots=True)
class Apart:
    """Statements that are run one by one, outside of any transaction, while nobody else writes."""

    statements: Sequence[str]


def appended(tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> Work:
    """Return the work of one append."""
    given = tuple(entries)
    return Work((Writing(checked_name(tape), given, [meta_to_keep(entry) for entry in given], expected_head, fence, at=clock.now()),))


def changed(changes: Sequence[Change], *, unless: tuple[str, str] | None, at: datetime) -> Work:
    """Return the work of changes to one family. Raises InvalidInput where they are to several."""
    family_of(changes, unless=unless)
    return Work([_step(change, at) for change in changes], None if unless is None else (checked_name(unless[0]), unless[1]), at)


def _step(change: Change, at: datetime) -> Writing | Fork | Close:
    if not isinstance(change, (Append, Reset)):
        return change
    given = tuple(change.entries)
    make = Writing if isinstance(change, Append) else Rewriting
    return make(change.tape, given, [meta_to_keep(entry) for entry in given], change.expected_head, None, _checked_marks(change), at=at)


def _checked_marks(change: Append | Reset) -> Sequence[int] | None:
    if change.marks is None:
        return None
    marks = tuple(change.marks)
    if len(marks) != len(change.entries) or not all(isinstance(mark, int) and mark >= 0 for mark in marks):
        raise InvalidInput(f"Each entry for the sidecar '{change.tape}' has one mark, how many ids behind the head of its main tape it was written: {marks!r} for {len(change.entries)} entries.")
    return marks


def prepared(work: Work, *, limit: int | None) -> PlayheadError | None:
    """Make the rows of a piece of work, before anything is locked, payloads over the limit in parts; return why they cannot be written."""
    for step in work.steps:
        if isinstance(step, Writing) and (refusal := _unprepared(step, limit)) is not None:
            return refusal
    return None


def _unprepared(step: Writing, limit: int | None) -> PlayheadError | None:
    try:
        step.prepare(limit=limit)
    except PlayheadError as refusal:
        return refusal
    except (ValueError, RecursionError, MemoryError) as exc:
        return InvalidInput(f"An entry for the tape '{step.tape}' cannot be written as JSON: {exc}; store it in parts or as text.")
    return None
