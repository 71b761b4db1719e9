"""Message books over real stores, for the tests beside this file."""

from contextlib import asynccontextmanager

from playhead.prompt.manager.messages import MessageBook
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape

STORES = {
    "memory": lambda path: InMemoryTapeStore(),
    "file": lambda path: FileTapeStore(path / "tapes"),
    "sqlite": lambda path: SQLiteTapeStore(path / "tapes.db"),
}


@asynccontextmanager
async def book_in(store, *, shard_tokens=None):
    """Yield a book on a store that is closed behind it."""
    async with store:
        yield MessageBook(Tape(store, "t"), agent="Claude", shard_tokens=shard_tokens)


def book(*, shard_tokens=None, store=None):
    return MessageBook(Tape(store or InMemoryTapeStore(), "t"), agent="Claude", shard_tokens=shard_tokens)


class CountingStore(InMemoryTapeStore):
    """A store that counts what it is asked for."""

    def __init__(self):
        super().__init__()
        self.read = 0
        self.appends = []

    async def fetch_all(self, query):
        found = await super().fetch_all(query)
        self.read += len(found)
        return found

    async def append_many(self, tape, entries, **more):
        self.appends.append(len(entries))
        return await super().append_many(tape, entries, **more)


async def said(book):
    return [(m.participant, m.text) async for m in book.all()]
