"""Where the blobs come from that the entries of a family refer to."""

from __future__ import annotations

from typing import Protocol

from playhead.errors import BlobNotFound
from playhead.store.blobs import BlobStore
from playhead.store.transfer.directory import Directory
from playhead.store.transfer.manifest import Manifest


class Carrying(Protocol):
    """Has blobs by their digests."""

    async def get(self, digest: str) -> tuple[bytes, str | None]:
        """Return the bytes of a digest, and their type where that is known. Raises BlobNotFound."""
        ...


class FromStore:
    """The blobs of a store."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._mimes: dict[str, str | None] | None = None

    async def get(self, digest: str) -> tuple[bytes, str | None]:
        """Return the bytes of a digest, and their type where that is known. Raises BlobNotFound."""
        return await self._store.get_blob(digest), await self.mime(digest)

    async def mime(self, digest: str) -> str | None:
        """Return the type of a blob, where that is known."""
        if self._mimes is None or digest not in self._mimes:
            self._mimes = {blob.digest: blob.mime for blob in await self._store.blobs()}
        return self._mimes.get(digest)


class FromDirectory:
    """The blobs of an export, those that its manifest names."""

    def __init__(self, directory: Directory, manifest: Manifest) -> None:
        self._directory = directory
        self._manifest = manifest

    async def get(self, digest: str) -> tuple[bytes, str | None]:
        """Return the bytes of a digest, and their type where that is known. Raises BlobNotFound, UnreadableFile."""
        if digest not in self._manifest.blobs:
            raise BlobNotFound(digest)
        return await self._directory.get_blob(digest), self._manifest.blobs[digest].mime
