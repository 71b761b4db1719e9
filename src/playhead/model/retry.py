"""Asking again: the one place where a request is repeated, and only before anything of an answer was passed on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import anyio

from playhead import clock
from playhead.errors import BadReply, ModelUnavailable
from playhead.model.protocol import ModelEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a request is repeated, and how long is waited before: `first` seconds, then twice as long each time up to `longest`.

    A quarter of each wait is left to chance, so that many callers do not come back at once. What the provider asks to wait is
    waited in full up to `patience` seconds; where it asks for more, the failure is passed on at once.
    """

    times: int = 2
    first: float = 0.5
    longest: float = 8.0
    patience: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep

    def wait(self, failure: ModelUnavailable | BadReply, *, attempt: int) -> float | None:
        """Return how many seconds to wait before asking again after the failure of an attempt, None where it is not worth it.

        Attempts count from 0.
        """
        if attempt >= self.times:
            return None
        asked = failure.retry_after if isinstance(failure, ModelUnavailable) else None
        if asked is not None and asked > self.patience:
            return None
        backoff = min(self.longest, self.first * 2.0**attempt)
        return (0.75 * backoff if asked is None else asked) + 0.25 * backoff * _chance()


async def retried(ask: Callable[[], AsyncGenerator[ModelEvent, None]], *, retry: Retry) -> AsyncGenerator[ModelEvent, None]:
    """Yield the events of an answer, asking again after ModelUnavailable and BadReply as long as none was yielded."""
    attempt = 0
    while True:
        has_begun = False
        try:
            async with aclosing(ask()) as events:
                async for event in events:
                    has_begun = True
                    yield event
        except (ModelUnavailable, BadReply) as failure:
            wait = None if has_begun else retry.wait(failure, attempt=attempt)
            if wait is None:
                raise
        else:
            return
        attempt += 1
        await retry.sleep(wait)


def _chance() -> float:
    """Return a number from 0 to 1, drawn from the clock's ids: the one source of chance."""
    return int(clock.new_uid()[-6:], 16) / 0xFFFFFF
