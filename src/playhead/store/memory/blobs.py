"""Blobs that are kept in memory."""

from __future__ import annotations

from dataclasses import replace

from playhead.errors import BlobNotFound
from playhead.store.blobs import Blob, hex_of


class Blobs:
    """Bytes by their digest."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Blob, bytes]] = {}

    def put(self, blob: Blob, data: bytes) -> Blob:
        """Keep bytes; those that are there stay, under the type that was said first."""
        known, kept = self._kept.get(blob.digest, (blob, data))
        known = replace(known, mime=known.mime or blob.mime)
        self._kept[blob.digest] = known, kept
        return known

    def get(self, digest: str) -> bytes:
        """Return the bytes of a digest. Raises BlobNotFound, InvalidInput."""
        hex_of(digest)
        if digest not in self._kept:
            raise BlobNotFound(digest)
        return self._kept[digest][1]

    def listed(self) -> list[Blob]:
        """Return what is kept, by digest."""
        return [self._kept[digest][0] for digest in sorted(self._kept)]
