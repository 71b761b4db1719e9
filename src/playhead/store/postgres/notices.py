"""Notices: that a tape has moved, told to other processes soon after the commit. They only wake; who follows reads the tape itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256

import psycopg
from psycopg import sql

from playhead.errors import PlayheadError
from playhead.store.concurrency.lane import Queue
from playhead.store.postgres.keys import name_key
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Link, Session
from playhead.store.rows.statements import statements

LEAST_PAUSE = 0.02
"""How many seconds lie between two notices at least: those that notify commit one after the other in the whole cluster."""

_AT_ONCE = 200
_LOOK = 0.1
_LINGER = 10.0
_RETRY = 1.0


def channel(server: Server) -> str:
    """Return the name under which the notices of a schema and tenant go."""
    return f"playhead_{sha256(f'{server.schema}/{server.tenant}'.encode()).hexdigest()[:24]}"


class Notifier:
    """Collects which tapes have moved and tells it, many at a time."""

    def __init__(self, server: Server) -> None:
        self._channel = channel(server)
        self._lock = threading.Lock()
        self._moved: set[bytes] = set()
        self._last = 0.0

    def note(self, tapes: Iterable[str]) -> None:
        """Take note that tapes have moved."""
        with self._lock:
            self._moved |= {name_key(tape) for tape in tapes}

    def due_in(self) -> float | None:
        """Return in how many seconds there is something to tell, None where nothing has moved."""
        return max(0.0, self._last + LEAST_PAUSE - time.monotonic()) if self._moved else None

    def tell(self, link: Link) -> None:
        """Tell what has moved, unless it is too early; a notice that fails is lost, as it is but a hint."""
        if self.due_in() != 0.0:
            return
        with self._lock:
            moved, self._moved = sorted(self._moved), set()
            self._last = time.monotonic()
        try:
            session = link.session()
            for start in range(0, len(moved), _AT_ONCE):
                names = " ".join(key.hex() for key in moved[start : start + _AT_ONCE])
                session.rows(statements("postgres/notices")["notify"], {"channel": self._channel, "names": names})
        except (psycopg.Error, PlayheadError):
            link.drop()


class Listener:
    """Hears the notices of a schema for as long as somebody listens, and a while longer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ears: dict[bytes, set[Callable[[], None]]] = {}
        self._last = 0.0

    def hear(self, tape: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` from another thread when a tape may have moved; return what ends that."""
        key = name_key(tape)
        with self._lock:
            self._ears.setdefault(key, set()).add(wake)
            self._last = time.monotonic()
        return partial(self._leave, key, wake)

    def serve(self, queue: Queue, *, link: Link) -> None:
        """Listen until the queue ends or nobody listens any more; a connection that is lost is opened again."""
        try:
            while not len(queue) and self._is_wanted():
                try:
                    self._listen(link.session(), queue, channel(link.server))
                except (psycopg.Error, PlayheadError):
                    link.drop()
                    _rest(queue)
            if len(queue):
                next(iter(queue), None)
        finally:
            link.drop()

    def _listen(self, session: Session, queue: Queue, name: str) -> None:
        session.connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(name)), prepare=False)
        self._wake(None)
        while not len(queue) and self._is_wanted():
            for notice in session.connection.notifies(timeout=_LOOK):
                self._wake(notice.payload.split())
                if len(queue):
                    return

    def _wake(self, keys: Iterable[str] | None) -> None:
        """Wake who listens for some tapes, or for any."""
        with self._lock:
            known = self._ears if keys is None else [key for text in keys if (key := bytes.fromhex(text)) in self._ears]
            woken = [wake for key in known for wake in self._ears[key]]
        for wake in woken:
            wake()

    def _leave(self, key: bytes, wake: Callable[[], None]) -> None:
        with self._lock:
            ears = self._ears.get(key, set())
            ears.discard(wake)
            if not ears:
                self._ears.pop(key, None)
            self._last = time.monotonic()

    def _is_wanted(self) -> bool:
        return bool(self._ears) or time.monotonic() - self._last < _LINGER


def _rest(queue: Queue) -> None:
    """Wait before another try, unless the queue ends."""
    until = time.monotonic() + _RETRY
    while time.monotonic() < until and not len(queue):
        time.sleep(_LOOK)
