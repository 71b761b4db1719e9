"""Idempotency: which entries of an append are new, and which repeat one that stands already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, KeyConflict
from playhead.store.protocol import IDEMPOTENCY_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The `fresh` entries to write, by their place in the append, and where each result comes from.

    A source is the standing entry itself, or the index in `fresh` of the entry that becomes it.
    """

    fresh: tuple[int, ...]
    sources: tuple[TapeEntry | int, ...]

    def results(self, written: Sequence[TapeEntry]) -> tuple[TapeEntry, ...]:
        """Return one stored entry for each entry of the append, given the fresh ones as written."""
        return tuple(written[source] if isinstance(source, int) else source for source in self.sources)


def key_of(entry: TapeEntry) -> str | None:
    """Return the entry's idempotency key, None where it has none; raises InvalidInput where it is no text."""
    key = entry.meta.get(IDEMPOTENCY_KEY)
    if key is None or (isinstance(key, str) and key):
        return key
    raise InvalidInput(f"An idempotency key is a non-empty text, not {key!r}.")


def keyed(entries: Sequence[TapeEntry]) -> bool:
    """Return whether any of the entries has an idempotency key."""
    return any(IDEMPOTENCY_KEY in entry.meta for entry in entries)


def replay(entries: Sequence[TapeEntry], *, standing: Callable[[str], TapeEntry | None]) -> Replay:
    """Sort out an append: an entry whose key stands, or came earlier in it, is not written again.

    Raises KeyConflict where the entry with the same key says something else.
    """
    fresh: list[int] = []
    sources: list[TapeEntry | int] = []
    first: dict[str, int] = {}
    for place, entry in enumerate(entries):
        source = _source(entry, entries, fresh=fresh, first=first, standing=standing)
        if source is None:
            key = key_of(entry)
            if key is not None:
                first[key] = len(fresh)
            source = len(fresh)
            fresh.append(place)
        sources.append(source)
    return Replay(fresh=tuple(fresh), sources=tuple(sources))


def _source(entry: TapeEntry, entries: Sequence[TapeEntry], *, fresh: Sequence[int], first: Mapping[str, int], standing: Callable[[str], TapeEntry | None]) -> TapeEntry | int | None:
    key = key_of(entry)
    if key is None:
        return None
    if key in first:
        return _agreed(entry, entries[fresh[first[key]]], key=key, source=first[key])
    found = standing(key)
    return None if found is None else _agreed(entry, found, key=key, source=found)


def _agreed(entry: TapeEntry, other: TapeEntry, *, key: str, source: TapeEntry | int) -> TapeEntry | int:
    if not same_fact(entry, other):
        raise KeyConflict(key)
    return source


def same_fact(one: TapeEntry, other: TapeEntry) -> bool:
    """Return whether two entries say the same: kind and payload, whatever the order of its keys, the meta and the date."""
    return one.kind == other.kind and codec.encode_sorted(one.payload) == codec.encode_sorted(other.payload)


def nothing_stands(key: str) -> None:
    """Say of any key that no entry has it, as on a tape that starts anew."""
    del key
