"""The makeup of a folded prompt: how much of it is raw, how much is told by summaries of which level, and what waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from playhead.prompt.stats import Stats
from playhead.view.plan import Plan, Span

HEAD, TAIL, OPENS = "in the head window", "in the recent window", "opens the view"
"""The reasons of what always stays raw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A part of a prompt: how many messages (for summaries: how many of them) and tokens."""

    count: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderStats:
    """How much of a prompt is raw and how much is told (specs: context-manager 23.2).

    `summaries` has a bucket for each of the levels 1, 2 and 3; deeper ones count as 3. `total` counts every message, a summary as the
    two it is shown as. `pending_chunks` and `pending_merges` are what ticks have to do, None where nobody looked. `factor` is what
    prices are multiplied by, `ceiling` the largest that is applied. `request` is what the request holds besides, and `request_total`
    all of it, None where the compile was not told. `folds` is how many folds this compile made.
    """

    head: Bucket
    tail: Bucket
    middle_raw: Bucket
    summaries: Mapping[int, Bucket]
    total: Bucket
    pending_chunks: int | None = None
    pending_merges: int | None = None
    factor: float = 1.0
    ceiling: float = 1.8
    request: int | None = None
    request_total: int | None = None
    budget: int = 0
    folds: int = 0
    by_level: Mapping[int, int] = field(default_factory=dict)


def makeup(plan: Plan, stats: Stats, *, factor: float, ceiling: float, folds: int = 0) -> RenderStats:
    """Return the makeup of a prompt, read off its plan."""
    shown = [span for span in plan.spans if span.is_shown]
    raw = [span for span in shown if span.form != "summary"]
    told = [span for span in shown if span.form == "summary"]
    levels = {level: _bucket((s for s in told if min(3, s.level or 1) == level), is_told=True) for level in (1, 2, 3)}
    return RenderStats(
        head=_bucket(span for span in raw if span.reason in (HEAD, OPENS)),
        tail=_bucket(span for span in raw if span.reason == TAIL),
        middle_raw=_bucket(span for span in raw if span.reason not in (HEAD, OPENS, TAIL)),
        summaries=levels,
        total=Bucket(count=sum(_messages(span) for span in shown), tokens=sum(span.tokens or 0 for span in shown)),
        factor=factor,
        ceiling=ceiling,
        request=stats.request,
        request_total=stats.request_total,
        budget=stats.room,
        folds=folds,
        by_level=dict(stats.by_level),
    )


def _bucket(spans: Iterable[Span], *, is_told: bool = False) -> Bucket:
    found = list(spans)
    return Bucket(count=len(found) if is_told else sum(_messages(span) for span in found), tokens=sum(span.tokens or 0 for span in found))


def _messages(span: Span) -> int:
    return len(span.messages) if span.messages else sum(len(unit.messages) for unit in span.units)
