"""A request is repeated a few times, later and later, and never once something of an answer was passed on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.model.retry import Retry, retried
from playhead.testing import FakeClock

BUSY = ph.ModelUnavailable("Busy.")
HELLO = ph.TextDelta(text="Hello")


def outcome(*attempts: list[Any], **settings: Any) -> tuple[list[Any], list[float]]:
    """Return the events of attempts one after the other, an error as the last of them, and how long was waited between them."""
    left, waits = list(attempts), []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def ask() -> AsyncGenerator[Any, None]:
        for step in left.pop(0):
            if isinstance(step, Exception):
                raise step
            yield step

    async def listen() -> list[Any]:
        events: list[Any] = []
        try:
            async for event in retried(ask, retry=Retry(sleep=sleep, **settings)):
                events.append(event)  # noqa: PERF401 - what came before a failure stays
        except ph.PlayheadError as error:
            events.append(error)
        return events

    return anyio.run(listen), waits


def test_an_answer_is_not_asked_twice():
    assert outcome([HELLO]) == ([HELLO], [])


@pytest.mark.parametrize("failure", [BUSY, ph.BadReply("Garbage.")])
def test_a_failure_before_the_answer_is_asked_again(failure: Exception):
    events, waits = outcome([failure], [failure], [HELLO])
    assert events == [HELLO]
    assert 0.375 <= waits[0] <= 0.5
    assert 0.75 <= waits[1] <= 1.0


def test_the_last_failure_is_told():
    last = ph.ModelUnavailable("Still busy.")
    assert outcome([BUSY], [BUSY], [last])[0] == [last]
    assert outcome([last], times=0) == ([last], [])


def test_waits_do_not_grow_without_end():
    _, waits = outcome(*[[BUSY]] * 12, times=11, longest=4.0)
    assert len(waits) == 11
    assert max(waits) <= 4.0


def test_a_failure_within_the_answer_is_told_at_once():
    assert outcome([HELLO, BUSY], [HELLO]) == ([HELLO, BUSY], [])


@pytest.mark.parametrize("failure", [ph.ModelRejected("No."), ph.ContextLimitExceeded("Too long."), ph.ModelRefused("No."), ph.InvalidInput("No.")])
def test_what_would_fail_again_is_told_at_once(failure: ph.PlayheadError):
    assert outcome([failure], [HELLO]) == ([failure], [])


def test_the_wait_a_provider_asks_for_is_kept():
    events, waits = outcome([ph.ModelUnavailable("Busy.", retry_after=20.0)], [HELLO])
    assert events == [HELLO]
    assert 20.0 <= waits[0] <= 20.125


def test_a_wait_beyond_patience_is_told_at_once():
    patient = ph.ModelUnavailable("Busy.", retry_after=61.0)
    assert outcome([patient], [HELLO]) == ([patient], [])


def test_waits_are_left_to_chance_by_the_clock():
    with clock.using(FakeClock()):
        assert outcome([BUSY], [HELLO])[1] == [0.375]
    assert len({outcome([BUSY], [HELLO])[1][0] for _ in range(20)}) > 1
