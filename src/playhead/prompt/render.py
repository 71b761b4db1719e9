"""Rendering: a walk along a plan that turns each span into messages and says where each comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from playhead.entry.message import Message
from playhead.prompt.injection import Injection, place
from playhead.view.bodies import bodies, messages, shown
from playhead.view.plan import Plan, Span
from playhead.view.units import Unit

SourceKind = Literal["raw", "note", "summary", "trimmed", "injection", "selector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one message of a prompt comes from: entries by uid, a summary's own among them; by name a summary, an injection, or the selector that trimmed or made it."""

    kind: SourceKind
    uids: tuple[str, ...] = ()
    name: str | None = None


def messages_of(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[Message, ...]:
    """Return what a plan shows, injections at the last user message among it."""
    if injections:
        return tuple(m for m, _ in rendered(plan, injections))
    return tuple([m for units, span in _stretches(plan.spans) for m in (messages(units) if span is None else span.messages)])


def rendered(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[tuple[Message, Source], ...]:
    """Return the messages of a plan with their sources, injections at the last user message among them."""
    told = list(_told(plan.spans))
    sources = iter([source for _, source in told])
    placed = place([m for m, _ in told], injections, last=_last_user(told))
    return tuple((message, next(sources) if injection is None else Source(kind="injection", name=injection.namespace)) for message, injection in placed)


def has_user_message(plan: Plan) -> bool:
    """Return whether a plan shows a user's message; the note of an anchor is none."""
    return _last_user(list(_told(plan.spans))) is not None


def _last_user(told: Sequence[tuple[Message, Source]]) -> int | None:
    return next((i for i in range(len(told) - 1, -1, -1) if told[i][0].role == "user" and told[i][1].kind != "note"), None)


def _stretches(spans: Iterable[Span]) -> Iterator[tuple[tuple[Unit, ...], Span | None]]:
    """Yield what is shown in order: the units of neighbouring spans that are shown as they are, or a span that is told in other words."""
    for is_raw, run in groupby(spans, key=lambda span: span.is_shown and not span.messages):
        if is_raw:
            yield tuple([unit for span in run for unit in span.units]), None
        else:
            yield from (((), span) for span in run if span.is_shown)


def _told(spans: Iterable[Span]) -> Iterator[tuple[Message, Source]]:
    """Yield the messages of spans with their sources; parts of a long message that stand in neighbouring spans are one."""
    for units, span in _stretches(spans):
        if span is None:
            yield from ((m, _source(m, group[0])) for group in bodies(units) for m in shown(group))
        else:
            yield from ((m, _source_of_words(m, span)) for m in span.messages)


def _source_of_words(message: Message, span: Span) -> Source:
    """Return where a message comes from that a span shows in place of its units."""
    kind: SourceKind = "summary" if span.form == "summary" else "trimmed"
    return Source(kind=kind, uids=message.sources or tuple(uid for unit in span.units for uid in unit.uids), name=span.node or span.how)


def _source(message: Message, unit: Unit) -> Source:
    if unit.kind == "note":
        return Source(kind="note", uids=message.sources)
    if not message.sources and not unit.uids:
        return Source(kind="selector", name=unit.origin)
    return Source(kind="trimmed" if unit.how else "raw", uids=message.sources or unit.uids, name=unit.how)
