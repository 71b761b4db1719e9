"""Proving a volume: it must be, to the byte, what the entries it is of make anew."""

from __future__ import annotations

from collections.abc import Iterable

from playhead.entry.entry import TapeEntry
from playhead.store.concordance.binding import bound, made_at_once
from playhead.store.ranked.words import Words


def agrees(raw: bytes, entries: Iterable[TapeEntry], *, first: int, last: int) -> bool:
    """Return whether a volume is that of entries from one id to another. Raises StoreDamaged where one of these is."""
    words = Words(before=first - 1)
    for entry in entries:
        words.add(entry)
    return words.end == last and made_at_once(bound(words)) == raw
