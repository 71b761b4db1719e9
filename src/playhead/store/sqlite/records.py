"""What a SQLite store says of its tapes and their families: names, branches, sidecars, marks, cursors."""

from __future__ import annotations

import sqlite3

from playhead.errors import InvalidInput
from playhead.store.change import BranchRecord
from playhead.store.condition.damage import missing
from playhead.store.family import SIDECAR, kin_of
from playhead.store.protocol import EMPTY, Head
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, date_text
from playhead.store.rows.statements import statements
from playhead.store.sqlite.segments import Segment, shown

_BEHIND_UNDERLINE = chr(ord("_") + 1)


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tapes that hold something or have an open branch, sorted; branches and sidecars are left out."""
    return [name for (name,) in connection.execute(statements("read")["names"])]


def families(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tapes of which anything is there, sorted; branches and sidecars are left out."""
    return sorted({kin_of(name).root for (name,) in connection.execute(statements("read")["families"])})


def branch(connection: sqlite3.Connection, name: str) -> BranchRecord | None:
    """Return what is known of a branch, or of a sidecar that was forked with one."""
    found = connection.execute(statements("read")["branch"], (name,)).fetchone()
    return None if found is None else _record(found)


def branches(connection: sqlite3.Connection, tape: str) -> list[BranchRecord]:
    """Return the branches of a tape's family, in the order they were made."""
    return [_record(found) for found in connection.execute(statements("read")["branches"], (kin_of(tape).root,))]


def sidecars(connection: sqlite3.Connection, tape: str) -> list[str]:
    """Return the names of the sidecars of a tape or branch that show something, sorted."""
    found = connection.execute(statements("read")["sidecars"], between(tape + SIDECAR))
    return sorted(kin.sidecar for (name,) in found if (kin := kin_of(name)).main == tape and kin.sidecar is not None)


def marks(connection: sqlite3.Connection, tape: str, *, after: int, limit: int | None) -> list[Head]:
    """Return for each entry of a sidecar behind an id, of all or the first few, where its main tape ended when it was written.

    Raises InvalidInput where the tape is no sidecar, StoreDamaged where an entry is missing, BranchNotFound.
    """
    whole = shown(connection, tape)
    if kin_of(tape).sidecar is None:
        raise InvalidInput(f"Only the entries of sidecars are marked, and '{tape}' is none.")
    if whole is None:
        return []
    pieces = whole.pieces(range(max(after, 0) + 1, whole.last_id + 1)[:limit])
    return [mark for piece in pieces for mark in _marks(connection, piece, tape)]


def cursor(connection: sqlite3.Connection, tape: str, consumer: str) -> Head:
    """Return how far a consumer has read a tape, EMPTY where it never did. Raises BranchNotFound."""
    found = connection.execute(statements("read")["cursor"], (tape, consumer)).fetchone()
    if found is None:
        shown(connection, tape)
        return EMPTY
    return Head(*found)


def cursors(connection: sqlite3.Connection, tape: str) -> dict[str, Head]:
    """Return how far each consumer has read a tape. Raises BranchNotFound."""
    shown(connection, tape)
    return {consumer: Head(generation, id) for consumer, generation, id in connection.execute(statements("read")["cursors"], (tape,))}


def between(prefix: str) -> tuple[str, str]:
    """Return two texts between which all those stand that begin with a prefix and are longer; the prefix ends with an underline."""
    return prefix, prefix[:-1] + _BEHIND_UNDERLINE


def head_of(mark: int) -> Head:
    """Return the head that a mark stands for."""
    return Head(mark >> SEQ_BITS, mark & LAST_SEQ)


def _marks(connection: sqlite3.Connection, piece: Segment, tape: str) -> list[Head]:
    found = connection.execute(statements("read")["marks"], (piece.low, piece.high)).fetchall()
    for place, (there, mark) in enumerate(found, piece.low):
        if there != place or mark is None:
            raise missing(tape, place & LAST_SEQ, place & LAST_SEQ)
    if len(found) <= piece.high - piece.low:
        raise missing(tape, (piece.low + len(found)) & LAST_SEQ, piece.high & LAST_SEQ)
    return [head_of(mark) for _, mark in found]


def _record(found: tuple[str, str, int, int, str, str | None, int, int | None]) -> BranchRecord:
    name, parent, generation, id, state, owner, created_at, closed_at = found
    closed = None if closed_at is None else date_text(closed_at)
    return BranchRecord(name=name, parent=parent, base=Head(generation, id), state=state, owner=owner, created_at=date_text(created_at), closed_at=closed)
