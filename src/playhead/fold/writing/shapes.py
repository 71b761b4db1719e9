"""Shapes: how one request for a summary departs from the first that is made for its run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is different about a request; the plain Shape() is the canonical one, which is always made first.

    `forbids_tools` and `asks_prose` add a sentence to the instruction; without `offers_tools` the model cannot call any.
    `expanded` is the uid of a memory that is shown by the summaries below it. `stands_alone` leaves out all that came before
    the run. `shows_sources` tells a merge's sources themselves, not what lies below them. `attempt` counts the failures of a
    merge: each halves what it may show of earlier memories. `piece` is the run of the job's units, from and behind, that a
    part of a summary is asked for.
    """

    forbids_tools: bool = False
    offers_tools: bool = True
    asks_prose: bool = False
    expanded: str | None = None
    stands_alone: bool = False
    shows_sources: bool = False
    attempt: int = 0
    piece: tuple[int, int] | None = None


CANONICAL = Shape()
