"""Pipes: ready-made selectors in a row, run over the newest units back, so that they cost what is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.errors import InvalidInput
from playhead.view.bodies import messages
from playhead.view.projection import DEFAULT, Projection
from playhead.view.tokens import Counter, default_counter
from playhead.view.units import Hidden, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What is left of the newest units of a view: those that stay, and entries that fell out, with their reasons.

    `until` is why everything before these units falls out as well, None where older units may still stay.
    """

    units: tuple[Unit, ...]
    hidden: tuple[Hidden, ...] = ()
    until: str | None = None


@runtime_checkable
class Step(Protocol):
    """One ready-made selector.

    What it decides for a unit depends on that unit and newer ones alone, so that it holds for any tail of a view.
    """

    @property
    def name(self) -> str:
        """What the step is called in reasons."""
        ...

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return what stays of the newest units of a view."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipe:
    """Selectors in a row, over the default projection: a selector itself, for `TapeContext(select=...)`.

    Rounds stay whole, the tape stays as it is, and only as much of a view is read as is shown.
    """

    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The names of its steps, in order."""
        return " | ".join(s.name for s in self.steps)

    @property
    def projection(self) -> Projection:
        """The reading the steps start from: the default one, and the events that a step asks for."""
        events = frozenset(event for s in self.steps for event in getattr(s, "events", ()))
        return replace(DEFAULT, events=events) if events else DEFAULT

    def __call__(self, entries: Sequence[TapeEntry], context: object = None) -> list[Message]:
        """Return the messages of entries."""
        counter = default_counter()
        units = self.projection.build(entries, counter=counter).units
        return list(messages(self.apply_from_start(units, lead=leading(units), counter=counter).units))

    def apply(self, units: Sequence[Unit], *, counter: Counter) -> Selected:
        """Return what all steps leave of the newest units of a view."""
        left = Selected(units=tuple(units))
        for step in self.steps:
            done = step.apply(left.units, counter=counter)
            left = Selected(units=done.units, hidden=(*left.hidden, *done.hidden), until=left.until or done.until)
        return replace(left, hidden=tuple(sorted(left.hidden, key=lambda h: h.id)))

    def apply_from_start(self, units: Sequence[Unit], *, lead: int, counter: Counter) -> Selected:
        """Return what all steps leave of a view from its start: the `lead` system messages that it opens with belong to no turn, and are given to the steps apart."""
        opening, rest = self.apply(units[:lead], counter=counter), self.apply(units[lead:], counter=counter)
        return Selected(units=(*opening.units, *rest.units), hidden=(*opening.hidden, *rest.hidden), until=rest.until)


def pipe(*steps: Step) -> Pipe:
    """Return selectors as one, run in the order given."""
    flat: list[Step] = []
    for step in steps:
        if isinstance(step, Pipe):
            flat.extend(step.steps)
        elif isinstance(step, Step):
            flat.append(step)
        else:
            raise InvalidInput(f"pipe joins ready-made selectors such as drop_tool_results(...), not {type(step).__name__}; pass a function of your own as TapeContext(select=...).")
    if not flat:
        raise InvalidInput("pipe needs at least one selector.")
    return Pipe(steps=tuple(flat))


def leading(units: Sequence[Unit]) -> int:
    """Return how many system messages units begin with."""
    return next((i for i, u in enumerate(units) if u.role != "system"), len(units))


def hide(unit: Unit, reason: str) -> Iterable[Hidden]:
    """Return the entries of a unit as ones that show nothing."""
    return (Hidden(id=id, kind=unit.kind, reason=reason) for id in unit.ids)
