"""Locks that exclude all who use the same database: each ends with the connection that holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import Any

import anyio

from playhead.errors import StoreError
from playhead.store.concurrency.turnstile import Turnstiles
from playhead.store.postgres.reading import Reading
from playhead.store.rows.statements import statements

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05

Ask = Callable[[Callable[[Reading], Any]], Awaitable[Any]]
"""Has something asked on the one connection that holds the locks of a store."""


class Locks:
    """Hands out locks by name. In one process they are had in the order they were asked for, between processes in any."""

    def __init__(self, ask: Ask, *, space: str) -> None:
        self._ask = ask
        self._space = space
        self._turnstiles = Turnstiles()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Hold the lock of a name inside the block; a wait that is cancelled leaves nothing behind."""
        key = int.from_bytes(sha256(f"{self._space}\0{name}".encode()).digest()[:8], signed=True)
        async with self._turnstiles.turn(name):
            try:
                await self._taken(key)
                yield
            finally:
                with anyio.CancelScope(shield=True), suppress(StoreError):
                    await self._ask(partial(_unlock, key=key))

    async def _taken(self, key: int) -> None:
        pause = _FIRST_PAUSE
        while not await self._ask(partial(_try_lock, key=key)):
            await anyio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)


def _try_lock(reading: Reading, *, key: int) -> bool:
    ((taken,),) = reading.session.rows(statements("postgres/locks")["try_lock"], {"key": key})
    return bool(taken)


def _unlock(reading: Reading, *, key: int) -> None:
    reading.session.rows(statements("postgres/locks")["unlock"], {"key": key})
