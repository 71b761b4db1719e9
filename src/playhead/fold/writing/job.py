"""Jobs: one summary to be written, what it is written from, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.fold.forest import Outcome
from playhead.fold.node import Node, Voice
from playhead.model.protocol import ToolSpec
from playhead.view.tokens import Counter
from playhead.view.units import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A summary that is due: its level, the run of entries it will stand for, and what it tells.

    `first` to `last` are entry ids of the main tape, `first_uid` and `last_uid` their lasting names. `units` are the raw of
    the run: at level 1 what is told, at level 2 what lies under `sources`, the summaries that are merged, oldest first.
    `since` and `until` are when its first and its last entry were written. `phase` is what KnowledgeStrategy calls the run.
    """

    level: int
    first: int
    last: int
    first_uid: str
    last_uid: str
    units: tuple[Unit, ...] = ()
    sources: tuple[Node, ...] = ()
    phase: str | None = None
    voice: Voice = "normal"
    since: datetime
    until: datetime

    @property
    def is_merge(self) -> bool:
        """Whether summaries are told, not raw."""
        return self.level > 1

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were called in the run, in the order of their first calls."""
        return _once(name for node in self.sources for name in node.tools) if self.is_merge else called_in(self.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around a job when it is written; nothing in it is later than the job.

    `head` is the raw head window, `memories` are the summaries before the job that no other stands over, oldest first, without
    those that hold something pinned raw; `between` is the raw that none of them tells. `deeper` holds summaries one level down:
    of a merge's sources from level 3 on; at level 1, of the memories above level 1, which the rung expand_recall shows in their
    place (without them it has nothing to show). `system_prompt` and `tools` are the agent's as they are now. `outcomes` is what
    is on record for this run, of any settings. `tape` is the name of the tape that is told.
    """

    head: tuple[Unit, ...] = ()
    memories: tuple[Node, ...] = ()
    between: tuple[Unit, ...] = ()
    deeper: tuple[Node, ...] = ()
    system_prompt: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    counter: Counter
    outcomes: tuple[Outcome, ...] = ()
    now: datetime
    tape: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RungOutcome:
    """What one request came to, where the answer or the refusal of it says something about the request itself.

    `shape` is the hash of the request, `regime` that of the settings that decide what is tried. `is_stuck` on the last one:
    there is nothing else to try, the run stays as it is.
    """

    rung: str
    shape: str
    outcome: str
    regime: str
    model: str
    is_stuck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A summary: its words, the identifiers named in its run (None leaves them to the caller), the tools that were called, and how it was written."""

    text: str
    index: tuple[str, ...] | None = None
    tools: tuple[str, ...] = ()
    how: Mapping[str, Any] = field(default_factory=FrozenDict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No summary came of it. `outcomes` are what was learnt now, all of it noted; none where nothing new could be tried.

    `stuck` says that the run is left alone from here on; else the caller may try again, in another shape.
    """

    outcomes: tuple[RungOutcome, ...] = ()
    stuck: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """The model cannot be asked before `until`; `why` names the failure without the provider's words. Then it goes on where it was."""

    until: datetime
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Nothing was asked: something is missing first, and `why` says what. The job stays due."""

    why: str


def called_in(units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the names of the tools that units call, in the order of their first calls."""
    return _once(call.name for unit in units for message in unit.messages for call in message.calls)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
