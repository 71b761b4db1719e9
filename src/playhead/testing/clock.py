"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from playhead.clock import uuid7

_START = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FakeClock:
    """Tells the time it was set to and makes the same ids in every run; use it with `playhead.clock.using(FakeClock())`.

    `step` is how far each look at the clock moves it on.
    """

    def __init__(self, start: datetime = _START, *, step: timedelta = timedelta()) -> None:
        self._lock = threading.Lock()
        self._now = start.astimezone(UTC)
        self._step = step
        self._last = 0

    def now(self) -> datetime:
        """Return the time, then move on by the step."""
        with self._lock:
            now = self._now
            self._now += self._step
            return now

    def uid(self) -> str:
        """Return a new UUIDv7 as text: the time and how many were made, nothing by chance."""
        with self._lock:
            tick = max(self._last + 1, (self._now - _EPOCH) // timedelta(milliseconds=1) << 12)
            self._last = tick
        return str(uuid7(milliseconds=tick >> 12, counter=tick & 0xFFF, chance=0))

    def advance(self, by: timedelta) -> None:
        """Move the clock on."""
        with self._lock:
            self._now += by

    def set(self, at: datetime) -> None:
        """Set the clock, also back."""
        with self._lock:
            self._now = at.astimezone(UTC)
