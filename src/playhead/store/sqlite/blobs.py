"""The blobs of a SQLite file, each a row of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from playhead import clock
from playhead.store.blobs import PREFIX, Blob, digest_of, hex_of, verified
from playhead.store.condition.flaws import Flaws
from playhead.store.rows.connection import Place
from playhead.store.rows.row import microseconds
from playhead.store.rows.statements import statements
from playhead.store.sqlite.tails import Tails
from playhead.store.sqlite.upkeep.looking import looked_at
from playhead.store.sqlite.upkeep.pages import Record

WHOLE_STORE = 0
"""Stands in `root_no` for blobs that any tape of the store may refer to."""

_DIGEST = 32


def put(tails: Tails, *, blob: Blob, data: bytes, at: datetime) -> Blob:
    """Keep bytes, which are in use at an instant; what stands there and is not as it was written is written anew."""
    sql = statements("blobs")
    key = _key(blob.digest)
    tails.execute(sql["keep_age"], (*key, microseconds(at)))
    standing = tails.execute(sql["blob"], key).fetchone()
    if standing is None:
        tails.execute(sql["insert_blob"], (*key, blob.size, blob.mime, data, microseconds(at)))
        return blob
    kept, mime = standing
    if kept != data or (mime is None and blob.mime is not None):
        tails.execute(sql["mend_blob"], (blob.size, mime or blob.mime, data, *key))
    return Blob(digest=blob.digest, size=blob.size, mime=mime or blob.mime)


def get(connection: sqlite3.Connection, *, digest: str, path: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, InvalidInput."""
    found = connection.execute(statements("blobs")["blob"], _key(digest)).fetchone()
    return verified(None if found is None else bytes(found[0] or b""), digest, path=path)


def load(place: Place, digest: str) -> bytes:
    """Return the bytes of a digest on a connection of its own. Raises BlobNotFound, StoreDamaged, StoreUnavailable."""
    return looked_at(place, partial(get, digest=digest, path=place.path))


def is_kept(connection: sqlite3.Connection, digest: str) -> bool:
    """Return whether there is a blob of that digest, whatever it holds."""
    return connection.execute(statements("blobs")["is_kept"], _key(digest)).fetchone() is not None


def listed(connection: sqlite3.Connection) -> list[Blob]:
    """Return what is kept, by digest."""
    return [_blob(found) for found in connection.execute(statements("blobs")["blobs"], (WHOLE_STORE,))]


def renew(tails: Tails, digests: Iterable[str], *, at: datetime) -> None:
    """Take note that entries which are being written name blobs at an instant; those of them that are not kept are nobody's."""
    tails.execute_many(statements("blobs")["renew_age"], [(microseconds(at), *_key(digest)) for digest in digests])


def idle(connection: sqlite3.Connection, *, since: datetime) -> list[Blob]:
    """Return those that were neither put nor named by an append since an instant, by digest."""
    return [_blob(found) for found in connection.execute(statements("blobs")["idle_blobs"], (WHOLE_STORE, microseconds(since)))]


def drop(tails: Tails, *, digests: Iterable[str], idle_since: datetime) -> list[str]:
    """Remove those that were neither put nor named by an append since an instant; return which."""
    sql, gone = statements("blobs"), []
    for digest in digests:
        if tails.execute(sql["is_idle"], (*_key(digest), microseconds(idle_since))).fetchone() is None:
            continue
        tails.execute(sql["drop_blob"], _key(digest))
        tails.execute(sql["drop_age"], _key(digest))
        gone.append(digest)
    return gone


def _key(digest: str) -> tuple[int, bytes]:
    return WHOLE_STORE, bytes.fromhex(hex_of(digest))


def _blob(found: tuple[bytes, int, str | None]) -> Blob:
    key, size, mime = found
    return Blob(digest=PREFIX + bytes(key).hex(), size=size, mime=mime)


def check(connection: sqlite3.Connection, flaws: Flaws) -> None:
    """Prove every blob against its digest, as far as they can be read; a page that cannot is noted with the pages."""
    with suppress(sqlite3.DatabaseError):
        _check(connection.execute(statements("blobs")["all_blobs"]), flaws)


def _check(rows: Iterable[tuple[Any, ...]], flaws: Flaws) -> None:
    for key, size, data in rows:
        if not isinstance(key, bytes) or not isinstance(data, bytes) or digest_of(data) != PREFIX + key.hex():
            flaws.add("it is not as it was written", where=f"blob {PREFIX}{key.hex() if isinstance(key, bytes) else key}", severity="damage")
        elif size != len(data):
            flaws.add(f"it is said to be {size!r} bytes long, and is {len(data):,}", where=f"blob {PREFIX}{key.hex()}", severity="fault")


def rescue(connection: sqlite3.Connection, records: Iterator[Record]) -> None:
    """Keep every blob that is as it was written in a new file: its digest proves it. It counts as put now."""
    sql, now = statements("blobs"), microseconds(clock.now())
    for record in records:
        match record.values:
            case (int(), bytes(key), int(), mime, bytes(data), _, created_at) if record.rowid is not None and len(key) == _DIGEST and digest_of(data) == PREFIX + key.hex():
                connection.execute(sql["rescue_blob"], (WHOLE_STORE, key, len(data), mime if isinstance(mime, str) else None, data, created_at if type(created_at) is int else 0))
                connection.execute(sql["keep_age"], (WHOLE_STORE, key, now))
