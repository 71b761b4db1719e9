"""Time, chance and ids: the only place that asks the machine for them."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time and makes ids; a test passes its own."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...

    def uid(self) -> str:
        """Return a new UUIDv7 as text; later ids of one clock sort behind earlier ones."""
        ...


def uuid7(*, milliseconds: int, counter: int, chance: int) -> uuid.UUID:
    """Build a UUIDv7 from 48 bits of time, 12 bits of counter and 62 bits of chance (RFC 9562, section 5.7)."""
    value = (milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | (counter & 0xFFF) << 64 | 2 << 62 | chance & (1 << 62) - 1
    return uuid.UUID(int=value)


def uuid7_text(*, milliseconds: int, counter: int, chance: int) -> str:
    """Return `str(uuid7(...))`, five times as fast."""
    front = f"{milliseconds & (1 << 48) - 1:012x}7{counter & 0xFFF:03x}"
    back = f"{2 << 62 | chance & (1 << 62) - 1:016x}"
    return f"{front[:8]}-{front[8:12]}-{front[12:]}-{back[:4]}-{back[4:]}"


_CHANCES = 64


class SystemClock:
    """The machine's clock; uids rise strictly within the process, also when the clock is set back."""

    def __init__(self) -> None:
        self._last = 0
        self.renew()

    def renew(self) -> None:
        """Drop what a forked child must not share with its parent."""
        self._lock = threading.Lock()
        self._chances: list[int] = []

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def uid(self) -> str:
        """Return a new UUIDv7 as text."""
        with self._lock:
            tick = max(self._last + 1, time.time_ns() // 1_000_000 << 12)
            self._last = tick
            if not self._chances:
                self._chances.extend(memoryview(os.urandom(8 * _CHANCES)).cast("Q"))
            chance = self._chances.pop()
        return uuid7_text(milliseconds=tick >> 12, counter=tick & 0xFFF, chance=chance)


_SYSTEM = SystemClock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SYSTEM.renew)
_clock: ContextVar[Clock] = ContextVar("playhead_clock", default=_SYSTEM)


@contextmanager
def using(clock: Clock) -> Iterator[Clock]:
    """Let `clock` tell the time inside the block."""
    token = _clock.set(clock)
    try:
        yield clock
    finally:
        _clock.reset(token)


class _Stopped:
    """Stands at an instant; its uids are those of another clock."""

    def __init__(self, at: datetime, clock: Clock) -> None:
        self._at = at
        self._clock = clock

    def now(self) -> datetime:
        """Return the instant."""
        return self._at

    def uid(self) -> str:
        """Return a new uid."""
        return self._clock.uid()


@contextmanager
def stopped(at: datetime) -> Iterator[Clock]:
    """Let it be an instant inside the block; uids are made as before."""
    with using(_Stopped(at, _clock.get())) as clock:
        yield clock


def now() -> datetime:
    """Return the current time in UTC."""
    return _clock.get().now()


def is_machine() -> bool:
    """Return whether it is the machine's clock that tells the time, so that another machine's may do so instead."""
    return _clock.get() is _SYSTEM


def new_uid() -> str:
    """Return a new UUIDv7 as text."""
    return _clock.get().uid()


def machine_uid() -> str:
    """Return a new UUIDv7 as text, by the machine's clock and chance whatever clock tells the time: one that nobody else has."""
    return _SYSTEM.uid()
