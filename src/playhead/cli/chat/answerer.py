"""Who answers in a chat: one model at a time, open for as long as it is the one."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from types import TracebackType

from playhead.agent.recording import InForce
from playhead.cli.chat.arguments import MODEL_VARIABLE
from playhead.errors import InvalidInput
from playhead.model.registry import OpenModel, get_model

OFFLINE = "without a network, echo: repeats what you say and scripted:FILE follows a script"


class Answerer:
    """Holds the model that is asked; `async with` lets go of it at the end."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.model: OpenModel = get_model(spec)

    async def __aenter__(self) -> Answerer:
        await self.model.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.model.__aexit__(kind, error, trace)

    async def switch(self, spec: str, *, record: Callable[[], Awaitable[None]]) -> None:
        """Have another model answer once that is recorded. Raises what `get_model` and `record` raise; then the one that was there goes on."""
        model = get_model(spec)
        await model.__aenter__()
        try:
            await record()
        except BaseException:
            await model.__aexit__(None, None, None)
            raise
        before, self.model, self.spec = self.model, model, spec
        await before.__aexit__(None, None, None)


def chosen(named: str | None, held: InForce) -> str:
    """Return who is asked: whom the command names, else whom the tape was switched to, else whom the environment names. Raises InvalidInput."""
    spec = named or held.model or os.environ.get(MODEL_VARIABLE)
    if not spec:
        raise InvalidInput(f"Nobody is named to answer: give --model or ${MODEL_VARIABLE} as PROVIDER:MODEL, such as openai:gpt-5-mini or anthropic:claude-sonnet-4-5; {OFFLINE}.")
    return spec
