"""Text search by scan over rows: most are passed over before they are decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from playhead.entry.entry import TapeEntry
from playhead.store.parting import Load, is_parted, no_blob
from playhead.store.rows.row import RawRow, damage_of, entry_of, is_sealed
from playhead.store.search import matches

_ESCAPED = frozenset('"\\\x7f')
_NUMERIC = frozenset("0123456789.+-e")


def holding(rows: Iterable[RawRow], text: str, *, tape: str, load: Load = no_blob) -> Iterator[TapeEntry]:
    """Yield the entries whose payload's values hold the text.

    Raises StoreDamaged at a row that is not as it was written: nobody knows whether it held the text.
    """
    wanted = text.casefold()
    plain = stands_as_written(wanted)
    for row in rows:
        if not is_sealed(row):
            raise damage_of(row, tape=tape)
        if plain and not is_parted(row[5]) and wanted not in row[5].decode().casefold():
            continue
        entry = entry_of(row, tape=tape, load=load)
        if matches(entry, text):
            yield entry


def stands_as_written(wanted: str) -> bool:
    """Return whether a value that holds the text shows it in its JSON too: no character of it is escaped, and it is no part of a number."""
    return not _ESCAPED & set(wanted) and not all(c in _NUMERIC for c in wanted) and all(c >= " " and not "\ud800" <= c <= "\udfff" for c in wanted)
