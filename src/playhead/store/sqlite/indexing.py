"""Keeping the volumes of a SQLite store near the end of its tapes: work for the writer while nobody waits for it, a little at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from playhead.store.concordance.backlog import LEAST, Backlog, Steps
from playhead.store.concordance.filling import Said, Standing, filled, stand
from playhead.store.concordance.library import Library
from playhead.store.concordance.patience import Behind
from playhead.store.concordance.volume import Volume
from playhead.store.concurrency.lock import FileLock
from playhead.store.parting import Load
from playhead.store.ranked.tokens import RULES
from playhead.store.rows.presence import Presence
from playhead.store.rows.row import LAST_SEQ, eid, entry_of
from playhead.store.rows.statements import statements
from playhead.store.sqlite import volumes
from playhead.store.sqlite.archived import filled as told
from playhead.store.sqlite.blobs import get
from playhead.store.sqlite.tails import Tails
from playhead.store.sqlite.volumes import Kept

_REMOVED = 4


class Indexing:
    """Makes volumes of the tapes that grew, and one of several. Where that fails for a tape it is left to the searches, which need no volume.

    `backlog` is what is left to do, `written` how many bytes were written.
    """

    def __init__(self, connection: sqlite3.Connection, tails: Tails, *, presence: Presence, lock: FileLock, synchronous: str) -> None:
        self.written = 0
        self.library = Library()
        self.connection = connection
        self.load: Load = lambda digest: get(connection, digest=digest, path="this store")
        self._execute = connection.execute
        self._tails = tails
        self._presence = presence
        self._lock = lock
        self._synchronous = synchronous
        self.backlog = Backlog(self._steps)

    def hurry(self, behind: Behind[int]) -> bool:
        """Make volumes for a moment, and return whether there are more to make. Raises StoreError, sqlite3.Error."""
        for tape_no in behind.names if behind.is_spoilt else ():
            _Shelf(self, tape_no).forget()
        return self.backlog.hurry(behind.names)

    def _steps(self, name: Hashable) -> Steps:
        """Make volumes of a tape number, or of the tape of a name where enough stands on it."""
        if isinstance(name, int):
            yield from filled(_Shelf(self, name))
            return
        tail = self._tails.tail(str(name))
        if tail is not None and tail.seq - tail.before >= LEAST:
            yield from filled(_Shelf(self, tail.tape_no))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write inside the block, in one transaction that does not wait for the disk: what is lost with the power is made anew."""
        sql = statements("write")
        with self._lock:
            self._presence.check()
            self._execute(statements("connection")["sync_process"])
            try:
                self._execute(sql["begin"])
                yield
                self._execute(sql["commit"])
            except BaseException:
                if self.connection.in_transaction:
                    self._execute(sql["rollback"])
                raise
            finally:
                self._execute(statements("connection")[self._synchronous])


class _Shelf:
    """The entries of a tape number, and its volumes."""

    def __init__(self, indexing: Indexing, tape_no: int) -> None:
        self._indexing = indexing
        self._tape_no = tape_no
        self._execute = indexing.connection.execute

    def standing(self) -> Standing[Kept] | None:
        """Return the volumes that stand, None where the tape was removed."""
        before, state = self._execute(statements("search")["part"], (self._tape_no,)).fetchone() or (0, _REMOVED)
        return None if state == _REMOVED else Standing(before, volumes.kept(self._execute, self._tape_no, before=before))

    def end(self) -> int:
        """Return the id of the last entry, 0 where there is none."""
        (end,) = self._execute(statements("read")["last_entry"], (eid(self._tape_no, 0), eid(self._tape_no, LAST_SEQ))).fetchone()
        return (end or 0) & LAST_SEQ

    def entries(self, first: int, last: int) -> list[Said]:
        """Return the entries from one id to another that are there."""
        indexing = self._indexing
        found = told(indexing.connection, self._execute(statements("read")["range"], (eid(self._tape_no, first), eid(self._tape_no, last))).fetchall())
        return [Said(entry_of(row, tape=f"no. {self._tape_no}", load=indexing.load), len(row[5])) for row in found]

    def opened(self, volume: Kept) -> Volume:
        """Return a volume to read from. Raises SpoiltVolume."""
        return volumes.opened(self._execute, volume, self._indexing.library)

    def add(self, raw: bytes, *, behind: Standing[Kept], last: int) -> None:
        """Keep a volume behind those that stand, unless others did meanwhile."""
        with self._indexing.writing():
            standing = self.standing()
            if standing is not None and standing.reach == behind.reach:
                stale = self._execute(statements("search")["strays"], (self._tape_no, RULES, behind.reach)).fetchall()
                volumes.forget(self._execute, [number for (number,) in stale])
                self._keep(raw, first=behind.reach + 1, last=last)

    def replace(self, together: Sequence[Kept], raw: bytes) -> None:
        """Keep a volume in place of those that were merged, unless others did meanwhile."""
        with self._indexing.writing():
            if stand(self.standing(), together):
                volumes.forget(self._execute, [row.volume_no for row in together])
                self._keep(raw, first=together[0].first, last=together[-1].last)

    def forget(self) -> None:
        """Remove all volumes."""
        with self._indexing.writing():
            volumes.forget(self._execute, volumes.of_tape(self._execute, self._tape_no))

    def _keep(self, raw: bytes, *, first: int, last: int) -> None:
        volumes.keep(self._indexing.connection, self._tape_no, raw, first=first, last=last)
        self._indexing.written += len(raw)
