"""Numbering: which number each summary has, the same for all who read the sidecar, though branches may have given one twice."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """The numbers of the entries of a sidecar that are summaries, whether they stand or not; they rise from one to the next.

    An entry has the number it was written with where that is above all before it, else the next one. `shifts` says how far
    written and real numbers are apart, from which entry id on; it grows where branches that both wrote summaries are merged.
    """

    counter: int = 0
    shifts: tuple[tuple[int, int], ...] = ()

    def behind(self, *, entry: int, written: int) -> Self:
        """Return the numbering behind one more entry."""
        number = written if written > self.counter else self.counter + 1
        shift = number - written
        is_new = shift != (self.shifts[-1][1] if self.shifts else 0)
        return type(self)(counter=number, shifts=(*self.shifts, (entry, shift)) if is_new else self.shifts)

    def number(self, *, entry: int, written: int) -> int:
        """Return the number of an entry that was numbered, from its id on the sidecar and what it was written with."""
        index = bisect_right(self.shifts, entry, key=lambda shift: shift[0]) - 1
        return written + (self.shifts[index][1] if index >= 0 else 0)
