"""Rendering: a walk along a plan that turns each span into messages and says where each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from playhead.entry.message import Message
from playhead.prompt.injection import Injection, place
from playhead.view.plan import Plan, Span
from playhead.view.units import Unit

SourceKind = Literal["raw", "note", "summary", "trimmed", "injection", "selector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one message of a prompt comes from: entries by uid; by name a summary, an injection, or the selector that trimmed or made it."""

    kind: SourceKind
    uids: tuple[str, ...] = ()
    name: str | None = None


def messages_of(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[Message, ...]:
    """Return what a plan shows, injections at the last user message among it."""
    if not injections:
        return tuple(m for span in plan.spans if span.is_shown for m in (span.messages or [m for unit in span.units for m in unit.messages]))
    return tuple(m for m, _ in rendered(plan, injections))


def rendered(plan: Plan, injections: tuple[Injection, ...] = ()) -> tuple[tuple[Message, Source], ...]:
    """Return the messages of a plan with their sources, injections at the last user message among them."""
    shown = [pair for span in plan.spans if span.is_shown for pair in _told(span)]
    sources = iter([source for _, source in shown])
    placed = place([m for m, _ in shown], injections, last=_last_user(shown))
    return tuple((message, next(sources) if injection is None else Source(kind="injection", name=injection.namespace)) for message, injection in placed)


def has_user_message(plan: Plan) -> bool:
    """Return whether a plan shows a user's message; the note of an anchor is none."""
    return _last_user([pair for span in plan.spans if span.is_shown for pair in _told(span)]) is not None


def _last_user(shown: Sequence[tuple[Message, Source]]) -> int | None:
    return next((i for i in range(len(shown) - 1, -1, -1) if shown[i][0].role == "user" and shown[i][1].kind != "note"), None)


def _told(span: Span) -> Iterator[tuple[Message, Source]]:
    if span.messages:
        uids = tuple(uid for unit in span.units for uid in unit.uids)
        kind: SourceKind = "summary" if span.form == "summary" else "trimmed"
        yield from ((m, Source(kind=kind, uids=m.sources or uids, name=span.node or span.how)) for m in span.messages)
        return
    for unit in span.units:
        yield from ((m, _source(m, unit)) for m in unit.messages)


def _source(message: Message, unit: Unit) -> Source:
    if unit.kind == "note":
        return Source(kind="note", uids=message.sources)
    if not message.sources and not unit.uids:
        return Source(kind="selector", name=unit.origin)
    return Source(kind="trimmed" if unit.how else "raw", uids=message.sources or unit.uids, name=unit.how)
