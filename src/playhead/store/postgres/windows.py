"""Where a tape ends, and which ids a query's window, cursor and bounds leave."""

from __future__ import annotations

from typing import NamedTuple

from playhead.errors import AnchorNotFound, NoAnchors
from playhead.store.postgres.address import Address
from playhead.store.postgres.keys import anchor_key
from playhead.store.postgres.reading import Reading
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.rows.row import LAST_SEQ


class View(NamedTuple):
    """Where a tape ended, and the ids that may be in a query's answer."""

    end: int
    ids: range


def view_of(reading: Reading, address: Address, query: TapeQuery) -> View:
    """Return the end of a tape and the ids that may be in a query's answer. Raises NoAnchors or AnchorNotFound where its window has no edge, Moved."""
    match query.window:
        case None:
            ((end,),) = reading.proved(address, "end")
            return View(end, _bounded(range(1, _last(query, end) + 1), query))
        case AfterAnchor(name):
            end, anchor = _end_and_anchor(reading, address, query, name)
            return View(end, _bounded(range(anchor + 1, _last(query, end) + 1), query))
        case BetweenAnchors(start, stop):
            end, anchor = _end_and_anchor(reading, address, query, start)
            ids = range(anchor + 1, _last(query, end) + 1)
            return View(end, _bounded(range(ids.start, _first_anchor(reading, address, ids, stop)), query))


def ids_within(query: TapeQuery) -> tuple[int, int]:
    """Return the first id that a query's cursor leaves, and the one behind the last that its bounds leave."""
    ids = _bounded(range(1, _last(query, LAST_SEQ) + 1), query)
    return ids.start, ids.stop


def _last(query: TapeQuery, end: int) -> int:
    return end if query.ceiling is None else min(end, max(query.ceiling, 0))


def _bounded(window: range, query: TapeQuery) -> range:
    first = max(window.start, min(query.cursor, LAST_SEQ) + 1)
    return range(first, window.stop if query.stop is None else min(window.stop, max(query.stop, 0)))


def _end_and_anchor(reading: Reading, address: Address, query: TapeQuery, name: str | None) -> tuple[int, int]:
    """Return where a tape ends and its newest anchor: one statement where that is among its own entries."""
    ending, named = ("", {}) if name is None else ("_named", {"anchor": anchor_key(name)})
    ((end, found),) = reading.proved(address, f"end_and_anchor{ending}", high=_last(query, LAST_SEQ), **named)
    if found is not None:
        return end, found
    for tape_no, low, high in address.pieces(range(1, min(_last(query, end), address.before) + 1), head=end, descending=True):
        ((found,),) = reading.at(address, f"newest_anchor{ending}", tape=tape_no, low=low, high=high, **named)
        if found is not None:
            return end, found
    raise NoAnchors if name is None else AnchorNotFound(name)


def _first_anchor(reading: Reading, address: Address, ids: range, name: str) -> int:
    for tape_no, low, high in address.pieces(ids, head=ids.stop - 1):
        ((found,),) = reading.at(address, "first_anchor_named", tape=tape_no, low=low, high=high, anchor=anchor_key(name))
        if found is not None:
            return int(found)
    raise AnchorNotFound(name)
