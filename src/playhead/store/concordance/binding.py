"""Binding: a volume is made of words in memory, or of volumes that follow each other; in steps, so that others need not wait."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from zlib import crc32

import msgspec

from playhead.store.concordance.postings import inlined, joined, packed, raw_of, summed
from playhead.store.concordance.volume import CHUNK, MAGIC, TRAILER, Contents, Term, Volume, opened
from playhead.store.ranked.protocol import Document, Run
from playhead.store.ranked.reading import length_of
from playhead.store.ranked.tokens import RULES
from playhead.store.ranked.words import Words

Binding = Generator[None, None, bytes]
"""Makes a volume, some of it at each step; what it returns in the end are the bytes of it."""

_PER_PAGE = 64
_FEW = 8
_PER_STEP = 512
_MANY = 64


def bound(words: Words) -> Binding:
    """Make the volume of words in memory."""
    first, last = words.before + 1, words.end
    binder = _Binder(first)
    for place, term in enumerate(sorted(words.terms())):
        for run in words.postings(term, first, last):
            binder.put(term, run)
        if place % _PER_STEP == 0:
            yield
    return (yield from binder.finish(words.documents(range(first, last + 1))))


def made_at_once(binding: Binding) -> bytes:
    """Return what is made in the end."""
    while True:
        try:
            next(binding)
        except StopIteration as done:
            return bytes(done.value)


def bound_at_once(words: Words) -> Volume:
    """Return the volume of words in memory, which is kept nowhere else."""
    raw = made_at_once(bound(words))
    return opened(InMemory(raw), size=len(raw))


def merged(volumes: Sequence[Volume]) -> Binding:
    """Make one volume of some that follow each other. Raises SpoiltVolume where one of them is spoilt."""
    binder = _Binder(volumes[0].first)
    for place, (text, found) in enumerate(groupby(merge(*map(_numbered, range(len(volumes)), volumes)), key=_text)):
        runs = [volumes[number].whole(term) for _, number, term in found]
        binder.put(text, runs[0] if len(runs) == 1 else joined(runs))
        if place % _PER_STEP == 0:
            yield
    return (yield from binder.finish(document for volume in volumes for document in volume.documents(range(volume.first, volume.last + 1))))


class InMemory:
    """The bytes of a volume in memory."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def read(self, start: int, stop: int) -> bytes:
        """Return a part of them."""
        return self._raw[start:stop]


class _Binder:
    """Writes terms one after the other, each page of them behind their postings."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._written = bytearray()
        self._terms: list[Term] = []
        self._pages: list[tuple[str, int, int]] = []
        self._texts: list[str] = []

    def put(self, term: str, run: Run) -> None:
        """Write the next term."""
        count = len(run.ids)
        self._texts.append(term)
        if count <= _FEW:
            self._terms.append(Term(term, count, inlined(run, first=self._first)))
        else:
            self._terms.append(Term(term, count, len(self._written)))
            self._written += packed(run, first=self._first)
        if len(self._terms) == _PER_PAGE:
            self._end_page()

    def finish(self, documents: Iterator[Document]) -> Binding:
        """Write what is known of the entries, and what stands where; return all of it."""
        if self._terms:
            self._end_page()
        initials = [self._put(letter, "\n".join(texts).encode()) for letter, group in groupby(self._texts, key=_initial) if len(texts := list(group)) >= _MANY]
        place, lengths, kinds = len(self._written), [0], dict[str, int]()
        last = self._first - 1
        while chunk := list(islice(documents, CHUNK)):
            self._written += _chunk(chunk, kinds)
            lengths.append(lengths[-1] + sum(length_of(document.length) for document in chunk))
            last = chunk[-1].id
            yield
        names = [kind.encode("utf-8", "surrogatepass") for kind in kinds]
        said = _encode(Contents(rules=RULES, first=self._first, last=last, kinds=names, pages=self._pages, initials=initials, lengths=lengths, documents=place))
        self._written += said + TRAILER.pack(MAGIC, len(said), crc32(said))
        return bytes(self._written)

    def _end_page(self) -> None:
        self._pages.append(self._put(self._terms[0].text, _encode(self._terms)))
        self._terms = []

    def _put(self, name: str, said: bytes) -> tuple[str, int, int]:
        """Write something that is found by a name, and return where it stands."""
        raw = summed(said)
        self._written += raw
        return name, len(self._written) - len(raw), len(raw)


def _chunk(documents: Sequence[Document], kinds: dict[str, int]) -> bytes:
    """Return what is known of some entries, their kinds by number."""
    _, names, dates, digests, lengths = zip(*documents, strict=True)
    return summed(bytes(lengths) + raw_of("H", [kinds.setdefault(name, len(kinds)) for name in names]) + raw_of("q", dates) + raw_of("q", digests))


def _numbered(number: int, volume: Volume) -> Iterator[tuple[str, int, Term]]:
    """Yield the terms of a volume so that those of several are merged in order, equal ones by the number of their volume."""
    return ((term.text, number, term) for term in volume.terms())


def _initial(text: str) -> str:
    return text[0]


def _text(numbered: tuple[str, int, Term]) -> str:
    return numbered[0]


_encode = msgspec.msgpack.Encoder().encode
