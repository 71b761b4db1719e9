"""What of a file is on the tape already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead.entry.entry import EVENT, TapeEntry, event_name
from playhead.entry.frozen import FrozenDict
from playhead.importers.items import Item, Marks, Piece, digest_of

CHANGED = "import.changed"
LATE = "import.late"


@dataclass(slots=True)
class Known:
    """The marks of what is known, how many entries that is, and which of them the file now tells differently.

    `abandoned` and `restored` are the uids of entries that the tape shows (or does not show) although they are not
    (or are) on the file's main line any more.
    """

    marks: Marks = field(default_factory=Marks)
    entries: int = 0
    abandoned: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)

    def compare(self, item: Item, found: Mapping[str, TapeEntry]) -> None:
        """Note what of an item is on the tape, given the entries that were found by key."""
        if item.second and 0 < sum(key in found for key in item.keys) < len(item.keys):
            return
        self.entries += sum(key in found for key in item.keys)
        for piece in item.pieces:
            entry = found.get(piece.key)
            if entry is not None:
                self._note(piece, item, entry)

    def _note(self, piece: Piece, item: Item, entry: TapeEntry) -> None:
        origin = _origin(entry)
        if item.restores:
            self._note_restored(piece, item, entry)
            return
        held = tuple(p for p in item.pieces if p.id in (origin.get("records") or (piece.id,)))
        if origin.get("digest") == digest_of(held) or _says_the_same(item.make(held)[0], entry):
            self.marks.note_known(p.number for p in held)
            self.marks.last = max(self.marks.last, piece.number)
        else:
            self.marks.changed.update(p.number for p in held)
        was_shown = "branch" not in origin
        if entry.kind != EVENT and was_shown != (item.branch == "main"):
            (self.abandoned if was_shown else self.restored).append(entry.uid)

    def _note_restored(self, piece: Piece, item: Item, entry: TapeEntry) -> None:
        if _says_the_same(item.make(item.pieces)[0], entry):
            self.marks.note_known((piece.number,))
            self.marks.last = max(self.marks.last, piece.number)
        else:
            self.marks.changed.add(piece.number)


def _origin(entry: TapeEntry) -> FrozenDict:
    origin = entry.meta.get("import")
    return origin if isinstance(origin, FrozenDict) else FrozenDict()


def _says_the_same(made: TapeEntry, entry: TapeEntry) -> bool:
    if (made.kind, made.payload) == (entry.kind, entry.payload):
        return True
    data: Any = entry.payload.get("data")
    return event_name(entry) == LATE and isinstance(data, dict) and (made.kind, made.payload) == (data.get("kind"), data.get("payload"))


def changed_key(item: Item) -> str:
    """Return the idempotency key of the event that keeps what a record says now."""
    return f"{item.pieces[0].key}:{digest_of(item.pieces)}"
