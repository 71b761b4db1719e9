"""Rendering: a walk along a plan that turns each span into messages and says where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from playhead.entry.message import Message
from playhead.prompt.injection import Injection, place
from playhead.view.plan import Plan, Span
from playhead.view.units import Unit

SourceKind = Literal["raw", "note", "summary", "injection", "selector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one message of a prompt comes from: entries by uid, a summary, an injection, or a selector by name."""

    kind: SourceKind
    uids: tuple[str, ...] = ()
    name: str | None = None


def messages_of(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[Message, ...]:
    """Return what a plan shows, injections at the last user message among it."""
    shown = [m for span in plan.spans if span.is_shown for m in (span.messages or [m for unit in span.units for m in unit.messages])]
    return tuple([m for m, _ in place(shown, injections)]) if injections else tuple(shown)


def rendered(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[tuple[Message, Source], ...]:
    """Return the messages of a plan with their sources, injections at the last user message among them."""
    shown = [pair for span in plan.spans if span.is_shown for pair in _told(span)]
    sources = iter([source for _, source in shown])
    return tuple((message, next(sources) if injection is None else Source(kind="injection", name=injection.namespace)) for message, injection in place([m for m, _ in shown], injections))


def _told(span: Span) -> Iterator[tuple[Message, Source]]:
    if span.messages:
        uids = tuple(uid for unit in span.units for uid in unit.uids)
        kind: SourceKind = "summary" if span.form == "summary" else "raw"
        yield from ((m, Source(kind=kind, uids=m.sources or uids, name=span.node or span.how)) for m in span.messages)
        return
    for unit in span.units:
        yield from ((m, _source(m, unit)) for m in unit.messages)


def _source(message: Message, unit: Unit) -> Source:
    if unit.kind == "note":
        return Source(kind="note", uids=message.sources)
    if not message.sources and not unit.uids:
        return Source(kind="selector", name=unit.origin)
    return Source(kind="raw", uids=message.sources or unit.uids)
