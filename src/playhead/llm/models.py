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


class Models:
    """Opens models, all with the same options.

    A model with connections lives as long as the call, or inside `keeping` as long as the block, for calls on the event loop that
    entered it. One without, such as a script, is opened once.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._local: dict[str, Model] = {}
        self._kept: dict[str, Model] = {}
        self._home: EventLoopToken | None = None
        self._stack = AsyncExitStack()

    def keep(self) -> None:
        """Keep what is opened on this event loop from now on."""
        self._home = current_token()

    async def aclose(self) -> None:
        """Close what was kept."""
        self._home, stack, self._stack = None, self._stack, AsyncExitStack()
        self._kept.clear()
        await stack.aclose()

    @asynccontextmanager
    async def open(self, spec: str | Model) -> AsyncIterator[Model]:
        """Yield a model, which is the caller's own where it is given as one. Raises LLMError, of kind "config" where it cannot be had."""
        if not isinstance(spec, str):
            yield spec
            return
        is_home = self._home is not None and self._home == current_token()
        known = self._local.get(spec) or (self._kept.get(spec) if is_home else None)
        if known is not None:
            yield known
            return
        model = self._made(spec)
        if not isinstance(model, RemoteModel):
            self._local[spec] = model
            yield model
        elif is_home:
            self._kept[spec] = await self._stack.enter_async_context(model)
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
