"""A store of files keeps every promise, whatever was asked of it."""

from __future__ import annotations

from pathlib import Path

from playhead.store.file.store import FileTapeStore
from playhead.testing import StoreContract


class TestFileTapeStoreOnDisk(StoreContract):
    def open_store(self, place: Path) -> FileTapeStore:
        return FileTapeStore(place / "tapes")

    def spoil_blob(self, place: Path, digest: str, spoilt: bytes) -> None:
        (blob,) = (place / "tapes").rglob(digest.removeprefix("sha256:"))
        blob.write_bytes(spoilt)


class TestFileTapeStoreForTheProcess(StoreContract):
    def open_store(self, place: Path) -> FileTapeStore:
        return FileTapeStore(place / "new" / "folder", durability="process")


class TestFileTapeStoreUnderTrio(StoreContract):
    backend = "trio"

    def open_store(self, place: Path) -> FileTapeStore:
        return FileTapeStore(str(place / "tapes"), durability="process")
