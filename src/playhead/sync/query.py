"""The blocking query of a tape."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from playhead.entry.entry import TapeEntry
from playhead.store.query import PAGE
from playhead.store.query import TapeQuery as AsyncTapeQuery
from playhead.sync.scope import each


class TapeQuery:
    """Which entries of one tape, in which order, and how many; iterate it, or call `all()`.

    `asynchronous` is the query behind it.
    """

    asynchronous: AsyncTapeQuery

    def __init__(self, asynchronous: AsyncTapeQuery) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __iter__(self) -> Iterator[TapeEntry]:
        return each(aiter(self.asynchronous), at_a_time=PAGE)

    def after_anchor(self, name: str) -> TapeQuery:
        """Keep what stands behind the newest anchor of that name."""
        return TapeQuery(self.asynchronous.after_anchor(name))

    def last_anchor(self) -> TapeQuery:
        """Keep what stands behind the newest anchor."""
        return TapeQuery(self.asynchronous.last_anchor())

    def between_anchors(self, start: str, end: str) -> TapeQuery:
        """Keep what stands between the newest anchor `start` and the first anchor `end` behind it."""
        return TapeQuery(self.asynchronous.between_anchors(start, end))

    def between_dates(self, start: date | str, end: date | str) -> TapeQuery:
        """Keep what was written from `start` to `end`, both included; a bare date is its whole day, no zone is UTC."""
        return TapeQuery(self.asynchronous.between_dates(start, end))

    def kinds(self, *kinds: str) -> TapeQuery:
        """Keep entries of these kinds; none given keeps every kind."""
        return TapeQuery(self.asynchronous.kinds(*kinds))

    def query(self, text: str) -> TapeQuery:
        """Keep entries whose payload's values hold the text, upper and lower case alike."""
        return TapeQuery(self.asynchronous.query(text))

    def limit(self, count: int) -> TapeQuery:
        """Stop after so many entries. Raises InvalidInput below 1."""
        return TapeQuery(self.asynchronous.limit(count))

    def after(self, cursor: int) -> TapeQuery:
        """Keep entries whose id is greater than `cursor`."""
        return TapeQuery(self.asynchronous.after(cursor))

    def before(self, id: int) -> TapeQuery:
        """Keep entries whose id is smaller than `id`; anchors behind it still open and close the window."""
        return TapeQuery(self.asynchronous.before(id))

    def up_to(self, id: int) -> TapeQuery:
        """Read the tape as it was when entry `id` was its last: later entries and anchors do not count."""
        return TapeQuery(self.asynchronous.up_to(id))

    def newest_first(self) -> TapeQuery:
        """Return entries from the end of the window backwards; `limit` then counts from the end."""
        return TapeQuery(self.asynchronous.newest_first())

    def all(self) -> list[TapeEntry]:
        """Run the query: a list of entries over a blocking store, an awaitable of one over an async store."""
        return list(self)
