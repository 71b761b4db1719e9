"""How far ahead of the clock a date may be and still be the newest of its tape."""

from __future__ import annotations

from playhead import clock
from playhead.store.rows.row import microseconds

_DAY = 24 * 60 * 60 * 1_000_000


class Horizon:
    """Hides dates that lie more than a day ahead of the clock, which is looked at only where one may.

    Such a date is not taken for the newest of its tape: every entry behind it would be dated before it, and be looked up as a stray.
    """

    def __init__(self) -> None:
        self._end = -(1 << 62)

    def hides(self, ts: int) -> bool:
        """Return whether an instant, in microseconds since 1970, lies behind the horizon."""
        if ts <= self._end:
            return False
        self._end = microseconds(clock.now()) + _DAY
        return ts > self._end
