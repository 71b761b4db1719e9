"""One immutable fact on a tape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Protocol

from playhead import clock
from playhead.entry import codec
from playhead.entry.frozen import FrozenDict, freeze_dict, frozen_dict, frozen_list, thaw
from playhead.errors import InvalidDate, InvalidInput

MESSAGE, SYSTEM, ANCHOR, TOOL_CALL, TOOL_RESULT, ERROR, EVENT = KINDS = ("message", "system", "anchor", "tool_call", "tool_result", "error", "event")
"""The built-in kinds; any other text is a kind as well."""

AMEND = "amend"
"""The kind of an entry that changes what views show of an earlier one: `{"target": uid, "content": ...}` or `{"target": uid, "removed": true}`."""


class Telling(Protocol):
    """What tells the parts of an entry when they are first read: JSON values of payload and meta, and the date as entries write it."""

    def payload(self) -> Any:
        """Return the payload."""
        ...

    def meta(self) -> Any:
        """Return the meta."""
        ...

    def date(self) -> str:
        """Return the date."""
        ...


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One fact: a number, a kind, what happened, what is known about it, and when.

    `id` is 0 until a store gives the entry its place; `payload` and `meta` are frozen JSON mappings
    (`thaw(entry.payload)` copies them); `date` is ISO-8601 text in UTC. An entry that a store returns
    decodes its payload when it is first read.

    Raises UnstorableValue where JSON cannot hold a value, InvalidDate where `date` is no date.
    """

    id: int
    kind: str
    payload: FrozenDict
    meta: FrozenDict = field(default_factory=FrozenDict)
    date: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not self.kind:
            raise InvalidInput(f"An entry's kind is a non-empty text, not {self.kind!r}.")
        if not isinstance(self.id, int) or isinstance(self.id, bool):
            raise InvalidInput(f"An entry's id is a whole number, not {self.id!r}.")
        _set(self, "payload", freeze_dict(self.payload))
        _set(self, "meta", freeze_dict(self.meta, path="meta"))
        _set(self, "date", canonical_date(self.date) if self.date else format_date(clock.now()))

    @property
    def uid(self) -> str:
        """The entry's own id, the same in every copy of it; "" before it was appended."""
        uid = self.meta.get("uid", "")
        return uid if isinstance(uid, str) else ""

    def copy(self) -> TapeEntry:
        """Return an equal entry whose payload and meta are its own plain-text copies (frozen again)."""
        return TapeEntry(self.id, self.kind, thaw(self.payload), thaw(self.meta), self.date)

    def __deepcopy__(self, memo: object) -> TapeEntry:
        return self

    @classmethod
    def message(cls, message: Mapping[str, object], **meta: object) -> TapeEntry:
        """Return a chat message as an entry: role, content, and what else the mapping holds."""
        return cls(0, MESSAGE, freeze_dict(message), _meta(meta))

    @classmethod
    def system(cls, content: str, **meta: object) -> TapeEntry:
        """Return a system prompt that was in force as an entry."""
        return cls(0, SYSTEM, freeze_dict({"content": content}), _meta(meta))

    @classmethod
    def anchor(cls, name: str, state: Mapping[str, object] | None = None, **meta: object) -> TapeEntry:
        """Return a mark where reading may start, with the state the next phase inherits."""
        return cls(0, ANCHOR, freeze_dict({"name": name} if state is None else {"name": name, "state": state}), _meta(meta))

    @classmethod
    def tool_call(cls, calls: Iterable[Mapping[str, object]], **meta: object) -> TapeEntry:
        """Return the calls of one model turn as an entry."""
        return cls(0, TOOL_CALL, freeze_dict({"calls": list(calls)}), _meta(meta))

    @classmethod
    def tool_result(cls, results: Iterable[object], **meta: object) -> TapeEntry:
        """Return results as an entry; without `call_ids` they answer the calls before them by position."""
        return cls(0, TOOL_RESULT, freeze_dict({"results": list(results)}), _meta(meta))

    @classmethod
    def error(cls, error: object, **meta: object) -> TapeEntry:
        """Return a failure as an entry: its kind, its message and, where there are any, its details."""
        kind = getattr(error, "kind", None) or type(error).__name__
        payload: dict[str, object] = {"kind": str(getattr(kind, "value", kind)), "message": str(getattr(error, "message", None) or error)}
        details = getattr(error, "details", None)
        return cls(0, ERROR, freeze_dict({**payload, "details": details} if details else payload), _meta(meta))

    @classmethod
    def event(cls, name: str, data: object = None, **meta: object) -> TapeEntry:
        """Return something that happened beside the conversation as an entry."""
        return cls(0, EVENT, freeze_dict({"name": name} if data is None else {"name": name, "data": data}), _meta(meta))

    @classmethod
    def stored(cls, *, id: int, kind: str, payload: bytes, meta: bytes, date: str, decode: Callable[[bytes], Any] = codec.decode) -> TapeEntry:
        """Return an entry as a store holds it; payload and meta are decoded when they are first read.

        A store whose bytes may be damaged gives a `decode` that checks them and raises StoreDamaged.
        """
        return told(id=id, kind=kind, by=_Bytes(payload, meta, date, decode))


class _Bytes:
    """Tells payload and meta by decoding their bytes."""

    __slots__ = ("_date", "_decode", "_meta", "_payload")

    def __init__(self, payload: bytes, meta: bytes, date: str, decode: Callable[[bytes], Any]) -> None:
        self._payload = payload
        self._meta = meta
        self._date = date
        self._decode = decode

    def payload(self) -> Any:
        return self._decode(self._payload)

    def meta(self) -> Any:
        return self._decode(self._meta)

    def date(self) -> str:
        return self._date


class _StoredEntry(TapeEntry):
    """An entry of which something is not read yet: an unset slot asks `__getattr__`, which has it told once."""

    __slots__ = ("by",)

    def __getattr__(self, name: str) -> Any:
        if name not in ("payload", "meta", "date"):
            raise AttributeError(f"'TapeEntry' object has no attribute '{name}'")
        by: Telling = object.__getattribute__(self, "by")
        value = by.date() if name == "date" else _frozen(by.payload() if name == "payload" else by.meta())
        _set(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TapeEntry):
            return NotImplemented
        return (self.id, self.kind, self.payload, self.meta, self.date) == (other.id, other.kind, other.payload, other.meta, other.date)

    __hash__ = TapeEntry.__hash__

    def __repr__(self) -> str:
        return f"TapeEntry(id={self.id!r}, kind={self.kind!r}, payload={self.payload!r}, meta={self.meta!r}, date={self.date!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return TapeEntry, (self.id, self.kind, self.payload, self.meta, self.date)


def _frozen(value: Any) -> Any:
    """Freeze what our own codec decoded: plain JSON types only, nothing to check."""
    if type(value) is dict:
        return frozen_dict({k: _frozen(v) if type(v) in (dict, list) else v for k, v in value.items()})
    if type(value) is list:
        return frozen_list([_frozen(v) if type(v) in (dict, list) else v for v in value])
    return value


def _meta(meta: Mapping[str, object]) -> FrozenDict:
    return freeze_dict(meta, path="meta")


_set = object.__setattr__
_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)


def told(*, id: int, kind: str, by: Telling) -> TapeEntry:
    """Return an entry of which the rest is asked for when it is first read; what that raises is raised then."""
    entry: TapeEntry = object.__new__(_StoredEntry)
    _set(entry, "id", id)
    _set(entry, "kind", kind)
    _set(entry, "by", by)
    return entry


def stamped(entry: TapeEntry) -> TapeEntry:
    """Return the entry with `meta.uid` set, itself where it has one."""
    return entry if entry.uid else replace(entry, meta=FrozenDict({"uid": clock.new_uid(), **entry.meta}))


def placed(entry: TapeEntry, *, id: int) -> TapeEntry:
    """Return the entry at its place on a tape."""
    return TapeEntry(id, entry.kind, entry.payload, entry.meta, entry.date)


def digest(entry: TapeEntry) -> bytes:
    """Return the SHA-256 of what the entry says: kind, payload and meta without the uid, not where or when it stands."""
    meta = {k: v for k, v in entry.meta.items() if k != "uid"}
    return sha256(codec.encode_sorted([entry.kind, entry.payload, meta])).digest()


def parse_date(value: str) -> datetime:
    """Return the instant of an ISO date or datetime text; without a zone it is UTC. Raises InvalidDate."""
    try:
        date = datetime.fromisoformat(value)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as exc:
        raise InvalidDate(value) from exc


def format_date(date: datetime) -> str:
    """Return an instant as entries write it: ISO-8601, UTC, always six digits behind the second."""
    return date.astimezone(UTC).isoformat(timespec="microseconds")


def canonical_date(value: str) -> str:
    """Return a date text in the form of `format_date`. Raises InvalidDate."""
    date = parse_date(value)
    return value if _CANONICAL.fullmatch(value) else format_date(date)


def event_name(entry: TapeEntry) -> str:
    """Return the name of an event or anchor entry, "" where it has none."""
    name = entry.payload.get("name")
    return name if isinstance(name, str) else ""
