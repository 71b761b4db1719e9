"""The answer of a model as it comes: its words, or all that happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from playhead.agent.events import RunEvent
from playhead.agent.stream import RunStream
from playhead.model.protocol import Usage


class AsyncStreamEvents:
    """What happens in one call, event by event; iterate it once.

    The call begins with the first event that is asked for. However the iteration ends, the call is kept then: where it is broken off,
    with the words that had come. An error of the call is raised behind the last event.
    """

    def __init__(self, run: RunStream) -> None:
        self._run = run

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncIterator[RunEvent]:
        """Yield the events."""
        try:
            async for event in self._run:
                yield event
        finally:
            await self._run.aclose()

    @property
    def error(self) -> Exception | None:
        """Why the call failed, None where it has not, or not yet."""
        return self._run.error

    @property
    def usage(self) -> Usage:
        """What the call cost; nothing before its end, and where the provider did not say."""
        return self._run.usage

    async def aclose(self) -> None:
        """End the call where it stands and keep it; closing twice is fine."""
        await self._run.aclose()


class AsyncTextStream:
    """The words of one answer as they come; iterate it once.

    The call begins with the first words that are asked for. However the iteration ends, the call is kept then: where it is broken off,
    with the words that had come. An error of the call is raised behind the last words.
    """

    def __init__(self, run: RunStream) -> None:
        self._run = run

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the words."""
        try:
            async for delta in self._run.text_deltas():
                yield delta
        finally:
            await self._run.aclose()

    @property
    def error(self) -> Exception | None:
        """Why the call failed, None where it has not, or not yet."""
        return self._run.error

    @property
    def usage(self) -> Usage:
        """What the call cost; nothing before its end, and where the provider did not say."""
        return self._run.usage

    async def aclose(self) -> None:
        """End the call where it stands and keep it; closing twice is fine."""
        await self._run.aclose()
