"""Every store keeps the promises it makes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from playhead.entry.entry import TapeEntry
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.testing import StoreContract
from playhead.testing.stores import AsyncListStore, DecoratedListStore, ListStore, SilentListStore


class TestInMemoryTapeStore(StoreContract):
    def open_store(self, place: Path) -> InMemoryTapeStore:
        return InMemoryTapeStore()


class TestInMemoryTapeStoreUnderTrio(TestInMemoryTapeStore):
    backend = "trio"


class TestSQLiteTapeStoreOnDisk(StoreContract):
    def open_store(self, place: Path) -> SQLiteTapeStore:
        return SQLiteTapeStore(place / "tapes.db")

    def spoil_blob(self, place: Path, digest: str, spoilt: bytes) -> None:
        with closing(sqlite3.connect(place / "tapes.db")) as connection, connection:
            changed = connection.execute("UPDATE blobs SET data = ? WHERE digest = ?", (spoilt, bytes.fromhex(digest.removeprefix("sha256:"))))
            assert changed.rowcount == 1


class TestSQLiteTapeStoreForTheProcess(StoreContract):
    def open_store(self, place: Path) -> SQLiteTapeStore:
        return SQLiteTapeStore(place / "new" / "folder" / "tapes.db", durability="process")


class TestSQLiteTapeStoreUnderTrio(StoreContract):
    backend = "trio"

    def open_store(self, place: Path) -> SQLiteTapeStore:
        return SQLiteTapeStore(str(place / "tapes.db"), durability="process")


class TestFourMethodsOfSQLiteTapeStore(StoreContract):
    """Four methods, the last of them behind a decorator, of a store that keeps files."""

    depth = 20

    def open_store(self, place: Path) -> FourMethods:
        return FourMethods(SQLiteTapeStore(place / "tapes.db", durability="process"))


class FourMethods:
    """Hands four methods on, under names that say nothing of branches."""

    def __init__(self, store: SQLiteTapeStore) -> None:
        self.store = store
        self.reset = partial(self._reset)
        self.aclose = store.aclose

    async def list_tapes(self) -> list[str]:
        return [name.replace("~~", "__") for name in await self.store.list_tapes()]

    async def fetch_all(self, query: TapeQuery) -> Sequence[TapeEntry]:
        return await self.store.fetch_all(replace(query, tape=query.tape.replace("__", "~~")))

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry:
        return await self.store.append(tape.replace("__", "~~"), entry)

    async def _reset(self, tape: str) -> None:
        await self.store.reset(tape.replace("__", "~~"))


class TestBlockingStore(StoreContract):
    depth = 20

    def open_store(self, place: Path) -> ListStore:
        return ListStore()


class TestBlockingStoreThatReturnsNothing(StoreContract):
    depth = 20

    def open_store(self, place: Path) -> SilentListStore:
        return SilentListStore()


class TestAsyncStore(StoreContract):
    depth = 20

    def open_store(self, place: Path) -> AsyncListStore:
        return AsyncListStore()


class TestDecoratedAsyncStore(StoreContract):
    depth = 20

    def open_store(self, place: Path) -> DecoratedListStore:
        return DecoratedListStore()


class TestDecoratedAsyncStoreUnderTrio(TestDecoratedAsyncStore):
    backend = "trio"
