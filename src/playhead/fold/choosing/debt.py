"""Debt: how far the summaries are behind the tape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from playhead.fold.choosing.quarantine import quarantine
from playhead.fold.forest import Forest

LATE = timedelta(hours=1)
"""How long a chunk may wait before memory is degraded."""

TOO_LATE = timedelta(hours=6)
"""How long it may wait before that is critical, where there is more to it than one late chunk."""

MANY = 5
"""How many chunks that wait make a late one critical."""

Health = Literal["healthy", "degraded", "critical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Debt:
    """How far the summaries are behind.

    `state` is degraded with anything in quarantine, or a chunk that waits for more than an hour; critical where one waits for more than six and either
    something is in quarantine or five wait (specs: context-manager 16.7). `oldest_pending_age` is in seconds. `merge_attempts` is the
    most that was tried for a merge that still waits; `unmerged` counts the summaries that are in no other, by level. `ignored` are entries of the
    fold sidecar that count for nothing, by reason: two that folded the same span leave such behind, and nothing is amiss.
    """

    state: Health
    pending_chunks: int = 0
    oldest_pending_age: float | None = None
    merges_due: int = 0
    merge_attempts: int = 0
    quarantined_merges: int = 0
    quarantined_chunks: int = 0
    unmerged: Mapping[int, int] = field(default_factory=dict)
    last_written: datetime | None = None
    ignored: Mapping[str, int] = field(default_factory=dict)


def debt(forest: Forest, *, now: datetime, pending: int = 0, oldest: datetime | None = None, merges: int = 0) -> Debt:
    """Return how far the summaries are behind: `pending` chunks wait, the newest entry of the oldest of them is of `oldest`, and `merges` are due.

    The newest run of units, which is no chunk yet, is no debt.
    """
    stuck = quarantine(forest)
    age = None if oldest is None else max(timedelta(), now - oldest)
    return Debt(
        state=_state(age or timedelta(), pending=pending, quarantined=stuck.count),
        pending_chunks=pending,
        oldest_pending_age=None if age is None else age.total_seconds(),
        merges_due=merges,
        merge_attempts=_attempts(forest),
        quarantined_merges=stuck.merges,
        quarantined_chunks=stuck.chunks,
        unmerged=dict(sorted(Counter(root.level for root in forest.roots).items())),
        last_written=forest.last_written,
        ignored=dict(forest.ignored),
    )


def _state(age: timedelta, *, pending: int, quarantined: int) -> Health:
    if age > TOO_LATE and (quarantined or pending >= MANY):
        return "critical"
    return "degraded" if quarantined or age > LATE else "healthy"


def _attempts(forest: Forest) -> int:
    roots = {root.uid for root in forest.roots}
    tried = Counter(outcome.children for outcome in forest.outcomes if outcome.children and not outcome.is_stuck and roots.issuperset(outcome.children))
    return max(tried.values(), default=0)
