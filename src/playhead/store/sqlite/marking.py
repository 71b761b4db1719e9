"""Which blobs the entries of a SQLite file name: all of its rows are looked through, a part at a time."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from playhead.store.blobs import names_in
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, damage_of, eid, is_sealed
from playhead.store.rows.statements import statements
from playhead.store.sqlite.archived import filled

BEGINNING = -(1 << 63)
"""The place before every entry."""

_MOST_ROWS, _MOST_BYTES = 2_000, 8 * 1024 * 1024


class Part(NamedTuple):
    """The digests that some rows name, how many rows these are, and the place of the last; None behind the last of all."""

    digests: frozenset[str]
    rows: int
    last: int | None


def number(connection: sqlite3.Connection) -> int:
    """Return about how many rows there are."""
    sql = statements("blobs")
    total = 0
    for (tape_no,) in connection.execute(sql["tape_numbers"]).fetchall():
        first, last = connection.execute(sql["own_range"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone()
        total += 0 if first is None else last - first + 1
    return total


def marked(connection: sqlite3.Connection, *, behind: int) -> Part:
    """Look through the next rows behind a place, whoever reads them, also those that wait to be removed. Raises StoreDamaged at one that is not as it was written."""
    digests: set[str] = set()
    rows, size = 0, 0
    for row in filled(connection, connection.execute(statements("blobs")["entries"], (behind,))):
        if not is_sealed(row):
            raise damage_of(row, tape=_name(connection, row[0] >> SEQ_BITS))
        digests |= names_in(row[4]) | names_in(row[5])
        rows, size = rows + 1, size + len(row[5])
        if rows >= _MOST_ROWS or size >= _MOST_BYTES:
            return Part(frozenset(digests), rows, row[0])
    return Part(frozenset(digests), rows, None)


def _name(connection: sqlite3.Connection, tape_no: int) -> str:
    found = connection.execute(statements("blobs")["name_of_tape"], (tape_no,)).fetchone()
    return f"number {tape_no}" if found is None else str(found[0])
