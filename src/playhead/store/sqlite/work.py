"""What the writer of a SQLite store is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict
from playhead.errors import InvalidInput
from playhead.store.change import Append, Change, Close, Fork, Reset, family_of
from playhead.store.intake import meta_to_keep
from playhead.store.names import checked_name
from playhead.store.protocol import Head
from playhead.store.row import Row, row_of

if TYPE_CHECKING:
    from playhead.store.sqlite.tails import Tails


@dataclass(slots=True)
class Writing:
    """Entries to write at the end of a tape, with the metas to keep; `rows` is what they come to, made by the writer."""

    tape: str
    entries: Sequence[TapeEntry]
    metas: Sequence[FrozenDict]
    expected_head: Head | None = None
    fence: int | None = None
    marks: Sequence[int] | None = None
    rows: Sequence[Row] = ()

    def prepare(self) -> None:
        """Make the rows; raises InvalidInput where an idempotency key is no text."""
        self.rows = [row_of(entry, meta) for entry, meta in zip(self.entries, self.metas, strict=True)]


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

    do: Callable[[Tails], Any]
    fleeting: bool = False
    size: int = 0


@dataclass(slots=True)
class Apart:
    """Statements that are run one by one, outside of any transaction, while nobody else writes."""

    statements: Sequence[str]


def appended(tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> Work:
    """Return the work of one append."""
    given = tuple(entries)
    return Work((Writing(checked_name(tape), given, [meta_to_keep(entry) for entry in given], expected_head, fence),))


def changed(changes: Sequence[Change], *, unless: tuple[str, str] | None, at: datetime) -> Work:
    """Return the work of changes to one family. Raises InvalidInput where they are to several."""
    family_of(changes, unless=unless)
    return Work([_step(change) for change in changes], None if unless is None else (checked_name(unless[0]), unless[1]), at)


def _step(change: Change) -> Writing | Fork | Close:
    if not isinstance(change, (Append, Reset)):
        return change
    given = tuple(change.entries)
    make = Writing if isinstance(change, Append) else Rewriting
    return make(change.tape, given, [meta_to_keep(entry) for entry in given], change.expected_head, None, _checked_marks(change))


def _checked_marks(change: Append | Reset) -> Sequence[int] | None:
    if change.marks is None:
        return None
    marks = tuple(change.marks)
    if len(marks) != len(change.entries) or not all(isinstance(mark, int) and mark >= 0 for mark in marks):
        raise InvalidInput(f"Each entry for the sidecar '{change.tape}' has one mark, how many ids behind the head of its main tape it was written: {marks!r} for {len(change.entries)} entries.")
    return marks
