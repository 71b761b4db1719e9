"""A volume: the terms of up to some thousand entries that follow each other, bound once and never changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from struct import Struct
from typing import NamedTuple, Protocol, TypeVar
from zlib import crc32

import msgspec

from playhead.store.concordance.postings import (
    BLOCK,
    PER_POSTING,
    SUM,
    SpoiltVolume,
    blocks_of,
    checked,
    cut,
    directory_of,
    lasts_in,
    numbers,
    place_of,
    read_inline,
    touched,
    unpacked,
)
from playhead.store.ranked.protocol import Document, Run, Totals
from playhead.store.ranked.reading import length_of

MOST_IDS = 1 << 15
"""How many entries a volume has at most."""

CHUNK = 256
"""What is known of so many entries is read at a time."""

PER_DOCUMENT = 19
"""How many bytes are kept of an entry beside its terms."""

MAGIC, TRAILER = b"phwords1", Struct("<8sII")
"""What stands at its very end: a mark, and the size and the checksum of what stands before."""

_REMEMBERED = 1 << 10
_LAST_CHARACTER = chr(0x10FFFF)


Decoded = TypeVar("Decoded")


class Bytes(Protocol):
    """Where a volume stands."""

    def read(self, start: int, stop: int) -> bytes:
        """Return a part of it, less where it is shorter."""
        ...


class Term(NamedTuple):
    """A term of a volume: how many entries hold it, and its postings, or where these are written."""

    text: str
    frequency: int
    postings: int | bytes


class Contents(msgspec.Struct, frozen=True, array_like=True):
    """What stands where.

    Which ids, and by which rules their terms were told; each page of terms with its first one, its place and size; the same of the bare
    terms that begin with a letter, where these are many; how many words stand before each chunk, and where the first one is.
    """

    rules: str
    first: int
    last: int
    kinds: list[bytes]
    pages: list[tuple[str, int, int]]
    initials: list[tuple[str, int, int]]
    lengths: list[int]
    documents: int


class Volume:
    """Answers for the ids of a volume, as a `SearchIndex` does; every method raises SpoiltVolume where it is not as it was written.

    `known` is what was found of terms before; it may be shared by all that read the same volume.
    """

    def __init__(self, source: Bytes, contents: Contents, known: dict[str, Term | None], *, size: int) -> None:
        self.first = contents.first
        self.last = contents.last
        self.size = size
        self._source = source
        self._contents = contents
        self._openings = [page[0] for page in contents.pages]
        self._kinds = [kind.decode("utf-8", "surrogatepass") for kind in contents.kinds]
        self._known = known

    @property
    def rules(self) -> str:
        """The rules by which the terms were told."""
        return self._contents.rules

    def totals(self, first: int, last: int) -> Totals:
        """Return how much a range holds."""
        first, last = max(first, self.first), min(last, self.last)
        return Totals(last - first + 1, self._length_before(last + 1) - self._length_before(first)) if first <= last else Totals(0, 0)

    def frequencies(self, terms: Collection[str], first: int, last: int) -> Mapping[str, int]:
        """Return for each term how many entries of a range hold it, but for those that none holds."""
        found = {text: self._count(term, first, last) for text, term in self._terms(terms).items() if term is not None}
        return {text: count for text, count in found.items() if count}

    def postings(self, term: str, first: int, last: int, *, near: Sequence[int] | None = None) -> Iterator[Run]:
        """Yield the entries of a range that hold a term; where some ids are given, only blocks that may hold one of these."""
        found = self._terms((term,))[term]
        if found is None or first > self.last or last < self.first:
            return
        for start, stop in self._parts(found, first, last, near):
            run = cut(self._blocks(found, start, stop), first, last)
            if run.ids:
                yield run

    def documents(self, ids: Sequence[int]) -> Iterator[Document]:
        """Yield what is known of entries of the volume, given by ascending ids."""
        chunk, columns = -1, Columns((), (), (), ())
        for id in ids:
            number, place = divmod(id - self.first, CHUNK)
            if number != chunk:
                chunk, columns = number, self._columns(number)
            yield Document(id, self._kinds[columns.kinds[place]], columns.dates[place], columns.digests[place], columns.lengths[place])

    def vocabulary(self, initial: str, shortest: int, longest: int) -> Iterator[str]:
        """Yield the terms that begin with a letter and have so many letters."""
        for letter, start, size in self._contents.initials:
            if letter == initial:
                yield from [text for text in checked(self._source.read(start, start + size)).decode().split("\n") if shortest <= len(text) <= longest]
                return
        first, stop = bisect_right(self._openings, initial) - 1, bisect_left(self._openings, initial + _LAST_CHARACTER)
        for page in range(max(0, first), stop):
            yield from [text for text, _, _ in self._page(page) if text.startswith(initial) and shortest <= len(text) <= longest]

    def terms(self) -> Iterator[Term]:
        """Yield all terms, sorted."""
        for page in range(len(self._openings)):
            yield from self._page(page)

    def whole(self, term: Term) -> Run:
        """Return all postings of a term of this volume."""
        return self._blocks(term, 0, blocks_of(term.frequency))

    def _terms(self, texts: Collection[str]) -> dict[str, Term | None]:
        """Return what stands of some terms, None of those that do not; a page is read once for all that stand in it."""
        found = dict[str, Term | None]()
        for text in texts:
            with suppress(KeyError):  # another thread may clear them at any time
                found[text] = self._known[text]
        for number, group in groupby(sorted(text for text in texts if text not in found), key=self._number):
            page = self._page(number) if number >= 0 else []
            for text in group:
                place = bisect_left(page, text, key=_text)
                found[text] = page[place] if place < len(page) and page[place].text == text else None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known.update(found)
        return found

    def _number(self, text: str) -> int:
        """Return which page a term stands in, -1 where it would stand before the first."""
        return bisect_right(self._openings, text) - 1

    def _page(self, number: int) -> list[Term]:
        _, start, size = self._contents.pages[number]
        return _decoded(_page_of_terms, checked(self._source.read(start, start + size)))

    def _count(self, term: Term, first: int, last: int) -> int:
        """Return how many postings of a term lie in a range: of blocks at its edges some are counted, all between them are."""
        if first <= self.first and last >= self.last:
            return term.frequency
        if first > self.last or last < self.first:
            return 0
        return self._count_before(term, last + 1) - self._count_before(term, first)

    def _count_before(self, term: Term, id: int) -> int:
        if id <= self.first or id > self.last:
            return term.frequency if id > self.last else 0
        block = bisect_left(self._lasts(term), id - self.first)
        if block == blocks_of(term.frequency):
            return term.frequency
        return block * BLOCK + bisect_left(self._blocks(term, block, block + 1).ids, id)

    def _parts(self, term: Term, first: int, last: int, near: Sequence[int] | None) -> Iterator[tuple[int, int]]:
        """Yield which blocks of a term are to be read, some that follow each other at a time."""
        stop = blocks_of(term.frequency)
        if near is None and first <= self.first and last >= self.last:
            yield 0, stop
            return
        lasts = self._lasts(term)
        low, high = bisect_left(lasts, first - self.first), min(bisect_left(lasts, last - self.first) + 1, stop)
        if near is None:
            if low < high:
                yield low, high
            return
        for block in touched(lasts, near[bisect_left(near, first) : bisect_right(near, last)], first=self.first):
            yield block, block + 1

    def _lasts(self, term: Term) -> Sequence[int]:
        """Return the last ids of a term's blocks, counted from the first id of the volume."""
        if term.frequency <= BLOCK:
            return (self.last - self.first,)
        start = _place(term)
        return lasts_in(self._source.read(start, start + directory_of(term.frequency)))

    def _blocks(self, term: Term, start: int, stop: int) -> Run:
        """Return the postings of some blocks that follow each other."""
        if isinstance(term.postings, bytes):
            return read_inline(term.postings, first=self.first)
        count = min(stop * BLOCK, term.frequency) - start * BLOCK
        low = _place(term) + place_of(start, term.frequency)
        return unpacked(self._source.read(low, low + count * PER_POSTING + blocks_of(count) * SUM), count, first=self.first)

    def _length_before(self, id: int) -> int:
        """Return how many words stand before an id of the volume."""
        chunk, place = divmod(id - self.first, CHUNK)
        before = self._contents.lengths[chunk] if chunk < len(self._contents.lengths) else self._contents.lengths[-1]
        return before + sum(map(length_of, self._columns(chunk).lengths[:place])) if place else before

    def _columns(self, chunk: int) -> Columns:
        count = min(CHUNK, self.last - self.first + 1 - chunk * CHUNK)
        start = self._contents.documents + chunk * (CHUNK * PER_DOCUMENT + SUM)
        raw = checked(self._source.read(start, start + count * PER_DOCUMENT + SUM))
        if len(raw) != count * PER_DOCUMENT:
            raise SpoiltVolume
        return Columns(raw[:count], numbers("H", raw[count : 3 * count]), numbers("q", raw[3 * count : 11 * count]), numbers("q", raw[11 * count :]))


class Columns(NamedTuple):
    """What is known of the entries of a chunk."""

    lengths: Sequence[int]
    kinds: Sequence[int]
    dates: Sequence[int]
    digests: Sequence[int]


def opened(source: Bytes, *, size: int) -> Volume:
    """Return the volume that stands somewhere. Raises SpoiltVolume where it is none, and what reading raises."""
    return Volume(source, contents_of(source, size=size), {}, size=size)


def contents_of(source: Bytes, *, size: int) -> Contents:
    """Return what stands where in a volume. Raises SpoiltVolume where it is none, and what reading raises."""
    raw = source.read(max(0, size - TRAILER.size), size)
    if len(raw) < TRAILER.size:
        raise SpoiltVolume
    magic, length, sum = TRAILER.unpack(raw)
    said = source.read(max(0, size - TRAILER.size - length), size - TRAILER.size)
    if magic != MAGIC or len(said) != length or crc32(said) != sum:
        raise SpoiltVolume
    return _decoded(_contents, said)


def _decoded(decode: Callable[[bytes], Decoded], raw: bytes) -> Decoded:
    try:
        return decode(raw)
    except msgspec.DecodeError as exc:
        raise SpoiltVolume from exc


def _place(term: Term) -> int:
    """Return where the postings of a term are written that are too many to stand beside it."""
    if not isinstance(term.postings, int):
        raise SpoiltVolume
    return term.postings


def _text(term: Term) -> str:
    return term.text


_page_of_terms = msgspec.msgpack.Decoder(list[Term]).decode
_contents = msgspec.msgpack.Decoder(Contents).decode
