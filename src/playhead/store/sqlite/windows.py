"""Which ids a query's window, cursor and bounds leave."""

from __future__ import annotations

import sqlite3

from playhead.errors import AnchorNotFound, NoAnchors
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.rows.row import LAST_SEQ, cell
from playhead.store.rows.statements import statements
from playhead.store.sqlite.segments import Shown


def ids_of(connection: sqlite3.Connection, shown: Shown, query: TapeQuery) -> range:
    """Return the ids that may be in a query's answer. Raises NoAnchors or AnchorNotFound where its window has no edge."""
    last = shown.last_id if query.ceiling is None else min(shown.last_id, max(query.ceiling, 0))
    window = _window(connection, shown, range(1, last + 1), query)
    first = max(window.start, min(query.cursor, LAST_SEQ) + 1)
    return range(first, window.stop if query.stop is None else min(window.stop, max(query.stop, 0)))


def _window(connection: sqlite3.Connection, shown: Shown, ids: range, query: TapeQuery) -> range:
    match query.window:
        case None:
            return ids
        case AfterAnchor(name):
            return range(_newest_anchor(connection, shown, ids, name) + 1, ids.stop)
        case BetweenAnchors(start, end):
            first = _newest_anchor(connection, shown, ids, start) + 1
            return range(first, _first_anchor(connection, shown, range(first, ids.stop), end))


def _newest_anchor(connection: sqlite3.Connection, shown: Shown, ids: range, name: str | None) -> int:
    statement, named = ("newest_anchor", ()) if name is None else ("newest_anchor_named", (cell(name),))
    for piece in shown.pieces(ids, descending=True):
        found = connection.execute(statements("read")[statement], (*named, piece.low, piece.high)).fetchone()
        if found is not None:
            return int(found[0]) & LAST_SEQ
    raise NoAnchors if name is None else AnchorNotFound(name)


def _first_anchor(connection: sqlite3.Connection, shown: Shown, ids: range, name: str) -> int:
    for piece in shown.pieces(ids):
        found = connection.execute(statements("read")["first_anchor_named"], (cell(name), piece.low, piece.high)).fetchone()
        if found is not None:
            return int(found[0]) & LAST_SEQ
    raise AnchorNotFound(name)
