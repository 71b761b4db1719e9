"""Reading from a SQLite store: every query becomes ranges of rows, so that it costs what it returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from itertools import chain, islice
from operator import itemgetter

from playhead.entry.entry import TapeEntry
from playhead.errors import AnchorNotFound, NoAnchors, StoreDamaged
from playhead.store.damage import missing
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.row import BLOCK, LAST_SEQ, RawRow, cell, eid, entry_of, microseconds, uid_cell
from playhead.store.scan import holding
from playhead.store.statements import statements

_ALWAYS = (-(1 << 62), 1 << 62)
_by_place = itemgetter(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The row ids of a part of a tape, both ends included."""

    low: int
    high: int


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tapes that hold something, sorted."""
    return [name for (name,) in connection.execute(statements("read")["names"])]


def head(connection: sqlite3.Connection, tape: str) -> Head:
    """Return where a tape ends, EMPTY where it never began."""
    found = _tape(connection, tape)
    if found is None:
        return EMPTY
    tape_no, generation, lowest = found
    return Head(generation, max(lowest, _last(connection, tape_no) & LAST_SEQ))


def find(connection: sqlite3.Connection, tape: str, *, keys: Sequence[str], uids: Sequence[str]) -> Mapping[str, TapeEntry]:
    """Return the entries of a tape that have one of the keys or uids, by key and by uid."""
    found = _tape(connection, tape)
    if found is None:
        return {}
    places = _places_of_uids(connection, found[0], uids) if uids else {}
    by_uid = {uid: entry_of(_row(connection, place, tape), tape=tape) for uid, place in places.items()}
    by_key = {key: entry_of(row, tape=tape) for key in keys if (row := _keyed(connection, found[0], key)) is not None}
    return by_uid | by_key


def count(connection: sqlite3.Connection, query: TapeQuery) -> int:
    """Return how many entries a query returns, without reading them where that can be told."""
    found = _tape(connection, query.tape)
    if found is None or query.text is not None or query.since is not None or query.until is not None:
        return len(fetch(connection, query))
    span = _span(connection, found[0], query)
    if query.only is None:
        ((number,),) = connection.execute(statements("read")["count_range"], (span.low, span.high))
    else:
        number = sum(_count_kind(connection, span, kind) for kind in dict.fromkeys(query.only))
    return int(number if query.count is None else min(number, query.count))


def fetch(connection: sqlite3.Connection, query: TapeQuery) -> list[TapeEntry]:
    """Return the entries a query asks for.

    Raises NoAnchors or AnchorNotFound where its window has no edge, StoreDamaged where an entry is missing or cannot be read.
    """
    found = _tape(connection, query.tape)
    if found is None:
        return query.apply(())
    tape_no, _, lowest = found
    span = _span(connection, tape_no, query)
    held = Range(low=max(span.low, eid(tape_no, lowest + 1)), high=min(span.high, _last(connection, tape_no)))
    rows = _rows(connection, held, query)
    entries = map(partial(entry_of, tape=query.tape), rows) if query.text is None else holding(rows, query.text, tape=query.tape)
    return list(islice(entries, query.count))


def _span(connection: sqlite3.Connection, tape_no: int, query: TapeQuery) -> Range:
    """Return the range that a query's window, cursor and bounds leave."""
    high = eid(tape_no, LAST_SEQ if query.ceiling is None else _clamped(query.ceiling))
    span = _window(connection, Range(low=eid(tape_no, 1), high=high), query)
    low = max(span.low, eid(tape_no, _clamped(query.cursor)) + 1)
    return Range(low=low, high=span.high if query.stop is None else min(span.high, eid(tape_no, _clamped(query.stop)) - 1))


def _window(connection: sqlite3.Connection, span: Range, query: TapeQuery) -> Range:
    match query.window:
        case None:
            return span
        case AfterAnchor(name):
            return replace(span, low=_newest_anchor(connection, name, span) + 1)
        case BetweenAnchors(start, end):
            behind = replace(span, low=_newest_anchor(connection, start, span) + 1)
            found = connection.execute(statements("read")["first_anchor_named"], (cell(end), behind.low, behind.high)).fetchone()
            if found is None:
                raise AnchorNotFound(end)
            return replace(behind, high=found[0] - 1)


def _newest_anchor(connection: sqlite3.Connection, name: str | None, span: Range) -> int:
    statement, named = ("newest_anchor", ()) if name is None else ("newest_anchor_named", (cell(name),))
    found = connection.execute(statements("read")[statement], (*named, span.low, span.high)).fetchone()
    if found is None:
        raise NoAnchors if name is None else AnchorNotFound(name)
    return int(found[0])


def _rows(connection: sqlite3.Connection, span: Range, query: TapeQuery) -> Iterator[RawRow]:
    """Yield the rows of a range that pass the filters by kind and date, in the query's order."""
    if query.since is None and query.until is None:
        return _in_range(connection, span, query, dates=_ALWAYS)
    since = _ALWAYS[0] if query.since is None else microseconds(query.since)
    until = _ALWAYS[1] if query.until is None else microseconds(query.until)
    behind = _first_reaching(connection, span, until + 1)
    on_time = Range(low=_first_reaching(connection, replace(span, high=behind - 1), since), high=behind - 1)
    parts = (
        _strays(connection, replace(span, high=on_time.low - 1), query, dates=(since, until)),
        _in_range(connection, on_time, query, dates=(since, until)),
        _strays(connection, replace(span, low=behind), query, dates=(since, until)),
    )
    return chain(*reversed(parts)) if query.descending else chain(*parts)


def _in_range(connection: sqlite3.Connection, span: Range, query: TapeQuery, *, dates: tuple[int, int]) -> Iterator[RawRow]:
    if query.only is None:
        yield from _through(connection, span, query, dates=dates)
        return
    sql, order = statements("read"), "_newest_first" if query.descending else ""
    kinds = [cell(kind) for kind in dict.fromkeys(query.only)]
    indexed, rest = _halves(connection, span)
    by_index = (connection.execute(sql[f"kind{order}"], (kind, indexed.low, indexed.high, *dates)) for kind in kinds)
    looked_through = (row for row in _through(connection, rest, query, dates=dates) if row[1] in kinds)
    if query.descending:
        yield from looked_through
        yield from merge(*by_index, key=_by_place, reverse=True)
    else:
        yield from merge(*by_index, key=_by_place)
        yield from looked_through


def _through(connection: sqlite3.Connection, span: Range, query: TapeQuery, *, dates: tuple[int, int]) -> Iterator[RawRow]:
    """Return the rows of a range, one after the other; where no date passes any over, every one must be there."""
    name = "range_newest_first" if query.descending else "range"
    rows: Iterator[RawRow] = connection.execute(statements("read")[name], (span.low, span.high, *dates))
    if dates != _ALWAYS or span.low > span.high:
        return rows
    return _gapless(rows, range(span.high, span.low - 1, -1) if query.descending else range(span.low, span.high + 1), query.tape)


def _gapless(rows: Iterable[RawRow], places: range, tape: str) -> Iterator[RawRow]:
    """Yield rows for as long as they stand at one place after the other. Raises StoreDamaged, with what is missing, where they do not."""
    place = places.start
    for row in rows:
        if row[0] != place:
            raise _gap(place, row[0] - places.step, tape)
        yield row
        place += places.step
    if place != places.stop:
        raise _gap(place, places.stop - places.step, tape)


def _gap(one: int, other: int, tape: str) -> StoreDamaged:
    return missing(tape, min(one, other) & LAST_SEQ, max(one, other) & LAST_SEQ)


def _strays(connection: sqlite3.Connection, span: Range, query: TapeQuery, *, dates: tuple[int, int]) -> Iterator[RawRow]:
    """Yield the rows of a range whose dates halving does not find."""
    if span.low > span.high:
        return
    found = connection.execute(statements("read")["stray"], (span.low >> 32, *dates, span.low, span.high)).fetchall()
    kinds = None if query.only is None else {cell(kind) for kind in query.only}
    for (place,) in sorted(found, reverse=query.descending):
        row = _row(connection, place, query.tape)
        if kinds is None or row[1] in kinds:
            yield row


def _first_reaching(connection: sqlite3.Connection, span: Range, ts: int) -> int:
    """Return the first place where the newest date so far is at least `ts`, by halving; one behind the range where it is not."""
    low, high = span.low, span.high + 1
    while low < high:
        middle = (low + high) // 2
        found = connection.execute(statements("read")["peak"], (middle, high - 1)).fetchone()
        if found is None or found[1] >= ts:
            high = middle
        else:
            low = found[0] + 1
    return low


def _halves(connection: sqlite3.Connection, span: Range) -> tuple[Range, Range]:
    """Return the part of a range whose kinds and uids are indexed, and the rest, shorter than a block."""
    tape_no = span.low >> 32
    full = eid(tape_no, (_last(connection, tape_no) & LAST_SEQ) // BLOCK * BLOCK)
    return replace(span, high=min(span.high, full)), replace(span, low=max(span.low, full + 1))


def _count_kind(connection: sqlite3.Connection, span: Range, kind: str) -> int:
    indexed, rest = _halves(connection, span)
    sql = statements("read")
    ((number,),) = connection.execute(sql["count_kind"], (cell(kind), indexed.low, indexed.high))
    ((more,),) = connection.execute(sql["count_kind_unindexed"], (cell(kind), rest.low, rest.high))
    return int(number) + int(more)


def _places_of_uids(connection: sqlite3.Connection, tape_no: int, uids: Sequence[str]) -> dict[str, int]:
    indexed, rest = _halves(connection, Range(low=eid(tape_no, 1), high=eid(tape_no, LAST_SEQ)))
    sql = statements("read")
    recent = dict(connection.execute(sql["uids"], (rest.low, rest.high)).fetchall())
    places = {}
    for uid in uids:
        found = connection.execute(sql["place_of_uid"], (uid_cell(uid), indexed.low, indexed.high)).fetchone()
        place = found[0] if found else recent.get(uid_cell(uid))
        if place is not None:
            places[uid] = place
    return places


def _row(connection: sqlite3.Connection, place: int, tape: str) -> RawRow:
    """Return the row that an index says stands at a place. Raises StoreDamaged where none does."""
    found: RawRow | None = connection.execute(statements("read")["entry"], (place,)).fetchone()
    if found is None:
        raise missing(tape, place & LAST_SEQ, place & LAST_SEQ)
    return found


def _keyed(connection: sqlite3.Connection, tape_no: int, key: str) -> RawRow | None:
    found: RawRow | None = connection.execute(statements("read")["keyed_entry"], (tape_no, cell(key))).fetchone()
    return found


def _tape(connection: sqlite3.Connection, tape: str) -> tuple[int, int, int] | None:
    found: tuple[int, int, int] | None = connection.execute(statements("read")["tape"], (tape,)).fetchone()
    return found


def _last(connection: sqlite3.Connection, tape_no: int) -> int:
    (place,) = connection.execute(statements("read")["last_entry"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone()
    return place or eid(tape_no, 0)


def _clamped(id: int) -> int:
    return min(max(id, 0), LAST_SEQ)
