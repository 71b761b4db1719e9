"""Stores as a user may write them: four methods, blocking, async, or async behind a decorator; for tests of what adapts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import Any

from playhead.entry.entry import TapeEntry, placed
from playhead.store.query import TapeQuery


class ListStore:
    """Keeps tapes in lists; blocking, and filters by `query.apply`."""

    def __init__(self) -> None:
        self.tapes: dict[str, list[TapeEntry]] = {}

    def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        return sorted(self.tapes)

    def reset(self, tape: str) -> None:
        """Remove a tape."""
        self.tapes.pop(tape, None)

    def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for."""
        return query.apply(self.tapes.get(query.tape, []))

    def append(self, tape: str, entry: TapeEntry) -> TapeEntry | None:
        """Keep one entry and return it as stored."""
        entries = self.tapes.setdefault(tape, [])
        entries.append(placed(entry, id=len(entries) + 1))
        return entries[-1]


class SilentListStore(ListStore):
    """Returns nothing from an append, and whole tapes from every query, one entry after the other."""

    def fetch_all(self, query: TapeQuery) -> Iterable[TapeEntry]:  # type: ignore[override]
        """Yield all entries of the query's tape, whatever else it asks for."""
        yield from list(self.tapes.get(query.tape, []))

    def append(self, tape: str, entry: TapeEntry) -> None:
        """Keep one entry."""
        super().append(tape, entry)


class AsyncListStore:
    """Keeps tapes in lists; the same four methods, awaited."""

    def __init__(self) -> None:
        self.kept = ListStore()

    async def list_tapes(self) -> list[str]:
        """Return the names of all tapes, sorted."""
        return self.kept.list_tapes()

    async def reset(self, tape: str) -> None:
        """Remove a tape."""
        self.kept.reset(tape)

    async def fetch_all(self, query: TapeQuery) -> list[TapeEntry]:
        """Return the entries a query asks for."""
        return self.kept.fetch_all(query)

    async def append(self, tape: str, entry: TapeEntry) -> TapeEntry | None:
        """Keep one entry and return it as stored."""
        return self.kept.append(tape, entry)


def observed(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return an async method wrapped as a decorator without `async` does: nothing about it looks async."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Awaitable[Any]:
        return method(*args, **kwargs)

    del call.__wrapped__
    return call


class DecoratedListStore(AsyncListStore):
    """An async store none of whose methods is a coroutine function."""

    list_tapes = observed(AsyncListStore.list_tapes)  # type: ignore[assignment]
    reset = observed(AsyncListStore.reset)  # type: ignore[assignment]
    fetch_all = observed(AsyncListStore.fetch_all)  # type: ignore[assignment]
    append = observed(AsyncListStore.append)  # type: ignore[assignment]
