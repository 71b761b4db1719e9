"""Where a store contract plays: it opens the store under test, runs a scenario on an event loop, closes it."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.store.adapt import adapt
from playhead.store.protocol import IDEMPOTENCY_KEY, WholeStore
from playhead.store.query import TapeQuery

Scenario = Callable[[WholeStore], Awaitable[None]]


class StoreStage:
    """Opens stores for scenarios; `backend` is the event loop they run on, "asyncio" or "trio"."""

    backend: ClassVar[str] = "asyncio"

    def open_store(self, place: Path) -> Any:
        """Return the store under test, kept at `place` where it keeps files; the same place again opens the same store."""
        raise NotImplementedError("override open_store(self, place) to return the store to test")

    def play(self, place: Path, *scenarios: Scenario, needs: str | None = None) -> None:
        """Run each scenario on a store freshly opened at the place; leave the test out where the store does not promise what it needs."""
        for scenario in scenarios:
            anyio.run(self._played, place, scenario, needs, backend=self.backend)

    def play_again(self, place: Path, before: Scenario, after: Scenario) -> None:
        """Run one scenario, then the other on the store opened anew; left out for a store that lives in memory."""
        self.outlives_the_process(place)
        self.play(place, before, after)

    def outlives_the_process(self, place: Path) -> None:
        """Leave the test out for a store that lives in memory, where opening it again gives another one."""
        if getattr(self.open_store(place), "durability", "memory") == "memory":
            raise unittest.SkipTest("the store does not say by a `durability` that it outlives the process")

    async def opened(self, place: Path) -> WholeStore:
        """Return the store under test as a whole one."""
        store = self.open_store(place)
        return adapt(await store if inspect.isawaitable(store) else store)

    async def _played(self, place: Path, scenario: Scenario, needs: str | None) -> None:
        store = await self.opened(place)
        try:
            if needs is not None and needs not in store.promises:
                raise unittest.SkipTest(f"the store does not promise {needs}")
            await scenario(store)
        finally:
            await store.aclose()


def entry_of(kind: str, payload: Mapping[str, object], *, meta: Mapping[str, object] | None = None, date: str = "") -> TapeEntry:
    """Return an entry that was not appended yet."""
    return TapeEntry(0, kind, freeze_dict(payload), freeze_dict(meta or {}, path="meta"), date)


def note(text: str, **meta: object) -> TapeEntry:
    """Return an entry that was not appended yet and says a text."""
    return entry_of("note", {"text": text}, meta=meta)


def keyed(text: str, key: str) -> TapeEntry:
    """Return an entry that was not appended yet, says a text, and has an idempotency key."""
    return note(text, **{IDEMPOTENCY_KEY: key})


async def whole(store: WholeStore, tape: str) -> list[TapeEntry]:
    """Return all entries of a tape."""
    return list(await store.fetch_all(TapeQuery(tape=tape)))


def equal(found: object, wanted: object, what: str = "") -> None:
    """Fail the test unless both are equal."""
    if found != wanted:
        raise AssertionError(f"{what or 'found'}: {found!r}, wanted: {wanted!r}")


@contextmanager
def raising(kind: type[Exception], text: str = "") -> Iterator[list[Exception]]:
    """Fail the test unless the block raises this kind of error, with the text as its whole message where one is given; yield where it is put."""
    caught: list[Exception] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
        message = getattr(error, "message", str(error))
        if text and message != text:
            raise AssertionError(f"the message is {message!r}, wanted: {text!r}") from error
    else:
        raise AssertionError(f"nothing was raised, wanted: {kind.__name__}")
