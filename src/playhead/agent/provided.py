"""The store that a plug-in provides: entered once, closed with the agent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from inspect import isawaitable, iscoroutine
from typing import Any, cast

import anyio

from playhead.agent.plugins import Hook
from playhead.errors import BadPlugin, StoreUnavailable
from playhead.store.adapted.tapes import FOUR
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore

Store = TapeStore | AsyncTapeStore | WholeStore


class ProvidedStore:
    """The first store that a hook gives: a store, an awaitable of one, or a context manager that yields one, sync or async."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = hooks
        self._opening = anyio.Lock()
        self._closing = AsyncExitStack()
        self._store: Store | None = None
        self._is_open = not hooks
        self._is_closed = False

    def now(self) -> Store | None:
        """Return the store. Raises StoreUnavailable where it must be waited for and was not yet, and once it was closed."""
        self._check_not_closed()
        if not self._is_open and self._opening.locked():
            raise StoreUnavailable("The store of a plug-in is being opened by a run; wait until that has started.")
        if not self._is_open:
            self._settle(self._asked())
        return self._store

    async def opened(self) -> Store | None:
        """Return the store, waited for where need be."""
        self._check_not_closed()
        if self._is_open:
            return self._store
        async with self._opening:
            self._check_not_closed()
            if not self._is_open:
                await self._wait_for(self._asked())
        return self._store

    async def aclose(self) -> None:
        """Leave the context manager that was entered."""
        async with self._opening:
            self._is_closed, self._store = bool(self._hooks), None
            await self._closing.aclose()

    def _check_not_closed(self) -> None:
        if self._is_closed:
            raise StoreUnavailable("The store that a plug-in provided was closed with its agent; make a new agent.")

    def _asked(self) -> tuple[Hook, Any] | None:
        answers = ((hook, hook.call()) for hook in self._hooks)
        return next((answer for answer in answers if answer[1] is not None), None)

    def _settle(self, answer: tuple[Hook, Any] | None) -> None:
        """Take the store without waiting for it."""
        given = answer[1] if answer else None
        if answer is None or _is_store(given):
            if isinstance(given, AbstractAsyncContextManager):
                self._closing.push_async_exit(given)
            self._keep(answer, given)
        elif isinstance(given, AbstractContextManager):
            self._keep(answer, self._closing.enter_context(given))
        else:
            if iscoroutine(given):
                given.close()
            waits = isawaitable(given) or isinstance(given, AbstractAsyncContextManager)
            if waits:
                raise StoreUnavailable(f"The store of the plug-in {answer[0].plugin} must be waited for; start a run first, or use the agent with `async with`.")
            self._keep(answer, given)

    async def _wait_for(self, answer: tuple[Hook, Any] | None) -> None:
        given = answer[1] if answer else None
        if isawaitable(given):
            given = await given
        if isinstance(given, AbstractAsyncContextManager):
            given = await self._closing.enter_async_context(given)
        elif isinstance(given, AbstractContextManager):
            given = self._closing.enter_context(given)
        self._keep(answer, given)

    def _keep(self, answer: tuple[Hook, Any] | None, store: object) -> None:
        if answer is not None and store is not None and not _is_store(store):
            raise BadPlugin(f"hook.provide_tape_store must return a store, or a context manager that yields one, not {store!r:.200}", plugin=answer[0].plugin)
        self._store, self._is_open = cast("Store | None", store), True


def _is_store(value: object) -> bool:
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in FOUR)
