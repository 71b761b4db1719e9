"""Calling the methods of a user's store, which may block, be async, or only look like either."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Iterable
from functools import partial
from typing import Any

from anyio import to_thread

from playhead.errors import PlayheadError, StoreError


class Caller:
    """Calls one method of a store: awaits it where it is async, else runs it in a worker thread.

    What it returns decides: an awaitable is awaited wherever it came from, so that a decorated async method, a partial
    or an object with an async `__call__` is never taken for a blocking one and its work never lost.
    """

    def __init__(self, store: object, name: str) -> None:
        self._method: Callable[..., Any] = getattr(store, name)
        self._where = f"{type(store).__name__}.{name}"
        self.takes = frozenset(_parameters(self._method))

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the method returns; an iterator is read to its end as a list, in the thread that may block."""
        call = partial(self._method, *args, **kwargs)
        try:
            (result,) = _called(call) if _is_async(self._method) else await to_thread.run_sync(_called, call)
            while inspect.isawaitable(result):
                result = await result
            return [item async for item in result] if isinstance(result, AsyncIterable) else _read(result)
        except PlayheadError:
            raise
        except Exception as exc:
            raise StoreError(f"{self._where} failed: {type(exc).__name__}: {exc}.") from exc


def _called(call: Callable[[], Any]) -> tuple[Any]:
    """Return the call's result in a tuple, as trio refuses a coroutine from a worker thread."""
    return (_read(call()),)


def _read(result: Any) -> Any:
    """Return an iterator's items as a list; anything else as it is."""
    return list(result) if isinstance(result, Iterable) and not isinstance(result, (list, tuple, dict, str)) and not inspect.isawaitable(result) else result


def _is_async(method: Callable[..., Any]) -> bool:
    while isinstance(method, partial):
        method = method.func
    return any(is_async(f) for is_async in (inspect.iscoroutinefunction, inspect.isasyncgenfunction) for f in (method, type(method).__call__))


def _parameters(method: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return set()
