"""Keeping what can be read of a damaged SQLite store: a new file with every good entry, and a mark where one was lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from playhead.entry import codec
from playhead.entry.entry import ANCHOR
from playhead.errors import FileMissing, StoreDamaged, StoreError, StoreUnavailable
from playhead.store.archiving.archived import IN_SEGMENT
from playhead.store.condition.failures import typed
from playhead.store.condition.loss import ALTERED, PART_LOST, Loss, SalvageReport
from playhead.store.drafts import discard_database, draft_of, take_name
from playhead.store.parting import apart, is_parted
from playhead.store.protocol import IDEMPOTENCY_KEY
from playhead.store.proving.catalogue import REMOVED
from playhead.store.rows.connection import Place, migrate
from playhead.store.rows.row import SEQ_BITS, cell, is_sealed, text, uid_cell
from playhead.store.rows.statements import statements
from playhead.store.sqlite import blobs
from playhead.store.sqlite.archived import Segments
from playhead.store.sqlite.upkeep.pages import Pages, Record
from playhead.store.sqlite.upkeep.remains import Remains, remains
from playhead.store.sqlite.upkeep.restored import Restored
from playhead.store.sqlite.upkeep.verify import verify

_ENTRY, _SEGMENT, _DIGEST = 13, 5, 32
_LEAST_ROW = 100
"""How few bytes an entry takes at least: more entries than fit the file cannot have been lost."""


def salvage(place: Place) -> SalvageReport:
    """Read a SQLite store page by page and, where it is not sound, write a new one beside it that holds every good entry.

    A lost entry is replaced by an event called `salvage.lost`, so all others keep their ids; indexes are made anew. The damaged
    file is not touched. Nobody writes meanwhile. Blocks. Raises FileMissing, StoreBusy, StoreUnavailable.
    """
    path = Path(place.path)
    if not path.is_file():
        raise FileMissing(place.path)
    lock = place.lock()
    try:
        with lock:
            return _salvaged(place, path)
    except (OSError, sqlite3.Error) as exc:
        raise typed(exc, path=place.path) from exc
    finally:
        lock.close()


def _salvaged(place: Place, path: Path) -> SalvageReport:
    with suppress(StoreError):  # what cannot even be opened is salvaged
        report = verify(place)
        if report.is_sound:
            return SalvageReport(path=path, kept=report.entries, lost=(), original=None)
    draft = draft_of(path)
    try:
        kept, lost = _rescued(place.path, draft)
        return SalvageReport(path=_named(draft, path), kept=kept, lost=lost, original=path)
    finally:
        discard_database(draft)


def _rescued(path: str, draft: Path) -> tuple[int, tuple[Loss, ...]]:
    """Write what can be read to a new database; return how many entries that are, and what was lost."""
    pages = Pages(path)
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        migrate(connection, path=str(draft))
        connection.execute(statements("write")["begin"])
        blobs.rescue(connection, pages.records())
        altered = _copy_entries(connection, pages)
        present = {number for (number,) in connection.execute(statements("salvage")["present"])}
        found = remains(path, pages.records(), present)
        _leave_out(connection, found, present)
        connection.execute(statements("salvage")["drop_segments"])
        restored = Restored(connection, found, most=pages.count * pages.size // _LEAST_ROW, altered=altered)
        lost = restored.fill()
        restored.keep_records()
        (kept,) = connection.execute(statements("salvage")["kept"]).fetchone()
        connection.execute(statements("write")["commit"])
        connection.execute(statements("connection")["log_ahead"]).fetchone()
    if not found.numbered:
        raise StoreUnavailable(f"Nothing that playhead wrote was found in '{path}'; nothing was written; choose another file, or restore a backup.", path=path)
    return kept - restored.marked, lost


def _copy_entries(connection: sqlite3.Connection, pages: Pages) -> dict[int, str]:
    """Copy every entry that is as it was written, with all its parts, behind the blobs; return why the others are not, by their places."""
    altered: dict[int, str] = {}
    insert = statements("salvage")["insert_entry"]
    archived = _archived(connection, pages)
    for record in pages.records():
        if not _is_entry(record):
            continue
        values = _row(_with_said(record, archived))
        if values is None:
            altered[record.rowid or 0] = ALTERED
        elif lost := next((digest for digest in _parts(values[-1]) if not blobs.is_kept(connection, digest)), None):
            altered[record.rowid or 0] = f"{PART_LOST} ({lost})"
        else:
            connection.execute(insert, values)
    return altered


def _archived(connection: sqlite3.Connection, pages: Pages) -> Segments:
    """Return the segments that can be read; what they say is put back into the rows, and they themselves are left out of the new file."""
    connection.execute(statements("salvage")["keep_segments"])
    for rowid, values in pages.records():
        if rowid is None or len(values) != _SEGMENT or values[0] is not None or type(values[1]) is not int:
            continue
        if isinstance(values[3], bytes) and isinstance(values[4], bytes) and sha256(values[4]).digest() == values[3]:
            connection.execute(statements("salvage")["keep_segment"], (rowid, *values[1:]))
    return Segments(connection)


def _with_said(record: Record, archived: Segments) -> Record:
    """Return an entry's record with what it says, also where that is archived."""
    values = record.values
    if values[8] != IN_SEGMENT or values[10] or values[11]:
        return record
    with suppress(StoreDamaged):
        said = archived.said(record.rowid or 0)
        if said is not None:
            return record._replace(values=(*values[:10], *said, *values[12:]))
    return record


def _is_entry(record: Record) -> bool:
    values = record.values
    return record.rowid is not None and record.rowid > 0 and len(values) == _ENTRY and values[0] is None and isinstance(values[9], bytes) and len(values[9]) == _DIGEST


def _row(record: Record) -> tuple[Any, ...] | None:
    """Return an entry's row as it is to be kept, filed by what it says itself; None where it is not as it was written."""
    _, kind, ts, _, _, _, _, mark, _, *said, _ = record.values
    digest, meta, body = (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value for value in said)
    if not is_sealed((record.rowid or 0, kind, ts, digest, meta, body)):
        return None
    try:
        said, (payload, _) = codec.decode(meta), apart(body)
        uid, key, name = said["uid"], said.get(IDEMPOTENCY_KEY), payload.get("name")
        anchor = None if text(kind) != ANCHOR else cell(name) if isinstance(name, str) else ""
        filed = uid_cell(uid), cell(key) if isinstance(key, str) and key else None, anchor
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return record.rowid, ts, mark if type(mark) is int else None, kind, ts, *filed, digest, meta, body


def _parts(body: bytes) -> list[str]:
    return apart(body)[1] if is_parted(body) else []


def _leave_out(connection: sqlite3.Connection, found: Remains, present: set[int]) -> None:
    """Remove the entries of tapes that were removed, which pages may still hold though nothing points to them."""
    for number in present:
        if number not in found.numbered or found.numbered[number].state == REMOVED:
            connection.execute(statements("salvage")["leave_out"], (number << SEQ_BITS, (number + 1) << SEQ_BITS))


def _named(draft: Path, path: Path) -> Path:
    """Give the new file the first name beside the old one that is free."""
    for name in _names(path):
        with suppress(FileExistsError):
            take_name(draft, path.with_name(name))
            return path.with_name(name)
    raise AssertionError  # there is always a next name


def _names(path: Path) -> Iterator[str]:
    number = 1
    while True:
        yield f"{path.stem}.salvaged{'' if number == 1 else f'-{number}'}{path.suffix}"
        number += 1
