"""An index of words in memory: of a store that keeps nothing else, or of what another index has not taken in yet."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from playhead.entry.entry import TapeEntry
from playhead.store.ranked.protocol import Document, Run, Totals
from playhead.store.ranked.reading import length_of, read


class _Postings:
    """Who holds one term: places by ascending order, counts and codes of lengths."""

    __slots__ = ("counts", "lengths", "places")

    def __init__(self) -> None:
        self.places = array("I")
        self.counts = bytearray()
        self.lengths = bytearray()


class Words:
    """The words of entries with dense ids from `before` + 1 on."""

    def __init__(self, *, before: int = 0) -> None:
        self.before = before
        self._postings: dict[str, _Postings] = {}
        self._documents: list[Document] = []
        self._lengths = array("Q", (0,))
        self._vocabulary: defaultdict[tuple[str, int], list[str]] = defaultdict(list)

    @property
    def end(self) -> int:
        """The id of the last entry that was taken in."""
        return self.before + len(self._documents)

    def add(self, entry: TapeEntry) -> None:
        """Take in an entry under the next id."""
        document, counts = read(entry)
        place = len(self._documents)
        self._documents.append(document._replace(id=self.end + 1))
        self._lengths.append(self._lengths[-1] + length_of(document.length))
        for term, count in counts.items():
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = _Postings()
                self._vocabulary[term[0], len(term)].append(term)
            postings.places.append(place)
            postings.counts.append(count)
            postings.lengths.append(document.length)

    def terms(self) -> Iterator[str]:
        """Return all terms, in no order."""
        return iter(self._postings)

    def totals(self, first: int, last: int) -> Totals:
        """Return how much a range holds."""
        low, high = self._places(first, last)
        return Totals(max(0, high - low), self._lengths[high] - self._lengths[low])

    def frequencies(self, terms: Collection[str], first: int, last: int) -> Mapping[str, int]:
        """Return for each term how many entries of a range hold it."""
        return {term: stop - start for term in terms for start, stop in (self._part(term, first, last),)}

    def postings(self, term: str, first: int, last: int, *, near: Sequence[int] | None = None) -> Iterator[Run]:
        """Yield the entries of a range that hold a term."""
        start, stop = self._part(term, first, last)
        if start < stop:
            found, offset = self._postings[term], self.before + 1
            yield Run([place + offset for place in found.places[start:stop]], found.counts[start:stop], found.lengths[start:stop])

    def documents(self, ids: Sequence[int]) -> Iterator[Document]:
        """Yield what is known of entries."""
        return (self._documents[id - self.before - 1] for id in ids)

    def vocabulary(self, initial: str, shortest: int, longest: int) -> Iterator[str]:
        """Yield the terms that begin with a letter and have so many letters."""
        for length in range(shortest, longest + 1):
            yield from self._vocabulary.get((initial, length), ())

    def _places(self, first: int, last: int) -> tuple[int, int]:
        return max(0, first - self.before - 1), min(len(self._documents), last - self.before)

    def _part(self, term: str, first: int, last: int) -> tuple[int, int]:
        found = self._postings.get(term)
        if found is None:
            return 0, 0
        low, high = self._places(first, last)
        return bisect_left(found.places, low), bisect_left(found.places, high)
