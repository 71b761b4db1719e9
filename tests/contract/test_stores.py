"""Every store keeps the promises it makes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from playhead.store.memory import InMemoryTapeStore
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


class TestSQLiteTapeStoreForTheProcess(StoreContract):
    def open_store(self, place: Path) -> SQLiteTapeStore:
        return SQLiteTapeStore(place / "new" / "folder" / "tapes.db", durability="process")


class TestSQLiteTapeStoreUnderTrio(StoreContract):
    backend = "trio"

    def open_store(self, place: Path) -> SQLiteTapeStore:
        return SQLiteTapeStore(str(place / "tapes.db"), durability="process")


class TestFourMethodsOfSQLiteTapeStore(StoreContract):
    """A whole store serves where four methods are asked for."""

    def open_store(self, place: Path) -> FourMethods:
        return FourMethods(SQLiteTapeStore(place / "tapes.db", durability="process"))


class FourMethods:
    def __init__(self, store: SQLiteTapeStore) -> None:
        self.list_tapes, self.fetch_all, self.append = store.list_tapes, store.fetch_all, store.append
        self.reset = partial(store.reset)
        self.aclose = store.aclose


class TestBlockingStore(StoreContract):
    def open_store(self, place: Path) -> ListStore:
        return ListStore()


class TestBlockingStoreThatReturnsNothing(StoreContract):
    def open_store(self, place: Path) -> SilentListStore:
        return SilentListStore()


class TestAsyncStore(StoreContract):
    def open_store(self, place: Path) -> AsyncListStore:
        return AsyncListStore()


class TestDecoratedAsyncStore(StoreContract):
    def open_store(self, place: Path) -> DecoratedListStore:
        return DecoratedListStore()


class TestDecoratedAsyncStoreUnderTrio(TestDecoratedAsyncStore):
    backend = "trio"
