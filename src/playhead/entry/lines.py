"""Entries as lines of JSON: what archives and exports write, one entry a line, readable by eye."""

from __future__ import annotations

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
    """Return the entry a JSON object describes. Raises InvalidInput where it is none."""
    if not isinstance(value, dict):
        raise InvalidInput(f"An entry is a JSON object with kind and payload, not {type(value).__name__}.")
    kind, payload, meta = value.get("kind"), value.get("payload"), value.get("meta")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        raise InvalidInput("An entry is a JSON object with a text kind and an object payload.")
    number, date = value.get("id", 0), value.get("date", "")
    return TapeEntry(
        number if isinstance(number, int) and not isinstance(number, bool) else 0,
        kind,
        payload,  # type: ignore[arg-type]
        meta if isinstance(meta, dict) else {},  # type: ignore[arg-type]
        date if isinstance(date, str) else "",
    )
