"""Text search by scan: which entries hold a text, in the values of their payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playhead.entry.entry import TapeEntry


def matches(entry: TapeEntry, text: str) -> bool:
    """Return whether a value of the entry's payload holds the text; case is folded, names of fields do not count."""
    wanted = text.casefold()
    return any(wanted in value.casefold() for value in values(entry.payload))


def payload_text(entry: TapeEntry) -> str:
    """Return the values of an entry's payload as one text, a line each."""
    return "\n".join(values(entry.payload))


def values(payload: Any) -> Iterator[str]:
    """Yield every text and number in a JSON value, in order, as text."""
    if isinstance(payload, str):
        yield payload
    elif isinstance(payload, Mapping):
        for value in payload.values():
            yield from values(value)
    elif isinstance(payload, (list, tuple)):
        for value in payload:
            yield from values(value)
    elif isinstance(payload, (int, float)) and not isinstance(payload, bool):
        yield str(payload)
