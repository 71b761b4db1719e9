"""The blobs of a PostgreSQL store, each a row of its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from playhead import clock
from playhead.store.blobs import PREFIX, Blob, hex_of, verified
from playhead.store.parting import Piece
from playhead.store.postgres.keys import NONE, raw
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.session import Row, Session
from playhead.store.rows.row import cell, microseconds, text
from playhead.store.rows.statements import statements
from playhead.store.rules.work import Writing


def put(reading: Reading, *, blob: Blob, data: bytes, at: datetime) -> Blob:
    """Keep bytes, which are in use at an instant; what stands there and is not as it was written is written anew."""
    ((mime,),) = reading.session.rows(statements("postgres/blobs")["put"], _values(Piece(blob, data), tenant=reading.tenant, at=at))
    return Blob(digest=blob.digest, size=blob.size, mime=None if mime is None else text(mime))


def get(session: Session, *, digest: str, tenant: str, path: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, InvalidInput."""
    found = session.send(statements("postgres/blobs")["blob"], {"tenant": tenant, "digest": key_of(digest)}).fetchone()
    return verified(None if found is None else found[0], digest, path=path)


def got(reading: Reading, *, digest: str, path: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, InvalidInput."""
    return get(reading.session, digest=digest, tenant=reading.tenant, path=path)


def listed(reading: Reading) -> list[Blob]:
    """Return what is kept, by digest."""
    return [_blob(row) for row in reading.session.rows(statements("postgres/blobs")["blobs"], {"tenant": reading.tenant})]


def idle(reading: Reading, *, since: datetime) -> list[Blob]:
    """Return those that were neither put nor named by an append since an instant, by digest."""
    return [_blob(row) for row in reading.session.rows(statements("postgres/blobs")["idle"], {"tenant": reading.tenant, "since": microseconds(since)})]


def drop(reading: Reading, *, digests: Iterable[str], idle_since: datetime) -> list[str]:
    """Remove those that were neither put nor named by an append since an instant, and that nobody is about to; return which."""
    values = {"tenant": reading.tenant, "since": microseconds(idle_since)}
    with reading.session.pipeline():
        sent = [reading.session.send(statements("postgres/blobs")["drop"], {**values, "digest": key}) for key in sorted({key_of(digest) for digest in digests})]
    return [PREFIX + digest.hex() for cursor in sent for (digest,) in cursor.fetchall()]


def keep(session: Session, steps: Iterable[object], *, tenant: str) -> None:
    """Keep the parts of entries that are about to be written, and take note that these name blobs, in the transaction that writes them.

    It is sent before anything that locks a tape, so blobs are always locked first, and nobody waits for bytes that are on their way.
    """
    writings = [step for step in steps if isinstance(step, Writing) and step.named]
    if not writings:
        return
    at = max(step.at or clock.now() for step in writings)
    sql = statements("postgres/blobs")
    pieces = {piece.blob.digest: piece for step in writings for some in step.pieces.values() for piece in some}
    for digest in sorted(pieces.keys() | {digest for step in writings for digest in step.named}):
        if digest in pieces:
            session.send(sql["put"], _values(pieces[digest], tenant=tenant, at=at))
        else:
            session.send(sql["renew"], {"tenant": tenant, "digest": key_of(digest), "at": microseconds(at)})


def key_of(digest: str) -> bytes:
    """Return the key of a digest. Raises InvalidInput where it is none."""
    return bytes.fromhex(hex_of(digest))


def _values(piece: Piece, *, tenant: str, at: datetime) -> dict[str, Any]:
    blob, data = piece
    mime = NONE if blob.mime is None else raw(cell(blob.mime))
    return {"tenant": tenant, "digest": key_of(blob.digest), "size": blob.size, "mime": mime, "data": data, "at": microseconds(at)}


def _blob(row: Row) -> Blob:
    digest, size, mime = row
    return Blob(digest=PREFIX + digest.hex(), size=size, mime=None if mime is None else text(mime))
