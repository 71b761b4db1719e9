"""Entries as lines of JSON: what archives and exports write, one entry a line, readable by eye."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput


def entry_to_json(entry: TapeEntry) -> dict[str, Any]:
    """Return an entry as a JSON object: id, kind, payload, meta, date."""
    return {"id": entry.id, "kind": entry.kind, "payload": entry.payload, "meta": entry.meta, "date": entry.date}


def dump_line(entry: TapeEntry) -> bytes:
    """Return an entry as one line of JSON, newline included."""
    return codec.encode(entry_to_json(entry)) + b"\n"


def entry_from_json(value: object) -> TapeEntry:
    """Return the entry a JSON object describes. Raises InvalidInput where it is none, or has fields that an entry has not."""
    if not isinstance(value, dict):
        raise InvalidInput(f"An entry is a JSON object with kind and payload, not {type(value).__name__}.")
    kind, payload = value.get("kind"), value.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        raise InvalidInput("An entry is a JSON object with a text kind and an object payload.")
    odd = next(iter(misfits(value)), None)
    if odd in _TYPES:
        raise InvalidInput(f"An entry's {odd} is {_TYPES[odd]}, not {value[odd]!r:.80}.")
    if odd is not None:
        raise InvalidInput(f"An entry has no field {odd!r:.80}, only id, kind, payload, meta and date; put it in the payload or the meta.")
    return TapeEntry(value.get("id") or 0, kind, payload, value.get("meta") or {}, value.get("date") or "")  # type: ignore[arg-type]


def misfits(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a JSON object no entry has: unknown fields, and an id, meta or date of another type; null stands for absent ones."""
    return {name: field for name, field in value.items() if name not in _FIELDS or (name in _TYPES and not _fits(name, field))}


_FIELDS = frozenset({"id", "kind", "payload", "meta", "date"})
_TYPES = {"id": "a whole number", "meta": "an object", "date": "an ISO text"}


def _fits(name: str, field: object) -> bool:
    if field is None:
        return True
    return isinstance(field, int) and not isinstance(field, bool) if name == "id" else isinstance(field, dict if name == "meta" else str)
