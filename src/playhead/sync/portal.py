"""The event loop that blocking calls run on, in a thread of its own, and how a call is waited for."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import anyio

from playhead.errors import InvalidInput, StoreUnavailable

P = ParamSpec("P")
R = TypeVar("R")

PULSE = 1.0
"""The longest time, in seconds, until a waiting thread sees a signal, where the system does not interrupt its wait."""


class _Portal:
    """The event loop that blocking calls run on, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        """Return the running loop. Raises InvalidInput on the loop's own thread, StoreUnavailable while the interpreter shuts down."""
        if sys.is_finalizing():
            raise StoreUnavailable("The interpreter is shutting down, so nothing is read or written any more; close handles before the program ends.")
        if self.is_here():
            raise InvalidInput("A blocking call cannot be made from inside another one, as it would wait for itself; use the async form there.")
        loop = self._loop
        if loop is not None and not loop.is_closed():
            return loop
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = self._start()
            return self._loop

    def is_here(self) -> bool:
        """Whether this is the loop's own thread."""
        return self._thread is threading.current_thread()

    def _start(self) -> asyncio.AbstractEventLoop:
        started: Future[asyncio.AbstractEventLoop] = Future()

        async def serve() -> None:
            started.set_result(asyncio.get_running_loop())
            await anyio.sleep_forever()

        # A daemon: a program that ends does not wait for it, and what was not acknowledged by then was not promised.
        self._thread = threading.Thread(target=anyio.run, args=(serve,), name="playhead-sync", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as exc:
            raise StoreUnavailable(f"No thread can be started for blocking calls: {exc}.") from exc
        return started.result()

    def forget(self) -> None:
        """Start anew in a forked child, where the loop's thread does not live on."""
        self._lock, self._loop, self._thread = threading.Lock(), None, None


_PORTAL = _Portal()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PORTAL.forget)


class _Call(Generic[R]):
    """One call on the loop, which the thread that made it waits for, or ends early."""

    def __init__(self, function: Callable[[], Awaitable[R]]) -> None:
        self.results: list[R] = []
        self._function = function
        self._error: BaseException | None = None
        self._loop = _PORTAL.get()
        self._scope: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_ended = False
        self._bell = threading.Lock()
        self._bell.acquire()

    def begin(self) -> None:
        """Have the loop start it, in the context of the caller."""
        self._loop.call_soon_threadsafe(self._start, context=_context())

    def outcome(self) -> R:
        """Wait for the end, and return or raise what the call did."""
        self._wait()
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # or it would hold itself, by its traceback, and all that it went through
        return self.results[0]

    def end(self) -> None:
        """Cancel it where it still runs, and wait until it has ended; what it does under a shield is finished."""
        if not self._is_ended:
            self._loop.call_soon_threadsafe(self._stop)
            self._wait()

    def _wait(self) -> None:
        """Wait for the end; an interruption may come at any place in here."""
        while not self._is_ended:
            if not self._bell.acquire(timeout=PULSE) and self._loop.is_closed():
                raise StoreUnavailable("The loop of the blocking calls has ended meanwhile, so nobody knows what became of this call; look before you repeat it.")

    def _end(self) -> None:
        self._is_ended = True
        self._bell.release()

    def _start(self) -> None:
        self._scope = anyio.CancelScope()
        self._task = self._loop.create_task(self._run())

    def _stop(self) -> None:
        if self._scope is not None:
            self._scope.cancel()
        else:  # it was never begun
            self._end()

    async def _run(self) -> None:
        assert self._scope is not None  # noqa: S101 - for type checkers
        try:
            with self._scope:
                self.results.append(await self._function())
        except BaseException as exc:  # noqa: BLE001 - it is raised where it is waited for
            self._error = exc
        finally:
            self._end()


def wait(function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an async function to its end on the loop of the blocking twins and return its result.

    Where the wait is interrupted (Ctrl-C), the call is cancelled, and has ended when the interruption goes on. Raises InvalidInput
    where it is called on that loop itself (in a selector or a store that a blocking call runs), StoreUnavailable while the
    interpreter shuts down.
    """
    call = _Call(partial(function, *args, **kwargs))
    try:
        call.begin()
        return call.outcome()
    except BaseException:
        call.end()
        raise


def taken(function: Callable[[], Awaitable[R]], *, undo: Callable[[R], Awaitable[Any]]) -> R:
    """Return what a call gives, as `wait` does; where the wait is interrupted and it was given all the same, it is undone."""
    call = _Call(function)
    try:
        call.begin()
        return call.outcome()
    except BaseException:
        call.end()
        for result in call.results:
            wait(undo, result)
        raise


async def soon(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function that waits for nothing, and return what it returns: with `wait`, on the loop whose state it reads or changes."""
    return function(*args, **kwargs)


def may_wait() -> bool:
    """Whether a blocking call may be made here and now: outside of the loop, and before the interpreter shuts down."""
    return not (sys.is_finalizing() or _PORTAL.is_here())


def given(value: Any) -> Any:
    """Return what stands behind a twin, or behind those in a list or tuple, and anything else as it is."""
    if isinstance(value, list | tuple):
        return tuple(map(given, value))
    return getattr(value, "asynchronous", value)


def _context() -> contextvars.Context:
    """Return the context of the caller, such as its clock; a caller inside another kind of event loop leaves that behind."""
    context = contextvars.copy_context()
    library = getattr(sys.modules.get("sniffio"), "current_async_library_cvar", None)  # not there yet while another thread imports it
    if library is not None:
        context.run(library.set, "asyncio")
    return context
