"""Blobs that are kept in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from playhead import clock
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import BlobNotFound
from playhead.store.blobs import Blob, hex_of, names_in


class Blobs:
    """Bytes by their digest, each with when it was last put or named."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Blob, bytes]] = {}
        self._used: dict[str, datetime] = {}

    def put(self, blob: Blob, data: bytes) -> Blob:
        """Keep bytes; those that are there stay, under the type that was said first."""
        known, kept = self._kept.get(blob.digest, (blob, data))
        known = replace(known, mime=known.mime or blob.mime)
        self._kept[blob.digest] = known, kept
        self._renew([blob.digest])
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

    def use(self, entries: Iterable[TapeEntry]) -> None:
        """Take note that entries which are being kept name blobs."""
        if self._kept:
            self._renew(named(entries) & self._kept.keys())

    def idle(self, since: datetime) -> list[Blob]:
        """Return those that were neither put nor named since an instant, by digest."""
        return [blob for blob in self.listed() if self._used[blob.digest] < since]

    def drop(self, digests: Iterable[str], idle_since: datetime) -> list[str]:
        """Remove those that were neither put nor named since an instant; return which."""
        gone = [digest for digest in digests if digest in self._kept and self._used[digest] < idle_since]
        for digest in gone:
            del self._kept[digest], self._used[digest]
        return gone

    def _renew(self, digests: Iterable[str]) -> None:
        for digest in digests:
            self._used[digest] = max(clock.now(), self._used.get(digest, clock.now()))


def named(entries: Iterable[TapeEntry]) -> frozenset[str]:
    """Return the digests that entries name."""
    return frozenset().union(*(names_in(codec.encode(said)) for entry in entries for said in (entry.payload, entry.meta)))
