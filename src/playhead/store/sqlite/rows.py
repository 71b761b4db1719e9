"""The rows of a part of a tape that pass a query's filters by kind and date: what is there is found, what is missing is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain
from operator import itemgetter

from playhead.store.condition.damage import missing
from playhead.store.query import TapeQuery
from playhead.store.rows.row import BLOCK, LAST_SEQ, RawRow, cell, microseconds, of_kinds, within_dates
from playhead.store.rows.statements import statements
from playhead.store.rules.gaps import gap, gapless
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.segments import Segment

Dates = tuple[int, int]

_ALWAYS = (-(1 << 62), 1 << 62)
_by_place = itemgetter(0)


def rows(connection: sqlite3.Connection, piece: Segment, query: TapeQuery) -> Iterator[RawRow]:
    """Yield the rows of a part of a tape that pass the filters by kind and date, in the query's order.

    Raises StoreDamaged where one is missing, or where nobody can tell whether it passes.
    """
    if query.since is None and query.until is None:
        return _in_range(connection, piece, query, dates=_ALWAYS)
    since = _ALWAYS[0] if query.since is None else microseconds(query.since)
    until = _ALWAYS[1] if query.until is None else microseconds(query.until)
    if piece.high - piece.low < BLOCK:
        return _looked_through(connection, piece, query, dates=(since, until))
    return _by_date(connection, piece, query, dates=(since, until))


def row_at(connection: sqlite3.Connection, place: int, tape: str) -> RawRow:
    """Return the row that an index says stands at a place. Raises StoreDamaged where none does."""
    found = connection.execute(statements("read")["entry"], (place,)).fetchone()
    if found is None:
        raise missing(tape, place & LAST_SEQ, place & LAST_SEQ)
    return next(filled(connection, (found,)))


def number_of_kind(connection: sqlite3.Connection, piece: Segment, kind: str, *, tape: str) -> int:
    """Return how many rows of a part of a tape are of a kind."""
    indexed, rest = piece.halves()
    sql = statements("read")
    ((number,),) = connection.execute(sql["count_kind"], (cell(kind), indexed.low, indexed.high))
    return int(number) + sum(1 for _ in of_kinds(connection.execute(sql["kinds"], (rest.low, rest.high)), (cell(kind),), tape=tape))


def _by_date(connection: sqlite3.Connection, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    since, until = dates
    behind = _first_reaching(connection, piece, until + 1, query.tape)
    on_time = piece._replace(low=_first_reaching(connection, piece._replace(high=behind - 1), since, query.tape), high=behind - 1)
    parts = (
        _strays(connection, piece._replace(high=on_time.low - 1), query, dates=dates),
        _in_range(connection, on_time, query, dates=dates),
        _strays(connection, piece._replace(low=behind), query, dates=dates),
    )
    return chain(*reversed(parts)) if query.descending else chain(*parts)


def _in_range(connection: sqlite3.Connection, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    if query.only is None:
        yield from _looked_through(connection, piece, query, dates=dates)
        return
    indexed, rest = piece.halves()
    looked_through = _looked_through(connection, rest, query, dates=dates)
    if query.descending:
        yield from looked_through
        yield from _by_kind(connection, indexed, query, dates=dates)
    else:
        yield from _by_kind(connection, indexed, query, dates=dates)
        yield from looked_through


def _by_kind(connection: sqlite3.Connection, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    if piece.low > piece.high:
        return iter(())
    sql = statements("read")["kind_newest_first" if query.descending else "kind"]
    return merge(*(filled(connection, connection.execute(sql, (kind, piece.low, piece.high, *dates))) for kind in _kinds(query)), key=_by_place, reverse=query.descending)


def _looked_through(connection: sqlite3.Connection, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    """Return the rows of a range that pass, after a look at each: every one must be there."""
    if piece.low > piece.high:
        return iter(())
    order = "range_newest_first" if query.descending else "range"
    found: Iterable[RawRow] = filled(connection, connection.execute(statements("read")[order], (piece.low, piece.high)))
    found = gapless(found, range(piece.high, piece.low - 1, -1) if query.descending else range(piece.low, piece.high + 1), query.tape)
    if dates != _ALWAYS:
        found = within_dates(found, *dates, tape=query.tape)
    if query.only is not None:
        found = of_kinds(found, _kinds(query), tape=query.tape)
    return iter(found)


def _kinds(query: TapeQuery) -> list[str | bytes]:
    return [cell(kind) for kind in dict.fromkeys(query.only or ())]


def _strays(connection: sqlite3.Connection, piece: Segment, query: TapeQuery, *, dates: Dates) -> Iterator[RawRow]:
    """Yield the rows of a range whose dates halving does not find."""
    if piece.low > piece.high:
        return
    found = connection.execute(statements("read")["stray"], (piece.low >> 32, *dates, piece.low, piece.high)).fetchall()
    strays = (row_at(connection, place, query.tape) for (place,) in sorted(found, reverse=query.descending))
    yield from strays if query.only is None else of_kinds(strays, _kinds(query), tape=query.tape)


def _first_reaching(connection: sqlite3.Connection, piece: Segment, ts: int, tape: str) -> int:
    """Return the first place where the newest date so far is at least `ts`, by halving; one behind the range where it is not.

    Raises StoreDamaged where nothing stands there: nobody knows the dates of what is missing.
    """
    sql = statements("read")["peak"]
    low, high = piece.low, piece.high + 1
    while low < high:
        middle = (low + high) // 2
        found = connection.execute(sql, (middle, high - 1)).fetchone()
        if found is None or found[1] >= ts:
            high = middle
        else:
            low = found[0] + 1
    if low <= piece.high:
        there, _ = connection.execute(sql, (low, piece.high)).fetchone() or (piece.high + 1, 0)
        if there != low:
            raise gap(low, there - 1, tape)
    return low
