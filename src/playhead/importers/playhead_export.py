"""Our own export, `playhead export --as jsonl`, and archives: entries go back as they were, under new ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from playhead.entry.entry import ANCHOR
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.entry.lines import entry_from_json
from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers.certainty import Certainty
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.items import STEP, Item, Marks, short_digest
from playhead.importers.lines import Fault, Raw, decode_value, read_value
from playhead.importers.origin import Origin, date_of
from playhead.importers.report import Notes
from playhead.importers.told import text_in
from playhead.store.protocol import IDEMPOTENCY_KEY

FORMAT = "playhead"
LISTS = frozenset({"entries"})


def is_entry(value: object) -> bool:
    """Tell whether a JSON value is an entry."""
    return isinstance(value, dict) and bool(text_in(value, "kind")) and isinstance(value.get("payload"), dict) and bool({"id", "meta", "date"} & value.keys())


def judge(value: object) -> Certainty:
    """Return how sure it is that a value is an entry, or a list of such: no other format writes it so."""
    entries = value.get("entries") if isinstance(value, dict) else None
    is_one = is_entry(value) or (isinstance(entries, list) and bool(entries) and all(map(is_entry, entries[:10])))
    return Certainty.SURE if is_one else Certainty.NONE


class PlayheadExport:
    """A file of entries: `index` looks for anchors, then `items` yields each entry.

    An entry is known by its idempotency key, else by its uid; one that has neither gets a key made from its text.
    """

    format = FORMAT
    conversations = 1

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self.brings_anchor = False

    def index(self, *, strict: bool) -> Iterator[int]:
        """Look for anchors; yield now and then how many bytes were read.

        Raises UnreadableFile where there is no entry, or (`strict`) a line cannot be read.
        """
        due, found = 0, False
        for raw in self._raws:
            if raw.end >= due:
                due = raw.end + STEP
                yield raw.end
            if raw.part or raw.member is not None:
                continue
            value = value_of(raw, read_value if strict else decode_value)
            if isinstance(value, Fault):
                if strict:
                    raise UnreadableFile(self._path, f"line {raw.line}: {value.why}", line=raw.line)
                continue
            for entry in _entries(value):
                found = found or is_entry(entry)
                self.brings_anchor = self.brings_anchor or (is_entry(entry) and entry["kind"] == ANCHOR)
        if not found:
            raise UnreadableFile(self._path, "no line of it is an entry that was exported; name its format with format=")

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the entries in the order of the file."""
        cutter = Cutter(self._origin, notes=notes)
        for raw in self._raws:
            seen(raw.end)
            value = value_of(raw, read_value)
            if isinstance(value, Fault):
                yield from cutter.unreadable(raw, value.why)
            elif raw.member is not None:
                yield cutter.event(raw, "document", FrozenDict({raw.member: value}))
            else:
                entries = _entries(value)
                for entry in entries:
                    yield _item(cutter, raw, entry, size=len(raw.body) // len(entries))


def _entries(value: Mapping[str, Any]) -> list[Any]:
    """Return the entries of a line: it is one, or holds a list of them."""
    entries = value.get("entries")
    return entries if isinstance(entries, list) and entries and not is_entry(value) else [value]


def _is_header(value: Any) -> bool:
    """Tell whether a line is no entry but how a store's file begins."""
    return isinstance(value, dict) and value.get("id") == 0 and value.get("kind") == "tape" and "~c" in value


def _dated(value: Any) -> Any:
    """Return an entry with its date; some programs wrote it as a timestamp in seconds."""
    date = date_of(value.get("timestamp")) if isinstance(value, dict) and "date" not in value else None
    return value if date is None else {**value, "date": date}


def _item(cutter: Cutter, raw: Raw, value: Any, *, size: int) -> Item:
    if _is_header(value):
        return cutter.event(raw, "header", value)
    try:
        entry = replace(entry_from_json(_dated(value)), id=0)
    except InvalidInput:
        return cutter.event(raw, "unknown", value)
    own = entry.meta.get(IDEMPOTENCY_KEY)
    digest = short_digest(raw.body)
    if entry.uid or isinstance(own, str):
        piece = replace(cutter.piece(raw, digest.hex(), digest, size=size), key=own if isinstance(own, str) else entry.uid)
    else:
        piece = cutter.piece(raw, cutter.counted(digest.hex()), digest, size=size)
        entry = replace(entry, meta=freeze_dict({**entry.meta, IDEMPOTENCY_KEY: piece.key}, path="meta"))

    return Item(pieces=(piece,), make=lambda _: (entry,), restores=True)
