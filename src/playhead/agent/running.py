"""Running a tool's function: async ones here, others in a thread, within a time, so that nothing of it reaches the loop but an error."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import RunVar

from playhead.errors import PlayheadError, ToolFailed
from playhead.store.concurrency.hop import in_trio

THREADS = 64
"""How many functions that are not async run at once in one event loop; one that hangs keeps its thread."""

_threads: RunVar[anyio.CapacityLimiter] = RunVar("playhead_tool_threads")


async def run_function(call: Callable[[], Any], *, tool: str, timeout: float | None) -> Any:  # noqa: ASYNC109 - the tool's, told to the model as its own
    """Return what a function returns, or what an awaitable that it returns gives.

    Raises ToolFailed where it raises, or takes longer than `timeout` seconds; errors of playhead pass as they are. A thread that
    is not done in time, or when the run is cancelled, goes on by itself and what it returns is lost.
    """
    with anyio.move_on_after(timeout) as scope:
        try:
            return await _result_of(call)
        except PlayheadError:
            raise
        except (Exception, SystemExit) as exc:
            raise _failure(tool, exc) from exc
        except anyio.get_cancelled_exc_class() as exc:
            if is_cancelled():
                raise
            raise _failure(tool, exc) from exc
    assert scope.cancelled_caught  # noqa: S101 - for type checkers
    raise ToolFailed(f"Tool '{tool}' took longer than {timeout:g} seconds and was stopped; what it had begun may have happened.", tool=tool, timeout=timeout)


async def _result_of(call: Callable[[], Any]) -> Any:
    if _is_async(call):
        return await call()
    found, error = await anyio.to_thread.run_sync(partial(_caught, call), abandon_on_cancel=True, limiter=_limiter())
    if error is not None:
        raise error
    return await found if inspect.isawaitable(found) else found


def _caught(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return what a function returns, or what it raises: not every exception may pass from one thread to another."""
    try:
        return call(), None
    except BaseException as exc:  # noqa: BLE001 - it is raised again where it is waited for
        return None, RuntimeError(repr(exc)) if isinstance(exc, (StopIteration, GeneratorExit)) else exc


def _is_async(call: Callable[[], Any]) -> bool:
    target: Any = call
    while isinstance(target, partial):
        target = target.func
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004 - the method of an object that is called


def _failure(tool: str, exc: BaseException) -> ToolFailed:
    return ToolFailed(f"Tool '{tool}' execution failed.", tool=tool, error=_repr(exc))


def _repr(exc: BaseException) -> str:
    try:
        return repr(exc)
    except Exception:  # noqa: BLE001 - an error's own text may fail
        return type(exc).__name__


def is_cancelled() -> bool:
    """Return whether this task is cancelled: otherwise a cancellation that a tool raises is that of something it waited for."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    if in_trio():
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _limiter() -> anyio.CapacityLimiter:
    with suppress(LookupError):
        return _threads.get()
    limiter = anyio.CapacityLimiter(THREADS)
    _threads.set(limiter)
    return limiter
