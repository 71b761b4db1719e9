"""Gemini CLI sessions: `~/.gemini/tmp/<project>/chats/session-*.json` and `.jsonl`, and the log of prompts `logs.json`.

A file is read twice: once for its shape, once for its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import user
from playhead.errors import UnreadableFile
from playhead.importers.claude_records import COMPACTION
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.first_reading import first_reading
from playhead.importers.gemini_parts import holds_both
from playhead.importers.gemini_records import FORMAT, Portion, is_logged, is_record, judge, portions_of, tell_answers, tell_spoken
from playhead.importers.gemini_shape import GeminiShape, Place, replaced_by
from playhead.importers.items import Branch, Item, Marks, short_digest
from playhead.importers.lines import Fault, Raw, read_value
from playhead.importers.origin import Origin, date_of
from playhead.importers.repeats import repeats_in
from playhead.importers.report import Notes
from playhead.importers.told import Maker, Telling, Told, begun_anew, happened, said, text_in

LISTS = frozenset({"messages"})


class GeminiCLI:
    """A session's file: `index` reads its shape, then `items` yields what goes onto a tape."""

    format = FORMAT
    conversations = 1
    brings_anchor = False

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self._shape = GeminiShape()
        self._session = ""
        self._first = ""
        self._is_one = False

    def index(self, *, strict: bool) -> Iterator[int]:
        """Read the shape; yield now and then how many bytes were read.

        Raises UnreadableFile where nothing is of a session, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=partial(value_of, read=read_value), path=self._path, strict=strict)
        if not self._is_one:
            raise UnreadableFile(self._path, "nothing in it is a record of a Gemini CLI session; name its format with format=")
        self._session = self._session or self._first

    def _note(self, raw: Raw, value: Any) -> None:
        if isinstance(value, Fault):
            return
        if raw.member is not None:
            value = {raw.member: value}
        self._is_one = self._is_one or bool(judge(value)) or "sessionId" in value
        self._session = self._session or text_in(value, "sessionId")
        for record in _records(raw, value):
            self._first = self._first or short_digest(codec.encode_sorted(record)).hex()
            self._shape.add(record)

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape."""
        reading = _Reading(self._origin, self._shape, session=self._session, notes=notes)
        for raw in self._raws:
            seen(raw.end)
            value = value_of(raw, read_value)
            if isinstance(value, Fault):
                yield from reading.unreadable(raw, value.why)
            elif raw.member is not None:
                yield from reading.beside(raw, FrozenDict({raw.member: value}), "session")
            else:
                records = list(_records(raw, value))
                for record in records:
                    yield from reading.read(raw, record, size=len(raw.body) // len(records))


def _records(raw: Raw, value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a line: a whole session that stands in one is its messages, and what it says of itself."""
    messages = value.get("messages")
    if raw.member is not None:
        return
    if not isinstance(messages, list) or is_record(value):
        yield value
        return
    yield FrozenDict({k: v for k, v in value.items() if k != "messages"})
    yield from (m if isinstance(m, dict) else FrozenDict({"value": m}) for m in messages)


class _Reading:
    """Makes the items of one reading."""

    def __init__(self, origin: Origin, shape: GeminiShape, *, session: str, notes: Notes) -> None:
        self._cutter = Cutter(origin, notes=notes)
        self._shape = shape
        self._session = session
        self._notes = notes
        self._earlier: dict[str, list[tuple[Raw, Mapping[str, Any]]]] = {}
        self._count = -1

    def unreadable(self, raw: Raw, why: str) -> Iterator[Item]:
        """Yield the parts of a line that cannot be read."""
        yield from self._cutter.unreadable(raw, why, within=f"{self._session}:")

    def beside(self, raw: Raw, value: Mapping[str, Any], what: str) -> Iterator[Item]:
        """Yield what is no message as an event."""
        yield self._cutter.event(raw, what, value, within=f"{self._session}:")

    def read(self, raw: Raw, record: Mapping[str, Any], *, size: int) -> Iterator[Item]:
        """Yield what becomes of a record that takes `size` bytes of the file."""
        self._count += 1
        place = self._count
        self._cutter.date = date_of(record.get("timestamp")) or self._cutter.date
        if is_record(record):
            if place in self._shape.rewritten:
                self._earlier.setdefault(text_in(record, "id"), []).append((raw, record))
            else:
                yield from self._outdated(record)
                yield from self._message(raw, record, (place, 0), self._session, size=size)
        elif is_logged(record):
            yield from self._logged(raw, record)
        elif place in self._shape.compressed:
            yield from self._replaced(raw, record, place)
        else:
            yield from self.beside(raw, record, "rewind" if "$rewindTo" in record else "session" if judge(record) or "startTime" in record else "unknown")

    def _outdated(self, record: Mapping[str, Any]) -> Iterator[Item]:
        """Yield, as events, the earlier forms of a message that say what this one does not."""
        for raw, earlier in self._earlier.pop(text_in(record, "id"), ()):
            if _holds(record, earlier) and not repeats_in(raw.body):
                self._notes.rewritten += 1
            else:
                yield from self.beside(raw, earlier, "rewritten")

    def _message(self, raw: Raw, record: Mapping[str, Any], place: Place, within: str, *, size: int) -> Iterator[Item]:
        name = self._cutter.counted(f"{within}:{text_in(record, 'id') or short_digest(codec.encode_sorted(record)).hex()}")
        portions = portions_of(record)
        branch: Branch = "abandoned" if self._shape.is_rewound(place) else "main"
        model = text_in(record, "model") or None
        tell = partial(tell_spoken, usage=record.get("tokens"), model=model)
        yield self._item(raw, name, portions.spoken, tell, branch, size=size, second=record.get("type") == "user" and holds_both(record.get("content")))
        if portions.answers:
            yield self._item(raw, name, portions.answers, tell_answers, branch, size=0)

    def _item(self, raw: Raw, name: str, portions: tuple[Portion, ...], tell: Telling, branch: Branch, *, size: int, second: bool = False) -> Item:
        pieces = tuple(self._cutter.piece(raw, f"{name}{p.name}", short_digest(codec.encode_sorted(p.value)), p.value, size=0 if i else size) for i, p in enumerate(portions))
        maker = Maker(origin=self._cutter.origin, tell=tell, name="gemini_cli.message", branch=branch)
        return Item(pieces=pieces, make=maker, branch=branch, second=second)

    def _logged(self, raw: Raw, record: Mapping[str, Any]) -> Iterator[Item]:
        digest = short_digest(codec.encode_sorted(record))
        name = self._cutter.counted(f"{text_in(record, 'sessionId')}:{record['messageId']}:{digest.hex()}")
        maker = Maker(origin=self._cutter.origin, tell=_tell_logged, name="gemini_cli.message")
        yield Item(pieces=(self._cutter.piece(raw, name, digest, record),), make=maker)

    def _replaced(self, raw: Raw, record: Mapping[str, Any], place: int) -> Iterator[Item]:
        """Yield a compressed history: an anchor, and behind it the messages that the client went on with."""
        digest = short_digest(raw.body)
        name = self._cutter.counted(f"{self._session}:compression:{digest.hex()}")
        branch: Branch = "abandoned" if self._shape.is_rewound((place, 0)) else "main"
        fields = FrozenDict({k: v for k, v in record["$set"].items() if k != "messages"})
        maker = Maker(origin=self._cutter.origin, tell=_tell_compression, name="gemini_cli.session", branch=branch)
        yield Item(pieces=(self._cutter.piece(raw, name, digest, FrozenDict({"fields": fields, "anchors": branch == "main"})),), make=maker, branch=branch)
        messages = replaced_by(record) or []
        for i, message in enumerate(messages, 1):
            if is_record(message):
                yield from self._message(raw, message, (place, i), name, size=len(raw.body) // len(messages))
            else:
                yield from self.beside(raw, FrozenDict({"value": message}), "unknown")


def _tell_logged(values: tuple[Any, ...]) -> Told:
    record = values[0]
    fields = {k: v for k, v in record.items() if k not in ("message", "timestamp")}
    return said([user(record["message"])], fields=fields)


def _tell_compression(values: tuple[Any, ...]) -> Told:
    """Return the anchor; what was taken back is an event, for reading starts behind the newest anchor."""
    (value,) = values
    return begun_anew(COMPACTION, {}, ids={"fields": value["fields"]}) if value["anchors"] else happened("gemini_cli.compression", value["fields"])


def _holds(record: object, earlier: object) -> bool:
    """Tell whether a value says all that an earlier form of it said: the same, with more in objects and lists, or where nothing was."""
    if earlier in (None, "", [], {}):
        return True
    if isinstance(earlier, Mapping) and isinstance(record, Mapping):
        return all(k in record and _holds(record[k], v) for k, v in earlier.items() if k != "timestamp")
    if isinstance(earlier, list) and isinstance(record, list):
        return len(earlier) <= len(record) and all(map(_holds, record, earlier))
    return record == earlier or (isinstance(earlier, str) and isinstance(record, str) and earlier in ("validating", "scheduled", "executing", "awaiting_approval"))
