"""Filling: volumes are made of the entries of a part of a store, and one of several; in steps, so that others need not wait."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreError
from playhead.store.concordance.backlog import LEAST, Steps
from playhead.store.concordance.binding import bound, merged
from playhead.store.concordance.chain import MOST_BYTES, Sized, due
from playhead.store.concordance.postings import SpoiltVolume
from playhead.store.concordance.volume import MOST_IDS, Volume
from playhead.store.ranked.words import Words

_AT_ONCE = 32

Some = TypeVar("Some", bound=Sized)


class Standing(NamedTuple, Generic[Some]):
    """The id that the entries of a part stand behind, and its volumes, each behind the other."""

    before: int
    volumes: Sequence[Some]

    @property
    def reach(self) -> int:
        """The id up to which entries stand in volumes."""
        return self.volumes[-1].last if self.volumes else self.before


class Said(NamedTuple):
    """An entry, and how many bytes of JSON its payload is."""

    entry: TapeEntry
    size: int


class Shelf(Protocol[Some]):
    """The entries of a part of a store, and the volumes of them that are kept."""

    def standing(self) -> Standing[Some] | None:
        """Return the volumes that stand, None where the part is not there any more."""
        ...

    def end(self) -> int:
        """Return the id of the last entry, 0 where there is none."""
        ...

    def entries(self, first: int, last: int) -> Sequence[Said]:
        """Return the entries from one id to another that are there. Raises StoreError where one cannot be read."""
        ...

    def opened(self, volume: Some) -> Volume:
        """Return a volume to read from. Raises SpoiltVolume."""
        ...

    def add(self, raw: bytes, *, behind: Standing[Some], last: int) -> None:
        """Keep a volume behind those that stand, up to an id, unless others kept one there meanwhile."""
        ...

    def replace(self, volumes: Sequence[Some], raw: bytes) -> None:
        """Keep a volume in place of those that became it, unless others replaced them meanwhile."""
        ...

    def forget(self) -> None:
        """Remove all volumes."""
        ...


def filled(shelf: Shelf[Some]) -> Steps:
    """Make volumes for as long as there is enough for one, or are enough to be one; all of them anew where one is spoilt."""
    try:
        yield from _caught_up(shelf)
    except SpoiltVolume:
        shelf.forget()
        yield from _caught_up(shelf)


def _caught_up(shelf: Shelf[Some]) -> Steps:
    while (standing := shelf.standing()) is not None:
        if together := due(standing.volumes):
            yield from _merge(shelf, together)
            continue
        if shelf.end() - standing.reach < LEAST:
            return
        words = yield from _read(shelf, standing.reach)
        if words.end - standing.reach < LEAST:
            return
        raw = yield from bound(words)
        shelf.add(raw, behind=standing, last=words.end)


def _merge(shelf: Shelf[Some], together: Sequence[Some]) -> Steps:
    """Make one of some volumes. Raises SpoiltVolume where one of them is, and not where others have made one of them meanwhile."""
    try:
        raw = yield from merged([shelf.opened(volume) for volume in together])
    except SpoiltVolume:
        if stand(shelf.standing(), together):
            raise
    else:
        shelf.replace(together, raw)


def stand(standing: Standing[Some] | None, volumes: Sequence[Some]) -> bool:
    """Return whether volumes are among those that stand."""
    return standing is not None and set(volumes) <= set(standing.volumes)


def _read(shelf: Shelf[Some], reach: int) -> Generator[None, None, Words]:
    """Return the words of the entries behind an id, of as many as one volume takes; up to one that is missing or damaged."""
    words, size = Words(before=reach), 0
    while words.end - reach < MOST_IDS and size < MOST_BYTES:
        last = min(words.end + _AT_ONCE, reach + MOST_IDS)
        try:
            for entry, length in shelf.entries(words.end + 1, last):
                if entry.id != words.end + 1:
                    return words
                words.add(entry)
                size += length
        except StoreError:
            return words
        if words.end < last:
            return words
        yield
    return words
