"""BM25: how much an entry is about a term that stands in it so often, by how rare the term is and how long the entry.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the logarithm that is never negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from playhead.store.ranked.protocol import Run, Totals
from playhead.store.ranked.reading import MOST, length_of

K1 = 1.2
"""How fast a term that stands in an entry more often stops to add."""

B = 0.75
"""How much a long entry is discounted, from 0 to 1."""

MOST_GAIN = K1 + 1
"""What a term adds at most for each unit of its weight."""


def weight(frequency: int, documents: int) -> float:
    """Return what a term weighs that so many of all entries hold."""
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class Gains:
    """What a term adds for each unit of its weight, by how often it stands in an entry and by the code of the entry's length."""

    def __init__(self, totals: Totals) -> None:
        average = max(1.0, totals.length / max(1, totals.documents))
        self._discounts = [K1 * (1 - B + B * length_of(code) / average) for code in range(256)]
        self._rows: list[list[float] | None] = [None] * (MOST + 1)
        self._weighted_rows: dict[tuple[int, float], list[float]] = {}

    def of(self, run: Run, weight: float) -> Iterable[float]:
        """Return what a term of some weight adds to each entry of a run."""
        rows = {count: self._weighted(count, weight) for count in set(run.counts)}
        if len(rows) == 1:
            return map(rows.popitem()[1].__getitem__, run.lengths)
        return [rows[count][length] for count, length in zip(run.counts, run.lengths, strict=True)]

    def _weighted(self, count: int, weight: float) -> list[float]:
        row = self._weighted_rows.get((count, weight))
        if row is None:
            row = self._weighted_rows[count, weight] = [weight * gain for gain in self._row(count)]
        return row

    def _row(self, count: int) -> list[float]:
        row = self._rows[count]
        if row is None:
            row = self._rows[count] = [count * (K1 + 1) / (count + discount) for discount in self._discounts]
        return row
