"""Holds: messages that must not be summarised yet, because they will still change.

They live in memory alone: a crash must never keep what follows from being summarised for ever (specs: context-manager 12).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf

from playhead import clock
from playhead.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One held message: its uid, since when it is held, and until when; None for until it is released."""

    uid: str
    held_at: datetime
    expires_at: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        """Whether its time is up."""
        return self.expires_at is not None and self.expires_at <= now


class HoldBook:
    """The holds of one manager, by the uids of entries.

    A hold whose time is up counts for nothing from that moment on; it stays in the book until `expire` takes it out and says so.
    """

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    def hold(self, uids: Iterable[str], *, timeout: float | None = None) -> None:
        """Hold messages, all to the same instant, for `timeout` seconds or until they are released; one that is held already is held anew.

        Raises InvalidInput for a timeout that is no positive finite number.
        """
        lasting = None if timeout is None else _lasting(timeout)
        now = clock.now()
        for uid in uids:
            self._holds[uid] = Hold(uid=uid, held_at=now, expires_at=None if lasting is None else now + lasting)

    def release(self, uids: Iterable[str]) -> tuple[str, ...]:
        """End the holds of messages; return those that were held. Others are passed over."""
        return tuple(uid for uid in dict.fromkeys(uids) if self._holds.pop(uid, None) is not None)

    def expire(self) -> tuple[Hold, ...]:
        """Take out exactly the holds whose time is up, and return them, so that somebody is told."""
        now = clock.now()
        over = tuple(hold for hold in self._holds.values() if hold.is_over(now))
        for hold in over:
            del self._holds[hold.uid]
        return over

    @property
    def details(self) -> tuple[Hold, ...]:
        """The holds that count now, in the order they were made."""
        now = clock.now()
        return tuple(hold for hold in self._holds.values() if not hold.is_over(now))

    @property
    def held(self) -> tuple[str, ...]:
        """The uids of the messages that are held now."""
        return tuple(hold.uid for hold in self.details)

    def frozen_from(self, places: Mapping[str, int]) -> int | None:
        """Return the first entry that must not be summarised, nor anything behind it: the earliest that is held, by where each stands.

        Messages that stand nowhere do not count; None where nothing is held.
        """
        return min((places[uid] for uid in self.held if uid in places), default=None)


def check_timeout(timeout: object) -> None:
    """Raise InvalidInput for what no hold can last: anything but a number of seconds above 0, or None."""
    if timeout is not None:
        _lasting(timeout)


def _lasting(timeout: object) -> timedelta:
    if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or not 0 < timeout < inf:
        raise InvalidInput(f"A hold's timeout is a number of seconds above 0, or None for until it is released, not {_written(timeout)}.")
    try:
        return timedelta(seconds=timeout)
    except OverflowError as exc:
        raise InvalidInput(f"A hold's timeout is a number of seconds that a calendar can hold, not {_written(timeout)}.") from exc


def _written(timeout: object) -> str:
    """Return how a value reads in an error; Python writes out no whole number of thousands of digits."""
    try:
        return f"{timeout!r:.80}"
    except ValueError:
        return "a whole number of thousands of digits"
