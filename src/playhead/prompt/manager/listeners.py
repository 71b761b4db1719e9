"""Listeners: who is told of what happens to the messages of a manager."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playhead.prompt.manager.stored import StoredMessage

_log = logging.getLogger("playhead")

Change = Literal["add", "edit", "remove", "remove_range"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEvent:
    """What happened to messages: to which, and, where they were added or edited, what they say now."""

    kind: Change
    ids: tuple[str, ...]
    messages: tuple[StoredMessage, ...] = ()


Listener = Callable[[MessageEvent], object]
"""Is told of an event; what it returns is awaited where that can be, and not looked at."""


class Listeners:
    """Those who are told, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def add(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener of every event from now on, until the function that is returned is called; again changes nothing."""
        place = object()
        self._listeners[place] = listener
        return lambda: _dismiss(self._listeners, place)

    async def tell(self, event: MessageEvent) -> None:
        """Tell all of an event; one that raises is logged, as what it is told of stands."""
        for listener in tuple(self._listeners.values()):
            try:
                answer = listener(event)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:  # noqa: BLE001 - a listener may raise anything
                _log.exception("A listener to messages failed at the event %s and is passed over.", event.kind)


def _dismiss(listeners: dict[object, Listener], place: object) -> None:
    listeners.pop(place, None)
