"""The blobs of a PostgreSQL store, each a row of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from playhead import clock
from playhead.store.blobs import PREFIX, Blob, hex_of, verified
from playhead.store.parting import Piece
from playhead.store.postgres.keys import NONE, Numbers, Texts, raw
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.session import Row, Session
from playhead.store.row import cell, microseconds, text
from playhead.store.statements import statements
from playhead.store.work import Writing

_AT_ONCE = 16 * 1024 * 1024
"""How many bytes go in one statement, where there is more than one blob in it."""


def put(reading: Reading, *, blob: Blob, data: bytes, at: datetime) -> Blob:
    """Keep bytes, which are in use at an instant; what stands there and is not as it was written is written anew."""
    ((mime,),) = reading.session.rows(statements("postgres/blobs")["put"], _values([Piece(blob, data)], tenant=reading.tenant, at=at))
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
    keys = Texts(map(key_of, dict.fromkeys(digests)))
    gone = reading.session.rows(statements("postgres/blobs")["drop"], {"tenant": reading.tenant, "digests": keys, "since": microseconds(idle_since)})
    return [PREFIX + digest.hex() for (digest,) in gone]


def keep(session: Session, steps: Iterable[object], *, tenant: str) -> None:
    """Keep the parts of entries that are about to be written, and take note that these name blobs, in the transaction that writes them.

    It is sent before anything that locks a tape, so blobs are always locked first, and nobody waits for bytes that are on their way.
    """
    writings = [step for step in steps if isinstance(step, Writing) and step.named]
    if not writings:
        return
    at = max(step.at or clock.now() for step in writings)
    names = Texts(sorted({key_of(digest) for step in writings for digest in step.named}))
    session.send(statements("postgres/blobs")["renew"], {"tenant": tenant, "digests": names, "at": microseconds(at)})
    for some in _parcels({piece.blob.digest: piece for step in writings for pieces in step.pieces.values() for piece in pieces}.values()):
        session.send(statements("postgres/blobs")["put"], _values(some, tenant=tenant, at=at))


def key_of(digest: str) -> bytes:
    """Return the key of a digest. Raises InvalidInput where it is none."""
    return bytes.fromhex(hex_of(digest))


def _parcels(pieces: Iterable[Piece]) -> Iterable[Sequence[Piece]]:
    """Yield pieces in the order of their digests, so many at a time as go in one statement."""
    some: list[Piece] = []
    size = 0
    for piece in sorted(pieces, key=lambda piece: piece.blob.digest):
        if some and size + len(piece.data) > _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(piece)
        size += len(piece.data)
    if some:
        yield some


def _values(pieces: Sequence[Piece], *, tenant: str, at: datetime) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "digests": Texts(key_of(blob.digest) for blob, _ in pieces),
        "sizes": Numbers(blob.size for blob, _ in pieces),
        "mimes": Texts(NONE if blob.mime is None else raw(cell(blob.mime)) for blob, _ in pieces),
        "datas": Texts(data for _, data in pieces),
        "at": microseconds(at),
    }


def _blob(row: Row) -> Blob:
    digest, size, mime = row
    return Blob(digest=PREFIX + digest.hex(), size=size, mime=None if mime is None else text(mime))
