"""Steering: what a run takes from its inbox, for good only once a request with it was accepted."""

from __future__ import annotations

import logging

from playhead.agent.inbox import Inbox, Leased

_log = logging.getLogger("playhead")


class Steering:
    """The words from an inbox that a run holds: pulled at the start of a step, then acknowledged, or given back where the step came to nothing.

    They stand on the tape under their own keys, so those that are given out again are not said twice.
    """

    def __init__(self, inbox: Inbox | None) -> None:
        self._inbox = inbox
        self._held: list[Leased] = []

    async def pull(self) -> list[Leased]:
        """Take what waits and return all that is held."""
        if self._inbox is not None:
            self._held += await self._inbox.take_pending()
        return list(self._held)

    async def acknowledge(self) -> None:
        """Say that all that is held was taken up."""
        while self._inbox is not None and self._held:
            await self._inbox.ack(self._held[0])
            self._held.pop(0)

    async def give_back(self) -> None:
        """Give back what was not taken up; what cannot be given back is given out again when its lease ends."""
        while self._inbox is not None and self._held:
            try:
                await self._inbox.release(self._held.pop(0))
            except Exception:  # noqa: BLE001 - an inbox of the user's raises whatever it likes
                _log.exception("A message could not be given back to its inbox; it comes back when its lease ends.")
