"""Blocks and iterators that wait: each step runs on the loop of the blocking twins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from playhead.sync.portal import wait

T = TypeVar("T")


class Scope(Generic[T]):
    """A `with` block around an async one; `twin` makes what the block is given."""

    def __init__(self, scope: AbstractAsyncContextManager[Any], twin: Callable[[Any], T]) -> None:
        self._scope = scope
        self._twin = twin

    def __enter__(self) -> T:
        return self._twin(wait(self._scope.__aenter__))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return wait(self._scope.__aexit__, kind, error, trace)


def each(items: AsyncIterator[T]) -> Iterator[T]:
    """Yield what an async iterator yields, and close it at the end."""
    try:
        while True:
            try:
                yield wait(_next, items)
            except StopAsyncIteration:
                return
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            wait(close)


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
