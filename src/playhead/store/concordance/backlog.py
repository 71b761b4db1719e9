"""A backlog: which parts of a store volumes are to be made of, done one after the other, a little at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import suppress
from time import monotonic

Steps = Generator[None, None, None]
"""Does something; each step of it takes some milliseconds."""

LEAST = 512
"""How many entries that are in no volume are worth one."""

_MOMENT = 0.03


class Backlog:
    """Has volumes made of what grew, and first of what somebody waits for; `make` returns the steps for one of them."""

    def __init__(self, make: Callable[[Hashable], Steps]) -> None:
        self._make = make
        self._grown: dict[Hashable, None] = {}
        self._wanted: dict[Hashable, None] = {}
        self._steps: Steps | None = None

    def grew(self, name: Hashable) -> None:
        """Take note that something was written to."""
        self._grown[name] = None

    def hurry(self, names: Iterable[Hashable]) -> bool:
        """Do for a moment what somebody waits for, and return whether there is more of it to do. Raises what a step raises."""
        self._wanted = dict.fromkeys(names) | self._wanted
        until = monotonic() + _MOMENT
        while self._wanted and monotonic() < until:
            self.step()
        return bool(self._wanted)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return self._steps is None and not self._grown and not self._wanted

    def step(self) -> bool:
        """Do the next step, and return whether there is more to do. Raises what that raises; what was being done is then given up."""
        steps = self._all() if self._steps is None else self._steps
        self._steps = None
        with suppress(StopIteration):
            next(steps)
            self._steps = steps
        return not self.is_done

    def _all(self) -> Steps:
        while self._wanted or self._grown:
            waiting = self._wanted or self._grown
            name = next(iter(waiting))
            if waiting is self._grown:
                del self._grown[name]
            try:
                yield from self._make(name)
            finally:
                self._wanted.pop(name, None)
