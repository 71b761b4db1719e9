"""Pacing: what a failure says, how long a model is left alone after it, and who is writing what just now.

Failures that say nothing about the request pause all writing with that model, and nothing is lost by them (specs: context-manager
13.5, 14.8). A lane is shared by all who write with one model in this process.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from playhead.errors import ContextLimitExceeded, ModelRefused, ModelRejected, ModelUnavailable, WireError
from playhead.fold.writing.job import Paused
from playhead.model.protocol import Model

_log = logging.getLogger("playhead")

FIRST_WAIT = 30.0
LONGEST_WAIT = 600.0
"""Seconds of the first pause, and of the longest that is not stated by the provider; each is twice the one before."""

ERRORS_IN_A_ROW = 12
"""So many failures of one request that may be its own fault are taken for what that request comes to."""

NEVER = datetime.max.replace(tzinfo=UTC)
"""The end of a pause that lasts until the process ends or another model is named."""

_REMEMBERED = 64
_OWN_FAULT = frozenset({400, 413, 414, 415, 422, 431})
"""Statuses by which a provider rejects the request itself; others are of the key, the account, the model's name or the place."""

_BUSY = frozenset({503, 529})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A failure that passes: its name without the provider's words, and the seconds it asks to wait.

    `may_be_the_request` where the same request would perhaps always fail so: the server broke over it, or its answer broke off.
    """

    why: str
    wait: float | None = None
    may_be_the_request: bool = False


def verdict_of(error: Exception) -> str | Trouble:
    """Return the outcome of the request that an error is, or the trouble it tells of."""
    match error:
        case ContextLimitExceeded():
            return "context_limit"
        case ModelRefused():
            return "refusal"
        case WireError():
            return "rejected"
        case ModelRejected() if error.status in _OWN_FAULT:
            return "rejected"
        case ModelRejected():
            return Trouble(why=_named(error, error.status), may_be_the_request=error.status is None)
        case ModelUnavailable():
            return Trouble(why=_named(error, error.status), wait=error.retry_after, may_be_the_request=error.status is not None and error.status >= 500 and error.status not in _BUSY)
    return Trouble(why=type(error).__name__, may_be_the_request=True)


def _named(error: Exception, status: int | None) -> str:
    return type(error).__name__ if status is None else f"{type(error).__name__}, status {status}"


class Lane:
    """When a model may be asked again, how often one request failed in a row, and which requests are being answered."""

    def __init__(self) -> None:
        self._paused: Paused | None = None
        self._wait = FIRST_WAIT
        self._in_a_row: dict[str, int] = {}
        self._in_flight: set[str] = set()

    def paused(self, *, now: datetime) -> Paused | None:
        """Return the pause that holds now."""
        return self._paused if self._paused is not None and now < self._paused.until else None

    def pause(self, trouble: Trouble, *, model: str, now: datetime) -> Paused:
        """Leave the model alone for as long as it asks, and at least 30 seconds, twice as long each time up to 10 minutes."""
        stated = 0.0 if trouble.wait is None else trouble.wait
        self._paused = Paused(until=_later(now, max(stated, self._wait) if math.isfinite(stated) else math.inf), why=trouble.why)
        self._wait = min(LONGEST_WAIT, self._wait * 2)
        _log.warning("No summary is written with %s until %s: %s. What is not summarised stays as it is.", model, self._paused.until.isoformat(timespec="seconds"), trouble.why)
        return self._paused

    def answered(self, request: str) -> None:
        """Note that the model answered a request, whatever it said: pauses begin anew."""
        self._paused = None
        self._wait = FIRST_WAIT
        self._in_a_row.pop(request, None)

    def fails_for_good(self, request: str, trouble: Trouble) -> bool:
        """Note one more failure of a request; whether it is the last of so many in a row that it counts as what the request comes to."""
        if not trouble.may_be_the_request:
            return False
        times = self._in_a_row.pop(request, 0) + 1
        if times >= ERRORS_IN_A_ROW:
            return True
        self._in_a_row[request] = times
        while len(self._in_a_row) > _REMEMBERED:
            del self._in_a_row[next(iter(self._in_a_row))]
        return False

    @contextmanager
    def writing(self, request: str) -> Iterator[bool]:
        """Hold a summary while it is written; gives False where another one in this process holds it."""
        if request in self._in_flight:
            yield False
            return
        self._in_flight.add(request)
        try:
            yield True
        finally:
            self._in_flight.discard(request)


def _later(now: datetime, seconds: float) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        return NEVER


_lanes: WeakKeyDictionary[Model, Lane] = WeakKeyDictionary()


_named_lanes: dict[str, Lane] = {}


def lane_named(spec: str) -> Lane:
    """Return the lane of a model that is opened by its spec: all who open it wait for each other's pauses."""
    return _named_lanes.setdefault(spec, Lane())


def lane_of(model: Model) -> Lane:
    """Return the lane of a model; one of its own for a model that cannot be a key."""
    try:
        return _lanes.setdefault(model, Lane())
    except TypeError:
        return Lane()
