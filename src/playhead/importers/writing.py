"""What of a file goes onto the tape: the new entries of its items, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from playhead.entry.entry import ANCHOR, EVENT, MESSAGE, SYSTEM, TOOL_CALL, TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.importers.items import Item, Marks, Piece, short_digest
from playhead.importers.known import CHANGED, LATE, Known, changed_key
from playhead.importers.origin import WHY
from playhead.importers.report import Notes
from playhead.store.protocol import IDEMPOTENCY_KEY

BATCH_ENTRIES = 256
BATCH_BYTES = 1 << 20
REWIND = "import.rewind"
MOVED = 500
"""How many entries one event `import.rewind` names at most."""

LEADING = 64
"""How many items in front wait at most for one that tells a date."""

_SPOKEN = (MESSAGE, SYSTEM, TOOL_CALL, ANCHOR)


class Writing:
    """Makes the entries that are not on the tape yet."""

    def __init__(self, known: Known, notes: Notes, *, format: str) -> None:
        self._known = known
        self._marks: Marks = known.marks
        self._notes = notes
        self._format = format
        self._late: list[int] = []
        self._changed: list[int] = []

    def batches(self, items: Iterator[Item]) -> Iterator[list[TapeEntry]]:
        """Yield the entries in batches that are each written at once; an item is never torn apart."""
        batch: list[TapeEntry] = []
        size = 0
        for item in _dated(items):
            made = self._entries(item)
            if batch and (len(batch) + len(made) > BATCH_ENTRIES or size + item.size > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.extend(made)
            size += item.size if made else 0
        batch.extend(self._moves())
        if batch:
            yield batch
        self._tell()

    def _entries(self, item: Item) -> tuple[TapeEntry, ...]:
        """Return the entries of what is new in an item; what stands on the tape in other words is kept in an event."""
        changed = tuple(p for p in item.pieces if p.number in self._marks.changed)
        new = tuple(p for p in item.pieces if not self._marks.is_known(p) and p.number not in self._marks.changed)
        return (*(self._as_changed(item, changed) if changed else ()), *(self._as_new(item, new) if new else ()))

    def _as_changed(self, item: Item, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        made = item.make(pieces)
        key = changed_key(replace(item, pieces=pieces))
        self._changed.append(pieces[0].line)
        data = {"line": pieces[0].line, "entries": [{"kind": e.kind, "payload": e.payload} for e in made]}
        meta = freeze_dict({**{k: v for k, v in made[0].meta.items() if k != "uid"}, IDEMPOTENCY_KEY: key}, path="meta")
        return (TapeEntry(0, EVENT, freeze_dict({"name": CHANGED, "data": data}), meta, made[0].date),)

    def _as_new(self, item: Item, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        made = item.make(pieces)
        for entry in () if item.restores else made:
            origin = entry.meta["import"]
            if WHY in origin:
                self._notes.warn(f"line {origin['line']} is kept as an event: {origin[WHY]}")
        if pieces[0].number >= self._marks.last or item.branch != "main":
            return made
        if any(e.kind in _SPOKEN for e in made):
            self._late.append(pieces[0].line)
        return tuple(_late(e) if e.kind in _SPOKEN else e for e in made)

    def _moves(self) -> Iterator[TapeEntry]:
        """Yield events that tell which entries a rewind has put on or off the main line since they were written."""
        for name, uids in (("abandoned", self._known.abandoned), ("restored", self._known.restored)):
            for start in range(0, len(uids), MOVED):
                some = uids[start : start + MOVED]
                key = f"import:{self._format}:rewind:{name}:{short_digest(' '.join(some).encode()).hex()}"
                yield TapeEntry.event(REWIND, {name: some}, **{IDEMPOTENCY_KEY: key})

    def _tell(self) -> None:
        abandoned, restored = len(self._known.abandoned), len(self._known.restored)
        if abandoned or restored:
            self._notes.warn(
                f"the conversation was rewound since it was imported: {abandoned} entries that the tape shows were abandoned, "
                f"{restored} that it does not show were taken up again; import the file into a new tape to read it as it is now"
            )
        for lines, what in ((self._changed, "changed since they were imported"), (self._late, "new but before imported ones")):
            if lines:
                self._notes.warn(f"lines {what}, kept as events and not shown: {_listed(lines)}; import the file into a new tape to read it as it is now")


def _dated(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items; those in front, before any record told a date, have that of the first that does."""
    waiting: list[Item] = []
    for item in items:
        date = next((piece.date for piece in item.pieces if piece.date), "")
        waiting.append(item)
        if date or len(waiting) == LEADING:
            yield from (_with_date(one, date) for one in waiting)
            break
    else:
        yield from waiting
    yield from items


def _with_date(item: Item, date: str) -> Item:
    return replace(item, pieces=tuple(piece if piece.date else replace(piece, date=date) for piece in item.pieces))


def _late(entry: TapeEntry) -> TapeEntry:
    """Return an entry whose place on the tape has passed as an event: shown at the end it would tell another story."""
    return TapeEntry(0, EVENT, freeze_dict({"name": LATE, "data": {"kind": entry.kind, "payload": entry.payload}}), entry.meta, entry.date)


def _listed(lines: list[int]) -> str:
    more = f" and {len(lines) - 10} more" if len(lines) > 10 else ""
    return ", ".join(map(str, lines[:10])) + more
