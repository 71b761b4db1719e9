"""The entries of a SQLite store with all that is proved of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from playhead.errors import StoreDamaged
from playhead.store.archiving.archived import IN_SEGMENT
from playhead.store.archiving.packing import Said
from playhead.store.proving.entry_check import Filing, Full
from playhead.store.rows.row import LAST_SEQ, cell, eid, uid_cell
from playhead.store.rows.statements import statements
from playhead.store.sqlite.archived import Segments

FILING = Filing(uid_cell, cell, cell)
"""How texts stand in the columns that entries are looked up by."""

_ENC = 11


def rows(connection: sqlite3.Connection, tape_no: int) -> Iterator[Full]:
    """Yield the rows of a tape number, those that are archived as if they were not. Raises sqlite3.Error where they cannot be read on."""
    segments = Segments(connection)
    for row in connection.execute(statements("verify")["rows"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))):
        said = _said(segments, row[0]) if row[_ENC] == IN_SEGMENT and not (row[4] or row[5]) else None
        yield row if said is None else (*row[:4], *said, *row[6:_ENC], 0, *row[_ENC + 1 :])


def _said(segments: Segments, place: int) -> Said | None:
    """Return what an archived entry says, None where its segment does not tell; then it is no more as it was written."""
    try:
        return segments.said(place)
    except StoreDamaged:
        return None
