"""The blocking query of a tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, cast

from playhead.entry.entry import TapeEntry
from playhead.store import query as queries
from playhead.sync.portal import Bound, P, wait
from playhead.sync.scope import each


def _narrowed(method: Callable[Concatenate[queries.TapeQuery, P], queries.TapeQuery]) -> Bound[P, TapeQuery]:
    """Return a query's method as one of the blocking query."""

    @wraps(method)
    def call(query: TapeQuery, /, *args: P.args, **kwargs: P.kwargs) -> TapeQuery:
        return TapeQuery(method(query.asynchronous, *args, **kwargs))

    return cast("Bound[P, TapeQuery]", call)


class TapeQuery:
    """Which entries of one tape, in which order, and how many; iterate it, or call `all()`."""

    def __init__(self, query: queries.TapeQuery) -> None:
        self.asynchronous = query

    after_anchor = _narrowed(queries.TapeQuery.after_anchor)
    last_anchor = _narrowed(queries.TapeQuery.last_anchor)
    between_anchors = _narrowed(queries.TapeQuery.between_anchors)
    between_dates = _narrowed(queries.TapeQuery.between_dates)
    kinds = _narrowed(queries.TapeQuery.kinds)
    query = _narrowed(queries.TapeQuery.query)
    limit = _narrowed(queries.TapeQuery.limit)
    after = _narrowed(queries.TapeQuery.after)
    before = _narrowed(queries.TapeQuery.before)
    up_to = _narrowed(queries.TapeQuery.up_to)
    newest_first = _narrowed(queries.TapeQuery.newest_first)

    def all(self) -> list[TapeEntry]:
        """Run the query and return its entries."""
        return wait(_all, self.asynchronous)

    def __iter__(self) -> Iterator[TapeEntry]:
        return each(aiter(self.asynchronous), at_a_time=queries.PAGE)

    def __repr__(self) -> str:
        return repr(self.asynchronous)


async def _all(query: queries.TapeQuery) -> list[TapeEntry]:
    return [entry async for entry in query]
