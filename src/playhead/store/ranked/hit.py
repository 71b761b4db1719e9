"""A hit: an entry that a search found."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.entry.entry import TapeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry that a search found, and how much it is about what was asked: comparable within one answer alone."""

    entry: TapeEntry
    score: float
