"""Keeping the volumes of a SQLite store near the end of its tapes: work for the writer while nobody waits for it, a little at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from playhead.errors import StoreError
from playhead.store.concordance.backlog import LEAST, Backlog, Steps
from playhead.store.concordance.binding import bound, merged
from playhead.store.concordance.chain import MOST_BYTES, due
from playhead.store.concordance.library import Library
from playhead.store.concordance.postings import SpoiltVolume
from playhead.store.concordance.volume import MOST_IDS
from playhead.store.lock import FileLock
from playhead.store.parting import Load
from playhead.store.presence import Presence
from playhead.store.ranked.tokens import RULES
from playhead.store.ranked.words import Words
from playhead.store.row import LAST_SEQ, eid, entry_of
from playhead.store.sqlite import volumes
from playhead.store.sqlite.archived import filled
from playhead.store.sqlite.blobs import get
from playhead.store.sqlite.tails import Tails
from playhead.store.sqlite.volumes import Kept
from playhead.store.statements import statements

_REMOVED = 4
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Tape numbers of which volumes are to be made now; where theirs are spoilt, those are removed first."""

    tape_nos: Sequence[int]
    is_spoilt: bool = False


class Indexing:
    """Makes volumes of the tapes that grew, and one of several. Where that fails for a tape it is left to the searches, which need no volume.

    `backlog` is what is left to do, `written` how many bytes were written.
    """

    def __init__(self, connection: sqlite3.Connection, tails: Tails, *, presence: Presence, lock: FileLock, synchronous: str) -> None:
        self.written = 0
        self._connection = connection
        self._load: Load = lambda digest: get(connection, digest=digest, path="this store")
        self._execute = connection.execute
        self._tails = tails
        self._presence = presence
        self._lock = lock
        self._synchronous = synchronous
        self._library = Library()
        self.backlog = Backlog(self._steps)

    def hurry(self, asked: CatchUp) -> bool:
        """Make volumes for a moment, and return whether there are more to make. Raises StoreError, sqlite3.Error."""
        if asked.is_spoilt:
            self._forget(asked.tape_nos)
        return self.backlog.hurry(asked.tape_nos)

    def _steps(self, name: Hashable) -> Steps:
        """Make volumes of a tape number, or of the tape of a name where enough stands on it."""
        if isinstance(name, int):
            yield from self._attempted(name)
            return
        tail = self._tails.tail(str(name))
        if tail is not None and tail.seq - tail.before >= LEAST:
            yield from self._attempted(tail.tape_no)

    def _attempted(self, tape_no: int) -> Steps:
        try:
            yield from self._caught_up(tape_no)
        except SpoiltVolume:
            self._forget((tape_no,))
            yield from self._caught_up(tape_no)

    def _caught_up(self, tape_no: int) -> Steps:
        """Make volumes of a tape number for as long as there is enough for one, or are enough to be one."""
        while True:
            before, state = self._execute(statements("search")["part"], (tape_no,)).fetchone() or (0, _REMOVED)
            if state == _REMOVED:
                return
            standing = volumes.kept(self._execute, tape_no, before=before)
            if together := due(standing):
                yield from self._merge(tape_no, together)
                continue
            reach = standing[-1].last if standing else before
            (end,) = self._execute(statements("read")["last_entry"], (eid(tape_no, 0), eid(tape_no, LAST_SEQ))).fetchone()
            if end is None or (end & LAST_SEQ) - reach < LEAST:
                return
            words = yield from self._read(tape_no, reach)
            if words.end - reach < LEAST:
                return
            raw = yield from bound(words)
            self._publish(tape_no, raw, before=before, reach=reach, last=words.end)

    def _merge(self, tape_no: int, together: Sequence[Kept]) -> Steps:
        """Make one of some volumes. Raises SpoiltVolume where one of them is, and not where others have made one of them meanwhile."""
        try:
            raw = yield from merged([volumes.opened(self._execute, row, self._library) for row in together])
        except SpoiltVolume:
            if self._stand(tape_no, together):
                raise
        else:
            self._replace(tape_no, together, raw)

    def _stand(self, tape_no: int, together: Sequence[Kept]) -> bool:
        return set(together) <= set(volumes.kept(self._execute, tape_no, before=together[0].first - 1))

    def _read(self, tape_no: int, reach: int) -> Generator[None, None, Words]:
        """Return the words of the entries behind an id, of as many as one volume takes; up to one that is damaged."""
        words, size, called = Words(before=reach), 0, f"no. {tape_no}"
        while words.end - reach < MOST_IDS and size < MOST_BYTES:
            last = min(words.end + _AT_ONCE, reach + MOST_IDS)
            rows = self._execute(statements("read")["range"], (eid(tape_no, words.end + 1), eid(tape_no, last))).fetchall()
            found = list(filled(self._connection, rows))
            for row in found:
                if row[0] & LAST_SEQ != words.end + 1:
                    return words
                try:
                    words.add(entry_of(row, tape=called, load=self._load))
                except StoreError:
                    return words
                size += len(row[5])
            if len(rows) < _AT_ONCE:
                return words
            yield
        return words

    def _publish(self, tape_no: int, raw: bytes, *, before: int, reach: int, last: int) -> None:
        """Keep a volume behind those that stand, unless others did meanwhile."""
        with self._writing():
            standing = volumes.kept(self._execute, tape_no, before=before)
            if (standing[-1].last if standing else before) == reach and self._is_there(tape_no):
                stale = self._execute(statements("search")["strays"], (tape_no, RULES, reach)).fetchall()
                volumes.forget(self._execute, [number for (number,) in stale])
                volumes.keep(self._connection, tape_no, raw, first=reach + 1, last=last)
                self.written += len(raw)

    def _replace(self, tape_no: int, together: Sequence[Kept], raw: bytes) -> None:
        """Keep a volume in place of those that were merged, unless others did meanwhile."""
        with self._writing():
            if self._stand(tape_no, together):
                volumes.forget(self._execute, [row.volume_no for row in together])
                volumes.keep(self._connection, tape_no, raw, first=together[0].first, last=together[-1].last)
                self.written += len(raw)

    def _is_there(self, tape_no: int) -> bool:
        _, state = self._execute(statements("search")["part"], (tape_no,)).fetchone() or (0, _REMOVED)
        return bool(state != _REMOVED)

    def _forget(self, tape_nos: Sequence[int]) -> None:
        with self._writing():
            volumes.forget(self._execute, [number for tape_no in tape_nos for number in volumes.of_tape(self._execute, tape_no)])

    @contextmanager
    def _writing(self) -> Iterator[None]:
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
                if self._connection.in_transaction:
                    self._execute(sql["rollback"])
                raise
            finally:
                self._execute(statements("connection")[self._synchronous])
