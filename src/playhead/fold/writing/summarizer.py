"""Who writes summaries: one small protocol, for a model as for rules that pick from what was said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from playhead.fold.writing.job import Deferred, Failed, Job, Paused, RungOutcome, Surroundings, Written

Note = Callable[[RungOutcome], Awaitable[None]]
"""Stores an outcome for good; the next request is made only when it has returned."""

Came = Written | Failed | Paused | Deferred
"""What a job comes to."""


@runtime_checkable
class Summarizer(Protocol):
    """Writes the summary of a run. It keeps nothing that a later call needs: what it learns for good goes to `note`."""

    @property
    def name(self) -> str:
        """Who writes, as it stands in a summary's `model`."""
        ...

    @property
    def regime(self) -> str:
        """What decides which requests are made: spans that were given up under one regime are tried anew under another."""
        ...

    async def write(self, job: Job, surroundings: Surroundings, *, note: Note) -> Came:
        """Write the summary of a run, or say why there is none.

        Never raises for what a model or a provider does. May be cancelled at any await; then nothing but the pending answer is lost.
        """
        ...
