"""Blocks and iterators that wait: each step runs on the loop of the blocking twins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from playhead.sync.portal import may_wait, taken, wait

T = TypeVar("T")


class Scope(Generic[T]):
    """A `with` block around an async one; `twin` makes what the block is given. `asynchronous` is the block behind it."""

    def __init__(self, scope: AbstractAsyncContextManager[Any], twin: Callable[[Any], T] | None = None) -> None:
        self.asynchronous: Any = scope
        self._twin = twin

    def __enter__(self) -> T:
        found: Any = entered(self.asynchronous)
        return found if self._twin is None else self._twin(found)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        result: bool | None = wait(self.asynchronous.__aexit__, kind, error, trace)
        return result


def entered(scope: AbstractAsyncContextManager[T]) -> T:
    """Enter an async block and return what it gives; one that was entered while the wait for it was interrupted is left again."""
    return taken(scope.__aenter__, undo=lambda _: scope.__aexit__(None, None, None))


def opened(opening: Awaitable[T]) -> T:
    """Return what is being opened; where the wait for it is interrupted, it is closed again."""

    async def awaited() -> T:
        return await opening

    return taken(awaited, undo=lambda found: found.aclose())  # type: ignore[attr-defined]


def each(items: AsyncIterator[T], *, at_a_time: int = 1) -> Iterator[T]:
    """Yield what an async iterator yields, and close it at the end; so many are waited for at a time."""
    try:
        while page := wait(_page, items, at_a_time):
            yield from page
    finally:
        close = getattr(items, "aclose", None)
        if close is not None and may_wait():  # else it is dropped, and its own loop closes it
            wait(close)


def one(items: AsyncIterator[T]) -> T:
    """Return the next item. Raises StopIteration at the end."""
    for item in wait(_page, items, 1):
        return item
    raise StopIteration


async def _page(items: AsyncIterator[T], count: int) -> list[T]:
    """Return the next items, fewer than `count` only at their end."""
    page: list[T] = []
    while len(page) < count:
        try:
            page.append(await anext(items))
        except StopAsyncIteration:
            break
    return page
