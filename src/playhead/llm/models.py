"""The models that are asked, by their specs: opened for a call, or kept inside a block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from anyio.lowlevel import EventLoopToken, current_token

from playhead.errors import ErrorKind, InvalidModelSpec, LLMError, PlayheadError
from playhead.model.protocol import Model
from playhead.model.registry import OpenModel, get_model
from playhead.model.remote import RemoteModel


class _Block:
    """What is kept for the blocks that are open on one event loop."""

    def __init__(self, loop: EventLoopToken) -> None:
        self.loop = loop
        self.depth = 0
        self.models: dict[str, Model] = {}
        self.stack = AsyncExitStack()


class Models:
    """Opens models, all with the same options.

    A model with connections lives as long as the call, or between `keep` and `aclose` as long as that, for calls on the event loop
    that they came from. One without, such as a script, is opened once.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._local: dict[str, Model] = {}
        self._blocks: list[_Block] = []

    def keep(self) -> None:
        """Keep what is opened on this event loop from now on."""
        block = self._here()
        if block is None:
            block = _Block(current_token())
            self._blocks.append(block)
        block.depth += 1

    async def aclose(self) -> None:
        """Close what was kept on this event loop, once as often as it was asked for."""
        block = self._here()
        if block is None:
            return
        block.depth -= 1
        if not block.depth:
            self._blocks.remove(block)
            await block.stack.aclose()

    def _here(self) -> _Block | None:
        loop = current_token()
        return next((block for block in self._blocks if block.loop == loop), None)

    @asynccontextmanager
    async def open(self, spec: str | Model) -> AsyncIterator[Model]:
        """Yield a model, which is the caller's own where it is given as one. Raises LLMError, of kind "config" where it cannot be had."""
        if not isinstance(spec, str):
            yield spec
            return
        block = self._here()
        known = self._local.get(spec) or (None if block is None else block.models.get(spec))
        if known is not None:
            yield known
            return
        model = self._made(spec)
        if not isinstance(model, RemoteModel):
            self._local[spec] = model
            yield model
        elif block is not None:
            block.models[spec] = await block.stack.enter_async_context(model)
            yield model
        else:
            async with model:
                yield model

    def _made(self, spec: str) -> OpenModel:
        try:
            return get_model(spec, **self._options)
        except InvalidModelSpec:
            raise
        except PlayheadError as exc:
            raise LLMError(ErrorKind.CONFIG, exc.message, exc.details) from exc
