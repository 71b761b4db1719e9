"""The keys that a branch shows of the files it was forked from: what is remembered of those spares opening them again."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged
from playhead.store.file.family.family import Family
from playhead.store.file.index.key_book import KeyBook
from playhead.store.file.record.header import Header, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elder:
    """A file that a branch was forked from: up to where, what it was forked from itself, and what is known of its keys."""

    origin: Origin
    before: Origin | None
    end: int
    book: KeyBook


class Elders:
    """Tells which entry that is shown of an earlier file has a key. What is shown of them never changes."""

    def __init__(self, family: Family, header: Header) -> None:
        self._family = family
        self._sidecar = header.kin.sidecar
        self._first = header.origin
        self._elders: list[_Elder] = []

    def standing(self, key: str) -> TapeEntry | None:
        """Return the entry that has a key, None where none has it. Raises StoreDamaged where a file is not as it was written."""
        try:
            return self._standing(key)
        except StoreDamaged:  # a branch further up may have been renamed since its name was remembered
            self._elders.clear()
            return self._standing(key)

    def _standing(self, key: str) -> TapeEntry | None:
        number, origin = 0, self._first
        while origin is not None:
            if number == len(self._elders):
                self._elders.append(self._met(origin))
            elder = self._elders[number]
            if not elder.book.rules_out(key, up_to=elder.end) and (found := self._found(number, key)) is not None:
                return found
            number, origin = number + 1, elder.before
        return None

    def _met(self, origin: Origin) -> _Elder:
        with self._family.older(origin, self._sidecar) as stretch:
            return _Elder(origin=origin, before=stretch.origin, end=stretch.recording.tail.end, book=KeyBook(self._family.place, stretch.stem))

    def _found(self, number: int, key: str) -> TapeEntry | None:
        """Look a key up in a file; where that was written anew since, what was known of it is forgotten."""
        elder = self._elders[number]
        with self._family.older(elder.origin, self._sidecar) as stretch:
            if stretch.recording.tail.end != elder.end:
                elder = self._elders[number] = self._met(elder.origin)
            found = elder.book.standing(stretch.whole(), key)
        return found if found is not None and found.id <= elder.origin.base.id else None
