"""From pieces to units: every call meets its results, so that no unit can break a provider's rules."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from playhead.entry.entry import ANCHOR, TapeEntry
from playhead.entry.message import Message, ToolCall, ToolResult
from playhead.view.pieces import Piece, result_tokens
from playhead.view.tokens import Counter
from playhead.view.units import Body, Hidden, Unit, UnitKind

INTERRUPTED = "interrupted, outcome unknown"
"""What a call says whose result is not on the tape."""

ORPHAN = "result without call"
REMOVED = "removed by a later entry"
NOTHING_LEFT_OUT: Mapping[str, tuple[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The units of a run of entries, and the entries that show nothing."""

    units: tuple[Unit, ...]
    hidden: tuple[Hidden, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    result: ToolResult
    tokens: int
    sources: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A unit in the making; a round waits for its results. One that is removed keeps its place, so that its results are known for its own."""

    kind: UnitKind
    message: Message
    tokens: int
    index: int
    asked: tuple[str, ...]
    ids: list[int] = field(default_factory=list)
    uids: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    answers: dict[str, _Answer] = field(default_factory=dict)
    event: tuple[str, object] | None = None
    body: Body | None = None
    is_removed: bool = False
    unit: Unit | None = None

    def open_call(self, call_id: str) -> str | None:
        """Return the call that a result for `call_id` answers (without an id: the next open one), None where there is none."""
        if call_id:
            return call_id if call_id in self.asked and call_id not in self.answers else None
        return next((c for c in self.asked if c not in self.answers), None)

    def add_source(self, entry_id: int, uid: str, kind: str) -> None:
        if entry_id and (not self.ids or self.ids[-1] != entry_id):
            self.ids.append(entry_id)
            self.kinds.append(kind)
        if uid and (not self.uids or self.uids[-1] != uid):
            self.uids.append(uid)


class Pairing:
    """Builds units from pieces in order: `add` each entry's piece, then `built`.

    A result answers the newest turn that made a call of its id and has no answer to it; without an id it answers
    the turn right before it, by position. A round stands where its turn stands, whenever its results came.
    `orphan` is the reason given for a result that answers no call. More may be added after `built`: units that did
    not change are the same objects then. `late` are answers that came when other units stood behind their round:
    (entry, kind, index of the round).
    """

    def __init__(self, *, counter: Counter, orphan: str = ORPHAN) -> None:
        self._counter = counter
        self._orphan = orphan
        self.late: list[tuple[int, str, int]] = []
        self._drafts: list[_Draft] = []
        self._asked: dict[str, _Draft] = {}
        self._turn: _Draft | None = None
        self._hidden: list[Hidden] = []
        self._removed: list[_Draft] = []

    def add(self, piece: Piece, *, id: int, uid: str, kind: str, more: Sequence[TapeEntry] = ()) -> None:
        """Take in what one entry says; `more` are entries that it was made from besides.

        What is removed shows nothing; a call or a result takes its whole round with it.
        """
        if piece.hidden is not None:
            self.hide(id, kind, REMOVED if piece.is_removed else piece.hidden)
            return
        for result, tokens in zip(piece.results, piece.result_tokens, strict=True):
            if not self._answer(piece, result, tokens, id, uid, kind):
                self.hide(id, kind, "its call has a result already" if result.call_id in self._asked else self._orphan)
        if piece.lost is not None:
            self.hide(id, kind, piece.lost)
        if piece.message is None:
            return
        if piece.is_removed and not piece.message.calls:
            self.hide(id, kind, REMOVED)
            return
        self._speak(piece, piece.message, id, uid, kind)
        for entry in more:
            self._drafts[-1].add_source(entry.id, entry.uid, entry.kind)

    def hide(self, id: int, kind: str, reason: str) -> None:
        """Note that an entry shows nothing."""
        self._hidden.append(Hidden(id=id, kind=kind, reason=reason))

    def _answer(self, piece: Piece, result: ToolResult, tokens: int, id: int, uid: str, kind: str) -> bool:
        draft = self._asked.get(result.call_id) if result.call_id else self._turn
        call = draft.open_call(result.call_id) if draft else None
        if draft is None or call is None:
            return False
        draft.answers[call] = _Answer(result=replace(result, call_id=call), tokens=tokens, sources=tuple(filter(None, (uid, piece.amended_by))))
        draft.add_source(id, uid, kind)
        draft.unit = None
        if piece.is_removed:
            self._remove(draft)
        if draft is not self._drafts[-1]:
            self.late.append((id, kind, draft.index))
        return True

    def _speak(self, piece: Piece, message: Message, id: int, uid: str, kind: str) -> None:
        asked = tuple(c.id for c in message.calls)
        unit: UnitKind = "round" if asked else "anchor" if kind == ANCHOR else "message"
        draft = _Draft(kind=unit, message=message, tokens=piece.tokens, index=len(self._drafts), asked=asked, event=piece.event, body=piece.body)
        draft.add_source(id, uid, kind)
        self._drafts.append(draft)
        if piece.is_removed:
            self._remove(draft)
        self._turn = draft if asked else None
        self._asked.update(dict.fromkeys(asked, draft))

    def _remove(self, draft: _Draft) -> None:
        if not draft.is_removed:
            draft.is_removed = True
            self._removed.append(draft)

    @property
    def unanswered(self) -> frozenset[str]:
        """The calls that have no result yet."""
        return frozenset(c for d in self._drafts if not d.is_removed for c in d.asked if c not in d.answers)

    def built(self, *, not_shown: Mapping[str, tuple[int, int]] = NOTHING_LEFT_OUT, origin: str | None = None) -> Built:
        """Return the units; a call without a result gets a stub that says so.

        `not_shown` names, by call id, the entry and the tokens of results that exist but were left out of the view;
        `origin` names the selector that made units up.
        """
        units = tuple([_unit(d, self._counter, not_shown, origin) if d.unit is None else d.unit for d in self._drafts if not d.is_removed])
        return Built(units=units, hidden=self._hidden_with(self._taken_away(0)))

    def tail(self, tokens: int) -> tuple[int, tuple[Unit, ...]]:
        """Return the newest units that cost more than `tokens`, and the index of the first of them; all where they cost less."""
        units: list[Unit] = []
        index, left = len(self._drafts), tokens
        while index and left >= 0:
            index -= 1
            draft = self._drafts[index]
            if draft.is_removed:
                continue
            unit = draft.unit or _unit(draft, self._counter, NOTHING_LEFT_OUT, None)
            units.append(unit)
            left -= unit.tokens
        return index, tuple(reversed(units))

    def hidden_from(self, entry: int, *, index: int, late: str) -> tuple[Hidden, ...]:
        """Return the entries from `entry` on that show nothing where the units from `index` on are shown; `late` is why late answers to older rounds do not."""
        more = [Hidden(id=id, kind=kind, reason=late) for id, kind, round in self.late if id >= entry and round < index and not self._drafts[round].is_removed]
        return self._hidden_with([*more, *self._taken_away(entry)], start=bisect_left(self._hidden, entry, key=lambda h: h.id))

    def _taken_away(self, entry: int) -> list[Hidden]:
        """Return the entries from `entry` on of what was removed whole."""
        return [Hidden(id=id, kind=kind, reason=REMOVED) for draft in self._removed for id, kind in zip(draft.ids, draft.kinds, strict=True) if id >= entry]

    def _hidden_with(self, more: Sequence[Hidden], *, start: int = 0) -> tuple[Hidden, ...]:
        hidden = self._hidden[start:]
        return tuple(sorted({*hidden, *more}, key=lambda h: (h.id, h.reason)) if more else hidden)

    def __len__(self) -> int:
        return len(self._drafts)


def _unit(draft: _Draft, counter: Counter, not_shown: Mapping[str, tuple[int, int]], origin: str | None) -> Unit:
    messages, tokens, is_open = [draft.message], draft.tokens, False
    for call in draft.message.calls:
        answer = draft.answers.get(call.id)
        if answer is None:
            result = _stub(call, not_shown)
            tokens += result_tokens(result, counter=counter)
            is_open = is_open or call.id not in not_shown
        else:
            result = answer.result if answer.result.name else replace(answer.result, name=call.name)
            tokens += answer.tokens if result is answer.result else result_tokens(result, counter=counter)
        messages.append(Message(role="tool", content=(result,), sources=answer.sources if answer and answer.sources else draft.message.sources))
    draft.unit = Unit(
        kind=draft.kind,
        messages=tuple(messages),
        ids=tuple(draft.ids),
        uids=tuple(draft.uids),
        tokens=tokens,
        is_open=is_open,
        origin=None if draft.uids else origin,
        event=draft.event,
        body=draft.body,
    )
    return draft.unit


def _stub(call: ToolCall, not_shown: Mapping[str, tuple[int, int]]) -> ToolResult:
    if call.id in not_shown:
        entry, tokens = not_shown[call.id]
        return ToolResult(call_id=call.id, name=call.name, content=f"result not shown: {tokens} tokens, entry {entry}")
    return ToolResult(call_id=call.id, name=call.name, content=INTERRUPTED, is_error=True)
