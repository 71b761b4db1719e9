"""Files of conversations, in the forms they are kept in, whatever the dialect.

A JSON list of messages, an object that holds such a list, a list of such objects, and JSON Lines of messages, of
lists of messages or of such objects. Each conversation of several begins with an anchor `conversation/<number>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.errors import UnreadableFile
from playhead.importers.cutting import value_of
from playhead.importers.dialect import Dialect, conversation_lists, stands_alone
from playhead.importers.first_reading import first_reading
from playhead.importers.items import Item, Marks
from playhead.importers.lines import CHUNK, Fault, Raw, decode_value, read_value
from playhead.importers.origin import Origin
from playhead.importers.repeats import repeats_in
from playhead.importers.report import Notes
from playhead.importers.talk import Talk, Talks
from playhead.importers.turns import Step, Turns

MEMBERS_LIMIT = 8 * CHUNK
"""How many bytes of the members beside a document's lists are held while it is read."""


@dataclass(slots=True)
class Fields:
    """The members of a document that stand beside its lists, as its index found them."""

    raws: dict[str, Raw] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    size: int = 0

    def add(self, raw: Raw) -> None:
        """Hold a member, unless that were too much."""
        value = value_of(raw, read_value)
        self.size += len(raw.body)
        if raw.member is not None and not isinstance(value, Fault) and self.size <= MEMBERS_LIMIT:
            self.raws[raw.member] = replace(raw, body=b"")
            self.values[raw.member] = value


class Conversations:
    """A file of conversations: `index` counts them, then `items` yields what goes onto a tape."""

    brings_anchor = False

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str, dialect: Dialect) -> None:
        self.format = dialect.format
        self.conversations = 0
        self._raws = raws
        self._path = path
        self._dialect = dialect
        self._origin = Origin(format=dialect.format, source=source)
        self._fields = Fields()
        self._lists: set[str] = set()
        self._is_one = False
        self._unread = ""

    def index(self, *, strict: bool) -> Iterator[int]:
        """Count the conversations; yield now and then how many bytes were read.

        Raises UnreadableFile where there is none, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=partial(value_of, read=read_value if strict else decode_value, lists=True), path=self._path, strict=strict)
        self._is_one = not (self._lists or self.conversations) and self._dialect.is_message(self._fields.values)
        self.conversations += bool(self._lists) or self._is_one or stands_alone(self._dialect, self._fields.values)
        if not self.conversations:
            raise UnreadableFile(self._path, f"nothing in it is a message or a conversation of the format {self.format}{self._unread}; name its format with format=")

    def _note(self, raw: Raw, value: Any) -> None:
        if isinstance(value, Fault):
            self._unread = self._unread or f" (line {raw.line}: {value.why})"
        elif raw.member is not None:
            self._fields.add(raw)
        elif self._dialect.is_message(value):
            self._lists.add(raw.within or "")
        else:
            self.conversations += bool(conversation_lists(self._dialect, value)) or stands_alone(self._dialect, value)

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape."""
        turns = Turns(marks)
        talks = Talks(self._dialect, self._origin, several=self.conversations > 1, notes=notes)
        loose = talks.begin(self._fields.values, lists=self._lists, raws=self._fields.raws)
        for raw in self._raws:
            seen(raw.end)
            for step in self._steps(raw, talks, loose):
                yield from turns.add(step)
        for step in loose.end(whole=next(iter(self._fields.raws.values())) if self._is_one else None):
            yield from turns.add(step)
        yield from turns.end()

    def _steps(self, raw: Raw, talks: Talks, loose: Talk) -> Iterator[Step]:
        """Yield what becomes of a line, an element or a member."""
        value = value_of(raw, read_value, lists=True)
        if isinstance(value, Fault):
            yield from talks.unreadable(raw, value.why)
        elif raw.member is not None:
            is_told = self._is_one or raw.member in loose.told
            held = self._fields.raws.get(raw.member)
            if not is_told or held is None or held.position != raw.position or repeats_in(raw.body):
                yield from talks.beside(raw, FrozenDict({raw.member: value}), "conversation")
        elif self._dialect.is_message(value):
            yield from loose.message(raw, value, size=len(raw.body), within=raw.within)
        elif (lists := conversation_lists(self._dialect, value)) or stands_alone(self._dialect, value):
            yield from talks.whole(raw, value if isinstance(value, dict) else {}, lists)
        elif isinstance(value, list):
            yield from talks.unreadable(raw, "no record but a JSON list")
        else:
            yield from talks.beside(raw, value, "unknown")
