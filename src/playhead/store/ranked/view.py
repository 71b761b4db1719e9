"""What is searched: the stretches of a view as one, each term and entry asked for once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from playhead.store.ranked.protocol import Document, Run, Stretch, Totals


class View:
    """Stretches whose ids ascend. Statistics are those of all of it; postings and entries are asked for `within` alone."""

    def __init__(self, stretches: Sequence[Stretch], within: range) -> None:
        self._stretches = tuple(stretches)
        self._within = within
        self._runs: dict[str, list[Run]] = {}
        self._frequencies: dict[str, int] = {}
        self._documents: dict[int, Document] = {}

    def totals(self) -> Totals:
        """Return how many entries there are, and how many words in all."""
        found = [index.totals(first, last) for index, first, last in self._stretches]
        return Totals(sum(part.documents for part in found), sum(part.length for part in found))

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return for each term how many entries hold it."""
        wanted = list(dict.fromkeys(terms))
        if missing := [term for term in wanted if term not in self._frequencies]:
            self._frequencies |= dict.fromkeys(missing, 0)
            for index, first, last in self._stretches:
                for term, count in index.frequencies(missing, first, last).items():
                    self._frequencies[term] += count
        return {term: self._frequencies[term] for term in wanted}

    def postings(self, term: str) -> list[Run]:
        """Return all entries that hold a term."""
        if term not in self._runs:
            self._runs[term] = [run for index, first, last in self._clipped() for run in index.postings(term, first, last)]
        return self._runs[term]

    def postings_near(self, term: str, ids: Sequence[int]) -> Iterator[Run]:
        """Yield entries that hold a term, at least those of the given ascending ids that do."""
        if term in self._runs:
            yield from self._runs[term]
            return
        for index, first, last in self._clipped():
            near = _part(ids, first, last)
            if near:
                yield from index.postings(term, first, last, near=near)

    def documents(self, ids: Iterable[int]) -> list[Document]:
        """Return what is known of entries, in the order given; ids outside of the view are passed over."""
        wanted = list(ids)
        missing = sorted({id for id in wanted if id not in self._documents})
        for index, first, last in self._clipped() if missing else ():
            for document in index.documents(_part(missing, first, last)):
                self._documents[document.id] = document
        return [self._documents[id] for id in wanted if id in self._documents]

    def vocabulary(self, initial: str, shortest: int, longest: int) -> set[str]:
        """Return the terms that begin with a letter and have so many letters; some may stand nowhere in the view."""
        return {term for index in dict.fromkeys(stretch.part for stretch in self._stretches) for term in index.vocabulary(initial, shortest, longest)}

    def _clipped(self) -> Iterator[Stretch]:
        for index, first, last in self._stretches:
            low, high = max(first, self._within.start), min(last, self._within.stop - 1)
            if low <= high:
                yield Stretch(index, low, high)


def _part(ids: Sequence[int], first: int, last: int) -> Sequence[int]:
    return ids[bisect_left(ids, first) : bisect_right(ids, last)]
