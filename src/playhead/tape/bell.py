"""The bell: who follows a tape hears of an append in this process at once, and of others where the store hears of them, without looking again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from weakref import ReferenceType, WeakKeyDictionary, ref

import anyio

from playhead.store.concurrency.hop import Job, deliver
from playhead.store.protocol import WholeStore

_lock = threading.Lock()
_waiting: WeakKeyDictionary[WholeStore, dict[str, set[Job]]] = WeakKeyDictionary()


def ring(store: WholeStore, *tapes: str) -> None:
    """Wake all who wait for tapes of a store, in whatever event loop or thread."""
    if not _waiting:
        return
    with _lock:
        woken = [job for tape in tapes for job in _jobs(store).pop(tape, ())]
    if woken:
        deliver(woken)


class Ear:
    """Listens for a tape from the moment it is made, so that nothing that comes before the wait is missed."""

    def __init__(self, store: WholeStore, tape: str) -> None:
        self._store = store
        self._tape = tape
        self._job = Job(None)
        with _lock:
            _jobs(store, is_kept=True).setdefault(tape, set()).add(self._job)
        hear = getattr(store, "hear", None)
        self._turn_away: Callable[[], None] | None = hear(tape, partial(_ring_there, ref(store), tape)) if hear is not None else None

    async def wait(self, seconds: float) -> bool:
        """Wait until the bell is rung, or for so long, and listen no more; returns whether it was."""
        try:
            with anyio.move_on_after(seconds):
                await self._job.ticket
                return True
        finally:
            self.close()
        return False

    def close(self) -> None:
        """Listen no more."""
        if self._turn_away is not None:
            self._turn_away()
        with _lock:
            jobs = _jobs(self._store)
            listening = jobs.get(self._tape, set())
            listening.discard(self._job)
            if not listening:
                jobs.pop(self._tape, None)


def _ring_there(store: ReferenceType[WholeStore], tape: str) -> None:
    """Ring where the store is still there."""
    if (there := store()) is not None:
        ring(there, tape)


def _jobs(store: WholeStore, *, is_kept: bool = False) -> dict[str, set[Job]]:
    """Return who waits for tapes of a store, by tape; a store that cannot be told from others by its identity rings for nobody."""
    try:
        return _waiting.setdefault(store, {}) if is_kept else _waiting.get(store, {})
    except TypeError:
        return {}
