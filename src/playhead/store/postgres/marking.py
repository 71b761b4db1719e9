"""Which blobs the entries of a PostgreSQL store name: all of them are looked through, family by family, some at a time."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from playhead.store.blobs import names_in
from playhead.store.postgres.archived import filled
from playhead.store.postgres.reading import Reading
from playhead.store.rows.row import damage_of, is_sealed
from playhead.store.rows.statements import statements

_MOST_ROWS, _MOST_BYTES = 2_000, 8 * 1024 * 1024
_FAMILIES = 100
_LAST = (1 << 63) - 1


class Place(NamedTuple):
    """A place among all entries: behind one of a family, whose tapes come one after the other."""

    root_id: UUID
    tape_no: int = 0
    id: int = 0


BEGINNING = Place(UUID(int=0))
"""The place before every entry."""


class Part(NamedTuple):
    """The digests that some entries name, how many entries these are, and the place behind them; None behind the last of all."""

    digests: frozenset[str]
    rows: int
    last: Place | None


def number(reading: Reading) -> int:
    """Return about how many entries there are."""
    ((total,),) = reading.session.rows(statements("postgres/blobs")["number"], {"tenant": reading.tenant})
    return int(total)


def marked(reading: Reading, *, behind: Place) -> Part:
    """Look through the next entries behind a place, whoever reads them, also those that wait to be removed. Raises StoreDamaged at one that is not as it was written."""
    look = _Look(reading)
    roots = reading.session.rows(statements("postgres/blobs")["roots"], {"tenant": reading.tenant, "first": behind.root_id, "limit": _FAMILIES})
    for (root_id,) in roots:
        place: Place | None = behind if behind.root_id == root_id else Place(root_id)
        while place is not None:
            place = look.through(place)
            if look.is_enough:
                return look.part(place or Place(root_id, _LAST))
    return look.part(Place(roots[-1][0], _LAST) if len(roots) == _FAMILIES else None)


class _Look:
    """A look at some entries."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._digests: set[str] = set()
        self._rows = self._room = 0

    @property
    def is_enough(self) -> bool:
        """Whether so much was looked through that others may ask something now."""
        return self._rows >= _MOST_ROWS or self._room >= _MOST_BYTES

    def part(self, last: Place | None) -> Part:
        """Return what was found, up to a place."""
        return Part(frozenset(self._digests), self._rows, last)

    def through(self, place: Place) -> Place | None:
        """Look through the next entries of a family; return the place behind them, None where these were the last."""
        limit, room = max(1, _MOST_ROWS - self._rows), max(1, _MOST_BYTES - self._room)
        values = {"root": place.root_id, "tape": place.tape_no, "id": place.id, "limit": limit, "room": room}
        found = self._reading.session.rows(statements("postgres/blobs")["entries"], values)
        for tape_no, rows in groupby(found, key=itemgetter(0)):
            for row in filled(self._reading.session, [row[1:] for row in rows], root_id=place.root_id, tape_no=tape_no):
                if not is_sealed(row):
                    raise damage_of(row, tape=self._name(place.root_id, tape_no))
                self._digests |= names_in(row[4]) | names_in(row[5])
        took = sum(len(row[5]) + len(row[6]) for row in found)
        self._rows, self._room = self._rows + len(found), self._room + took
        return Place(place.root_id, found[-1][0], found[-1][1]) if len(found) == limit or took >= room else None

    def _name(self, root_id: UUID, tape_no: int) -> str:
        found = self._reading.session.row(statements("postgres/blobs")["name_of_tape"], {"root": root_id, "tape": tape_no})
        return f"number {tape_no}" if found is None else str(found[0])
