"""Searching a tape: which of its entries may be found, and those that are most about a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from playhead.errors import InvalidInput
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.view.context import LAST_ANCHOR, AnchorChoice

_EARLIEST, _LATEST = "0001-01-01", "9999-12-31"


def narrowed(query: TapeQuery, *, kinds: Iterable[str] | None, after_anchor: AnchorChoice, since: date | str | None, until: date | str | None) -> TapeQuery:
    """Return a query that keeps these kinds, what stands behind an anchor, and what was written between two instants; None leaves one out."""
    if isinstance(kinds, str):
        raise InvalidInput(f'Kinds are given as several, such as kinds=["message"], not {kinds!r}.')
    if kinds is not None:
        query = replace(query.kinds(*(kinds := tuple(kinds))), only=kinds)
    if after_anchor is LAST_ANCHOR:
        query = query.last_anchor()
    elif after_anchor is not None:
        query = query.after_anchor(after_anchor)
    if since is None and until is None:
        return query
    return query.between_dates(_EARLIEST if since is None else since, _LATEST if until is None else until)


async def found(store: WholeStore, query: TapeQuery, text: str, *, smoothed: bool) -> list[Hit]:
    """Return the entries of a query that are most about a text. Raises InvalidInput where it is none."""
    if not isinstance(text, str):
        raise InvalidInput(f"A search looks for a text, not {text!r}.")
    if query.only == ():
        return []
    return list(await store.search(query, text, smoothed=smoothed))
