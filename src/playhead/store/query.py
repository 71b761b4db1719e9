"""Which entries of a tape: an immutable query, built by chaining, run by a store."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Any

from playhead.entry.entry import ANCHOR, TapeEntry, event_name, parse_date
from playhead.errors import AnchorNotFound, InvalidInput, NoAnchors
from playhead.store.search import matches

PAGE = 512
"""How many entries an `async for` over a query reads at a time."""


@dataclass(frozen=True, slots=True)
class AfterAnchor:
    """The entries behind the newest anchor called `name`, or behind the newest of all where it is None."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class BetweenAnchors:
    """The entries between the newest anchor called `start` and the first one called `end` behind it, both left out."""

    start: str
    end: str


Window = AfterAnchor | BetweenAnchors | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeQuery:
    """Which entries of one tape, in which order, and how many; every method returns a new query.

    Filters add up, whatever the order they were set in; `limit` counts what is left after all others.
    Setting a window replaces the one set before. `all()` runs the query: awaited over an async store.
    Every method raises InvalidInput for a value of another type than it takes.
    """

    tape: str
    store: Any = field(default=None, compare=False, repr=False)
    window: Window = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    only: tuple[str, ...] | None = None
    cursor: int = 0
    stop: int | None = None
    ceiling: int | None = None
    count: int | None = None
    descending: bool = False

    def after_anchor(self, name: str) -> TapeQuery:
        """Keep what stands behind the newest anchor of that name."""
        return replace(self, window=AfterAnchor(_anchor_name(name)))

    def last_anchor(self) -> TapeQuery:
        """Keep what stands behind the newest anchor."""
        return replace(self, window=AfterAnchor())

    def between_anchors(self, start: str, end: str) -> TapeQuery:
        """Keep what stands between the newest anchor `start` and the first anchor `end` behind it."""
        return replace(self, window=BetweenAnchors(_anchor_name(start), _anchor_name(end)))

    def between_dates(self, start: date | str, end: date | str) -> TapeQuery:
        """Keep what was written from `start` to `end`, both included; a bare date is its whole day, no zone is UTC."""
        since, until = _instant(start, time.min), _instant(end, time.max)
        if since > until:
            raise InvalidInput("Start date must be earlier than or equal to end date.")
        return replace(self, since=since, until=until)

    def kinds(self, *kinds: str) -> TapeQuery:
        """Keep entries of these kinds; none given keeps every kind."""
        for kind in kinds:
            if not isinstance(kind, str):
                raise InvalidInput(f'A query\'s kinds are texts, given one by one as in kinds("message", "event"), not {kind!r}.')
        return replace(self, only=kinds or None)

    def query(self, text: str) -> TapeQuery:
        """Keep entries whose payload's values hold the text, upper and lower case alike."""
        if not isinstance(text, str):
            raise InvalidInput(f"A query looks for a text, not {text!r}; write a number as text, and leave this out to keep every entry.")
        return replace(self, text=text)

    def limit(self, count: int) -> TapeQuery:
        """Stop after so many entries. Raises InvalidInput below 1."""
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InvalidInput(f"A query's limit is a whole number from 1, not {count!r}; leave it out to keep every entry.")
        return replace(self, count=count)

    def after(self, cursor: int) -> TapeQuery:
        """Keep entries whose id is greater than `cursor`."""
        return replace(self, cursor=_id(cursor, "after"))

    def before(self, id: int) -> TapeQuery:
        """Keep entries whose id is smaller than `id`; anchors behind it still open and close the window."""
        return replace(self, stop=_id(id, "before"))

    def up_to(self, id: int) -> TapeQuery:
        """Read the tape as it was when entry `id` was its last: later entries and anchors do not count."""
        return replace(self, ceiling=_id(id, "up_to"))

    def newest_first(self) -> TapeQuery:
        """Return entries from the end of the window backwards; `limit` then counts from the end."""
        return replace(self, descending=True)

    def all(self) -> Any:
        """Run the query: a list of entries over a blocking store, an awaitable of one over an async store."""
        found = self._store().fetch_all(self)
        return _listed(found) if inspect.isawaitable(found) else list(found)

    async def __aiter__(self) -> AsyncIterator[TapeEntry]:
        """Yield the entries, a page at a time."""
        store, page, left = self._store(), self, self.count
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            found = store.fetch_all(replace(page, count=size))
            entries = await _listed(found) if inspect.isawaitable(found) else list(found)
            for entry in entries:
                yield entry
            if len(entries) < size:
                return
            left = None if left is None else left - len(entries)
            page = page._behind(entries[-1].id)

    def _behind(self, id: int) -> TapeQuery:
        """Return the rest of the query behind the entry `id`, in its own direction."""
        return replace(self, stop=id) if self.descending else replace(self, cursor=id)

    def _store(self) -> Any:
        if self.store is None:
            raise InvalidInput("This query has no store; build it with tape.query() or TapeQuery(tape=..., store=...).")
        return self.store

    def admits(self, entry: TapeEntry) -> bool:
        """Return whether an entry inside the window passes the filters (dates, text, kinds)."""
        if self.only is not None and entry.kind not in self.only:
            return False
        if (self.since or self.until) and not self._in_dates(parse_date(entry.date)):
            return False
        return self.text is None or matches(entry, self.text)

    def _in_dates(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)

    def apply(self, entries: Iterable[TapeEntry]) -> list[TapeEntry]:
        """Return what the query keeps of a whole tape, given in order; what a simple store's `fetch_all` may return.

        Raises NoAnchors or AnchorNotFound where the window has no edge.
        """
        whole = entries if isinstance(entries, Sequence) else list(entries)
        if self.ceiling is not None:
            whole = [e for e in whole if e.id <= self.ceiling]
        kept = [e for e in whole[self._slice(whole)] if e.id > self.cursor and (self.stop is None or e.id < self.stop) and self.admits(e)]
        if self.descending:
            kept.reverse()
        return kept if self.count is None else kept[: self.count]

    def _slice(self, entries: Sequence[TapeEntry]) -> slice:
        match self.window:
            case None:
                return slice(None)
            case AfterAnchor(name):
                return slice(_last_anchor(entries, name) + 1, None)
            case BetweenAnchors(start, end):
                first = _last_anchor(entries, start) + 1
                for i in range(first, len(entries)):
                    if entries[i].kind == ANCHOR and event_name(entries[i]) == end:
                        return slice(first, i)
                raise AnchorNotFound(end)


def _last_anchor(entries: Sequence[TapeEntry], name: str | None) -> int:
    for i in range(len(entries) - 1, -1, -1):
        if entries[i].kind == ANCHOR and (name is None or event_name(entries[i]) == name):
            return i
    raise NoAnchors if name is None else AnchorNotFound(name)


async def _listed(found: Any) -> list[TapeEntry]:
    return list(await found)


def _anchor_name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInput("An anchor's name is a non-empty text; for the whole tape leave the window out.")
    return name


def _id(value: int, method: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"A query's {method}(...) takes the id of an entry, a whole number such as entry.id, not {value!r}.")
    return value


def _instant(value: date | str, at: time) -> datetime:
    if isinstance(value, datetime):
        return parse_date(value.isoformat())
    if isinstance(value, date):
        return datetime.combine(value, at, UTC)
    if not isinstance(value, str):
        raise InvalidInput(f"A query's dates are dates, datetimes or ISO texts such as 2026-03-01, not {value!r}.")
    try:
        return datetime.combine(date.fromisoformat(value), at, UTC)
    except ValueError:
        return parse_date(value)
