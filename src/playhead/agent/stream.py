"""The stream of a run: its events as they come, and a deterministic end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any
from warnings import warn

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from playhead.agent.events import ErrorEvent, FinalEvent, RunEvent, TextEvent, UsageEvent
from playhead.agent.opening import Opened
from playhead.agent.running import is_cancelled
from playhead.agent.unwritten import Unwritten
from playhead.errors import InvalidInput, StoreUnavailable
from playhead.model.protocol import Usage
from playhead.tape.background import Background
from playhead.tape.merging import MergeReport
from playhead.tape.tape import Tape

Emit = Callable[[RunEvent], Awaitable[None]]

BUFFER = 256
"""How many events may wait for the one who iterates before the run waits for it."""


_inside: ContextVar[tuple[RunStream, ...]] = ContextVar("playhead_runs", default=())


class RunStream:
    """The events of one run: `async with agent.run(...) as stream: async for event in stream`.

    The run begins with the first event that is asked for and goes on by itself, `BUFFER` events ahead at most. However the block is
    left, the run is ended there, and what it wrote is merged, or dropped with `merge_back=False`. `run` does the work; `open` makes
    the tape it writes to, where `waits` is set only when those have ended that were opened on the tape before it. `unwritten` is what was told
    and could not be kept, for `await stream.unwritten.write(tape)` once the store answers again.
    """

    def __init__(self, *, open: Callable[[], Awaitable[Opened]], run: Callable[[Opened, Emit], Awaitable[None]]) -> None:
        self.waits = False
        self.usage = Usage()
        self.error: Exception | None = None
        self.output: Any = None
        self.unwritten: Unwritten | None = None
        self._open = open
        self._run = run
        self._held: Opened | None = None
        self._work: Background | None = None
        self._send: MemoryObjectSendStream[RunEvent]
        self._events: MemoryObjectReceiveStream[RunEvent]
        self._failure: BaseException | None = None
        self._answer = ""
        self._is_entered = False
        self._opening: Background | None = None
        self._closing: Background | None = None

    async def __aenter__(self) -> RunStream:
        self._is_entered = True
        await self._opened()
        return self

    def __del__(self) -> None:
        if self._held is not None and self._closing is None:
            warn(f"The run on '{self._held.tape.name}' was never closed; use `async with agent.run(...) as stream:`, or `await stream.aclose()`.", ResourceWarning, source=self, stacklevel=1)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._close(kind, error, trace)

    async def aclose(self) -> None:
        """End the run where it stands and merge what it wrote; closing twice is fine."""
        await self._close(None, None, None)

    @property
    def tape(self) -> Tape:
        """The tape the run writes to: its branch, until it is closed. Raises InvalidInput before the stream is entered."""
        if self._held is None:
            raise InvalidInput("This run was not entered; use `async with agent.run(...) as stream:` or `await agent.start(...)`.")
        return self._held.tape

    @property
    def report(self) -> MergeReport | None:
        """What the merge at the end did, None before."""
        return self._held.report if self._held is not None else None

    def cancel(self) -> None:
        """Cancel the run where it stands; what is known by then is recorded, and the stream ends."""
        if self._work is not None:
            self._work.cancel()

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        return self

    async def __anext__(self) -> RunEvent:
        if self._closing is not None:
            raise StopAsyncIteration
        opened = await self._opened()
        if self._work is None:
            self._send, self._events = anyio.create_memory_object_stream[RunEvent](BUFFER)
            self._work = Background(partial(self._produce, opened))
        event: RunEvent | None = None
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            event = await self._events.receive()
        if event is None:
            await self._end()
            raise StopAsyncIteration
        self._note(event)
        return event

    async def _end(self) -> None:
        """Raise what the run has raised, once; a stream that nobody entered is closed."""
        failure, self._failure = self._failure, None
        self._answer = "" if failure is not None else self._answer
        if not self._is_entered:
            await self._close(type(failure) if failure else None, failure, None)
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # as in Background

    async def text(self) -> str:
        """Run to the end and return the words of the last answer. Raises what the run raises."""
        async for _ in self:
            continue
        return self._answer

    async def text_deltas(self) -> AsyncIterator[str]:
        """Yield the words of all answers as they come."""
        async for event in self:
            if isinstance(event, TextEvent):
                yield event.delta

    def _note(self, event: RunEvent) -> None:
        if isinstance(event, UsageEvent):
            self.usage += event.usage
        elif isinstance(event, ErrorEvent):
            self.error = event.error
        elif isinstance(event, FinalEvent):
            self._answer = event.text

    async def _opened(self) -> Opened:
        """Open the run, once for all who ask; where one of them is cancelled meanwhile, it is closed."""
        if self._closing is None and self._held is None:
            self._opening = self._opening or Background(self._enter)
            try:
                await self._opening.done()
            except anyio.get_cancelled_exc_class():
                await self._close(None, None, None)
                raise
        if self._held is None or self._closing is not None:
            raise InvalidInput("This run has ended; start another one with agent.run(...).")
        return self._held

    async def _enter(self) -> None:
        try:
            self._held = await self._open()
        except BaseException:
            self._opening = None
            raise

    async def _produce(self, opened: Opened) -> None:
        """Do the run's work; an error waits for the one who iterates, behind the events before it."""
        _inside.set((*_inside.get(), self))
        try:
            await self._run(opened, self._send.send)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the one who iterates is told
            self._failure = self.error = exc
        except anyio.get_cancelled_exc_class():
            if is_cancelled():
                raise
            self._failure = self.error = StoreUnavailable("What this run waited for was cancelled, and not by the run; look at its store, its inbox and what approves calls.")
        finally:
            self._send.close()

    async def _close(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the run, then let go of all it was given; who comes second waits until that is done. From within, the run is only cancelled.

        It is done in a task of its own, so that no cancellation stops it halfway.
        """
        if self in _inside.get():
            self.cancel()
            return
        if self._closing is None:
            self._closing = Background(partial(self._let_go, kind, error, trace))
        await self._closing.ended()

    async def _let_go(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with suppress(Exception):  # it is raised to the one who opens
                await self._opening.ended()
        if self._work is not None:
            self._work.cancel()
            self._drop()
            await self._work.ended()
            self._drop()
            self._events.close()
        if self._held is not None:
            await self._held.stack.__aexit__(kind, error, trace)

    def _drop(self) -> None:
        """Take what still waits, so that nothing the run does at its end waits for a reader."""
        while self._events.statistics().current_buffer_used:
            try:
                self._note(self._events.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream):
                return
