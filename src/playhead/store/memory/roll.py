"""A roll: what a tape or branch shows, its own strip behind parts of the strips it was forked from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from playhead.entry.entry import TapeEntry, placed
from playhead.errors import AnchorNotFound, Conflict, NoAnchors
from playhead.store.archiving.retention import Moved
from playhead.store.memory.strip import Strip
from playhead.store.protocol import Head
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.ranked.answering import answer, question_of
from playhead.store.ranked.hit import Hit
from playhead.store.ranked.protocol import Stretch


class Part(NamedTuple):
    """The entries of a strip up to the id `stop`."""

    strip: Strip
    stop: int

    @property
    def ids(self) -> range:
        """The ids it shows."""
        return range(self.strip.before + 1, self.stop + 1)


class Roll:
    """The entries of one generation of a tape: those it shares with the tapes it was forked from, then its own."""

    def __init__(self, *, generation: int, shared: Sequence[Part] = ()) -> None:
        self.generation = generation
        self._shared = tuple(part for part in shared if part.ids)
        self._own = Strip(before=self._shared[-1].stop if self._shared else 0)

    @property
    def head(self) -> Head:
        """Where it ends."""
        return Head(self.generation, self._own.end)

    def expect(self, head: Head | None) -> None:
        """Raise Conflict where it does not end there."""
        if head is not None and head != self.head:
            raise Conflict(expected=head, found=self.head)

    def forked(self, at: int) -> Roll:
        """Return a roll that shows this one up to an entry, whatever is added here later."""
        return Roll(generation=self.generation, shared=[Part(part.strip, min(part.stop, at)) for part in self._parts()])

    def add(self, entries: Iterable[TapeEntry], marks: Sequence[Head | None]) -> list[TapeEntry]:
        """Keep entries at the end and return them as stored."""
        return [self._own.add(placed(entry, id=self._own.end + 1), mark) for entry, mark in zip(entries, marks, strict=True)]

    def cut(self, end: int) -> None:
        """Undo what was added behind the entry `end`."""
        self._own.cut(end)

    def archive(self, upto: int) -> Moved:
        """Compress its own entries up to an id."""
        return self._own.archive(upto)

    def keyed(self, key: str) -> TapeEntry | None:
        """Return the entry that has an idempotency key."""
        return self._found(key, "keys")

    def with_uid(self, uid: str) -> TapeEntry | None:
        """Return the first entry that has a uid."""
        return self._found(uid, "uids")

    def marks(self, after: int, limit: int | None) -> list[Head]:
        """Return the marks of the entries behind an id, of all or the first few."""
        behind = range(max(after, 0) + 1, self._own.end + 1)[:limit]
        return [part.strip.mark(id) for part in self._parts() for id in _overlap(part.ids, behind)]

    def marked_up_to(self, head: Head) -> int:
        """Return the id of the last entry that was written when the main tape ended at `head` or before."""
        last = 0
        for strip, stop in self._parts():
            place = bisect_right(strip.marks, head, hi=stop - strip.before)
            last = max(last, strip.before + place if place else 0)
        return last

    def matching(self, query: TapeQuery) -> Iterator[TapeEntry]:
        """Yield what a query keeps. Raises NoAnchors or AnchorNotFound where its window has no edge."""
        within = self._within(query)
        parts = self._parts()
        kept = (entry for part in (reversed(parts) if query.descending else parts) for entry in part.strip.matching(query, _overlap(part.ids, within)))
        return islice(kept, query.count)

    def number(self, query: TapeQuery) -> int:
        """Return how many entries a query keeps."""
        if query.only is None and query.text is None and query.since is None and query.until is None:
            within = len(self._within(query))
            return within if query.count is None else min(within, query.count)
        return sum(1 for _ in self.matching(query))

    def strips(self) -> list[Strip]:
        """Return the strips that it shows something of, and its own."""
        return [part.strip for part in self._parts()]

    def take_in(self, most: int) -> bool:
        """Take the words of at most so many entries into the index; return whether all are in it."""
        for strip, stop in self._parts():
            most -= strip.take_in(stop, most=most)
        return most > 0

    def search(self, query: TapeQuery, text: str, *, smoothed: bool) -> list[Hit]:
        """Return the entries that are most about a text; all are in the index. Raises NoAnchors, AnchorNotFound, InvalidInput."""
        question = question_of(query, text, self._within(query), smoothed=smoothed)
        end = self._end(query)
        stretches = [Stretch(strip.words, strip.before + 1, min(stop, end)) for strip, stop in self._parts() if strip.before < min(stop, end)]
        return [Hit(entry=self._entry(id), score=score) for id, score in answer(stretches, question)]

    def _entry(self, id: int) -> TapeEntry:
        return next(part.strip.entry(id) for part in self._parts() if id in part.ids)

    def _end(self, query: TapeQuery) -> int:
        """Return the id of the last entry of the tape as the query reads it."""
        return self._own.end if query.ceiling is None else min(self._own.end, max(0, query.ceiling))

    def _parts(self) -> list[Part]:
        return [*self._shared, Part(self._own, self._own.end)]

    def _found(self, name: str, column: str) -> TapeEntry | None:
        for strip, stop in reversed(self._parts()):
            found: int | None = getattr(strip, column).get(name)
            if found is not None and found <= stop:
                return strip.entry(found)
        return None

    def _within(self, query: TapeQuery) -> range:
        """Return the ids that a query's window, cursor and bounds leave."""
        end = self._end(query)
        low, high = self._window(query, end)
        return range(max(low, query.cursor + 1, 1), (high if query.stop is None else min(high, query.stop - 1)) + 1)

    def _window(self, query: TapeQuery, end: int) -> tuple[int, int]:
        match query.window:
            case None:
                return 1, end
            case AfterAnchor(name):
                return self._newest_anchor(name, end) + 1, end
            case BetweenAnchors(start, stop):
                low = self._newest_anchor(start, end) + 1
                for part in self._parts():
                    closing = part.strip.first_anchor(stop, _overlap(part.ids, range(low, end + 1)))
                    if closing is not None:
                        return low, closing - 1
                raise AnchorNotFound(stop)

    def _newest_anchor(self, name: str | None, end: int) -> int:
        for part in reversed(self._parts()):
            found = part.strip.newest_anchor(name, _overlap(part.ids, range(1, end + 1)))
            if found is not None:
                return found
        raise NoAnchors if name is None else AnchorNotFound(name)


def _overlap(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))
