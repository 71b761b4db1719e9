"""The handles of the tapes that were asked lately: what one has read need not be read again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakKeyDictionary

from anyio.lowlevel import current_token

from playhead.tape.tape import Tape

REMEMBERED = 32
"""How many tapes are remembered; each holds what was last shown of it."""


class Handles:
    """Handles by name, made when they are first asked for; those of one event loop are its own."""

    def __init__(self, make: Callable[[str], Tape]) -> None:
        self._make = make
        self._guard = threading.Lock()
        self._by_loop: WeakKeyDictionary[object, OrderedDict[str, Tape]] = WeakKeyDictionary()

    def get(self, name: str) -> Tape:
        """Return the handle of a tape, for use on this event loop."""
        with self._guard:
            known = self._by_loop.setdefault(current_token().native_token, OrderedDict())
            handle = known.pop(name, None) or self._make(name)
            known[name] = handle
            if len(known) > REMEMBERED:
                known.popitem(last=False)
            return handle
