"""The reduction: what the entries of a fold sidecar come to, whoever wrote them and however branches were merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from playhead.entry.entry import TapeEntry, parse_date
from playhead.fold.forest import Cut, Pin
from playhead.fold.ledger import entries, records
from playhead.fold.ledger.descent import way
from playhead.fold.ledger.known import Known, Unread
from playhead.fold.ledger.records import Calibration, Cleared, Forgotten, Lock, Noted, Record, Unpin
from playhead.fold.ledger.state import Ledger, is_gapless, under
from playhead.fold.node import Node, NodeDraft
from playhead.tape.reduction import Ignored

TOLD = "the span is told already"
NOT_THERE = "an end of the span is not on the tape"
NOT_WHOLE = "the span is not as long on this tape"
NO_ROOTS = "what is merged are no neighbours without a parent that fill the span"
NOT_STANDING = "the summary does not stand"
NOT_IN_ORDER = "the cut is not in order"
NO_PIN = "there is no such pin"
NO_LOCK = "there is no such lock"
NO_TARGET = "what is locked is not on the tape"
NO_OUTCOME = "there is no such outcome"


def advance(ledger: Ledger, page: Iterable[TapeEntry], known: Known) -> Ledger:
    """Return the ledger after more entries of the sidecar, in order; what would break a constraint changes nothing and is counted.

    Any entries in any order give a valid ledger: roots never overlap, a merge is over roots that are neighbours, fill its span
    and are one level lower, and no summary has two parents. Raises Unread where something must be looked up first.
    """
    draft = _Draft(ledger, known)
    for entry in page:
        draft.take(entry)
    return draft.ledger()


def node_of(entry: TapeEntry, draft: NodeDraft, *, number: int, first: int, last: int) -> Node:
    """Return the summary of an entry whose ends were found and whose number is known."""
    return Node(
        uid=entry.uid,
        id=f"L{draft.level}-{number}",
        level=draft.level,
        first=first,
        last=last,
        first_uid=draft.first_uid,
        last_uid=draft.last_uid,
        units=draft.units,
        raw_tokens=draft.raw_tokens,
        text=draft.text,
        index=draft.index,
        tools=draft.tools,
        voice=draft.voice,
        phase=draft.phase,
        children=draft.children,
        since=draft.since,
        until=draft.until,
        created=parse_date(entry.date),
        model=draft.model,
        how=draft.how,
    )


def span_of(first: int, last: int, length: int) -> tuple[int, int]:
    """Return a span whose ends were looked up. Raises Ignored where one is missing or they are not as far apart as they were."""
    if not first or not last:
        raise Ignored(NOT_THERE)
    if last - first + 1 != length:
        raise Ignored(NOT_WHOLE)
    return first, last


class _Draft:
    """A ledger that is being written on."""

    def __init__(self, before: Ledger, known: Known) -> None:
        self._before = before
        self._known = known
        self._new: dict[str, Node] = {}
        self._roots = list(before.roots)
        self._cut = before.cut
        self._pins = list(before.pins)
        self._locks = dict(before.locks)
        self._outcomes = list(before.outcomes)
        self._numbering = before.numbering
        self._pin_counter = before.pin_counter
        self._factor = Calibration(factor=before.factor, epoch=before.factor_epoch)
        self._last_written = before.last_written
        self._counts = Counter(before.counts)
        self._ignored = Counter(before.ignored)
        self._upto, self._last = before.upto, before.last

    def ledger(self) -> Ledger:
        return Ledger(
            roots=tuple(self._roots),
            cut=self._cut,
            pins=tuple(self._pins),
            locks=self._locks,
            outcomes=tuple(self._outcomes),
            numbering=self._numbering,
            pin_counter=self._pin_counter,
            factor=self._factor.factor,
            factor_epoch=self._factor.epoch,
            last_written=self._last_written,
            counts={level: count for level, count in sorted(self._counts.items()) if count},
            ignored=dict(self._ignored),
            upto=self._upto,
            last=self._last,
        )

    def take(self, entry: TapeEntry) -> None:
        if entry.kind == entries.NODE:
            self._numbering = self._numbering.behind(entry=entry.id, written=records.number_in(entry.payload.get("id")))
        if records.is_ours(entry.kind):
            try:
                self._apply(entry, records.read(entry))
            except Ignored as why:
                self._ignored[str(why)] += 1
        self._upto, self._last = entry.id, entry.uid

    def _apply(self, entry: TapeEntry, record: Record) -> None:
        match record:
            case NodeDraft():
                self._add(entry, record)
            case Cut():
                self._show(record)
            case Pin():
                self._pin(record)
            case Unpin():
                self._unpin(record)
            case Lock():
                self._lock(record)
            case Noted():
                self._note(record)
            case Cleared():
                self._clear(record)
            case Forgotten():
                self._forget(record)
            case Calibration():
                self._factor = record

    # -- summaries

    def _add(self, entry: TapeEntry, draft: NodeDraft) -> None:
        first, last = self._span(draft.first_uid, draft.last_uid, draft.entries)
        standing = under(self._roots, first, last)
        self._check_free(self._roots[standing], first, last, level=draft.level, children=draft.children)
        node = node_of(entry, draft, number=self._numbering.counter, first=first, last=last)
        self._roots[standing] = [node]
        self._new[node.uid] = node
        self._counts[node.level] += 1
        self._last_written = _later(self._last_written, node.created)
        self._outcomes = [o for o in self._outcomes if o.level > node.level or o.last < first or last < o.first]

    def _check_free(self, standing: Sequence[Node], first: int, last: int, *, level: int, children: tuple[str, ...]) -> None:
        """Raise Ignored unless what stands over a span is what may be merged into a summary of it: for level 1 nothing."""
        if level == 1:
            if standing:
                raise Ignored(TOLD)
            return
        are_those = tuple(node.uid for node in standing) == children and all(node.level == level - 1 for node in standing)
        if not are_those or not is_gapless(standing) or (standing[0].first, standing[-1].last) != (first, last):
            raise Ignored(NO_ROOTS)

    def _forget(self, record: Forgotten) -> None:
        node = self._several([record.node])[0]
        gone = None if node is None else way(self._roots, node, self._several)
        if gone is None:
            raise Ignored(NOT_STANDING)
        uids = {each.uid for each in gone}
        below = {each.uid: [child for child in self._several(each.children) if child is not None] for each in gone}
        freed = [child for children in below.values() for child in children if child.uid not in uids]
        self._roots[under(self._roots, gone[0].first, gone[0].last)] = sorted(freed, key=lambda each: each.first)
        self._counts.subtract(each.level for each in gone)
        self._outcomes = [outcome for outcome in self._outcomes if uids.isdisjoint(outcome.children)]
        if self._cut is not None and not uids.isdisjoint(self._cut.nodes):
            self._cut = replace(self._cut, nodes=tuple(left for uid in self._cut.nodes for left in _left(uid, below)))

    def _show(self, cut: Cut) -> None:
        known_to_stand = set() if self._cut is None else set(self._cut.nodes)
        nodes = [node for node in self._several(cut.nodes) if node is not None]
        if len(nodes) < len(cut.nodes):
            raise Ignored(NOT_STANDING)
        unread: set[str] = set()
        for node in nodes:
            try:
                if node.uid not in known_to_stand and way(self._roots, node, self._several) is None:
                    raise Ignored(NOT_STANDING)
            except Unread as missing:
                unread |= missing.nodes
        if unread:
            raise Unread(nodes=unread)
        if any(later.first <= earlier.last for earlier, later in pairwise(nodes)):
            raise Ignored(NOT_IN_ORDER)
        self._cut = cut

    def _several(self, uids: Iterable[str]) -> list[Node | None]:
        asked = list(uids)
        found = dict(zip(others := [uid for uid in asked if uid not in self._new], self._known.several(others), strict=True))
        return [self._new.get(uid) or found.get(uid) for uid in asked]

    # -- what is asked of them

    def _pin(self, pin: Pin) -> None:
        number = written if (written := records.number_in(pin.id)) > self._pin_counter else self._pin_counter + 1
        self._pin_counter = number
        self._pins.append(placed_pin(replace(pin, id=f"pin-{number}"), self._known))

    def _unpin(self, record: Unpin) -> None:
        left = [pin for pin in self._pins if (pin.id != record.id if record.uid is None else pin.uid != record.uid)]
        if len(left) == len(self._pins):
            raise Ignored(NO_PIN)
        self._pins = left

    def _lock(self, record: Lock) -> None:
        if not record.is_set:
            if self._locks.pop(record.target, None) is None:
                raise Ignored(NO_LOCK)
            return
        place = self._known.place(record.target)
        if not place:
            raise Ignored(NO_TARGET)
        self._locks[record.target] = place

    # -- what failed

    def _note(self, record: Noted) -> None:
        outcome = record.outcome
        first, last = self._span(outcome.first_uid, outcome.last_uid, record.entries)
        self._check_free(self._roots[under(self._roots, first, last)], first, last, level=outcome.level, children=outcome.children)
        self._outcomes.append(replace(outcome, first=first, last=last))

    def _clear(self, record: Cleared) -> None:
        left = [outcome for outcome in self._outcomes if (outcome.first_uid, outcome.level) != (record.first, record.level)]
        if len(left) == len(self._outcomes):
            raise Ignored(NO_OUTCOME)
        self._outcomes = left

    def _span(self, first: str, last: str, length: int) -> tuple[int, int]:
        return span_of(self._known.place(first), self._known.place(last), length)


def placed_pin(pin: Pin, known: Known) -> Pin:
    """Return a pin with the places of its ends, the earlier one first."""
    first, last = known.place(pin.first_uid), known.place(pin.last_uid)
    if first and last and last < first:
        return replace(pin, first=last, last=first, first_uid=pin.last_uid, last_uid=pin.first_uid)
    return replace(pin, first=first, last=last)


def wanted(page: Iterable[TapeEntry]) -> frozenset[str]:
    """Return the entries of the main tape that entries of the sidecar name, so that all can be looked up at once."""
    places: set[str] = set()
    for entry in page:
        said = entry.payload
        if entry.kind in (entries.NODE, entries.PIN):
            places |= _names(said.get("first"), said.get("last"))
        elif entry.kind == entries.LOCK:
            places |= _names(said.get("target"))
        elif entry.kind == entries.OUTCOME and isinstance(span := said.get("span"), dict):
            places |= _names(span.get("first"), span.get("last"))
    return frozenset(places)


def _names(*found: object) -> set[str]:
    return {name for name in found if isinstance(name, str) and name}


def _left(uid: str, below: dict[str, list[Node]]) -> list[str]:
    """Return what of a shown summary is shown once those of `below` are no more: itself, or what was below it and is still there."""
    return [left for child in below[uid] for left in _left(child.uid, below)] if uid in below else [uid]


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)
