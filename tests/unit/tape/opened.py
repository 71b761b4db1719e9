"""Stores for tests that hold over every store: opened by `fresh_store()`, closed when `run` ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from playhead.entry.message import user
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext

KINDS: dict[str, Callable[[Path], WholeStore]] = {
    "memory": lambda place: InMemoryTapeStore(),
    "sqlite": lambda place: SQLiteTapeStore(place / "tapes.db", durability="process"),
    "file": lambda place: FileTapeStore(place / "tapes", durability="process"),
}

_kind = "memory"
_place = Path()
_open: list[WholeStore] = []


def use(kind: str, place: Path) -> None:
    """Say which store the next ones are, and where."""
    global _kind, _place
    _kind, _place = kind, place


def fresh_store() -> WholeStore:
    """Return a new, empty store."""
    place = _place / str(len(_open))
    place.mkdir(exist_ok=True)
    store = KINDS[_kind](place)
    _open.append(store)
    return store


async def grown(*texts: str) -> Tape:
    """Return a tape in a new store, read as a whole, with what a user said."""
    tape = Tape(fresh_store(), "t", context=TapeContext(anchor=None))
    await tape.append_many([user(text) for text in texts])
    return tape


async def said(tape: Tape) -> list[object]:
    """Return what stands in the messages of a tape."""
    return [entry.payload["content"] for entry in await tape.query().kinds("message").all()]


def run(function: Callable[[], Awaitable[None]]) -> None:
    """Run a test to its end, and close what it opened."""

    async def go() -> None:
        try:
            await function()
        finally:
            with anyio.CancelScope(shield=True):
                for store in _open:
                    await store.aclose()
            _open.clear()

    anyio.run(go)
