"""What a store takes in: entries, each with an identity of its own."""

from __future__ import annotations

from collections.abc import Iterable

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict, frozen_dict
from playhead.errors import InvalidInput


def meta_to_keep(entry: TapeEntry) -> FrozenDict:
    """Return an entry's meta with a uid in it, a new one where it has none; raises InvalidInput for what is no entry, or a uid that is no text."""
    if not isinstance(entry, TapeEntry):
        raise InvalidInput(f"A tape keeps entries, not {type(entry).__name__}; make one with TapeEntry.message(...) or TapeEntry.event(...).")
    meta = entry.meta
    if "uid" not in meta:
        return frozen_dict({"uid": clock.new_uid(), **meta})
    if isinstance(meta["uid"], str) and meta["uid"]:
        return meta
    raise InvalidInput(f"An entry's meta.uid is a non-empty text, not {meta['uid']!r}; leave it out to have one made.")


def taken(entries: Iterable[TapeEntry]) -> list[TapeEntry]:
    """Return the entries, each with a uid."""
    return [entry if (meta := meta_to_keep(entry)) is entry.meta else TapeEntry(entry.id, entry.kind, entry.payload, meta, entry.date) for entry in entries]
