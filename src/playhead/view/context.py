"""How a tape is read: where reading starts, what is picked, and the caller's state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Literal

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.view.pipe import Pipe, Step, pipe
from playhead.view.projection import DEFAULT, MINIMAL, Projection


class _LastAnchor(Enum):
    LAST_ANCHOR = "LAST_ANCHOR"

    def __repr__(self) -> str:
        return "LAST_ANCHOR"


LAST_ANCHOR: Final = _LastAnchor.LAST_ANCHOR
"""Read behind the newest anchor."""

AnchorChoice = str | None | Literal[_LastAnchor.LAST_ANCHOR]
"""LAST_ANCHOR reads behind the newest anchor, a name behind the newest anchor of that name, None the whole tape."""

Picked = Iterable[Message | Mapping[str, Any]]
"""What a selector picks: messages, or mappings in chat form."""

Select = Callable[[Sequence[TapeEntry], "TapeContext"], Picked | Awaitable[Picked]] | Step
"""A selector: a ready-made one, or a function that gets the entries of the view in order (re-iterable, reversible) and returns messages, or an awaitable of them."""


@dataclass
class TapeContext:
    """How one reads a tape; without a selector only `message` entries are shown.

    `anchor` says where reading starts. `select` replaces the built-in projection: calls and results, anchors and
    events are then its choice. `state` belongs to the caller and is never copied.
    """

    anchor: AnchorChoice = LAST_ANCHOR
    select: Select | None = None
    state: dict[str, Any] = field(default_factory=dict)


def default_tape_context(*, anchor: AnchorChoice = LAST_ANCHOR, anchor_state: bool = True, state: dict[str, Any] | None = None, agent: str | None = None) -> TapeContext:
    """Return the full reading: messages, tool calls with their results, anchors; behind the newest anchor, or `anchor`.

    With `anchor_state` the state of the anchor that reading starts behind comes first, as a note from a user. `agent` is who reads a
    tape that several agents speak on: to it the others, by the names of their messages, are users.
    """
    return TapeContext(anchor=anchor, select=replace(DEFAULT, anchor_state=anchor_state, agent=agent), state={} if state is None else state)


def projection_of(context: TapeContext) -> Projection | None:
    """Return the built-in projection a context reads through, None where it has a selector of its own."""
    if context.select is None:
        return MINIMAL
    steps = pipe_of(context)
    if steps is not None:
        return steps.projection
    return context.select if isinstance(context.select, Projection) else None


def pipe_of(context: TapeContext) -> Pipe | None:
    """Return the ready-made selectors a context reads through, a single one as a pipe of its own, None where it has none."""
    if isinstance(context.select, Pipe):
        return context.select
    return pipe(context.select) if isinstance(context.select, Step) else None
