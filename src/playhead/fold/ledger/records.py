"""What the entries of a fold sidecar say: read tolerantly, as any program may have written them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, get_args

from playhead.entry.entry import TapeEntry, parse_date
from playhead.entry.frozen import FrozenDict
from playhead.errors import InvalidDate
from playhead.fold.forest import Cut, Outcome, Pin
from playhead.fold.ledger import entries
from playhead.fold.node import NodeDraft, Voice
from playhead.tape.reduction import Ignored

_NUMBER = re.compile(r"[A-Za-z0-9]+-(\d{1,15})", re.ASCII)
_MOST_LEVELS = 64
"""No forest grows higher: each level is at least twice as wide as the one below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin:
    """A pin to take away: the one of that uid, or, without one, that of the id."""

    id: str
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """An entry of the tape whose level is locked from here on, or no longer."""

    target: str
    is_set: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """An outcome, its places still 0, and how many entry ids its span has."""

    outcome: Outcome
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """Outcomes that no longer count: those of a level for the span that begins with an entry."""

    first: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A summary that is no more."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How many tokens a provider counts for one of ours, under the prices of an epoch."""

    factor: float
    epoch: str


Record = NodeDraft | Cut | Pin | Unpin | Lock | Noted | Cleared | Forgotten | Calibration


def is_ours(kind: str) -> bool:
    """Whether entries of a kind say something of a forest."""
    return kind.startswith("fold.")


def read(entry: TapeEntry) -> Record:
    """Return what an entry says. Raises Ignored for one that cannot be read, or of a kind that is not known."""
    reader = _READERS.get(entry.kind)
    if reader is None:
        raise Ignored("a kind of entry that is not known here")
    try:
        return reader(entry)
    except (KeyError, TypeError, ValueError, OverflowError, InvalidDate) as exc:
        raise Ignored(f"a {entry.kind} that cannot be read") from exc


def number_in(name: object) -> int:
    """Return the number that an id such as `L1-3` or `pin-3` ends with, 0 where it is no such id."""
    found = _NUMBER.fullmatch(name) if isinstance(name, str) else None
    return int(found[1]) if found else 0


def _node(entry: TapeEntry) -> NodeDraft:
    said = entry.payload
    level, children = _count(said, "level", least=1), _texts(said, "children")
    if level > _MOST_LEVELS or (len(children) < 2 if level > 1 else children) or len(set(children)) < len(children):
        raise ValueError("a summary is over raw entries, or over at least two summaries")
    return NodeDraft(
        level=level,
        first_uid=_name(said, "first"),
        last_uid=_name(said, "last"),
        entries=_count(said, "entries", least=1),
        units=_count(said, "units"),
        raw_tokens=_count(said, "raw_tokens"),
        text=_words(said, "text"),
        index=_texts(said, "index"),
        tools=_texts(said, "tools"),
        voice=_voice(said.get("voice", "normal")),
        phase=_text(said, "phase") if said.get("phase") is not None else None,
        children=children,
        since=_date(said, "since"),
        until=_date(said, "until"),
        model=_text(said, "model"),
        how=_mapping(said.get("how", FrozenDict())),
    )


def _cut(entry: TapeEntry) -> Cut:
    said = entry.payload
    return Cut(nodes=_texts(said, "nodes"), room=_count(said, "room"), resolver=_text(said, "resolver"))


def _pin(entry: TapeEntry) -> Pin:
    """Return a pin whose places are still 0. A level that is none is left out, not the pin (specs: context-manager 21.2)."""
    said = entry.payload
    name = said.get("name")
    return Pin(
        id=_text(said, "id"),
        first=0,
        last=0,
        first_uid=_name(said, "first"),
        last_uid=_name(said, "last"),
        name=name if isinstance(name, str) else None,
        kind="document" if said.get("kind") == "document" else "range",
        level=_level(said.get("level")),
        max_level=_level(said.get("max_level")),
        uid=entry.uid,
    )


def _unpin(entry: TapeEntry) -> Unpin:
    said = entry.payload
    return Unpin(id=_text(said, "id"), uid=_name(said, "uid") if said.get("uid") is not None else None)


def _locked(entry: TapeEntry) -> Lock:
    return Lock(target=_name(entry.payload, "target"), is_set=entry.kind == entries.LOCK)


def _outcome(entry: TapeEntry) -> Noted:
    said = entry.payload
    span, level, children = _mapping(said["span"]), _count(said, "level", least=1), _texts(said, "children")
    if bool(children) != (level > 1):
        raise ValueError("an outcome of a merge names what was to be merged")
    outcome = Outcome(
        first=0,
        last=0,
        first_uid=_name(span, "first"),
        last_uid=_name(span, "last"),
        level=level,
        regime=_text(said, "regime"),
        rung=_text(said, "rung"),
        shape=_text(said, "shape"),
        outcome=_text(said, "outcome"),
        model=_text(said, "model"),
        children=children,
        is_stuck=said.get("stuck") is True,
        at=parse_date(entry.date),
    )
    return Noted(outcome=outcome, entries=_count(span, "entries", least=1))


def _cleared(entry: TapeEntry) -> Cleared:
    return Cleared(first=_name(entry.payload, "first"), level=_count(entry.payload, "level", least=1))


def _forgotten(entry: TapeEntry) -> Forgotten:
    return Forgotten(node=_name(entry.payload, "node"))


def _calibration(entry: TapeEntry) -> Calibration:
    factor = entry.payload["factor"]
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < inf:
        raise ValueError("a factor is a number above 0")
    return Calibration(factor=float(factor), epoch=_text(entry.payload, "epoch"))


_READERS: Mapping[str, Callable[[TapeEntry], Record]] = {
    entries.NODE: _node,
    entries.CUT: _cut,
    entries.PIN: _pin,
    entries.UNPIN: _unpin,
    entries.LOCK: _locked,
    entries.UNLOCK: _locked,
    entries.OUTCOME: _outcome,
    entries.CLEARED: _cleared,
    entries.FORGOTTEN: _forgotten,
    entries.CALIBRATION: _calibration,
}


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text")
    return value


def _words(said: Mapping[str, Any], name: str) -> str:
    value = _text(said, name)
    if not value.strip():
        raise ValueError(f"{name} says something")
    return value


def _name(said: Mapping[str, Any], name: str) -> str:
    value = said[name]
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} is a text that says something")
    return value


def _texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = said.get(name, ())
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is a list of texts")
    return tuple(value)


def _count(said: Mapping[str, Any], name: str, *, least: int = 0) -> int:
    value = said[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number from {least}")
    return value


def _level(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _voice(value: Any) -> Voice:
    if value not in get_args(Voice):
        raise ValueError("a voice is one of three")
    voice: Voice = value
    return voice


def _date(said: Mapping[str, Any], name: str) -> datetime:
    return parse_date(_name(said, name))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("a mapping is wanted")
    return value
