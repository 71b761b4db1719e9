"""A task of its own, under asyncio or trio, that outlives the call that started it and ends when it is told to."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable

import anyio

_running: set[asyncio.Task[None]] = set()


class Background:
    """Runs a function in a task of its own. It may be waited for, and cancelled, from any task of the same event loop."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._failure: Exception | None = None
        _spawn(self._run)

    def cancel(self) -> None:
        """Cancel the work where it stands; what it does under a shield is finished."""
        self._scope.cancel()

    async def ended(self) -> None:
        """Wait until the work has ended, whatever happens meanwhile, and then raise what it raised; a cancellation waits, too."""
        cancelled: BaseException | None = None
        with anyio.CancelScope(shield=True):
            while not self._ended.is_set():
                try:
                    await self._ended.wait()
                except anyio.get_cancelled_exc_class() as exc:  # one of asyncio's own, which knows no shield
                    cancelled = exc
        if cancelled is not None:
            raise cancelled
        self._raise()

    async def done(self) -> None:
        """Wait until the work has ended, and raise what it raised; a cancellation ends the wait and not the work."""
        await self._ended.wait()
        self._raise()

    def _raise(self) -> None:
        """Raise what the work has raised, to the first who asks."""
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # or it would hold itself, by its traceback, and all that it went through

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._work()
        except Exception as exc:  # noqa: BLE001 - it is raised where the work is waited for
            self._failure = exc
        finally:
            self._ended.set()


def _spawn(function: Callable[[], Awaitable[None]]) -> None:
    """Start a task without a task group: of asyncio, or one of trio's system tasks; the function must not raise."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        trio.lowlevel.spawn_system_task(function, context=contextvars.copy_context())
        return
    task = asyncio.get_running_loop().create_task(_as_coroutine(function))
    _running.add(task)
    task.add_done_callback(_running.discard)


async def _as_coroutine(function: Callable[[], Awaitable[None]]) -> None:
    await function()
