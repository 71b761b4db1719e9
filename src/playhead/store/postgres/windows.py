"""Which ids a query's window, cursor and bounds leave."""

from __future__ import annotations

from playhead.errors import AnchorNotFound, NoAnchors
from playhead.store.postgres.address import Address
from playhead.store.postgres.keys import anchor_key
from playhead.store.postgres.reading import Reading
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.row import LAST_SEQ


def ids_of(reading: Reading, address: Address, query: TapeQuery, *, end: int) -> range:
    """Return the ids that may be in a query's answer, of a tape that ends at `end`. Raises NoAnchors or AnchorNotFound where its window has no edge."""
    last = end if query.ceiling is None else min(end, max(query.ceiling, 0))
    window = _window(reading, address, range(1, last + 1), query)
    first = max(window.start, min(query.cursor, LAST_SEQ) + 1)
    return range(first, window.stop if query.stop is None else min(window.stop, max(query.stop, 0)))


def _window(reading: Reading, address: Address, ids: range, query: TapeQuery) -> range:
    match query.window:
        case None:
            return ids
        case AfterAnchor(name):
            return range(_newest_anchor(reading, address, ids, name) + 1, ids.stop)
        case BetweenAnchors(start, end):
            first = _newest_anchor(reading, address, ids, start) + 1
            return range(first, _first_anchor(reading, address, range(first, ids.stop), end))


def _newest_anchor(reading: Reading, address: Address, ids: range, name: str | None) -> int:
    statement, named = ("newest_anchor", {}) if name is None else ("newest_anchor_named", {"anchor": anchor_key(name)})
    for tape_no, low, high in address.pieces(ids, head=ids.stop - 1, descending=True):
        ((found,),) = reading.at(address, statement, tape=tape_no, low=low, high=high, **named)
        if found is not None:
            return int(found)
    raise NoAnchors if name is None else AnchorNotFound(name)


def _first_anchor(reading: Reading, address: Address, ids: range, name: str) -> int:
    for tape_no, low, high in address.pieces(ids, head=ids.stop - 1):
        ((found,),) = reading.at(address, "first_anchor_named", tape=tape_no, low=low, high=high, anchor=anchor_key(name))
        if found is not None:
            return int(found)
    raise AnchorNotFound(name)
