"""Signals that end a program, taken as wishes: what was said is kept before it ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@asynccontextmanager
async def interrupts(act: Callable[[], None], *, signals: tuple[signal.Signals, ...] = ENDING) -> AsyncIterator[None]:
    """Call a function for each signal that comes inside the block, in place of what the signal does; nothing changes where the system has none."""
    if sys.platform == "win32":
        yield
        return
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(*signals) as received:

            async def take() -> None:
                async for _ in received:
                    act()

            tasks.start_soon(take)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
