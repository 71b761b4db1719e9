"""Who writes summaries: from what the settings name to a summarizer, made when the first summary is due."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack

from playhead.errors import NoCompressionModel
from playhead.fold.config import EXTRACTIVE, AutobiographicalConfig
from playhead.fold.extracting.extractive import ExtractiveSummarizer
from playhead.fold.writing.model_summarizer import ModelSummarizer
from playhead.fold.writing.pacing import lane_named
from playhead.fold.writing.summarizer import Summarizer
from playhead.model.protocol import Model
from playhead.model.registry import get_model

_log = logging.getLogger("playhead")


class Writers:
    """Finds the summarizer that `compression_model` names, and lets go of the model it opened.

    A bare id is served by `client`: a Model answers itself, a provider ("anthropic", or a spec of it) is asked for the model of that id.
    """

    def __init__(self, config: AutobiographicalConfig, *, client: Model | str | None = None) -> None:
        self._config = config
        self._client = client
        self._stack = AsyncExitStack()
        self._found: Summarizer | None = None
        self._has_warned = False

    async def named(self) -> Summarizer | None:
        """Return who writes; None, with a warning, for a bare id that no client serves. Raises NoCompressionModel where nobody is named."""
        if self._found is None:
            self._found = await self._find()
        return self._found

    async def aclose(self) -> None:
        """Let go of the model, where one was opened."""
        self._found = None
        await self._stack.aclose()

    async def _find(self) -> Summarizer | None:
        wanted = self._config.compression_model
        if wanted is None:
            raise NoCompressionModel
        if wanted == EXTRACTIVE:
            return ExtractiveSummarizer(self._config)
        if isinstance(wanted, Summarizer):
            return wanted
        model = wanted if isinstance(wanted, Model) else await self._model(wanted)
        if model is None:
            return None
        is_opened = not isinstance(wanted, Model) and model is not self._client
        return ModelSummarizer(model, self._config, lane=lane_named(model.name) if is_opened else None)

    async def _model(self, wanted: str) -> Model | None:
        if ":" in wanted:
            return await self._stack.enter_async_context(get_model(wanted))
        if isinstance(self._client, Model):
            return self._client
        if self._client is not None:
            return await self._stack.enter_async_context(get_model(f"{self._client.partition(':')[0]}:{wanted}"))
        if not self._has_warned:
            self._has_warned = True
            _log.warning("No summary is written: the compression_model %s is a bare id and no client serves it. Name it as PROVIDER:%s, or give the manager a model.", wanted, wanted)
        return None
