"""What a terminal shows for good, in its order, while keys go on being taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio

LONG = 8_000
"""From how many characters on a text is rendered beside everything else: that takes longer than a key may wait."""


class Printing:
    """Writes texts one behind another. A long one is rendered in a thread while `run` runs; all that comes behind it waits for it."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._waiting: deque[tuple[Callable[[], str], Callable[[str], None]]] = deque()
        self._came: anyio.Event | None = None

    async def run(self) -> None:
        """Write what waits, without end; cancelled, it leaves what has not been written to `finish`."""
        try:
            while True:
                self._came = anyio.Event()
                while self._waiting:
                    render, take = self._waiting[0]
                    text = await anyio.to_thread.run_sync(render)
                    self._waiting.popleft()
                    take(text)
                await self._came.wait()
        finally:
            self._came = None

    def finish(self) -> None:
        """Write all that waits, now."""
        while self._waiting:
            render, take = self._waiting.popleft()
            take(render())

    def print(self, render: Callable[[], str], *, characters: int) -> None:
        """Write what is rendered of so many characters."""
        self._do(render, self._write, is_long=characters >= LONG)

    def then(self, act: Callable[[], None]) -> None:
        """Do something once all is written that was printed before."""
        self._do(str, lambda _: act(), is_long=False)

    def _do(self, render: Callable[[], str], take: Callable[[str], None], *, is_long: bool) -> None:
        if self._came is None or not (self._waiting or is_long):
            self.finish()
            take(render())
            return
        self._waiting.append((render, take))
        self._came.set()
