"""Proving a PostgreSQL store: every entry against its digest, every record of its tapes against the entries, every blob against its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg

from playhead.errors import StoreDamaged
from playhead.store.archiving.archived import IN_SEGMENT
from playhead.store.archiving.packing import Said
from playhead.store.blobs import PREFIX, digest_of, names_in
from playhead.store.condition.flaws import Flaws, VerifyReport
from playhead.store.family import kin_of
from playhead.store.postgres.archived import Segments
from playhead.store.postgres.blobs import key_of
from playhead.store.postgres.failures import typed
from playhead.store.postgres.keys import Texts, anchor_key, name_key, text_key, uid_key
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Link, Prepared, Row
from playhead.store.postgres.upkeep.households import Household, check, household
from playhead.store.postgres.upkeep.volume_check import check_volumes
from playhead.store.proving.catalogue import IN_USE, Numbered
from playhead.store.proving.entry_check import EntryCheck, Filing
from playhead.store.rows.row import LAST_SEQ, SEQ_BITS, text
from playhead.store.rows.statements import script, statements

_FILING = Filing(uid_key, text_key, anchor_key)
_FAMILIES, _MOST_ROWS, _MOST_BYTES = 100, 2_000, 8 * 1024 * 1024
_ENC = 11
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX\s+(\w+)")


def verify(server: Server) -> VerifyReport:
    """Read all that a tenant keeps, each tape up to where it ends when it is looked at, and return what is amiss; nothing is changed, and others may write meanwhile. Blocks.

    Raises StoreUnavailable where there is no server or no store, StoreOutdated, StoreBusy.
    """
    link = Link(replace(server, read_only=True), prepared=Prepared())
    try:
        return _Proof(link).report()
    except psycopg.Error as exc:
        raise typed(exc, server=server) from exc
    except StoreDamaged as damage:
        flaws = Flaws()
        flaws.add(damage.message, where=server.label, severity="damage")
        return flaws.report(server.label, tapes=0, entries=0)
    finally:
        link.drop()


class _Proof:
    """One look at all that a tenant keeps."""

    def __init__(self, link: Link) -> None:
        self._session = link.session()
        self._server = link.server
        self._flaws = Flaws()
        self._sql = statements("postgres/verify")
        self._tapes = self._entries = 0

    def report(self) -> VerifyReport:
        """Return what is amiss."""
        self._check_indexes()
        for root_id, name, key in self._families():
            self._check_family(root_id, name, key)
        self._check_blobs()
        return self._flaws.report(self._server.label, tapes=self._tapes, entries=self._entries)

    def _check_indexes(self) -> None:
        """Take note of indexes that are not there; whether those there are right, the server's own tools prove."""
        there = {name for (name,) in self._rows("indexes", schema=self._server.schema)}
        for name in sorted(set(_INDEX.findall(script("postgres/schema"))) - there):
            self._flaws.add("the index is missing, or not valid", where=f"index {name}", severity="fault")

    def _families(self) -> Iterator[Row]:
        behind = UUID(int=0)
        while found := self._rows("families", tenant=self._server.tenant, behind=behind, limit=_FAMILIES):
            yield from found
            behind = found[-1][0]

    def _check_family(self, root_id: UUID, name: str, key: bytes) -> None:
        family = self._family(root_id, name, key)
        if family is None:
            return
        self._tapes += sum(row.state == IN_USE for row in family.tapes.numbered.values())
        for number, row in family.tapes.numbered.items():
            if family.is_shown(number):
                self._check_tape(family, row)
        self._check_strangers(family)
        check_volumes(self._session, self._server, family, self._flaws)
        for consumer, generation, id, tape in self._rows("cursors", root=root_id):
            self._flaws.tape(f"the consumer {text(consumer)!r} is said to have read up to generation {generation}, entry {id}, behind its end", tape=tape or family.name)

    def _family(self, root_id: UUID, name: str, key: bytes) -> Household | None:
        """Return a family after proving what is said of it, None where it is gone; it is looked at again where it was given another name meanwhile."""
        while True:
            flaws, rows = Flaws(), self._rows("tapes", root=root_id)
            family = household(root_id, name, rows)
            if key != name_key(name):
                flaws.tape("its family is not found under its name", tape=name)
            check(family, rows, next(iter(self._rows("family", root=root_id)), None), flaws)
            now = self._name_now(root_id) if flaws.has_any else (name, key)
            if now is None:
                return None
            if now == (name, key):
                self._flaws.take(flaws)
                return family
            name, key = now

    def _check_tape(self, family: Household, row: Numbered) -> None:
        """Prove the own entries of a tape number."""
        flaws, name = Flaws(), family.tapes.called(row.tape_no)
        kept: set[str] = set()
        proof = EntryCheck(tape=name, before=row.before, is_marked=family.tapes.is_marked(row.tape_no), flaws=flaws, filing=_FILING, has_blob=kept.__contains__)
        try:
            for page in self._pages(family.root_id, row):
                page = self._whole(page, root_id=family.root_id, tape_no=row.tape_no)
                kept |= self._kept(page)
                for entry in page:
                    proof.check(entry)
                kept.clear()
        except StoreDamaged as damage:
            flaws.lost(f"cannot be read ({damage.message})", tape=name, first=proof.before + 1, last=max(proof.before + 1, row.indexed))
        else:
            self._check_end(family, row, proof)
        if flaws.has_any and not self._is_there(family, row):
            return  # it was reset or removed while it was looked at
        self._flaws.take(flaws)
        self._entries += proof.seen

    def _pages(self, root_id: UUID, row: Numbered) -> Iterator[list[Row]]:
        low = 0
        while page := self._rows("entries", root=root_id, tape=row.tape_no, low=low, high=row.indexed, limit=_MOST_ROWS, room=_MOST_BYTES):
            yield page
            low = page[-1][0] + 1

    def _whole(self, page: Sequence[Row], *, root_id: UUID, tape_no: int) -> list[Row]:
        """Return entries with what they say, those that are archived as if they were not; one whose segment does not tell is no more as it was written."""
        places = [row[0] for row in page if row[_ENC] == IN_SEGMENT]
        segments = Segments(self._session, root_id=root_id, tape_no=tape_no, places=places)
        told = {place: said for place in places if (said := _said(segments, place)) is not None}
        return [(*row[:4], *told[row[0]], *row[6:_ENC], 0, *row[_ENC + 1 :]) if row[0] in told else row for row in page]

    def _check_end(self, family: Household, row: Numbered, proof: EntryCheck) -> None:
        if proof.before < row.indexed:
            proof.gone(row.indexed)
        for head, peak, mark, stray in self._rows("end", root=family.root_id, tape=row.tape_no):
            if stray is not None:
                proof.flaws.entry(f"it stands behind the end of its tape, {head}", tape=proof.tape, id=stray, severity="fault")
            if head == row.indexed and peak != proof.peak:
                proof.flaws.tape("the newest date on it is not the one that is told", tape=proof.tape)
            if proof.is_marked and mark < proof.lowest:
                proof.flaws.tape("the highest mark of its entries is not the one that is told", tape=proof.tape)
        if proof.is_marked and proof.tape in family.tapes.named and proof.lowest > self._main_end(family, proof.tape):
            proof.flaws.tape("an entry's mark lies behind the end of its main tape", tape=proof.tape)

    def _main_end(self, family: Household, sidecar: str) -> int:
        main = family.tapes.named.get(kin_of(sidecar).main)
        row = None if main is None else family.tapes.numbered[main.tape_no]
        return 0 if row is None else row.generation << SEQ_BITS | row.indexed

    def _check_strangers(self, family: Household) -> None:
        """Take note of entries whose number is no tape's."""
        number = 0
        while found := self._rows("next_tape", root=family.root_id, tape=number, last=LAST_SEQ):
            ((number,),) = found
            if number not in family.tapes.numbered and not self._rows("end", root=family.root_id, tape=number):
                self._flaws.add("entries belong to no tape", where=f"tape '{family.name}', number {number}", severity="fault")

    def _check_blobs(self) -> None:
        """Prove every blob against its digest."""
        behind = b""
        try:
            while page := self._rows("blobs", tenant=self._server.tenant, behind=behind, limit=_MOST_ROWS, room=_MOST_BYTES):
                for key, size, data in page:
                    self._check_blob(PREFIX + key.hex(), size, data)
                behind = page[-1][0]
        except StoreDamaged as damage:
            self._flaws.add(f"those behind {behind.hex() or 'the first'} cannot be read ({damage.message})", where="blobs", severity="damage")

    def _check_blob(self, digest: str, size: int, data: bytes) -> None:
        if digest_of(data) != digest:
            self._flaws.add("it is not as it was written", where=f"blob {digest}", severity="damage")
        elif size != len(data):
            self._flaws.add(f"it is said to be {size} bytes long, and is {len(data):,}", where=f"blob {digest}", severity="fault")

    def _kept(self, page: Sequence[Row]) -> set[str]:
        """Return those of the digests that stand in some entries of which there is a blob."""
        named = {digest for row in page for said in (row[4], row[5]) for digest in names_in(said)}
        found = self._rows("kept_blobs", tenant=self._server.tenant, digests=Texts(map(key_of, named))) if named else []
        return {PREFIX + key.hex() for (key,) in found}

    def _is_there(self, family: Household, row: Numbered) -> bool:
        """Return whether a tape number is still what it was."""
        now = household(family.root_id, family.name, self._rows("tapes", root=family.root_id))
        return now.is_shown(row.tape_no) and now.tapes.numbered[row.tape_no].state == row.state

    def _name_now(self, root_id: UUID) -> tuple[str, bytes] | None:
        found = self._rows("families", tenant=self._server.tenant, behind=UUID(int=root_id.int - 1), limit=1)
        return (found[0][1], found[0][2]) if found and found[0][0] == root_id else None

    def _rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows. Raises StoreDamaged where a page of the database cannot be read, and what else it comes to."""
        try:
            return self._session.rows(self._sql[statement], values)
        except psycopg.Error as exc:
            raise typed(exc, server=self._server) from exc


def _said(segments: Segments, place: int) -> Said | None:
    try:
        return segments.said(place)
    except StoreDamaged:
        return None
