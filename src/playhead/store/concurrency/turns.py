"""Turns: one task at a time goes on with a name, whichever event loop, thread or process it runs in."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from weakref import finalize

import anyio

from playhead.errors import StoreError
from playhead.store.concurrency.lock import FileLock
from playhead.store.concurrency.turnstile import Turnstiles
from playhead.store.condition.failures import typed

_FIRST_PAUSE, _LONGEST_PAUSE = 0.000_5, 0.025
_REMEMBERED = 16


class Turns:
    """Hands out turns among all who know the same folder, which is made when it is needed.

    In one process they are had in the order they were asked for, between processes in any. A turn ends with the process that has it.
    The files of the last few names stay open, as they are often asked for again; the others are taken away.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._turnstiles = Turnstiles()
        self._mutex = threading.Lock()
        self._idle: dict[str, FileLock] = {}
        finalize(self, _remove_all, self._idle)

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Hold the turn of a name inside the block; a wait that is cancelled leaves nothing behind. Raises StoreUnavailable."""
        async with self._turnstiles.turn(name):
            with self._mutex:
                lock = self._idle.pop(name, None)
            lock = lock or FileLock(self._place(name), timeout=0)
            try:
                await _taken(lock)
            except BaseException:
                lock.close()
                raise
            try:
                yield
            finally:
                lock.release()
                self._put_by(name, lock)

    def close(self) -> None:
        """Take away the files that nobody uses."""
        self._clear(down_to=0)

    def _put_by(self, name: str, lock: FileLock) -> None:
        with self._mutex:
            self._idle[name] = lock
        self._clear(down_to=_REMEMBERED)

    def _clear(self, *, down_to: int) -> None:
        with self._mutex:
            idle = [self._idle.pop(name) for name in list(self._idle)[: max(0, len(self._idle) - down_to)]]
        for lock in idle:
            _remove(lock)

    def _place(self, name: str) -> str:
        return os.path.join(self._folder, f"{sha256(name.encode()).hexdigest()[:32]}.lock")


async def _taken(lock: FileLock) -> None:
    pause = _FIRST_PAUSE
    try:
        os.makedirs(os.path.dirname(lock.path), exist_ok=True)
    except OSError as exc:
        raise typed(exc, path=lock.path) from exc
    while not lock.attempt():
        await anyio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _remove_all(idle: dict[str, FileLock]) -> None:
    for lock in idle.values():
        _remove(lock)


def _remove(lock: FileLock) -> None:
    """Take the file of a lock away unless somebody else has it; who waits for it notices."""
    with suppress(StoreError):
        if lock.attempt():
            lock.remove()
    lock.close()
