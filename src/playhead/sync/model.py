"""The blocking model."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from playhead.model.protocol import Model as AsyncModel
from playhead.model.protocol import ModelEvent, ModelRequest, Reply
from playhead.sync.portal import wait
from playhead.sync.scope import Scope, each


class Model:
    """A model of a provider, as `get_model` returns it; `with` lets go of its connections.

    `asynchronous` is the model behind it.
    """

    asynchronous: AsyncModel

    def __init__(self, asynchronous: AsyncModel) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.aclose()

    @property
    def name(self) -> str:
        """Provider and model, such as `openai:gpt-5-mini`; signatures of its reasoning are bound to both."""
        return self.asynchronous.name

    @property
    def context_limit(self) -> int | None:
        """How many tokens a request and its answer may have together, None where nobody knows: given, else learned, else listed."""
        return self.asynchronous.context_limit

    def stream(self, request: ModelRequest) -> Scope[Iterator[ModelEvent]]:
        """Ask, and yield the answer as it comes; leaving the block ends the call."""
        return Scope(self.asynchronous.stream(request), each)

    def complete(self, request: ModelRequest) -> Reply:
        """Ask, and return the whole answer."""
        return wait(self.asynchronous.complete, request)

    def aclose(self) -> None:
        """Let go of connections; closing twice is fine."""
        wait(self.asynchronous.aclose)
