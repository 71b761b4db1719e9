"""A model that says what it heard: for a first try, without a key and without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Self

from playhead.entry.message import assistant
from playhead.model.protocol import ModelEvent, ModelRequest, Reply
from playhead.model.replies import told


class EchoModel:
    """Answers with the words of the last message of the user; calls no tool and counts no tokens."""

    def __init__(self, *, context_limit: int | None = None) -> None:
        self._context_limit = context_limit

    @property
    def name(self) -> str:
        """Who answers."""
        return "echo:"

    @property
    def context_limit(self) -> int | None:
        """The limit it was given; it does not count."""
        return self._context_limit

    def stream(self, request: ModelRequest) -> aclosing[AsyncGenerator[ModelEvent, None]]:
        """Yield the last words of the user."""
        return aclosing(self._events(request))

    async def complete(self, request: ModelRequest) -> Reply:
        """Return the last words of the user."""
        heard = next((m.text for m in reversed(request.messages) if m.role == "user"), "")
        return Reply(message=assistant(heard), model=self.name)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for event in told(await self.complete(request)):
            yield event
