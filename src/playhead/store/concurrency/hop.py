"""One hop: a task waits for what another thread does, under asyncio or trio, without holding that thread up."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, Protocol

Post = Callable[..., object]
"""Runs a function soon in the thread of the event loop that waits."""


class Ticket(Protocol):
    """What a task awaits; settled once, in the thread of its event loop."""

    def done(self) -> bool:
        """Return whether it is settled or nobody waits any more."""
        ...

    def set_result(self, result: Any, /) -> None:
        """Wake the task with a result."""
        ...

    def set_exception(self, error: Any, /) -> None:
        """Wake the task with an error."""
        ...

    def __await__(self) -> Generator[Any, None, Any]: ...


class Job:
    """A piece of work on its way to another thread, and its outcome on the way back."""

    __slots__ = ("error", "post", "result", "ticket", "work")

    def __init__(self, work: Any) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.ticket, self.post = _here()

    def settle(self) -> None:
        """Hand the outcome over; runs in the thread of the task that waits."""
        if self.ticket.done():
            return
        if self.error is None:
            self.ticket.set_result(self.result)
        else:
            self.ticket.set_exception(self.error)


def deliver(jobs: Sequence[Job]) -> None:
    """Settle jobs from another thread, with one call into each event loop; a loop that is gone waits for nothing."""
    if len(jobs) == 1:
        with suppress(RuntimeError):
            jobs[0].post(jobs[0].settle)
        return
    by_loop: dict[Post, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.post, []).append(job)
    for post, its_jobs in by_loop.items():
        with suppress(RuntimeError):
            post(_settle, its_jobs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()


def in_trio() -> bool:
    """Return whether this is a task of trio's; while another thread is importing that, it is not."""
    lowlevel = getattr(sys.modules.get("trio"), "lowlevel", None)
    return lowlevel is not None and bool(lowlevel.in_trio_task())


def _here() -> tuple[Ticket, Post]:
    if in_trio():
        trio = sys.modules["trio"]
        return _TrioTicket(trio.Event()), trio.lowlevel.current_trio_token().run_sync_soon
    loop = asyncio.get_running_loop()
    return loop.create_future(), loop.call_soon_threadsafe


class _TrioTicket:
    """A future for trio."""

    def __init__(self, event: Any) -> None:
        self._event = event
        self._result: Any = None
        self._error: BaseException | None = None
        self._left = False

    def done(self) -> bool:
        return self._left or bool(self._event.is_set())

    def set_result(self, result: Any, /) -> None:
        self._result = result
        self._event.set()

    def set_exception(self, error: Any, /) -> None:
        self._error = error
        self._event.set()

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            yield from self._event.wait().__await__()
        except BaseException:
            self._left = True
            raise
        if self._error is not None:
            raise self._error
        return self._result
