"""What an index takes in of an entry: its terms and how often each stands in it, how long it is, and what a filter asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from playhead.entry.entry import TapeEntry
from playhead.store.ranked.protocol import Document
from playhead.store.ranked.tokens import terms
from playhead.store.rows.row import microseconds
from playhead.store.search import payload_text, values

MOST = 255
"""How often a term counts in one entry."""

_EXACT = 32
_STEPS = 16


class Reading(NamedTuple):
    """An entry as an index keeps it."""

    document: Document
    counts: Mapping[str, int]


def read(entry: TapeEntry) -> Reading:
    """Return the terms of an entry and what is known of it."""
    counts: dict[str, int] = {}
    length = 0
    for text in _texts(entry.payload):
        for term in terms(text):
            counts[term] = counts.get(term, 0) + 1
            length += 1
    at = microseconds(datetime.fromisoformat(entry.date))
    document = Document(entry.id, entry.kind, at, digest_of(entry), length_code(length))
    return Reading(document, counts if length <= MOST else {term: min(count, MOST) for term, count in counts.items()})


def digest_of(entry: TapeEntry) -> int:
    """Return 64 bits that stand for the text of an entry's payload; entries of equal text are found once."""
    digest = blake2b(payload_text(entry).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def length_code(length: int) -> int:
    """Return the byte that stands for a length in words: exact below 32, then within a sixteenth."""
    if length < _EXACT:
        return length
    bits = length.bit_length()
    return min(255, _EXACT + _STEPS * (bits - 6) + (length >> bits - 5) % _STEPS)


def length_of(code: int) -> int:
    """Return the length that a byte stands for, the shortest of those it does."""
    if code < _EXACT:
        return code
    octave, step = divmod(code - _EXACT, _STEPS)
    return _STEPS + step << octave + 1


def _texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that say something: not who of the two sides spoke, and not what type a part is of."""
    for key, value in payload.items():
        if key == "content" and isinstance(value, (list, tuple)):
            for part in value:
                yield from values({name: inner for name, inner in part.items() if name != "type"} if isinstance(part, Mapping) else part)
        elif key != "role":
            yield from values(value)
