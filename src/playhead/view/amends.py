"""Amends: entries that change or remove what views show of an earlier entry, which they name by its uid."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.entry.entry import AMEND, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Message, ToolResult
from playhead.entry.payload import message_to_entries, part_from_json
from playhead.view.pairing import REMOVED, Pairing
from playhead.view.pieces import AMENDED_BY, Piece, read_piece
from playhead.view.tokens import Counter
from playhead.view.units import Hidden

NO_TARGET = "changes nothing: it names no target"
NOT_HERE = "changes nothing: what it names does not stand before it on this tape"
NO_CONTENT = "changes nothing: it holds no content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend:
    """One change: entry `id` puts `payload` in the place of the payload of entry `target`, or removes that (None)."""

    id: int
    uid: str
    target: int
    payload: Mapping[str, Any] | None

    def applied(self, entry: TapeEntry) -> TapeEntry:
        """Return its target with the payload it gives it; the meta then names the entry of the change."""
        return replace(entry, payload=freeze_dict(self.payload or {}), meta=freeze_dict({**entry.meta, AMENDED_BY: self.uid}, path="meta"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Amends:
    """The changes among the entries of a tape behind `since`, up to and with `upto`; of several of one entry the newest counts.

    A change counts where its target stands before it: all changes of an entry that is behind `since` are known. A snapshot;
    `grown` returns the next one.
    """

    since: int = 0
    upto: int = 0
    by_target: Mapping[str, tuple[Amend, ...]] = field(default_factory=dict)
    places: tuple[tuple[int, int], ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def among(cls, entries: Sequence[TapeEntry]) -> Amends:
        """Return the changes among entries that are all there is of a tape."""
        found = [e for e in entries if e.kind == AMEND]
        return cls().grown(found, {e.uid: e for e in entries if e.uid} if found else {}, since=0, upto=entries[-1].id if entries else 0)

    def grown(self, entries: Sequence[TapeEntry], targets: Mapping[str, TapeEntry], *, since: int, upto: int) -> Amends:
        """Return these changes with those among more entries, down to `since` and up to `upto`; `targets` holds by uid what they name."""
        if not entries:
            return replace(self, since=since, upto=upto)
        by_target, places, reasons = dict(self.by_target), list(self.places), dict(self.reasons)
        for entry in entries:
            target = targets.get(target_of(entry) or "")
            reason, payload = _effect(entry, target)
            reasons[entry.id] = reason
            if target is not None and not reason.startswith("changes nothing"):
                amend = Amend(id=entry.id, uid=entry.uid, target=target.id, payload=payload)
                by_target[target.uid] = tuple(sorted((*by_target.get(target.uid, ()), amend), key=lambda a: a.id))
                places.append((target.id, entry.id))
        return Amends(since=since, upto=upto, by_target=by_target, places=tuple(sorted(places)), reasons=reasons)

    def of(self, entry: TapeEntry, *, end: int) -> Amend | None:
        """Return the change of an entry that counts where the tape ends at entry `end`."""
        known = self.by_target.get(entry.uid) if self.by_target else None
        return None if known is None else next((a for a in reversed(known) if a.id <= end), None)

    def newest(self, first: int, last: int, *, end: int) -> int:
        """Return the id of the newest change of entries `first` to `last` where the tape ends at entry `end`, 0 where there is none."""
        if not self.places:
            return 0
        inside = self.places[bisect_left(self.places, (first, 0)) : bisect_right(self.places, (last, end))]
        return max((id for _, id in inside if id <= end), default=0)

    def reason(self, entry: TapeEntry) -> str:
        """Return what is said of an entry that changes another: it shows nothing itself."""
        return self.reasons.get(entry.id, NOT_HERE)

    def read(self, entry: TapeEntry, *, end: int, counter: Counter) -> Piece:
        """Return what an entry says, changed as it is where the tape ends at entry `end`."""
        if entry.kind == AMEND:
            return Piece(hidden=self.reason(entry))
        amend = self.of(entry, end=end)
        if amend is None:
            return read_piece(entry, counter=counter)
        return replace(read_piece(entry, counter=counter), is_removed=True) if amend.payload is None else read_piece(amend.applied(entry), counter=counter)

    def applied(self, entries: Sequence[TapeEntry], *, end: int, counter: Counter) -> tuple[tuple[TapeEntry, ...], tuple[Hidden, ...]]:
        """Return entries as they read where the tape ends at `end`, without those that change and those that are removed, which are hidden."""
        if not self.reasons:
            return tuple(entries), ()
        gone = {e.id: Hidden(id=e.id, kind=e.kind, reason=REMOVED) for e in entries if self._is_removed(e, end=end)}
        if gone:
            gone |= _removed_rounds(entries, read=lambda e: self.read(e, end=end, counter=counter), counter=counter)
        kept = ((e, self.of(e, end=end)) for e in entries if e.kind != AMEND and e.id not in gone)
        hidden = [*gone.values(), *(Hidden(id=e.id, kind=e.kind, reason=self.reason(e)) for e in entries if e.kind == AMEND)]
        return tuple(e if a is None else a.applied(e) for e, a in kept), tuple(sorted(hidden, key=lambda h: h.id))

    def _is_removed(self, entry: TapeEntry, *, end: int) -> bool:
        amend = self.of(entry, end=end)
        return amend is not None and amend.payload is None


def reading(entries: Sequence[TapeEntry], *, counter: Counter) -> Callable[[TapeEntry], Piece]:
    """Return how to read entries that are all there is of a tape: with the changes among them."""
    amends = Amends.among(entries)
    if not amends.reasons:
        return lambda entry: read_piece(entry, counter=counter)
    return lambda entry: amends.read(entry, end=amends.upto, counter=counter)


def target_of(entry: TapeEntry) -> str | None:
    """Return the uid of the entry that a change is meant for, None where it names none."""
    target = entry.payload.get("target")
    return target if isinstance(target, str) and target else None


def _removed_rounds(entries: Sequence[TapeEntry], *, read: Callable[[TapeEntry], Piece], counter: Counter) -> dict[int, Hidden]:
    """Return by id the entries of rounds that removals take away: a call or a result takes its whole round with it."""
    pairing = Pairing(counter=counter)
    for entry in entries:
        if entry.kind in (MESSAGE, TOOL_CALL, TOOL_RESULT):
            pairing.add(read(entry), id=entry.id, uid=entry.uid, kind=entry.kind)
    return {h.id: h for h in pairing.built().hidden if h.reason == REMOVED}


def _effect(entry: TapeEntry, target: TapeEntry | None) -> tuple[str, Mapping[str, Any] | None]:
    """Return what a change is said to do, and the payload that it gives its target, None for a removal."""
    if target_of(entry) is None:
        return NO_TARGET, None
    if target is None or target.id >= entry.id:
        return NOT_HERE, None
    if target.kind == AMEND:
        return f"changes nothing: entry {target.id} is a change itself", None
    if entry.payload.get("removed") is True:
        return f"removes entry {target.id}", None
    content = entry.payload.get("content")
    if content is None:
        return NO_CONTENT, None
    payload = _results_payload(target, content) if target.kind == TOOL_RESULT else _words_payload(target, content)
    return (f"changes nothing: entry {target.id} holds several results", None) if payload is None else (f"changes entry {target.id}", payload)


def _results_payload(target: TapeEntry, content: object) -> Mapping[str, Any] | None:
    """Return a payload with other results: one for each, or another answer of the only one."""
    if isinstance(content, list) and content and all(isinstance(p, Mapping) and p.get("type") == "tool_result" for p in content):
        parts = tuple(part_from_json(p) for p in content)
        return message_to_entries(Message(role="tool", content=parts))[0].payload if all(isinstance(p, ToolResult) for p in parts) else None
    results = target.payload.get("results")
    return {**target.payload, "results": [content]} if isinstance(results, list) and len(results) == 1 else None


def _words_payload(target: TapeEntry, content: object) -> Mapping[str, Any] | None:
    """Return a payload with other words; calls and results that stand among the old ones stay, unless the new ones bring their own."""
    old = target.payload.get("content")
    kept = [p for p in old if _is_of_tool(p)] if isinstance(old, list) else []
    if not kept or (isinstance(content, list) and any(_is_of_tool(p) for p in content)):
        return {**target.payload, "content": content}
    words = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    if any(p["type"] == "tool_call" for p in kept):
        return {**target.payload, "content": [*words, *kept]}
    if isinstance(old, list) and len(kept) < len(old):
        return {**target.payload, "content": [*kept, *words]}
    return {**target.payload, "content": [{**kept[0], "content": content}]} if len(kept) == 1 else None


def _is_of_tool(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in ("tool_call", "tool_result")
