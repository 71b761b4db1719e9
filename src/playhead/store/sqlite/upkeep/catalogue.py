"""The tapes of a SQLite store and what they are called, as its tables say."""

from __future__ import annotations

import sqlite3
from typing import Any

from playhead.store.condition.flaws import Flaws
from playhead.store.proving.catalogue import Catalogue, Named, Numbered, whole
from playhead.store.rows.row import LAST_SEQ, eid
from playhead.store.rows.statements import statements


def read(connection: sqlite3.Connection, flaws: Flaws) -> Catalogue:
    """Read the catalogue; what cannot be read is noted."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in ("tapes", "names"):
        found[table] = []
        try:
            found[table].extend(connection.execute(statements("verify")[table]))
        except sqlite3.Error as exc:
            flaws.add(f"the table cannot be read to its end ({exc})", where="table tapes" if table == "tapes" else "table tape_names", severity="damage")
    return Catalogue(map(Numbered._make, found["tapes"]), map(Named._make, found["names"]))


def last_id(connection: sqlite3.Connection, row: Numbered) -> int:
    """Return the last id of a tape number, as a reader finds it."""
    (place,) = connection.execute(statements("verify")["last_entry"], (eid(row.tape_no, 0), eid(row.tape_no, LAST_SEQ))).fetchone()
    return max(row.before, whole(row.indexed), (place or 0) & LAST_SEQ)
