"""What an index of words gives to the search: candidates and frequencies, never a score.

A view, such as a branch at an entry, is a list of stretches: ranges of ids, each of one part that has an index. Parts answer for
a range of their ids, so that one index serves the tape itself, its branches and every reading of the past. What an index has not
taken in yet is a stretch of its own, whose part is made in memory (`playhead.store.ranked.words.Words`): an answer is always complete.

Every answer is exact: documents, lengths and frequencies decide the scores, and these are the same in every store. How long an
entry is, is told by its code (`playhead.store.ranked.reading.length_code`), one byte; how often a term stands in it up to 255 times.

The index that the stores keep is made of volumes (`playhead.store.concordance`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class Totals(NamedTuple):
    """How many entries a range has, and how many words in all: the sum of the lengths that their codes stand for."""

    documents: int
    length: int


class Run(NamedTuple):
    """Entries that hold a term, by ascending id; for each how often (1 to 255) and the code of its length."""

    ids: Sequence[int]
    counts: Sequence[int]
    lengths: Sequence[int]


class Document(NamedTuple):
    """What is known of an entry without reading it: kind, date in microseconds since 1970, digest of its payload's text, code of its length."""

    id: int
    kind: str
    at: int
    digest: int
    length: int


class SearchIndex(Protocol):
    """The words of one part of a tape, for any range of its ids, both ends included; all methods block."""

    def totals(self, first: int, last: int) -> Totals:
        """Return how much a range holds."""
        ...

    def frequencies(self, terms: Collection[str], first: int, last: int) -> Mapping[str, int]:
        """Return for each term how many entries of a range hold it; terms that none holds may be left out."""
        ...

    def postings(self, term: str, first: int, last: int, *, near: Sequence[int] | None = None) -> Iterator[Run]:
        """Yield the entries of a range that hold a term, in ascending runs of any length.

        Where `near` is given, ascending ids, runs that hold none of these may be left out; all others are yielded whole.
        """
        ...

    def documents(self, ids: Sequence[int]) -> Iterable[Document]:
        """Return what is known of entries of the part, given by ascending ids, in that order."""
        ...

    def vocabulary(self, initial: str, shortest: int, longest: int) -> Iterable[str]:
        """Return the terms that begin with a letter and have so many letters; also such as stand outside of a range."""
        ...


class Stretch(NamedTuple):
    """A range of ids of a view, both ends included, and the part where they stand; never empty."""

    part: SearchIndex
    first: int
    last: int
