"""A query in both forms: as an attribute, and called."""

from __future__ import annotations

from playhead.sync.query import TapeQuery


class Query(TapeQuery):
    """The query for all entries of a tape; calling it returns it, so `tape.query.all()` and `tape.query().all()` are one."""

    def __call__(self) -> Query:
        """Return it."""
        return self
