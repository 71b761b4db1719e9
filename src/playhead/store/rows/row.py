"""An entry as a row of a database: what is written, and what is read back."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from sys import intern
from typing import Any, NamedTuple

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, TapeEntry, event_name, told
from playhead.entry.frozen import FrozenDict
from playhead.errors import StoreDamaged
from playhead.store.condition.damage import altered, missing
from playhead.store.parting import Load, Parted, Whole, is_parted, no_blob
from playhead.store.rules.replay import key_of

SEQ_BITS = 32
LAST_SEQ = (1 << SEQ_BITS) - 1
"""The highest id a tape can have."""

BLOCK = 64
"""How many entries of a tape are indexed by kind and uid at a time; those behind the last full block are looked through."""

Cell = str | bytes
"""A text as SQLite keeps it: bytes where it holds half a surrogate pair, which UTF-8 does not know."""

RawRow = tuple[int, Cell, int, bytes, bytes, bytes]
"""An entry as it is read: its place, kind, ts, digest, meta and body; whatever else where the file was altered."""

_KIND_SEAL = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000
_USUAL_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


class Row(NamedTuple):
    """The columns of one entry, without its place on a tape; `ts` is in microseconds since 1970."""

    kind: Cell
    ts: int
    uid: Cell
    idem_key: Cell | None
    anchor: Cell | None
    digest: bytes
    meta: bytes
    body: bytes


def eid(tape_no: int, seq: int) -> int:
    """Return the row id of an entry: 31 bits of tape, 32 bits of id, so that a tape is one range."""
    return tape_no << SEQ_BITS | seq


def row_of(entry: TapeEntry, meta: FrozenDict) -> Row:
    """Return the row of an entry with the meta to keep; raises InvalidInput where its idempotency key is no text."""
    key, kind, ts = key_of(entry), cell(entry.kind), microseconds(datetime.fromisoformat(entry.date))
    kept, body = codec.encode(meta), codec.encode(entry.payload)
    anchor = cell(event_name(entry)) if entry.kind == ANCHOR else None
    return Row(kind, ts, uid_cell(meta["uid"]), None if key is None else cell(key), anchor, seal(kind, ts, kept, body), kept, body)


def parted_row(row: Row, parts: Parted) -> Row:
    """Return the row of an entry whose payload is kept in parts."""
    return row._replace(body=parts.body, digest=seal(row.kind, row.ts, row.meta, parts.body))


def seal(kind: Cell, ts: int, meta: bytes, body: bytes) -> bytes:
    """Return the digest of all that an entry says, that of its kind in front; JSON as we write it has no line ends, so no two entries run together alike."""
    name = kind.encode() if isinstance(kind, str) else kind
    return _kind_seal(kind) + sha256(b"%d\n%b\n%b\n%b" % (ts, meta, body, name)).digest()[_KIND_SEAL:]


@lru_cache(maxsize=1024)
def _kind_seal(kind: Cell) -> bytes:
    return sha256(kind.encode() if isinstance(kind, str) else kind).digest()[:_KIND_SEAL]


def is_sealed(row: RawRow) -> bool:
    """Return whether a row is as it was written."""
    _, kind, ts, digest, meta, body = row
    try:
        return digest == seal(kind, ts, meta, body)
    except (TypeError, UnicodeEncodeError):
        return False


def of_kinds(rows: Iterable[RawRow], kinds: Container[Cell], *, tape: str) -> Iterator[RawRow]:
    """Yield the rows that are of one of the kinds. Raises StoreDamaged at one whose kind is not the one that was written: nobody knows whether it is."""
    for row in rows:
        if row[1] in kinds:
            yield row
        elif not _has_its_kind(row):
            raise damage_of(row, tape=tape)


def within_dates(rows: Iterable[RawRow], since: int, until: int, *, tape: str) -> Iterator[RawRow]:
    """Yield the rows that are dated between two instants. Raises StoreDamaged at one that is not, and is not as it was written either."""
    for row in rows:
        if isinstance(row[2], int) and since <= row[2] <= until:
            yield row
        elif not is_sealed(row):
            raise damage_of(row, tape=tape)


def _has_its_kind(row: RawRow) -> bool:
    try:
        return row[3].startswith(_kind_seal(row[1]))
    except (TypeError, AttributeError):
        return False


def entry_of(row: RawRow, *, tape: str, load: Load = no_blob) -> TapeEntry:
    """Return the entry of a row; the row is checked when payload or meta is first read, and what it says decoded then.

    `load` returns the blobs of a payload that is kept in parts. Raises StoreDamaged, then or now, where the row is not as it was written.
    """
    try:
        if _EARLIEST <= row[2] <= _LATEST:
            return told(id=row[0] & LAST_SEQ, kind=text(row[1]), by=_Reading(row, tape, load))
    except (TypeError, AttributeError, ValueError) as exc:
        raise damage_of(row, tape=tape) from exc
    raise damage_of(row, tape=tape)


def damage_of(row: RawRow, *, tape: str) -> StoreDamaged:
    """Return the error of a row that is not as it was written, or not there: an index that names it gives it no kind."""
    id = row[0] & LAST_SEQ
    return missing(tape, id, id) if row[1] is None else altered(tape, id)


class _Reading:
    """Tells what a row says; it is checked once."""

    __slots__ = ("_checked", "_load", "_row", "_tape")

    def __init__(self, row: RawRow, tape: str, load: Load) -> None:
        self._row = row
        self._tape = tape
        self._load = load
        self._checked = False

    def payload(self) -> Any:
        return self._decoded(self._row[5])

    def meta(self) -> Any:
        return self._decoded(self._row[4])

    def date(self) -> str:
        return date_text(self._row[2])

    def _decoded(self, body: bytes) -> Any:
        if not self._checked and not is_sealed(self._row):
            raise damage_of(self._row, tape=self._tape)
        self._checked = True
        try:
            return Whole(self._load, f"entry {self._row[0] & LAST_SEQ} of the tape '{self._tape}'")(body) if is_parted(body) else codec.decode(body)
        except (ValueError, RecursionError) as exc:
            raise damage_of(self._row, tape=self._tape) from exc


def written(entry: TapeEntry, row: Row, id: int) -> TapeEntry:
    """Return an entry as it now stands, made of the very bytes that were written; of one that is kept in parts, of its payload."""
    if is_parted(row.body):
        return TapeEntry(id, entry.kind, entry.payload, codec.decode(row.meta), entry.date)
    return TapeEntry.stored(id=id, kind=entry.kind, payload=row.body, meta=row.meta, date=entry.date)


def microseconds(at: datetime) -> int:
    """Return an instant as microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


_EARLIEST, _LATEST = (microseconds(end) for end in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)))


def date_text(ts: int) -> str:
    """Return microseconds since 1970 as entries write a date."""
    second, rest = divmod(ts, _SECOND)
    return f"{_second_text(second)}.{rest:06d}+00:00"


@lru_cache(maxsize=4096)
def _second_text(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


def cell(value: str) -> Cell:
    """Return a text as SQLite keeps it."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def text(value: Cell) -> str:
    """Return the text of a cell."""
    return intern(value) if isinstance(value, str) else _decoded(value)


@lru_cache(maxsize=1024)
def _decoded(value: bytes) -> str:
    return intern(value.decode("utf-8", "surrogatepass"))


def uid_cell(uid: str) -> Cell:
    """Return a uid as SQLite keeps it: sixteen bytes where it is a UUID in its usual form."""
    return bytes.fromhex(uid.replace("-", "")) if _USUAL_UUID(uid) else cell(uid)
