"""The threads of a PostgreSQL store, each with a connection of its own, and what they are asked to do."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.patience import Behind, hits
from playhead.store.concordance.spare import Spare
from playhead.store.concurrency.lane import Lane, Queue, stop_and_wait
from playhead.store.family import kin_of
from playhead.store.postgres import blobs, leases, marking, reader, records
from playhead.store.postgres.address import Address, Book
from playhead.store.postgres.answering import Changes, Deed, Question, Registrar, answer
from playhead.store.postgres.appending import Appender, Doubt
from playhead.store.postgres.archived import archive, compact
from playhead.store.postgres.branching import collect
from playhead.store.postgres.indexing import Indexer, grown
from playhead.store.postgres.locks import Locks
from playhead.store.postgres.notices import Listener, Notifier
from playhead.store.postgres.pieces import Pieces
from playhead.store.postgres.reading import Reading
from playhead.store.postgres.renaming import forget, rename
from playhead.store.postgres.searching import Search
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Link, Prepared
from playhead.store.postgres.volumes import shelves
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.store.rules.work import Work

_REGISTRARS = 2
_HURRY = 1.0
"""How many seconds an append waits for a tape that somebody else holds before it lets the others go first."""


class Lanes:
    """Reads over several connections, appends over one, changes families over two; one each holds locks, looks after the tables, makes volumes, listens. Each is opened when it is needed."""

    blobs, leases, marking, reader, records = blobs, leases, marking, reader, records
    collect, forget, rename = staticmethod(collect), staticmethod(forget), staticmethod(rename)

    def __init__(self, server: Server, *, connections: int) -> None:
        self._server = server
        self._shelves = shelves()
        prepared, book, notifier, spare, self._listener = Prepared(), Book(), Notifier(server), Spare(), Listener()

        def link() -> Link:
            return Link(server, prepared=prepared)

        def append(queue: Queue) -> None:
            Appender(Link(server, prepared=prepared, wait=_HURRY), book, notifier=notifier, spare=spare).serve(queue)

        def register(queue: Queue) -> None:
            Registrar(link(), book, notifier=notifier, spare=spare).serve(queue)

        def index(queue: Queue) -> None:
            Indexer(Link(replace(server, durability="process"), prepared=prepared), spare=spare).serve(queue)

        def listen(queue: Queue, listener: Listener = self._listener) -> None:
            listener.serve(queue, link=link())

        self._pieces = Pieces(server, prepared=prepared)
        reads = partial(answer, server=server, prepared=prepared, book=book, load=self._pieces)
        self._reading = Lane(reads, size=connections, name="playhead reader")
        self._appending = Lane(append, size=1, name="playhead writer")
        self._changing = Lane(register, size=_REGISTRARS, name="playhead registrar")
        self._locking = Lane(reads, size=1, name="playhead locks")
        self._tending = Lane(reads, size=1, name="playhead upkeep")
        self._indexing = Lane(index, size=1, name="playhead indexer")
        self._listening = Lane(listen, size=1, name="playhead listener")
        self.locks = Locks(partial(_asked, self._locking, server), space=f"{server.schema}/{server.tenant}")

    async def ask(self, ask: Callable[[Reading], Any]) -> Any:
        """Return what is asked of a connection."""
        return await _asked(self._reading, self._server, ask)

    async def append(self, work: Work) -> Any:
        """Append by one statement, or by a transaction where that does not do."""
        made = await self._appending.run(work)
        if isinstance(made, Doubt):
            return await self.change(work, made)
        self._note(work, made)
        return made

    async def change(self, work: Work, doubt: Doubt | None = None) -> Any:
        """Make changes to a family in one transaction."""
        made = await self._changing.run(Changes(kin_of(work.steps[0].tape).root, work, doubt))
        if made is not None:
            self._note(work, made)
        return made

    async def search(self, query: TapeQuery, text: str, *, smoothed: bool) -> list[Hit]:
        """Return the entries found; where a search would have to read much itself, volumes are made first."""
        indexes = self._server.search == "index"

        def search(patience: int | None) -> Awaitable[list[Hit] | Behind[Address]]:
            return self.ask(Search(query=query, text=text, smoothed=smoothed, shelves=self._shelves, uses_volumes=indexes, patience=patience))

        return await hits(search, catch_up=self._indexing.run if indexes and not self._server.read_only else None)

    async def do(self, tape: str, do: Callable[[Any], Any], *, makes: bool, purges: bool) -> Any:
        """Have something done to the family of a tape in one transaction."""
        root = kin_of(tape).root
        return await self._changing.run(Deed(root, do, makes, (tape,), (root,) if purges else ()))

    async def archive(self, tape: str, *, upto: int) -> Any:
        """Archive some entries of a tape in one transaction, while others append to it."""
        return await self._changing.run(Deed(kin_of(tape).root, partial(archive, tape=tape, upto=upto), makes=False))

    async def compact(self) -> None:
        """Give the room that was freed back to the disk, however long it takes."""
        await _asked(self._tending, self._server, lambda reading: compact(reading.session, label=self._server.label))

    def hear(self, tape: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when a tape may have moved; return what ends that."""
        leave = self._listener.hear(tape, wake)
        self._listening.start()
        return leave

    def let_go(self) -> None:
        """End the threads once they have done what waits."""
        for lane in self._all():
            lane.stop()
        self._pieces.close()

    def close(self) -> None:
        """End the threads and wait for them."""
        stop_and_wait(*self._all())
        self._pieces.close()

    def _all(self) -> tuple[Lane, ...]:
        return self._appending, self._changing, self._reading, self._locking, self._tending, self._indexing, self._listening

    def _note(self, work: Work, made: Sequence[Sequence[TapeEntry]]) -> None:
        """Have volumes made of what grew, in a pause."""
        if self._server.search == "index":
            for tape in grown(work, made):
                self._indexing.post(tape)


async def _asked(lane: Lane, server: Server, ask: Callable[[Reading], Any]) -> Any:
    return await lane.run(Question(ask, time.monotonic() + server.timeout))
