"""A model somewhere else: what all providers share, around the adapter that speaks to one of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Protocol, Self

from playhead.errors import BadReply, ContextLimitExceeded, InvalidInput, PlayheadError
from playhead.model import limits
from playhead.model.failures import failure_of
from playhead.model.protocol import ModelEvent, ModelRequest, Reply, TextDelta
from playhead.model.retry import Retry, retried


class Adapter(Protocol):
    """Speaks to one provider in its own form: asks once, retries nothing, and raises whatever its SDK raises."""

    def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask, and yield the answer as it comes; the last event is the Reply."""
        ...

    async def aclose(self) -> None:
        """Let go of the connections."""
        ...


class RemoteModel:
    """A model of a provider, reached through an adapter; `async with` closes it.

    Every failure is one of our errors; a request is repeated as `retry` says. A context limit that the provider names in an error
    holds from then on for this process, unless one was given.
    """

    def __init__(self, adapter: Adapter, *, name: str, place: str = "", context_limit: int | None = None, retry: Retry | None = None) -> None:
        if context_limit is not None and context_limit < 1:
            raise InvalidInput(f"A context limit is a number of tokens, at least 1, not {context_limit!r}.")
        self._adapter = adapter
        self._name = name
        self._place = f"{name}@{place}"
        self._context_limit = context_limit
        self._retry = retry or Retry()
        self._is_open = True

    def __repr__(self) -> str:
        return f"<model {self._name}>"

    @property
    def name(self) -> str:
        """Provider and model."""
        return self._name

    @property
    def context_limit(self) -> int | None:
        """The limit given, else the one the provider named, else the one listed, else None."""
        if self._context_limit is not None:
            return self._context_limit
        learned = limits.learned(self._place)
        return learned if learned is not None else limits.listed(self._name.partition(":")[2])

    def stream(self, request: ModelRequest) -> aclosing[AsyncGenerator[ModelEvent, None]]:
        """Ask, and yield the answer as it comes; leaving the block ends the call."""
        if not self._is_open:
            raise InvalidInput(f"The model {self._name} is closed; ask inside its `async with`, or get it again with get_model().")
        return aclosing(retried(lambda: self._asked(request), retry=self._retry))

    async def complete(self, request: ModelRequest) -> Reply:
        """Ask, and return the whole answer."""
        reply = None
        async with self.stream(request) as events:
            async for event in events:
                reply = event if isinstance(event, Reply) else None
        if reply is None:
            raise BadReply(f"{self._name} ended its answer without a reply; ask again.", model=self._name)
        return reply

    async def aclose(self) -> None:
        """Let go of the connections; closing twice is fine."""
        if self._is_open:
            self._is_open = False
            await self._adapter.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def _asked(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask once, and tell every failure of the SDK in one of our errors."""
        has_begun = False
        partial: list[str] = []
        try:
            async with aclosing(self._adapter.answer(request)) as events:
                async for event in events:
                    has_begun = True
                    if isinstance(event, TextDelta):
                        partial.append(event.text)
                    yield event
        except Warning:
            raise
        except Exception as error:  # what an SDK raises when it reads what a network sent is nowhere listed
            failure = failure_of(error, model=self._name, partial="".join(partial), has_begun=has_begun)
            self._learn(failure)
            if failure is error:
                raise
            raise failure from error

    def _learn(self, failure: PlayheadError) -> None:
        if isinstance(failure, ContextLimitExceeded) and failure.limit is not None:
            limits.learn(self._place, failure.limit)
