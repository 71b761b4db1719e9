"""Looking at all of a SQLite file while others may open, write and close it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from playhead.store.rows.connection import Place
from playhead.store.sqlite.answering import Watched, steady

Answer = TypeVar("Answer")


def looked_at(place: Place, look: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Return what a look at a file gives, on a connection that only reads; it looks again where the file changed under it.

    Raises what the look raises, StoreUnavailable, StoreDamaged, StoreOutdated.
    """
    source = Watched(place)
    try:
        return steady(source, look)
    finally:
        source.close()
