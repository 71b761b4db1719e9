"""A turnstile: one task at a time, whichever event loop or thread it runs in."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from weakref import WeakValueDictionary

from playhead.store.concurrency.hop import Job


class Turnstile:
    """Lets tasks through one after the other, in the order they came; `async with turnstile.turn():`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[Job] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold the turn inside the block; a wait that is cancelled leaves the queue."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    async def _enter(self) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            job = Job(None)
            self._waiting.append(job)
        try:
            await job.ticket
        except BaseException:
            self._give_up(job)
            raise

    def _give_up(self, job: Job) -> None:
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                return
        self._leave()

    def _leave(self) -> None:
        """Let the next one through, whose event loop still runs; it holds the turn from here on, even before it wakes."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._taken = False
                    return
                job = self._waiting.popleft()
            with suppress(RuntimeError):
                job.post(job.settle)
                return


class Turnstiles:
    """A turnstile for each name that somebody waits at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turnstiles: WeakValueDictionary[str, Turnstile] = WeakValueDictionary()

    def turn(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold the turn of a name inside the block."""
        with self._lock:
            turnstile = self._turnstiles.get(name) or Turnstile()
            self._turnstiles[name] = turnstile
            return turnstile.turn()
