"""For how many seconds a store waits for others."""

from __future__ import annotations

from playhead.errors import InvalidInput

LONGEST = 1_000_000
"""Eleven days; engines count milliseconds in 31 bits."""


def checked_timeout(timeout: float) -> float:
    """Return for how many seconds a store waits. Raises InvalidInput for what is no number of seconds, or has no end."""
    if isinstance(timeout, (int, float)) and 0 <= timeout <= LONGEST:
        return timeout
    raise InvalidInput(f"A store's timeout is a number of seconds from 0 to {LONGEST:,}, not {timeout!r}.")
