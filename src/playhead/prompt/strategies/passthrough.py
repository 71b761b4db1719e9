"""Passthrough: everything as it is, or the newest of it that fits."""

from __future__ import annotations

from playhead.errors import OverBudgetError
from playhead.prompt.budget import Budget
from playhead.view.plan import Form, Plan, Units
from playhead.view.units import Unit

FITS = "fits the budget"
OLDER = "older than what fits the budget"
LEADS = "opens the view"
LEAD_TOO_LARGE = "leaves no room for the newest message"


class PassthroughStrategy:
    """Shows everything raw where it fits; else what the view opens with and the longest newest run that fits.

    Nothing is told shorter. The boundary anchor's note is left out, with that reason, where the newest unit would not
    fit beside it. Raises OverBudgetError where the newest unit and the system messages the view opens with do not fit.
    """

    name = "passthrough"

    def plan(self, units: Units, *, budget: Budget, state: object = None) -> Plan:
        """Return the plan for the loaded units."""
        lead = room_for_lead(units, budget)
        start = units.fit(budget.room - sum(u.tokens for u in units[:lead]), start=units.lead)
        return tail_plan(units, lead=lead, start=start, older=OLDER)


def room_for_lead(units: Units, budget: Budget) -> int:
    """Return how many leading units can stand before the newest one: the system messages always, the note where it fits.

    Raises OverBudgetError where the system messages and the newest unit do not fit together.
    """
    rest = units[units.lead :]
    newest = rest[-1].tokens if rest else 0
    instructions = [u for u in units[: units.lead] if u.kind != "note"]
    needed = newest + sum(u.tokens for u in instructions)
    if needed > budget.room:
        what = describe(rest[-1]) if rest else "What the view opens with"
        raise OverBudgetError(needed=needed, room=budget.room, what=f"{what} with the system messages before it" if rest and instructions else what)
    if not rest and sum(u.tokens for u in units) > budget.room:
        raise OverBudgetError(needed=sum(u.tokens for u in units), room=budget.room, what="What the view opens with")
    noted = sum(u.tokens for u in units[: units.lead] if u.kind == "note")
    return units.lead if needed + noted <= budget.room else len(instructions)


def tail_plan(units: Units, *, lead: int, start: int, older: str, kept: str = FITS, state: object = None) -> Plan:
    """Return the plan that shows the first `lead` leading units and everything from unit `start` on.

    What it leaves out of the middle is `older`, leading units beyond `lead` leave no room.
    """
    choices: list[tuple[Form, str]] = []
    for index in range(len(units)):
        if index < units.lead:
            choices.append(("raw", LEADS) if index < lead else ("omitted", LEAD_TOO_LARGE))
        else:
            choices.append(("raw", kept) if index >= start else ("omitted", older))
    return units.plan(choices, unread=older, state=state)


def describe(unit: Unit) -> str:
    """Return what a unit is, for an error."""
    what = {"round": "tool round", "note": "anchor note"}.get(unit.kind, f"{unit.role} message")
    where = f"entry {unit.first}" if unit.first == unit.last else f"entries {unit.first} to {unit.last}"
    return f"The newest {what} ({where})" if unit.ids else f"The newest {what}"
