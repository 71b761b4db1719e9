"""Holding: which entries must not be summarised yet, by the messages a manager holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from playhead.fold.choosing.holds import Hold, HoldBook
from playhead.prompt.manager.messages import MessageBook

_log = logging.getLogger("playhead")


class Holding:
    """The holds of one manager: every part of a long message is held with it, and a tool's result with its call."""

    def __init__(self, book: Callable[[], MessageBook]) -> None:
        self._book = book
        self._holds = HoldBook()
        self._places: dict[str, int] = {}
        self._generation = -1

    async def hold(self, ids: Iterable[str], *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - how long it holds
        """Hold messages. Raises MessageNotFound, InvalidInput for a timeout that is no positive number of seconds."""
        found: dict[str, int] = {}
        for id in ids:
            found |= await self._book().parts(id)
        self._holds.hold(found, timeout=timeout)
        self._places |= found

    async def release(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Release messages, and return the uids of the entries that were held; what is unknown is passed over."""
        book = self._book()
        known: list[str] = []
        for id in ids:
            known += [id, *(await book.known_parts(id))]
        return self._holds.release(known)

    def drop(self, ids: Iterable[str]) -> None:
        """Let go of messages that were removed."""
        self._holds.release(ids)

    def expired(self) -> tuple[Hold, ...]:
        """Take out the holds whose time is up, and say so in the log."""
        over = self._holds.expire()
        for hold in over:
            _log.warning("The hold of message %s is over: it was held since %s and not released.", hold.uid, hold.held_at.isoformat(timespec="seconds"))
        return over

    @property
    def details(self) -> tuple[Hold, ...]:
        """The holds that count now."""
        self.expired()
        return self._holds.details

    def forget(self) -> None:
        """Forget where messages stand: the tape is another one now."""
        self._places = {}

    async def frozen_from(self) -> int | None:
        """Return the first entry that nothing may be told from on, None where nothing is held."""
        self.expired()
        held = self._holds.held
        if not held:
            return None
        generation = (await self._book().tape.head()).generation
        if generation != self._generation:
            self._places, self._generation = {}, generation
        missing = [uid for uid in held if uid not in self._places]
        if missing:
            self._places |= await self._book().places(missing)
        return self._holds.frozen_from(self._places)
