"""Rows that must stand at one place after the other, and what to say where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from playhead.errors import StoreDamaged
from playhead.store.condition.damage import missing
from playhead.store.rows.row import LAST_SEQ, RawRow


def gapless(rows: Iterable[RawRow], places: range, tape: str) -> Iterator[RawRow]:
    """Yield rows for as long as they stand at one place after the other. Raises StoreDamaged, with what is missing, where they do not."""
    place = places.start
    for row in rows:
        if row[0] != place:
            raise gap(place, row[0] - places.step, tape)
        yield row
        place += places.step
    if place != places.stop:
        raise gap(place, places.stop - places.step, tape)


def gap(one: int, other: int, tape: str) -> StoreDamaged:
    """Return the error of what is missing from one place to another."""
    return missing(tape, min(one, other) & LAST_SEQ, max(one, other) & LAST_SEQ)
