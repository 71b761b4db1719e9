"""Quarantine: what could not be summarised and stays as it is, and when its owner is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from playhead.fold.forest import Forest, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """The spans that stay as they are: `chunks` of the tape, `merges` of summaries; `keys` name them by level and first entry, oldest first."""

    chunks: int = 0
    merges: int = 0
    keys: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return self.chunks + self.merges


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What an owner is told: that `count` spans are quarantined, or, once, that none is any more. `keys` name the spans, never what they say."""

    kind: Literal["alarm", "all_clear"]
    count: int = 0
    keys: tuple[str, ...] = ()


def quarantine(forest: Forest) -> Quarantine:
    """Return what is quarantined."""
    found = quarantined(forest)
    merges = sum(bool(outcome.children) for outcome in found)
    return Quarantine(chunks=len(found) - merges, merges=merges, keys=tuple(dict.fromkeys(key_of(outcome) for outcome in found)))


def key_of(outcome: Outcome) -> str:
    """Return the name of a quarantined span: the level its summary would have had and the lasting name of its first entry."""
    return f"L{outcome.level}:{outcome.first_uid}"


def quarantined(forest: Forest) -> tuple[Outcome, ...]:
    """Return the spans that are quarantined still, oldest first, one for each: none that was told after all, no merge of which a part went into another."""
    roots = {root.uid for root in forest.roots}
    found: dict[tuple[int, str], Outcome] = {}
    for outcome in forest.stuck:
        if all(child in roots for child in outcome.children) if outcome.children else forest.root_at(outcome.first) is None:
            found[outcome.level, outcome.first_uid] = outcome
    return tuple(sorted(found.values(), key=lambda outcome: (outcome.first, outcome.level)))


def alarm(found: Quarantine, *, last: datetime | None, now: datetime, interval: float) -> Alarm | None:
    """Return what the owner is to be told now, None for nothing.

    `last` is when the last alarm was given, None where none was since the last all-clear; whoever gives what is returned
    remembers `now` for an alarm and None for an all-clear. `interval` is in seconds, 0 for no alarms (specs: context-manager 16.6).
    """
    if not interval:
        return None
    if not found.count:
        return None if last is None else Alarm(kind="all_clear")
    is_recent = last is not None and timedelta() <= now - last < timedelta(seconds=interval)
    return None if is_recent else Alarm(kind="alarm", count=found.count, keys=found.keys)
