"""Nodes: summaries of runs of a tape, each over raw entries or over the summaries one level below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from playhead.entry.frozen import FrozenDict

Voice = Literal["normal", "reading", "witnessed"]
"""How a summary speaks: as who lived it, as who read it, or of others' doings before its writer was there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One summary and the run of entries that it stands for.

    `uid` is its entry's, `id` what it is called (`L1-3`); `first` to `last` are entry ids of the main tape, both included,
    `first_uid` and `last_uid` the lasting names of these two entries. `units` is how many units of the view it tells,
    `raw_tokens` what showing them raw costs. `index` are the identifiers named there, newest first. `children` are the uids
    of the nodes it was merged from, oldest first; none at level 1. `since` and `until` are when its first and its last
    entry were written. `how` says how it was written: stop reason, hash of the request, rung, usage.
    """

    uid: str
    id: str
    level: int
    first: int
    last: int
    first_uid: str
    last_uid: str
    units: int
    raw_tokens: int
    text: str
    index: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    voice: Voice = "normal"
    phase: str | None = None
    children: tuple[str, ...] = ()
    since: datetime
    until: datetime
    created: datetime
    model: str = ""
    how: Mapping[str, Any] = field(default_factory=FrozenDict)

    @property
    def span(self) -> tuple[int, int]:
        """Its first and its last entry id."""
        return self.first, self.last

    @property
    def entries(self) -> int:
        """How many entry ids it spans."""
        return self.last - self.first + 1

    def covers(self, entry: int) -> bool:
        """Whether an entry id lies inside it."""
        return self.first <= entry <= self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDraft:
    """A summary before it stands: all of a Node that its writer knows, its ends by their lasting names and how many entry ids they span."""

    level: int
    first_uid: str
    last_uid: str
    entries: int
    units: int
    raw_tokens: int
    text: str
    index: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    voice: Voice = "normal"
    phase: str | None = None
    children: tuple[str, ...] = ()
    since: datetime
    until: datetime
    model: str = ""
    how: Mapping[str, Any] = field(default_factory=FrozenDict)
