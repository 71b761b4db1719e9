"""Reading from a SQLite store: every query becomes ranges of rows, so that it costs what it returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice

from playhead.entry.entry import TapeEntry
from playhead.store.parting import Load, no_blob
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.rows.row import SEQ_BITS, RawRow, cell, entry_of, uid_cell
from playhead.store.rows.statements import statements
from playhead.store.scan import holding
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.rows import number_of_kind, row_at, rows
from playhead.store.sqlite.segments import Segment, Shown, shown
from playhead.store.sqlite.windows import ids_of


def head(connection: sqlite3.Connection, tape: str) -> Head:
    """Return where a tape ends, EMPTY where it never began. Raises BranchNotFound."""
    tape_shown = shown(connection, tape)
    return EMPTY if tape_shown is None else Head(tape_shown.generation, tape_shown.last_id)


def fetch(connection: sqlite3.Connection, query: TapeQuery, *, load: Load = no_blob) -> list[TapeEntry]:
    """Return the entries a query asks for.

    Raises NoAnchors or AnchorNotFound where its window has no edge, StoreDamaged where an entry is missing or cannot be read, BranchNotFound.
    """
    tape = shown(connection, query.tape)
    if tape is None:
        return query.apply(())
    pieces = tape.pieces(ids_of(connection, tape, query), descending=query.descending)
    found = chain.from_iterable(rows(connection, piece, query) for piece in pieces)
    entries = map(partial(entry_of, tape=query.tape, load=load), found) if query.text is None else holding(found, query.text, tape=query.tape, load=load)
    return list(islice(entries, query.count))


def count(connection: sqlite3.Connection, query: TapeQuery, *, load: Load = no_blob) -> int:
    """Return how many entries a query returns, without reading them where that can be told."""
    tape = shown(connection, query.tape)
    if tape is None or query.text is not None or query.since is not None or query.until is not None:
        return len(fetch(connection, query, load=load))
    pieces = tape.pieces(ids_of(connection, tape, query))
    number = sum(_number(connection, piece, query) for piece in pieces)
    return number if query.count is None else min(number, query.count)


def find(connection: sqlite3.Connection, tape: str, *, keys: Sequence[str], uids: Sequence[str], load: Load = no_blob) -> Mapping[str, TapeEntry]:
    """Return the entries of a tape that have one of the keys or uids, by key and by uid; the newest segment that has one decides."""
    whole = shown(connection, tape)
    if whole is None:
        return {}
    by_uid = {uid: entry_of(row_at(connection, place, tape), tape=tape, load=load) for uid, place in _places(connection, whole, uids).items()}
    by_key = {key: entry_of(row, tape=tape, load=load) for key in keys if (row := _keyed(connection, whole, key)) is not None}
    return by_uid | by_key


def _number(connection: sqlite3.Connection, piece: Segment, query: TapeQuery) -> int:
    if query.only is None:
        return piece.high - piece.low + 1
    return sum(number_of_kind(connection, piece, kind, tape=query.tape) for kind in dict.fromkeys(query.only))


def _places(connection: sqlite3.Connection, whole: Shown, uids: Sequence[str]) -> dict[str, int]:
    """Return where the uids stand that are found."""
    wanted, places = set(uids), dict[str, int]()
    for segment in reversed(whole.segments):
        if not wanted:
            break
        found = _places_in(connection, segment, wanted)
        places |= found
        wanted -= found.keys()
    return places


def _places_in(connection: sqlite3.Connection, segment: Segment, uids: set[str]) -> dict[str, int]:
    indexed, rest = segment.halves()
    sql = statements("read")
    recent = dict(connection.execute(sql["uids"], (rest.low, rest.high)).fetchall())
    places = {}
    for uid in uids:
        found = connection.execute(sql["place_of_uid"], (uid_cell(uid), indexed.low, indexed.high)).fetchone()
        place = found[0] if found else recent.get(uid_cell(uid))
        if place is not None:
            places[uid] = place
    return places


def _keyed(connection: sqlite3.Connection, whole: Shown, key: str) -> RawRow | None:
    for segment in reversed(whole.segments):
        found = connection.execute(statements("read")["keyed_entry"], (segment.low >> SEQ_BITS, cell(key))).fetchone()
        if found is not None and found[0] <= segment.high:
            return next(filled(connection, (found,)))
    return None
