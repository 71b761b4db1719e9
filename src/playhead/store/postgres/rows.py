"""The rows of a part of a tape that pass a query's filters by kind and date, read some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, groupby
from operator import itemgetter

from playhead.store.condition.damage import missing
from playhead.store.postgres.address import Address, Segment
from playhead.store.postgres.keys import Numbers, Texts, raw
from playhead.store.postgres.reading import Reading
from playhead.store.query import TapeQuery
from playhead.store.rows.row import RawRow, cell, microseconds, of_kinds, within_dates
from playhead.store.rules.gaps import gapless

Dates = tuple[int, int]

_ALWAYS = (-(1 << 62), 1 << 62)
_FIRST_PAGE, _LARGEST_PAGE = 256, 4096


def rows(reading: Reading, address: Address, piece: Segment, query: TapeQuery) -> Iterator[RawRow]:
    """Yield the rows of a part of a tape that pass the filters by kind and date, in the query's order. Raises StoreDamaged where one is missing."""
    if query.since is None and query.until is None:
        return _in_range(reading, address, piece, query, dates=_ALWAYS)
    since = _ALWAYS[0] if query.since is None else microseconds(query.since)
    until = _ALWAYS[1] if query.until is None else microseconds(query.until)
    return _by_date(reading, address, piece, query, dates=(since, until))


def rows_at(reading: Reading, address: Address, places: Mapping[int, int], *, tape: str) -> dict[int, RawRow]:
    """Return the rows of ids by their ids, each given with the tape number that it stands in. Raises StoreDamaged where one is missing."""
    found = reading.at(address, "at_places", tapes=Numbers(places.values()), ids=Numbers(places)) if places else []
    by_tape = groupby(sorted(found, key=itemgetter(0, 1)), key=itemgetter(0))
    there = {row[0]: row for tape_no, its in by_tape for row in reading.filled(address, [row[1:] for row in its], tape_no=tape_no)}
    for id in places:
        if id not in there:
            raise missing(tape, id, id)
    return there


def kinds_of(query: TapeQuery) -> Texts:
    """Return the kinds that a query keeps, each once."""
    return Texts(raw(cell(kind)) for kind in dict.fromkeys(query.only or ()))


def _by_date(reading: Reading, address: Address, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    since, until = dates
    ((low, behind),) = reading.at(address, "on_time", tape=piece.tape_no, since=since, until=until)
    low = max(piece.low, low)
    high = min(piece.high, piece.high if behind is None else behind - 1)
    if low > high:
        low, high = piece.high + 1, piece.high
    parts = (
        _strays(reading, address, piece._replace(high=low - 1), query, dates=dates),
        _in_range(reading, address, piece._replace(low=low, high=high), query, dates=dates),
        _strays(reading, address, piece._replace(low=high + 1), query, dates=dates),
    )
    return chain(*reversed(parts)) if query.descending else chain(*parts)


def _strays(reading: Reading, address: Address, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    """Yield the rows of a range whose dates are in time though the newest date so far is not."""
    if piece.low > piece.high:
        return
    found = reading.at(address, "strays", tape=piece.tape_no, low=piece.low, high=piece.high, since=dates[0], until=dates[1])
    strays = reading.filled(address, found[::-1] if query.descending else found, tape_no=piece.tape_no)
    yield from strays if query.only is None else of_kinds(strays, kinds_of(query), tape=query.tape)


def _in_range(reading: Reading, address: Address, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    """Yield the rows of a range that pass, page by page."""
    if query.only is not None:
        yield from _of_kinds(reading, address, piece, query, dates=dates)
        return
    for page in _pages(piece, query):
        statement = "range_newest_first" if query.descending else "range"
        found = reading.at(address, statement, tape=page.tape_no, low=page.low, high=page.high, limit=page.high - page.low + 1)
        order = range(page.high, page.low - 1, -1) if query.descending else range(page.low, page.high + 1)
        there = gapless(reading.filled(address, found, tape_no=page.tape_no), order, query.tape)
        yield from there if dates == _ALWAYS else within_dates(there, *dates, tape=query.tape)


def _pages(piece: Segment, query: TapeQuery) -> Iterator[Segment]:
    """Yield the ranges that a range is read by, from the end or from the front, the first ones short."""
    low, high = piece.low, piece.high
    plain = query.text is None and query.since is None and query.until is None
    size = _LARGEST_PAGE if plain and query.count is None else min(_LARGEST_PAGE, query.count) if plain and query.count is not None else _FIRST_PAGE
    while low <= high:
        page = Segment(piece.tape_no, max(low, high - size + 1), high) if query.descending else Segment(piece.tape_no, low, min(high, low + size - 1))
        yield page
        low, high = (low, page.low - 1) if query.descending else (page.high + 1, high)
        size = min(size * 2, _LARGEST_PAGE)


def _of_kinds(reading: Reading, address: Address, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    kinds = kinds_of(query)
    statement = "kinds_newest_first" if query.descending else "kinds"
    size = _LARGEST_PAGE if query.count is None else min(_LARGEST_PAGE, query.count if query.text is None else _FIRST_PAGE)
    low, high = piece.low, piece.high
    while low <= high:
        found = reading.at(address, statement, tape=piece.tape_no, low=low, high=high, kinds=kinds, since=dates[0], until=dates[1], limit=size)
        yield from reading.filled(address, found, tape_no=piece.tape_no)
        if len(found) < size:
            return
        low, high = (low, found[-1][0] - 1) if query.descending else (found[-1][0] + 1, high)
