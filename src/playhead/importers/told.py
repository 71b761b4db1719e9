"""What a record tells, and the entries that become of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.entry.entry import ANCHOR, ERROR, EVENT, TapeEntry
from playhead.entry.frozen import FrozenDict, freeze, freeze_dict
from playhead.entry.message import NOTHING, Message, Part, ToolResult
from playhead.entry.payload import message_to_entries
from playhead.errors import InvalidInput, WireError
from playhead.importers.items import Branch, Piece
from playhead.importers.origin import WHY, Origin, with_keys
from playhead.importers.outline import outline

FIELDS_LIMIT = 4_000
"""How many characters of fields without a place of their own an entry's meta keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Kinds and payloads, at most two, and what is known about them.

    `ids` are the source's own, `fields` what has no place elsewhere; `usage` and `model` are the provider's words;
    what is `hidden` is kept and not shown.
    """

    payloads: tuple[tuple[str, FrozenDict], ...]
    ids: Mapping[str, Any] = NOTHING
    fields: Mapping[str, Any] = NOTHING
    usage: Any = None
    model: str | None = None
    hidden: bool = False
    said: str = field(default="", compare=False)


def said(messages: Iterable[Message], *, fields: Mapping[str, Any] = NOTHING, ids: Mapping[str, Any] = NOTHING, usage: Any = None, model: str | None = None, hidden: bool = False) -> Told:
    """Return what messages tell; adjacent results become one entry, the words of a user behind them another."""
    joined = tuple(_results_joined(messages))
    payloads = tuple((e.kind, e.payload) for m in joined for e in message_to_entries(m))
    return Told(payloads=payloads, ids=ids, fields=fields, usage=usage, model=model, hidden=hidden, said="\n".join(m.text for m in joined))


def happened(name: str, data: Any, *, ids: Mapping[str, Any] = NOTHING) -> Told:
    """Return what is no part of the conversation: an event."""
    return Told(payloads=((EVENT, FrozenDict({"name": name, "data": freeze(data)})),), ids=ids)


def failed(kind: str, message: str, details: Any = None, *, ids: Mapping[str, Any] = NOTHING) -> Told:
    """Return what a client noted when a call failed."""
    payload = {"kind": kind, "message": message, **({"details": details} if details else {})}
    return Told(payloads=((ERROR, freeze_dict(payload)),), ids=ids)


def begun_anew(name: str, state: Mapping[str, Any], *, ids: Mapping[str, Any] = NOTHING) -> Told:
    """Return the anchor behind which reading starts."""
    return Told(payloads=((ANCHOR, freeze_dict({"name": name, "state": state})),), ids=ids)


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a record that should be an object. Raises WireError where it is none."""
    if isinstance(value, Mapping):
        return value
    raise WireError(f"A message is an object, not {type(value).__name__}")


def text_in(value: object, key: str) -> str:
    """Return a text field of a record, "" where it has none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


Telling = Callable[[tuple[Any, ...]], Told]
"""What the values of pieces tell; raises WireError or InvalidInput where they are not what they seem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes the entries of one item; what cannot be told becomes an event `name`, whole."""

    origin: Origin
    tell: Telling
    name: str
    branch: Branch = "main"
    ids: Mapping[str, Any] = NOTHING

    def __call__(self, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        """Return the entries."""
        values = tuple(p.value for p in pieces)
        try:
            told = self.tell(values)
        except (WireError, InvalidInput) as exc:
            return (self._whole(values, pieces, why=exc.message),)
        if not told.payloads:
            return (self._whole(values, pieces, why="nothing is said in it"),)
        ids = {k: freeze(v) for k, v in {**self.ids, **told.ids}.items() if v is not None}
        kept = {k: v for k, v in told.fields.items() if v is not None and v is not False and v not in ("", [], {})}
        if kept:
            ids["fields"] = outline(freeze_dict(kept), limit=FIELDS_LIMIT, seen=told.said)
        usage = freeze(told.usage) if told.usage else None
        meta = self.origin.meta(pieces, branch=self.branch, ids=ids, usage=usage, model=told.model, context=False if told.hidden else None)
        return with_keys(tuple(TapeEntry(0, kind, payload, meta, pieces[0].date) for kind, payload in told.payloads))

    def _whole(self, values: tuple[Any, ...], pieces: tuple[Piece, ...], *, why: str) -> TapeEntry:
        data = values[0] if len(values) == 1 else list(values)
        return self.origin.event(self.name, data, pieces, branch=self.branch, ids={**self.ids, WHY: why})


def _results_joined(messages: Iterable[Message]) -> Iterable[Message]:
    """Yield the messages; the results of neighbours that hold results alone stand in one."""
    waiting: list[ToolResult] = []
    for message in messages:
        rest: tuple[Part, ...] = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        waiting.extend(message.results)
        if message.results and not rest:
            continue
        if waiting:
            yield Message(role="tool", content=tuple(waiting))
            waiting = []
        yield replace(message, role="user", content=rest) if message.results else message
    if waiting:
        yield Message(role="tool", content=tuple(waiting))
