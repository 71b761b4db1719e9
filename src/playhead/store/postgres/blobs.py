"""The blobs of a PostgreSQL store, each a row of its own."""

from __future__ import annotations

from playhead.store.blobs import PREFIX, Blob, hex_of, verified
from playhead.store.postgres.family import now
from playhead.store.postgres.keys import NONE, raw
from playhead.store.postgres.reading import Reading
from playhead.store.row import cell, text
from playhead.store.statements import statements


def put(reading: Reading, *, blob: Blob, data: bytes) -> Blob:
    """Keep bytes; what stands there and is not as it was written is written anew."""
    key = {"tenant": reading.tenant, "digest": bytes.fromhex(hex_of(blob.digest))}
    values = {**key, "size": blob.size, "mime": NONE if blob.mime is None else raw(cell(blob.mime)), "data": data, "at": now()}
    sql = statements("postgres/blobs")
    found = reading.session.row(sql["put_blob"], values) or reading.session.row(sql["mime"], key)
    mime = None if found is None else found[0]
    return Blob(digest=blob.digest, size=blob.size, mime=None if mime is None else text(mime))


def get(reading: Reading, *, digest: str, path: str) -> bytes:
    """Return the bytes of a digest. Raises BlobNotFound, StoreDamaged, InvalidInput."""
    found = reading.session.row(statements("postgres/blobs")["blob"], {"tenant": reading.tenant, "digest": bytes.fromhex(hex_of(digest))})
    return verified(None if found is None else found[0], digest, path=path)


def listed(reading: Reading) -> list[Blob]:
    """Return what is kept, by digest."""
    rows = reading.session.rows(statements("postgres/blobs")["blobs"], {"tenant": reading.tenant})
    return [Blob(digest=PREFIX + digest.hex(), size=size, mime=None if mime is None else text(mime)) for digest, size, mime in rows]
