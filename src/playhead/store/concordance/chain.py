"""A chain: the volumes of one part of a tape, each behind the other, as one index; and which of them to bind anew as one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from playhead.store.concordance.volume import MOST_IDS, Volume
from playhead.store.ranked.protocol import Document, Run, Totals

MOST_BYTES = 3 << 22
"""How large a volume is at most, unless one entry alone makes it larger."""

_FAN_IN = 8
_LEVELS = (MOST_IDS // _FAN_IN, MOST_IDS)


class Sized(Protocol):
    """What is told of a volume by its name."""

    @property
    def first(self) -> int:
        """Its first id."""
        ...

    @property
    def last(self) -> int:
        """Its last id."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it has."""
        ...


Some = TypeVar("Some", bound=Sized)


class Chain:
    """Answers for the ids of volumes that follow each other without a gap, as a `SearchIndex` does."""

    def __init__(self, volumes: Sequence[Volume]) -> None:
        self._volumes = volumes

    def totals(self, first: int, last: int) -> Totals:
        """Return how much a range holds."""
        documents, lengths = 0, 0
        for volume in self._within(first, last):
            part = volume.totals(first, last)
            documents, lengths = documents + part.documents, lengths + part.length
        return Totals(documents, lengths)

    def frequencies(self, terms: Collection[str], first: int, last: int) -> Mapping[str, int]:
        """Return for each term how many entries of a range hold it, but for those that none holds."""
        found: Counter[str] = Counter()
        for volume in self._within(first, last):
            found.update(volume.frequencies(terms, first, last))
        return found

    def postings(self, term: str, first: int, last: int, *, near: Sequence[int] | None = None) -> Iterator[Run]:
        """Yield the entries of a range that hold a term."""
        for volume in self._within(first, last):
            yield from volume.postings(term, first, last, near=near)

    def documents(self, ids: Sequence[int]) -> Iterator[Document]:
        """Yield what is known of entries."""
        start = 0
        for volume in self._within(ids[0], ids[-1]) if ids else ():
            stop = bisect_left(ids, volume.last + 1, lo=start)
            yield from volume.documents(ids[start:stop])
            start = stop

    def vocabulary(self, initial: str, shortest: int, longest: int) -> Iterable[str]:
        """Return the terms that begin with a letter and have so many letters."""
        return set().union(*(volume.vocabulary(initial, shortest, longest) for volume in self._volumes))

    def _within(self, first: int, last: int) -> Sequence[Volume]:
        """Return the volumes that have an id of a range."""
        low = bisect_left(self._volumes, first, key=_last)
        high = bisect_left(self._volumes, last + 1, key=_first)
        return self._volumes[low:high]


def linked(volumes: Iterable[Some], *, before: int) -> list[Some]:
    """Return those volumes that follow each other without a gap behind an id; of several that begin with one id the longest."""
    longest: dict[int, Some] = {}
    for volume in volumes:
        if volume.first not in longest or volume.last > longest[volume.first].last:
            longest[volume.first] = volume
    chain: list[Some] = []
    while (found := longest.get(before + 1)) is not None and found.last > before:
        chain.append(found)
        before = found.last
    return chain


def due(volumes: Sequence[Some]) -> Sequence[Some]:
    """Return which volumes at the end of a chain are to be bound as one: eight of a size, as far as they fit into one; none where that has time."""
    for level in _LEVELS:
        start = len(volumes)
        while start and volumes[start - 1].last - volumes[start - 1].first + 1 < level and volumes[start - 1].size < MOST_BYTES // 2:
            start -= 1
        while len(volumes) - start >= _FAN_IN:
            stop = _fitting(volumes, start)
            if stop - start > 1:
                return volumes[start:stop]
            start = stop
    return ()


def _fitting(volumes: Sequence[Sized], start: int) -> int:
    """Return up to which volume those from one on fit into a single one."""
    size, stop = 0, start
    while stop < len(volumes) and volumes[stop].last - volumes[start].first < MOST_IDS and (size := size + volumes[stop].size) <= MOST_BYTES:
        stop += 1
    return max(stop, start + 1)


def _first(volume: Sized) -> int:
    return volume.first


def _last(volume: Sized) -> int:
    return volume.last
