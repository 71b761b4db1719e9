"""Trying again what did not succeed because of a failure that passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from playhead.store.postgres.failures import is_crowded, is_passing, needs_another_session, typed
from playhead.store.postgres.session import Link, Session

Result = TypeVar("Result")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25
_STRANGER = 1.0


class Patience:
    """How long something is tried: from the first failure on for as many seconds as the store waits for others."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._deadline = 0.0
        self._pause = _FIRST_PAUSE

    def wait(self, error: psycopg.Error) -> None:
        """Wait before another try. Raises what the failure comes to where there is none: it stays, or the time is over."""
        link = self._link
        if needs_another_session(error):
            link.drop()
        now = time.monotonic()
        self._deadline = self._deadline or now + self._whole(error)
        if not is_passing(error) or now + self._pause > self._deadline:
            raise typed(error, server=link.server) from error
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _whole(self, error: psycopg.Error) -> float:
        """Return for how many seconds it is tried: not for long where the server was never reached, as its address may be wrong."""
        timeout = self._link.server.timeout
        return timeout if self._link.was_reached or is_crowded(error) else min(timeout, _STRANGER)


def retried(link: Link, ask: Callable[[Session], Result]) -> Result:
    """Return what is asked of a session; it is asked again after a failure that passes, so asking twice must do no harm."""
    patience = Patience(link)
    while True:
        try:
            return ask(link.session())
        except psycopg.Error as exc:
            patience.wait(exc)
