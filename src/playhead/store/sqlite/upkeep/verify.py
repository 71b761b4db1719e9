"""Proving a SQLite store: every entry against its digest, every index and record against the entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from playhead.errors import FileMissing, StoreDamaged
from playhead.store.condition.failures import typed
from playhead.store.condition.flaws import Flaws, Severity, VerifyReport
from playhead.store.family import kin_of
from playhead.store.protocol import Head
from playhead.store.proving.catalogue import IN_USE, REMOVED, Catalogue, Numbered
from playhead.store.proving.entry_check import EntryCheck
from playhead.store.proving.lineages import check_lineages, check_names
from playhead.store.rows.connection import Place, migrate
from playhead.store.rows.row import BLOCK, LAST_SEQ, SEQ_BITS, eid
from playhead.store.rows.statements import statements
from playhead.store.sqlite import blobs
from playhead.store.sqlite.upkeep import catalogue
from playhead.store.sqlite.upkeep.entries import FILING, rows
from playhead.store.sqlite.upkeep.looking import looked_at
from playhead.store.sqlite.upkeep.volume_check import check_volumes

_SOUND = ("ok",)


def verify(place: Place) -> VerifyReport:
    """Read all of a SQLite store, as it is at one moment, and return what is amiss; nothing is changed, and others may write meanwhile. Blocks.

    Raises FileMissing, StoreUnavailable where it is no database or another program's, StoreOutdated.
    """
    try:
        with open(place.path, "rb"):
            pass
    except FileNotFoundError as exc:
        raise FileMissing(place.path) from exc
    except OSError as exc:
        raise FileMissing(place.path, exc.strerror or str(exc)) from exc
    try:
        return looked_at(place, partial(_proved, path=place.path))
    except StoreDamaged as damage:
        return _unreadable(place.path, damage)


def _proved(connection: sqlite3.Connection, *, path: str) -> VerifyReport:
    connection.text_factory = _lenient
    try:
        connection.execute(statements("read")["begin"])
        try:
            return _Proof(connection, path).report()
        finally:
            connection.execute(statements("read")["end"])
    except sqlite3.Error as exc:
        raise typed(exc, path=path) from exc


def _unreadable(path: str, damage: StoreDamaged) -> VerifyReport:
    """Return the report of a file of which SQLite cannot even read the records."""
    flaws = Flaws()
    flaws.add(damage.message, where=path, severity="damage")
    return flaws.report(path, tapes=0, entries=0)


class _Proof:
    """One look at all of a file, from one snapshot of it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._flaws = Flaws()
        self._sql = statements("verify")

    def report(self) -> VerifyReport:
        """Return what is amiss."""
        self._check_pages()
        self._check_schema()
        found = catalogue.read(self._connection, self._flaws)
        ends = {number: self._end(row) for number, row in found.numbered.items() if type(number) is int}
        check_lineages(found, ends, self._flaws)
        check_names(found, self._flaws)
        entries = sum(self._check_tape(found, row, ends) for number, row in found.numbered.items() if type(number) is int)
        self._check_strangers(found)
        self._check_indexes(found)
        self._check_segments(found)
        check_volumes(self._connection, found, self._flaws)
        self._check_readers(found, ends)
        blobs.check(self._connection, self._flaws)
        return self._flaws.report(self._path, tapes=sum(row.state == IN_USE for row in found.numbered.values()), entries=entries)

    def _check_pages(self) -> None:
        """Have SQLite prove its pages and its own indexes."""
        for found in self._rows("integrity"):
            if found != _SOUND:
                self._flaws.add(str(found[0]), where=self._path, severity="damage")

    def _check_schema(self) -> None:
        """Compare the tables and indexes with those that the migrations make."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
            migrate(fresh, path=":memory:")
            ours = set(fresh.execute(self._sql["schema"]))
        theirs = set(self._connection.execute(self._sql["schema"]))
        for kind, name, _ in sorted(ours - theirs):
            self._flaws.add(f"the {kind} is missing, or not as it was made", where=f"{kind} {name}", severity="fault")
        for kind, name, _ in sorted(theirs - ours):
            if name not in {made for _, made, _ in ours}:
                self._flaws.add(f"the {kind} is not one of ours", where=f"{kind} {name}", severity="remnant")

    def _end(self, row: Numbered) -> int:
        try:
            return catalogue.last_id(self._connection, row)
        except sqlite3.Error:
            return row.before

    def _check_tape(self, found: Catalogue, row: Numbered, ends: dict[int, int]) -> int:
        """Prove the own entries of a tape number and return how many they are."""
        if row.state == REMOVED:
            return self._check_removed(found, row)
        if row.state != IN_USE and not found.is_read(row.tape_no):
            return 0
        name, is_marked = found.called(row.tape_no), found.is_marked(row.tape_no)
        check = EntryCheck(tape=name, before=row.before, is_marked=is_marked, flaws=self._flaws, filing=FILING, has_blob=partial(blobs.is_kept, self._connection), lowest=self._lowest_mark(row))
        try:
            for entry in rows(self._connection, row.tape_no):
                check.check(entry)
        except sqlite3.Error as exc:
            self._flaws.lost(f"cannot be read ({exc})", tape=name, first=check.before + 1, last=max(check.before + 1, ends[row.tape_no]))
            return check.seen
        if check.before < ends[row.tape_no]:
            check.gone(ends[row.tape_no])
        if is_marked and name in found.named and check.lowest > self._main_head(found, name, ends):
            self._flaws.tape("an entry's mark lies behind the end of its main tape", tape=name)
        self._check_blocks(row, ends[row.tape_no], name)
        return check.seen

    def _check_removed(self, found: Catalogue, row: Numbered) -> int:
        """Take note of entries that should have been removed."""
        (count,) = self._connection.execute(self._sql["count"], (eid(row.tape_no, 0), eid(row.tape_no, LAST_SEQ))).fetchone()
        if count:
            self._flaws.tape(f"{count:,} of its entries are still there, though it was removed", tape=found.called(row.tape_no), severity="remnant")
        return 0

    def _lowest_mark(self, row: Numbered) -> int:
        """Return the mark of the entry that a tape number's own ones stand behind."""
        nearest = (row.inherited() or [(0, 0)])[-1]
        found = self._connection.execute(statements("family")["mark"], (eid(*nearest),)).fetchone()
        return found[0] if found is not None and type(found[0]) is int else 0

    def _main_head(self, found: Catalogue, name: str, ends: dict[int, int]) -> int:
        main = found.named.get(kin_of(name).main)
        row = None if main is None else found.numbered.get(main.tape_no)
        if row is None or type(row.generation) is not int:
            return 0
        head = Head(row.generation, ends.get(row.tape_no, 0))
        return head.generation << SEQ_BITS | head.id

    def _check_blocks(self, row: Numbered, end: int, name: str) -> None:
        """Prove that every full block of entries is indexed by kind and uid."""
        block = eid(row.tape_no, 0), eid(row.tape_no, end // BLOCK * BLOCK)
        for statement, what in (("unindexed_kinds", "kind"), ("unindexed_uids", "uid")):
            for (place,) in self._rows(statement, block):
                self._flaws.entry(f"it is not in the index of {what}s, or under another {what}", tape=name, id=place & LAST_SEQ, severity="fault")

    def _check_strangers(self, found: Catalogue) -> None:
        """Take note of entries whose tape number is nobody's."""
        place = -(1 << 63)
        while (next_place := self._next(place)) is not None:
            tape_no = next_place >> SEQ_BITS
            if tape_no not in found.numbered:
                (count,) = self._connection.execute(self._sql["count"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone()
                self._flaws.add(f"{count:,} entries belong to no tape", where=f"tape number {tape_no}", severity="fault")
            place = eid(tape_no + 1, 0)
            if place >= 1 << 63:
                return

    def _next(self, place: int) -> int | None:
        found = next(iter(self._rows("next_entry", (place,))), None)
        return None if found is None else found[0]

    def _check_indexes(self, found: Catalogue) -> None:
        """Take note of what the indexes say of entries that are not there, or not so."""
        for statement, what in (("stray_kinds", "kinds"), ("stray_uids", "uids")):
            for (place,) in self._rows(statement):
                tape = found.called(place >> SEQ_BITS)
                self._flaws.entry(f"the index of {what} has it, but no such entry should be in it", tape=tape, id=place & LAST_SEQ, severity="fault")

    def _check_segments(self, found: Catalogue) -> None:
        """Take note of segments that do not stand for archived entries."""
        for low, high in self._rows("stray_segments"):
            tape_no = low >> SEQ_BITS
            tape, row = found.called(tape_no), found.numbered.get(tape_no)
            severity: Severity = "fault" if row is not None and (row.state == IN_USE or found.is_read(tape_no)) else "remnant"
            self._flaws.tape(f"its segment of the entries {low & LAST_SEQ} to {high & LAST_SEQ} does not stand for so many archived ones", tape=tape, severity=severity)

    def _check_readers(self, found: Catalogue, ends: dict[int, int]) -> None:
        """Prove leases and the places of consumers."""
        for name, owner, epoch, until in self._rows("leases"):
            if not (isinstance(owner, str) and type(epoch) is int and epoch > 0 and type(until) is int):
                self._flaws.tape(f"its lease cannot be read: owner {owner!r}, epoch {epoch!r}, until {until!r}", tape=name)
        for name, consumer, generation, id in self._rows("cursors"):
            row = found.numbered.get(found.named[name].tape_no) if name in found.named else None
            known = Head(row.generation, ends.get(row.tape_no, 0)) if row is not None and type(row.generation) is int else Head(0, 0)
            if type(generation) is not int or type(id) is not int or Head(generation, id) > known:
                self._flaws.tape(f"the consumer {consumer!r} is said to have read up to generation {generation!r}, entry {id!r}, behind its end", tape=name)

    def _rows(self, statement: str, values: Iterable[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield what a statement finds, as far as it can be read; a page that cannot is noted by `_check_pages` already."""
        try:
            yield from self._connection.execute(self._sql[statement], tuple(values))
        except sqlite3.DatabaseError as exc:
            self._flaws.add(f"a page cannot be read ({exc})", where=self._path, severity="damage")


def _lenient(raw: bytes) -> str:
    """Return a text as it is, also where it is damaged; what stands for bad bytes is no text that anything is compared with."""
    return raw.decode("utf-8", "surrogateescape")
