"""Opening a run: its tape, its branch, its models, and all that has to be let go of at the end."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from playhead.agent.recording import InForce
from playhead.model.protocol import Model
from playhead.tape.merging import MergeReport
from playhead.tape.scope import ForkScope
from playhead.tape.tape import Tape


@dataclass(slots=True, kw_only=True)
class Opened:
    """The tape a run writes to, who answers in which order, what is in force there, whose inbox it reads, and what is closed with the run."""

    tape: Tape
    models: tuple[Model, ...]
    held: InForce
    inbox: str | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    scope: ForkScope | None = None

    @property
    def report(self) -> MergeReport | None:
        """What the merge at the end did, None before, and where nothing is merged."""
        return self.scope.report if self.scope is not None else None
