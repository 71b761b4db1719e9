"""Spare time: when a writer does what nobody waits for."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

PATIENCE = 0.05
"""After how many seconds without anything to write there is time."""

BEHIND = 4096
"""After how many entries there has to be time, though there was no pause."""

_SHARE = 0.1


class Spare:
    """Has work done a little at a time: in a pause until it ends, else, once there is much of it, for a tenth of the time that the writing takes."""

    def __init__(self, *, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._entries = 0
        self._written = 0.0
        self._spent = 0.0
        self._last = now() - PATIENCE

    @property
    def is_pause(self) -> bool:
        """Whether nothing was written for a while."""
        return self._now() - self._last >= PATIENCE

    def wrote(self, entries: int, *, seconds: float) -> None:
        """Take note of how many entries were written, and how long that took."""
        self._entries += entries
        self._written += seconds
        self._last = self._now()

    def use(self, step: Callable[[], bool], *, is_pause: bool, goes_on: Callable[[], bool]) -> None:
        """Do steps while that may go on: in a pause all, else as many as there is time for beside the writing. A step returns whether there is more to do."""
        if not is_pause and self._entries < BEHIND:
            self._written = self._spent = 0.0
            return
        while goes_on() and (is_pause or self._spent < self._written * _SHARE):
            started = self._now()
            if not step():
                self._entries = 0
                return
            self._spent += self._now() - started
