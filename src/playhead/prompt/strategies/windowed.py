"""Windowed passthrough: a window that jumps rarely and only grows between jumps, so that the prefix stays cached."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.errors import InvalidInput
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.passthrough import room_for_lead, tail_plan
from playhead.view.plan import Plan, Units
from playhead.view.rounding import roundest

KEPT = "inside the window"
OLDER = "older than the window's start"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowedPassthroughStrategy:
    """Shows the raw tail behind a start that moves seldom and in large steps.

    The start is the roundest entry id (the one divisible by the highest power of two) among those from which the
    tail takes between `jump_to` and all of the budget. As the tape grows that id stays the same until its tail no
    longer fits; then the window jumps. So the start is a function of tape and budget alone: nothing is remembered,
    every process and every fork finds the same one, and it never moves back (docs/decisions).

    Raises OverBudgetError where the newest unit alone does not fit.
    """

    name = "windowed"
    jump_to: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.jump_to < 1:
            raise InvalidInput(f"A window's jump_to is a share of the budget between 0 and 1, not {self.jump_to!r}.")

    def plan(self, units: Units, *, budget: Budget, state: object = None) -> Plan:
        """Return the plan for the loaded units."""
        lead = room_for_lead(units, budget)
        room = budget.room - sum(u.tokens for u in units[:lead])
        earliest = units.fit(room, start=units.lead)
        if earliest == units.lead and not units.gaps:
            return tail_plan(units, lead=lead, start=earliest, older=OLDER, kept=KEPT)
        latest = max(earliest, units.fit(int(room * self.jump_to), start=earliest) - 1)
        latest = min(latest, len(units) - 1)
        round_id = roundest(_place(units, earliest), _place(units, latest))
        start = next(i for i in range(earliest, len(units)) if _place(units, i) >= round_id)
        return tail_plan(units, lead=lead, start=start, older=OLDER, kept=KEPT)


def _place(units: Units, index: int) -> int:
    """Return where a unit stands: its first entry, or its index in a view that a selector made up."""
    return units[index].first or index + 1
