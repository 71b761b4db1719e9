"""Proving the volumes of terms of a family: each must be what its entries make anew; what is spoilt or left over does no harm."""

from __future__ import annotations

from functools import partial
from typing import Any
from zlib import crc32

from playhead.errors import StoreError
from playhead.store.concordance.postings import VolumeGone
from playhead.store.concordance.proving import agrees
from playhead.store.concordance.slabs import Slabs
from playhead.store.condition.flaws import Flaws
from playhead.store.postgres.address import Book, Segment, part_of
from playhead.store.postgres.blobs import get
from playhead.store.postgres.reading import Moved, Reading
from playhead.store.postgres.rows import rows
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Row, Session
from playhead.store.postgres.upkeep.households import Household
from playhead.store.postgres.volumes import Kept, Pages
from playhead.store.query import TapeQuery
from playhead.store.ranked.tokens import RULES
from playhead.store.rows.row import LAST_SEQ, entry_of
from playhead.store.rows.statements import statements


def check_volumes(session: Session, server: Server, family: Household, flaws: Flaws) -> None:
    """Compare each volume of our rules with its entries, as far as they can be read; those of other rules are other versions', and those that are removed meanwhile are passed over."""
    check = _VolumeCheck(session, server, family)
    for tape_no, *row in check.rows("volumes", rules=RULES):
        volume = Kept(*row)
        found = check.flaw(tape_no, volume)
        if found is not None and check.rows("is_kept", tape=tape_no, rules=RULES, first=volume.first, volume=volume.volume_id):
            what, severity = found
            flaws.add(what, where=f"volume {volume.volume_id}", severity=severity, tape=family.tapes.called(tape_no) if tape_no in family.tapes.numbered else family.name)
    ((strays,),) = check.rows("stray_pages")
    if strays:
        flaws.add(f"{strays:,} of its pages belong to no volume", where="table search_pages", severity="remnant", tape=family.name)


class _VolumeCheck:
    """Looks at the volumes of one family."""

    def __init__(self, session: Session, server: Server, family: Household) -> None:
        self._session = session
        self._family = family
        load = partial(get, session, tenant=server.tenant, path=server.label)
        self._reading = Reading(session, Book(), server.tenant, lambda digest: load(digest=digest))

    def flaw(self, tape_no: int, volume: Kept) -> tuple[str, Any] | None:
        """Return what is wrong with a volume and how bad that is, None where nothing is."""
        if tape_no not in self._family.tapes.numbered:
            return "it is of no tape", "remnant"
        part = part_of(self._family.root_id, tape_no)
        try:
            raw = Pages(self._session, part, volume, Slabs(most=0)).read(0, volume.size)
        except VolumeGone:
            return None
        if not (0 < volume.first <= volume.last <= LAST_SEQ and len(raw) == volume.size and crc32(raw) == volume.mark):
            return "it is spoilt, so it is left aside and made anew", "remnant"
        if not self._agrees(tape_no, volume, raw):
            return f"the index of words says something else of the entries {volume.first} to {volume.last} than they do", "fault"
        return None

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement on the family and return its rows."""
        return self._session.rows(statements("postgres/verify")[statement], {"root": self._family.root_id, **values})

    def _agrees(self, tape_no: int, volume: Kept, raw: bytes) -> bool:
        """Return whether a volume says what its entries do; also where these cannot be read, which is noted with them."""
        part, query = part_of(self._family.root_id, tape_no), TapeQuery(tape=self._family.tapes.called(tape_no))
        found = rows(self._reading, part, Segment(tape_no, volume.first, volume.last), query)
        try:
            return agrees(raw, (entry_of(row, tape=query.tape, load=self._reading.load) for row in found), first=volume.first, last=volume.last)
        except (StoreError, Moved):
            return True
