"""A climb: how far the requests for one summary have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from playhead.fold.writing.prompts import Draft, Material
from playhead.fold.writing.shapes import CANONICAL, Shape

CANONICAL_RUNG = "canonical"
"""What the first request is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One request and what it came to; `input` is how many tokens of it the provider reported, None where it did not."""

    rung: str
    shape: Shape
    digest: str
    outcome: str
    input: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """The requests made so far for one summary, oldest first, those of earlier calls among them.

    `known` are outcomes on record under the same settings, by the hash of the request: such a request is not made again.
    `settled` are the parts of a summary that were answered, by the same hash; `inputs` what the provider reported of a request.
    """

    material: Material
    known: Mapping[str, str] = field(default_factory=dict)
    settled: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, int] = field(default_factory=dict)
    trials: tuple[Tried, ...] = ()

    @property
    def last(self) -> Tried | None:
        """The newest request."""
        return self.trials[-1] if self.trials else None

    @property
    def shape(self) -> Shape:
        """What the next request starts from: the newest shape, without what was meant for that request alone."""
        return replace(self.trials[-1].shape, expanded=None, piece=None) if self.trials else CANONICAL

    def has_tried(self, draft: Draft) -> bool:
        """Whether this very request was made, or found on record, in this climb."""
        return any(trial.digest == draft.digest for trial in self.trials)

    def knows(self, draft: Draft) -> bool:
        """Whether it is known what this very request comes to."""
        return draft.digest in self.known or self.has_tried(draft)

    def after(self, draft: Draft, *, rung: str, outcome: str) -> Self:
        """Return the climb with one more request."""
        tried = Tried(rung=rung, shape=draft.shape, digest=draft.digest, outcome=outcome, input=self.inputs.get(draft.digest))
        return replace(self, trials=(*self.trials, tried))
