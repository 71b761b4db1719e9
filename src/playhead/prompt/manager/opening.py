"""Opening a manager: which store, which tapes; with `await` or with `async with`."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from playhead.errors import InvalidInput
from playhead.store.adapt import adapt
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.store.urls import SUFFIXES, open_store

if TYPE_CHECKING:
    from playhead.prompt.manager.manager import ContextManager

TAPE = "messages"
"""The tape of a manager that names none."""

FILE = "playhead.db"
"""The file in which a directory given as `path` keeps its tapes."""

Store = TapeStore | AsyncTapeStore | WholeStore


class Made(Protocol):
    """Makes the manager of a store."""

    def __call__(self, store: WholeStore, /, *, owns_store: bool) -> ContextManager:
        """Return it."""
        ...


class Opening:
    """A manager that is being opened: `await` it, or enter it with `async with`, which closes it at the end.

    Raises InvalidInput where neither or both of path and store are given.
    """

    def __init__(self, *, path: str | Path | None, store: Store | None, made: Made) -> None:
        if (path is None) == (store is None):
            raise InvalidInput("A manager opens a store: give path=... (a file, a directory or a URL), or store=... with one that is open.")
        self._path = path
        self._store = store
        self._made = made
        self._manager: ContextManager | None = None

    def __getattr__(self, name: str) -> NoReturn:
        ways = "`async with ContextManager.open(...) as manager`, `manager = await ContextManager.open(...)`, or without await playhead.sync.ContextManager"
        raise AttributeError(f"The manager is not open yet, so it has no {name}: {ways}.")

    def __await__(self) -> Generator[Any, Any, ContextManager]:
        return self._opened().__await__()

    async def __aenter__(self) -> ContextManager:
        self._manager = await self._opened()
        return self._manager

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._manager is not None:
            await self._manager.aclose()

    async def _opened(self) -> ContextManager:
        """Return the manager once its store has answered; a store that was opened for it is closed where that fails."""
        if self._store is not None:
            manager = self._made(adapt(self._store), owns_store=False)
            await manager.tape.head()
            return manager
        whole = store_at(self._path or "")
        try:
            manager = self._made(whole, owns_store=True)
            await manager.tape.head()
        except BaseException:
            await whole.aclose()
            raise
        return manager


def store_at(path: str | Path) -> WholeStore:
    """Return the store at a path, made where nothing is there: a file that ends in .db or .sqlite, or a directory; or the one that a URL names."""
    if isinstance(path, str) and (path == "memory:" or path.startswith(("sqlite:", "file:", "postgres"))):
        return open_store(path)
    if not isinstance(path, (str, Path)) or not str(path):
        raise InvalidInput(f"A manager's path is a file, a directory or a store's URL, not {path!r:.80}.")
    place = Path(path)
    if place.suffix in SUFFIXES or place.is_file():
        return SQLiteTapeStore(place)
    place.mkdir(parents=True, exist_ok=True)
    return SQLiteTapeStore(place / FILE)


def tape_of(tape: str | None, *, namespace: str | None, isolate: bool) -> str:
    """Return the name of the tape that a manager's messages are on. Raises InvalidInput for `isolate` without a namespace."""
    if isolate and namespace is None:
        raise InvalidInput("isolate=True gives a manager messages of its own under its namespace; name one, such as namespace='agents/bot'.")
    name = TAPE if tape is None else tape
    return f"{namespace}/{name}" if isolate else name
