"""The parts of what a tape shows, asked as one: volumes, and the words of the entries that are in none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.binding import bound_at_once
from playhead.store.concordance.chain import Chain
from playhead.store.concordance.library import Library
from playhead.store.concordance.volume import Volume
from playhead.store.ranked.answering import Question, answer
from playhead.store.ranked.best import Ranked
from playhead.store.ranked.protocol import Stretch
from playhead.store.ranked.words import Words

_AT_ONCE = 1 << 13
"""From how many entries on that are in no volume one is made of them for the time of a search, as it is smaller than their words."""


Name = TypeVar("Name", bound=Hashable)


class Source(Protocol):
    """Where the entries of a part stand."""

    def entries(self, first: int, last: int) -> Iterator[TapeEntry]:
        """Yield all entries from one id to another. Raises StoreDamaged where one is missing."""
        ...

    def mark(self, id: int) -> bytes:
        """Return what tells an entry from any other that had its id; nothing where there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[Name]):
    """Entries that a tape shows, from `first` to `last`; those up to `reach`, which may lie behind them, stand in volumes. The name tells it from other parts of the store."""

    name: Name
    first: int
    last: int
    volumes: Sequence[Callable[[], Volume]]
    reach: int
    source: Source


def answered(parts: Iterable[Part[Any]], question: Question, library: Library) -> list[Ranked]:
    """Return the entries of some parts, which come in any order, that are most about a text; each is read before the next is asked for.

    Raises SpoiltVolume, and what the reading of entries raises.
    """
    words: list[_Taken] = []
    try:
        stretches = [stretch for part in parts for stretch in _stretches(part, library, words)]
        return answer(sorted(stretches, key=_first), question)
    finally:
        for taken in words:
            library.put_words(taken.name, taken.words, mark=taken.mark)


class _Taken(NamedTuple):
    """Words that others may use again after a search."""

    name: Hashable
    words: Words
    mark: bytes


def _stretches(part: Part[Any], library: Library, words: list[_Taken]) -> Iterator[Stretch]:
    reach = part.reach
    if reach >= part.first:
        yield Stretch(Chain([open() for open in part.volumes]), part.first, min(reach, part.last))
    while part.last - reach > _AT_ONCE:
        yield Stretch(Chain([bound_at_once(_read(Words(before=reach), part, reach + _AT_ONCE))]), reach + 1, reach + _AT_ONCE)
        reach += _AT_ONCE
    if reach < part.last:
        name = part.name, reach
        taken = _read(library.take_words(name, mark_of=part.source.mark) or Words(before=reach), part, part.last)
        words.append(_Taken(name, taken, part.source.mark(taken.end)))
        yield Stretch(taken, reach + 1, part.last)


def _read(words: Words, part: Part[Any], last: int) -> Words:
    for entry in part.source.entries(words.end + 1, last) if words.end < last else ():
        words.add(entry)
    return words


def _first(stretch: Stretch) -> int:
    return stretch.first
