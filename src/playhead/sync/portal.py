"""The event loop that blocking calls run on, in a thread of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import anyio
from anyio.from_thread import BlockingPortal

from playhead.errors import InvalidInput, StoreUnavailable

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class _Portal:
    """The event loop that blocking calls run on, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None

    def get(self) -> BlockingPortal:
        """Return the running loop's portal."""
        with self._lock:
            if self._portal is None:
                self._portal = self._start()
            return self._portal

    def _start(self) -> BlockingPortal:
        started: Future[BlockingPortal] = Future()

        async def serve() -> None:
            async with BlockingPortal() as portal:
                started.set_result(portal)
                await portal.sleep_until_stopped()

        # A daemon: a program that ends does not wait for it, and what was not acknowledged by then was not promised.
        threading.Thread(target=anyio.run, args=(serve,), name="playhead-sync", daemon=True).start()
        return started.result()

    def forget(self) -> None:
        """Start anew in a forked child, where the loop's thread does not live on."""
        self._lock, self._portal = threading.Lock(), None


_PORTAL = _Portal()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PORTAL.forget)


def wait(function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an async function to its end on the loop of the blocking twins and return its result.

    Raises InvalidInput where it is called on that loop itself (in a selector or a store that a blocking call runs), StoreUnavailable
    while the interpreter shuts down.
    """
    if sys.is_finalizing():
        raise StoreUnavailable("The interpreter is shutting down, so nothing is read or written any more; close handles before the program ends.")
    portal = _PORTAL.get()
    call: Callable[[], Coroutine[Any, Any, R]] = partial(function, *args, **kwargs)
    try:
        future: Future[R] = portal.start_task_soon(call)
    except RuntimeError as exc:
        raise InvalidInput(f"A blocking call cannot be made from inside another one: {exc}; use the async form there.") from exc
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class Bound(Protocol[P, R_co]):
    """A method to type checkers: keeps the parameters of the async one."""

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Any, P], R_co]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Callable[P, R_co]: ...


def blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Bound[P, R]:
    """Return the blocking twin of an async method: for a twin whose `asynchronous` has that method."""

    @wraps(method)
    def call(twin: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return wait(method, twin.asynchronous, *args, **kwargs)

    return cast("Bound[P, R]", call)
