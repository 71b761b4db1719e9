"""Our own export, `playhead export --as jsonl`, and archives: entries go back as they were, under new ids."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, TapeEntry
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.entry.lines import entry_from_json, misfits
from playhead.errors import InvalidInput, UnreadableFile
from playhead.importers.certainty import Certainty
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.first_reading import first_reading
from playhead.importers.items import Item, Marks, short_digest
from playhead.importers.lines import Fault, Raw, decode_value, read_value
from playhead.importers.origin import Origin, date_of
from playhead.importers.parts import with_parts
from playhead.importers.places import Places, key_of
from playhead.importers.repeats import repeats_in
from playhead.importers.report import Notes
from playhead.importers.told import text_in
from playhead.store.protocol import IDEMPOTENCY_KEY

FORMAT = "playhead"
LISTS = frozenset({"entries"})
NAMES = ("uid", IDEMPOTENCY_KEY)
"""What of an entry's meta names it."""

MARK = "~"
"""What the fields begin with that a store writes for itself beside an entry's."""


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
        self._is_one = False

    def index(self, *, strict: bool) -> Iterator[int]:
        """Look for anchors; yield now and then how many bytes were read.

        Raises UnreadableFile where there is no entry, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=self._whole if strict else partial(value_of, read=decode_value), path=self._path, strict=strict)
        if not self._is_one:
            raise UnreadableFile(self._path, "no line of it is an entry that was exported; name its format with format=")

    def _note(self, raw: Raw, value: Any) -> None:
        if raw.member is not None or isinstance(value, Fault):
            return
        found = [entry for entry in _entries(value) if is_entry(entry)]
        self._is_one = self._is_one or bool(found)
        self.brings_anchor = self.brings_anchor or any(entry["kind"] == ANCHOR for entry in found)

    def _whole(self, raw: Raw) -> Any:
        """Return the value of a line, its payload whole, or the Fault that says why it has none."""
        return with_parts(value_of(raw, read_value), path=self._path)

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the entries in the order of the file."""
        cutter, earlier = Cutter(self._origin, notes=notes), _Earlier()
        for raw in self._raws:
            seen(raw.end)
            value = self._whole(raw)
            if isinstance(value, Fault):
                yield from cutter.unreadable(raw, value.why)
            elif raw.member is not None:
                yield cutter.event(raw, "document", FrozenDict({raw.member: value}))
            else:
                entries = _entries(value)
                if repeats_in(raw.body):
                    yield cutter.event(raw, "repeats", FrozenDict({"line": raw.line}))
                for entry in entries:
                    yield from _items(cutter, raw, entry, earlier=earlier, notes=notes, size=len(raw.body) // len(entries))


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


class _Earlier:
    """The uids and idempotency keys that a file has used so far, and for what."""

    def __init__(self) -> None:
        self._places = Places()
        self._said = array("Q")

    def use(self, entry: TapeEntry) -> Literal["new", "again", "otherwise"]:
        """Note an entry, and tell whether an earlier line was the same one, or used one of its names otherwise."""
        said = key_of(codec.encode_sorted([entry.kind, entry.payload, entry.meta, entry.date]))
        found = [self._note(key_of(name), said) for name in {entry.meta[n] for n in NAMES if n in entry.meta}]
        earlier = [before for before in found if before]
        return "new" if not earlier else "again" if earlier == [said] * len(found) else "otherwise"

    def _note(self, name: int, said: int) -> int:
        """Note what a name is used for, and return what it was used for first, 0 where it is new."""
        before = self._places.find(name)
        if before is not None:
            return self._said[before]
        self._places.add(name)
        self._said.append(said)
        return 0


def _items(cutter: Cutter, raw: Raw, value: Any, *, earlier: _Earlier, notes: Notes, size: int) -> Iterator[Item]:
    """Yield the entry of a line, and before it as an event what no entry has."""
    if _is_header(value):
        yield cutter.event(raw, "header", value)
        return
    dated = _dated(value)
    odd = misfits(dated) if isinstance(dated, dict) else {}
    try:
        entry = replace(entry_from_json({k: v for k, v in dated.items() if k not in odd} if odd else dated), id=0)
    except InvalidInput:
        entry = None
    if entry is None or not all(isinstance(entry.meta[name], str) and entry.meta[name] for name in NAMES if name in entry.meta):
        yield cutter.event(raw, "unknown", value)
        return
    use = earlier.use(entry)
    if use == "again":
        notes.repeated += 1
        return
    if use == "otherwise":
        notes.warn(f"line {raw.line} has the uid or the idempotency key of an earlier line and says something else; it is kept as an event")
        yield cutter.event(raw, "conflict", value)
        return
    if unknown := {k: v for k, v in odd.items() if not k.startswith(MARK) and (k != "timestamp" or dated is value)}:
        yield cutter.event(raw, "fields", FrozenDict(unknown))
    yield _item(cutter, raw, entry, size=size)


def _item(cutter: Cutter, raw: Raw, entry: TapeEntry, *, size: int) -> Item:
    own = entry.meta.get(IDEMPOTENCY_KEY)
    digest = short_digest(raw.body)
    if entry.uid or isinstance(own, str):
        piece = replace(cutter.piece(raw, digest.hex(), digest, size=size), key=own if isinstance(own, str) else entry.uid)
    else:
        piece = cutter.piece(raw, cutter.counted(digest.hex()), digest, size=size)
        entry = replace(entry, meta=freeze_dict({**entry.meta, IDEMPOTENCY_KEY: piece.key}, path="meta"))

    return Item(pieces=(piece,), make=lambda _: (entry,), restores=True)
