"""Proving the volumes of terms of a SQLite store: each must be what its entries make anew; what is spoilt or left over does no harm."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from functools import partial
from typing import Any
from zlib import crc32

from playhead.errors import StoreError
from playhead.store.concordance.proving import agrees
from playhead.store.condition.flaws import Flaws
from playhead.store.proving.catalogue import REMOVED, Catalogue
from playhead.store.ranked.tokens import RULES
from playhead.store.rows.row import LAST_SEQ, eid, entry_of
from playhead.store.rows.statements import statements
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.blobs import get
from playhead.store.sqlite.volumes import Pages


def check_volumes(connection: sqlite3.Connection, found: Catalogue, flaws: Flaws) -> None:
    """Compare each volume with its entries, as far as they can be read; a page that cannot is noted with the pages."""
    with suppress(sqlite3.DatabaseError):
        for volume_no, *said in connection.execute(statements("verify")["volumes"]).fetchall():
            what = _why_left_aside(connection, found, volume_no, *said)
            if what is not None:
                flaws.add(what, where=f"volume {volume_no}", severity="remnant")
            elif not _agrees(connection, volume_no, *said):
                tape = found.called(said[0])
                what = f"the index of words says something else of the entries {said[1]} to {said[2]} than they do"
                flaws.add(what, where=f"volume {volume_no}", severity="fault", tape=tape)
        (strays,) = connection.execute(statements("verify")["stray_pages"]).fetchone()
        if strays:
            flaws.add(f"{strays:,} of its pages belong to no volume", where="table search_pages", severity="remnant")


def _why_left_aside(connection: sqlite3.Connection, found: Catalogue, volume_no: int, tape_no: Any, first: Any, last: Any, size: Any, mark: Any, rules: Any) -> str | None:
    """Return why a volume is not read, None where it is."""
    if rules != RULES:
        return "its terms were told by other rules, so it is left aside and made anew"
    row = found.numbered.get(tape_no)
    if row is None or row.state == REMOVED:
        return "it is of no tape"
    raw = Pages(connection.execute, volume_no).read(0, size) if type(size) is int else b""
    if not (type(first) is type(last) is int and 0 < first <= last <= LAST_SEQ and len(raw) == size and crc32(raw) == mark):
        return "it is spoilt, so it is left aside and made anew"
    return None


def _agrees(connection: sqlite3.Connection, volume_no: int, tape_no: int, first: int, last: int, size: int, *_: Any) -> bool:
    """Return whether a volume says what its entries do; also where these are damaged, which is noted with them."""
    rows = filled(connection, connection.execute(statements("read")["range"], (eid(tape_no, first), eid(tape_no, last))))
    load = partial(_blob, connection)
    try:
        return agrees(Pages(connection.execute, volume_no).read(0, size), (entry_of(row, tape=str(tape_no), load=load) for row in rows), first=first, last=last)
    except StoreError:
        return True


def _blob(connection: sqlite3.Connection, digest: str) -> bytes:
    return get(connection, digest=digest, path="this store")
