"""The answer of a model as it comes, without `await`."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from playhead.agent.events import RunEvent
from playhead.llm.stream import AsyncStreamEvents, AsyncTextStream
from playhead.model.protocol import Usage
from playhead.sync.portal import wait
from playhead.sync.scope import each, entered


class TextStream:
    """The words of one answer as they come; iterate it once.

    `asynchronous` is the stream behind it, as the async methods return it.
    """

    asynchronous: AsyncTextStream

    def __init__(self, asynchronous: AsyncTextStream) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    def __iter__(self) -> Iterator[str]:
        return each(aiter(self.asynchronous))

    @property
    def error(self) -> Exception | None:
        """Why the call failed, None where it has not, or not yet."""
        return self.asynchronous.error

    @property
    def usage(self) -> Usage:
        """What the call cost; nothing before its end, and where the provider did not say."""
        return self.asynchronous.usage

    def aclose(self) -> None:
        """End the call where it stands and keep it; closing twice is fine."""
        wait(self.asynchronous.aclose)


class StreamEvents:
    """What happens in one call, event by event; iterate it once.

    `asynchronous` is the stream behind it, as the async methods return it.
    """

    asynchronous: AsyncStreamEvents

    def __init__(self, asynchronous: AsyncStreamEvents) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    def __iter__(self) -> Iterator[RunEvent]:
        return each(aiter(self.asynchronous))

    @property
    def error(self) -> Exception | None:
        """Why the call failed, None where it has not, or not yet."""
        return self.asynchronous.error

    @property
    def usage(self) -> Usage:
        """What the call cost; nothing before its end, and where the provider did not say."""
        return self.asynchronous.usage

    def aclose(self) -> None:
        """End the call where it stands and keep it; closing twice is fine."""
        wait(self.asynchronous.aclose)
