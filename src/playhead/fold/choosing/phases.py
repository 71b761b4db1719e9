"""Phases: what the agent was doing, by the tools it called, and how a conversation is cut by them (specs: context-manager 20)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from playhead.fold.choosing.chunks import Chunk, chunk_of, chunks
from playhead.view.units import Unit

Phase = Literal["lesson", "subagent", "research", "synthesis"]
"""What was done in a unit. Where one calls tools of several phases, the one named first here counts."""

PHASES: tuple[Phase, ...] = get_args(Phase)

SIZES: Mapping[Phase, float] = {"lesson": 1.0, "subagent": 2.0, "research": 2.0, "synthesis": 1.5}
"""How many times the target a chunk of each phase may have."""

LEAST_MESSAGES = 2
"""How many messages a chunk has at least that closes behind a phase, or at its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTools:
    """Which tools say which phase: `lesson` by their whole names, `subagent` and `research` by how their names begin; all else is synthesis."""

    lesson: tuple[str, ...] = ("lessons:create", "lessons:update")
    subagent: tuple[str, ...] = ("subagent:",)
    research: tuple[str, ...] = ("mcpl:", "zulip:")

    def phase_of(self, unit: Unit) -> Phase:
        """Return the phase of a unit; results have that of their call, as they are one unit with it."""
        names = [call.name for message in unit.messages for call in message.calls]
        if any(name in self.lesson for name in names):
            return "lesson"
        if any(name.startswith(self.subagent) for name in names):
            return "subagent"
        return "research" if any(name.startswith(self.research) for name in names) else "synthesis"

    def phase_of_run(self, units: Sequence[Unit]) -> Phase:
        """Return the phase that most tokens of a run belong to; of phases alike the one that comes first in PHASES."""
        tokens: Counter[Phase] = Counter()
        for unit in units:
            tokens[self.phase_of(unit)] += unit.tokens
        return max(PHASES, key=lambda phase: (tokens[phase], -PHASES.index(phase)))

    def is_change(self, before: Unit, unit: Unit, run: Sequence[Unit]) -> bool:
        """Whether the phase changes between two units: there a chunk closes early."""
        return self.phase_of(before) != self.phase_of(unit)

    def target_for(self, tokens: int) -> Callable[[Unit], int]:
        """Return how many tokens a chunk is to have, by the phase of the unit it ends with."""
        return lambda unit: int(tokens * SIZES[self.phase_of(unit)])


def phase_chunks(
    units: Sequence[Unit],
    *,
    after: int,
    target: int,
    tools: PhaseTools,
    attachments_ignore_size: bool = True,
    closes_at_end: bool = False,
    before: int | None = None,
    is_whole: bool = False,
) -> tuple[tuple[Chunk, ...], tuple[Unit, ...]]:
    """Return the chunks of a run of units, cut where the phase changes, and the units that wait (see `chunks.chunks`).

    Where the run `is_whole`, as nothing between it and the recent window was left unread, what is left at the end is a chunk too, unless a
    call in it has no result yet.
    """
    closed, rest = chunks(
        units,
        after=after,
        target=tools.target_for(target),
        attachments_ignore_size=attachments_ignore_size,
        boundary_hint=tools.is_change,
        closes_at_end=closes_at_end,
        before=before,
        least_messages=LEAST_MESSAGES,
    )
    if not is_whole or not rest or any(unit.is_open for unit in rest):
        return closed, rest
    last = chunk_of(rest, after=closed[-1].last if closed else after)
    return ((*closed, last), ()) if before is None or last.last < before else (closed, rest)
