"""Marks of sidecar entries, kept in their meta, as a store of four methods has no other place for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.errors import InvalidInput
from playhead.store.family import kin_of
from playhead.store.protocol import EMPTY, Head

MARK = "__mark__"
"""The meta key of a mark: `[generation, id]` of the main tape. Readers of the store that is made whole never see it."""


def marked(entry: TapeEntry, mark: Head) -> TapeEntry:
    """Return a sidecar's entry with its mark."""
    return TapeEntry(entry.id, entry.kind, entry.payload, freeze_dict({**entry.meta, MARK: list(mark)}, path="meta"), entry.date)


def mark_of(entry: TapeEntry) -> Head:
    """Return an entry's mark; EMPTY where it has none."""
    mark = entry.meta.get(MARK)
    return Head(*mark) if isinstance(mark, list) and len(mark) == 2 and all(isinstance(n, int) for n in mark) else EMPTY


def plain(entry: TapeEntry) -> TapeEntry:
    """Return an entry as it was appended, without its mark."""
    if MARK not in entry.meta:
        return entry
    return TapeEntry(entry.id, entry.kind, entry.payload, FrozenDict({key: value for key, value in entry.meta.items() if key != MARK}), entry.date)


def shown(tape: str, entries: Iterable[TapeEntry]) -> list[TapeEntry]:
    """Return the entries of a tape as readers see them."""
    return list(entries) if kin_of(tape).sidecar is None else [plain(entry) for entry in entries]


def marked_up_to(entries: Sequence[TapeEntry], head: Head) -> int:
    """Return the id of the last entry of a sidecar that was written when its main tape ended at `head` or before."""
    return next((entry.id for entry in reversed(entries) if mark_of(entry) <= head), 0)


def marks_for(marks: Sequence[int] | None, places: Sequence[int], *, main: Head, start: Head) -> list[Head]:
    """Return the marks of those entries of a change that are written: `main` is where their tape ends, `start` where it ended before the changes."""
    return [main] * len(places) if marks is None else [Head(main.generation, start.id + marks[place]) for place in places]


def check_marks(tape: str, marks: Sequence[int] | None, count: int) -> None:
    """Raise InvalidInput unless marks are given for the entries of a sidecar, one each."""
    if marks is None:
        return
    if kin_of(tape).sidecar is None or len(marks) != count or not all(isinstance(mark, int) and mark >= 0 for mark in marks):
        raise InvalidInput(f"Marks are given for the entries of a sidecar, one whole number from 0 for each; not {list(marks)!r} for {count} entries of '{tape}'.")
