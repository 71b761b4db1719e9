"""From parts to a plan: neighbours that are told alike in one span, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from playhead.entry.message import Message
from playhead.fold.node import Node
from playhead.prompt.folding.middle import Part
from playhead.view.plan import Plan, Span, Units, before_span, span_of
from playhead.view.units import Unit

Pair = Callable[[Node], tuple[Message, ...]]
"""How a summary is shown."""


def plan_of(units: Units, parts: Sequence[Part], *, reason: Callable[[Unit, int], str], pair: Pair, state: object) -> Plan:
    """Return the plan that tells each part once; `reason` says why the unit of an index is raw."""
    spans: list[Span] = [] if units.before is None else [before_span(units.before)]
    index = 0
    for part in parts:
        if part.node is not None:
            spans.append(_told(part, part.node, pair=pair))
        elif part.gap is not None:
            spans.append(Span(form="omitted", reason=part.gap.reason or "not read", first=part.gap.first, last=part.gap.last, count=part.gap.count))
        else:
            spans += _raw(part.units, index, reason=reason)
        index += len(part.units)
    return Plan(spans=tuple(spans), units=units, state=state)


def _raw(units: Sequence[Unit], index: int, *, reason: Callable[[Unit, int], str]) -> Iterator[Span]:
    """Yield the spans of units that are shown raw, the first of which has this index: neighbours alike in one."""
    why = [(reason(unit, place), unit.how) for place, unit in enumerate(units, index)]
    start = 0
    for end in range(1, len(units) + 1):
        if end == len(units) or why[end] != why[start]:
            told, how = why[start]
            yield span_of(units[start:end], form="trimmed" if how else "raw", reason=told, how=how)
            start = end


def _told(part: Part, node: Node, *, pair: Pair) -> Span:
    if part.units:
        whole = span_of(part.units, form="summary", reason=why_told(node))
        return replace(whole, tokens=part.tokens, messages=pair(node), node=node.id, level=node.level)
    return Span(form="summary", reason=why_told(node), first=node.first, last=node.last, count=node.entries, tokens=part.tokens, messages=pair(node), node=node.id, level=node.level)


def why_told(node: Node) -> str:
    """Return the reason that is given where a summary stands."""
    what = "unit" if node.units == 1 else "units"
    return f"told by {node.id}: {node.units:,} {what} of {node.raw_tokens:,} tokens"
