"""Blocks and iterators that wait: each step runs on the loop of the blocking twins."""

from __future__ import annotations

import sys
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


def each(items: AsyncIterator[T], *, at_a_time: int = 1) -> Iterator[T]:
    """Yield what an async iterator yields, and close it at the end; so many are waited for at a time."""
    try:
        while page := wait(_page, items, at_a_time):
            yield from page
    finally:
        close = getattr(items, "aclose", None)
        if close is not None and not sys.is_finalizing():
            wait(close)


async def _page(items: AsyncIterator[T], count: int) -> list[T]:
    """Return the next items, fewer than `count` only at their end."""
    page: list[T] = []
    while len(page) < count:
        try:
            page.append(await anext(items))
        except StopAsyncIteration:
            break
    return page
