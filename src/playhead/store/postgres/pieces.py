"""The parts of payloads that are kept as blobs, read when a payload is first looked at."""

from __future__ import annotations

import os
from functools import partial
from threading import Lock

from playhead.store.postgres import blobs
from playhead.store.postgres.retry import retried
from playhead.store.postgres.server import Server
from playhead.store.postgres.session import Link, Prepared


class _Shelf:
    """A connection of one process, and who uses it at the moment."""

    def __init__(self, link: Link) -> None:
        self.pid = os.getpid()
        self.link = link
        self.lock = Lock()


class Pieces:
    """Reads blobs over a connection of its own, in whatever thread a payload is looked at; entries outlive their store, so it goes on when that is closed."""

    def __init__(self, server: Server, *, prepared: Prepared) -> None:
        self._server = server
        self._prepared = prepared
        self._closed = False
        self._shelf = _Shelf(Link(server, prepared=prepared))

    def __call__(self, digest: str) -> bytes:
        """Return the bytes of a digest. Blocks. Raises BlobNotFound, StoreDamaged, StoreUnavailable."""
        shelf = self._own()
        try:
            with shelf.lock:
                return retried(shelf.link, partial(blobs.get, digest=digest, tenant=self._server.tenant, path=self._server.label))
        finally:
            if self._closed:
                self._let_go(shelf)

    def close(self) -> None:
        """Keep no connection from here on, and let go of the one there is, at once or when who uses it is done."""
        self._closed = True
        self._let_go(self._shelf)

    def _let_go(self, shelf: _Shelf) -> None:
        if shelf.pid == os.getpid() and shelf.lock.acquire(blocking=False):
            try:
                shelf.link.drop()
            finally:
                shelf.lock.release()

    def _own(self) -> _Shelf:
        """Return the connection of this process: after a fork the other one's is left alone."""
        if self._shelf.pid != os.getpid():
            self._shelf = _Shelf(Link(self._server, prepared=self._prepared))
        return self._shelf
