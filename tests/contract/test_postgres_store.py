"""A store on a PostgreSQL server keeps every promise, whatever was asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pytest

from playhead.store.postgres.store import PostgresTapeStore
from playhead.testing import StoreContract


class TestPostgresTapeStoreOnDisk(StoreContract):
    options: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def database(self, postgres_url: str) -> None:
        self.url = postgres_url

    def open_store(self, place: Path) -> PostgresTapeStore:
        return PostgresTapeStore(self.url, **self.options)

    def spoil_blob(self, place: Path, digest: str, spoilt: bytes) -> None:
        with psycopg.connect(self.url) as connection:
            changed = connection.execute("UPDATE playhead.blobs SET data = %s WHERE digest = %s", (spoilt, bytes.fromhex(digest.removeprefix("sha256:"))))
            assert changed.rowcount == 1


class TestPostgresTapeStoreUnderTrio(TestPostgresTapeStoreOnDisk):
    """One connection reads, commits do not wait for the disk, and the tapes are those of one tenant of several."""

    backend = "trio"
    options: ClassVar[dict[str, Any]] = {"durability": "process", "tenant": "one of several", "connections": 1}
