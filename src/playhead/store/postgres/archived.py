"""Archived entries of a PostgreSQL store: what they say stands in segments beside their rows, each found by its tape's number and the id of its first entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from playhead.errors import BranchNotFound, StoreError, StoreUnavailable
from playhead.store.archiving import archived
from playhead.store.archiving.archived import IN_SEGMENT, Packet, opened, says
from playhead.store.archiving.packing import MOST, MOST_BYTES, Said
from playhead.store.archiving.retention import Moved
from playhead.store.family import kin_of
from playhead.store.postgres.family import Family
from playhead.store.postgres.keys import Numbers, name_key
from playhead.store.postgres.session import Row, Session
from playhead.store.rows.row import RawRow
from playhead.store.rows.statements import statements

_AHEAD = 1024
"""How many of the next entries are looked ahead to when segments are asked for."""

_AT_ONCE = 16
"""How many segments come at once."""


class Segments:
    """Finds what archived entries of a tape number say, which are asked for in the order of `places`; mostly they stand one behind the other."""

    def __init__(self, session: Session, *, root_id: UUID, tape_no: int, places: Sequence[int]) -> None:
        self._session = session
        self._where = {"root": root_id, "tape": tape_no}
        self._tape_no = tape_no
        self._places = places
        self._at = 0
        self._closed: list[Row] = []
        self._ids, self._said = range(0), list[Said]()

    def said(self, place: int) -> Said | None:
        """Return what the entry at a place says, None where no segment has it. Raises StoreDamaged where its segment is not as it was written."""
        at, self._at = self._at, self._at + 1
        if place not in self._ids and not self._opens(place):
            self._closed = self._next(at)
            self._opens(place)
        return self._said[place - self._ids.start] if place in self._ids else None

    def _opens(self, place: int) -> bool:
        for low, high, digest, data in self._closed:
            if low <= place <= high:
                self._ids = range(low, high + 1)
                self._said = opened(data, digest=digest, ids=self._ids, tape_no=self._tape_no)
                return True
        return False

    def _next(self, at: int) -> list[Row]:
        wanted = Numbers(self._places[at : at + _AHEAD])
        return self._session.rows(statements("postgres/archive")["segments"], {**self._where, "places": wanted, "limit": _AT_ONCE})


def segments_of(session: Session, rows: Sequence[Row], *, root_id: UUID, tape_no: int) -> Segments:
    """Return what finds what the archived ones among rows of a tape number say."""
    return Segments(session, root_id=root_id, tape_no=tape_no, places=[row[0] for row in rows if row[6] == IN_SEGMENT])


def filled(session: Session, rows: Sequence[Row], *, root_id: UUID, tape_no: int) -> Iterator[RawRow]:
    """Yield rows of a tape number with what their entries say, wherever that is kept. One whose segment is gone is yielded as it is: its digest shows that."""
    return archived.filled(rows, segments_of(session, rows, root_id=root_id, tape_no=tape_no).said)


def archive(family: Family | None, *, tape: str, upto: int) -> Moved:
    """Move the next own entries of a tape, up to an id, to a segment. Raises StoreDamaged where an entry is not as it was written, BranchNotFound."""
    found, kin = _found(family, tape), kin_of(tape)
    if family is None or found is None:
        if kin.branch is not None and (kin.is_branch or _found(family, kin.main) is None):
            raise BranchNotFound(kin.main)
        return Moved()
    tape_no, before, head = found
    return archived.move(_Own(family, tape_no), before=before, stop=min(upto, head), tape=tape)


def compact(session: Session, *, label: str) -> None:
    """Write the tables anew. Raises StoreUnavailable where the role may not."""
    warnings = session.run_for_long(statements("postgres/archive")["compact"])
    if warnings:
        raise StoreUnavailable(f"The role that uses {label} may not write its tables anew ({warnings[0]}); compact as their owner, or leave the room to later entries.", store=label)


class _Own:
    """The rows of a tape number, in a transaction that holds its family."""

    def __init__(self, family: Family, tape_no: int) -> None:
        self._family = family
        self._tape_no = tape_no

    def last(self) -> Packet | None:
        found = self._rows("last_segment")
        return Packet(*found[0]) if found else None

    def rows(self, low: int, high: int) -> Iterator[RawRow]:
        found = self._rows("to_archive", low=low, high=high, limit=MOST, bytes=MOST_BYTES)
        return filled(self._family.session, found, root_id=self._family.root_id, tape_no=self._tape_no)

    def keep(self, packet: Packet, data: bytes) -> None:
        self._send("keep_segment", low=packet.low, high=packet.high, size=packet.size, digest=packet.digest, data=data)

    def prove(self, packet: Packet, rows: Sequence[RawRow]) -> None:
        """Raise StoreError where a segment does not say what its rows say."""
        segments = Segments(self._family.session, root_id=self._family.root_id, tape_no=self._tape_no, places=[row[0] for row in rows])
        if not says(segments.said, rows):
            raise StoreError(
                f"What was archived of tape no. {self._tape_no} up to {packet.high} at {self._family.label} is not read back as it was written; nothing was removed; check the server.",
                store=self._family.label,
            )

    def empty(self, packet: Packet) -> None:
        self._send("empty_entries", low=packet.low, high=packet.high)

    def _rows(self, statement: str, **values: object) -> list[Row]:
        return _asked(self._family, statement, tape=self._tape_no, **values)

    def _send(self, statement: str, **values: object) -> None:
        self._family.session.send(statements("postgres/archive")[statement], {"root": self._family.root_id, "tape": self._tape_no, **values})


def _found(family: Family | None, tape: str) -> Row | None:
    found = [] if family is None else _asked(family, "own", name=name_key(tape))
    return found[0] if found else None


def _asked(family: Family, statement: str, **values: object) -> list[Row]:
    return family.session.rows(statements("postgres/archive")[statement], {"root": family.root_id, **values})
