"""Claude Code sessions: `~/.claude/projects/<folder>/<session>.jsonl`, and the same records as a JSON document.

A file is read twice: once for the shape of its tree, once for its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from playhead.entry.entry import TapeEntry
from playhead.errors import UnreadableFile
from playhead.importers.claude_records import ENVELOPE, FORMAT, Record, RecordMaker, holds_more_than, text_of
from playhead.importers.claude_shape import Shape, uuid_key
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.first_reading import first_reading
from playhead.importers.grouping import Grouping, Step
from playhead.importers.items import Item, Marks, Piece, short_digest
from playhead.importers.lines import Fault, Raw, decode_value, read_value
from playhead.importers.origin import Origin, date_of
from playhead.importers.places import key_of
from playhead.importers.report import Notes
from playhead.importers.tree import BRANCHES, Sort, Tree

LISTS = frozenset({"loglines"})
"""The members of a JSON document that hold records: the form of an export from the web."""

_TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "progress", "queue-operation", "file-history-snapshot", "ai-title", "custom-title"})


def is_record(value: object) -> bool:
    """Tell whether a JSON value is a record of a Claude Code session."""
    if not isinstance(value, dict) or text_of(value, "type") not in _TYPES:
        return False
    return any(key in value for key in ("uuid", "parentUuid", "sessionId", "leafUuid", "messageId")) or isinstance(value.get("message"), dict)


class ClaudeCode:
    """A session's file: `index` reads its shape, then `items` yields what goes onto a tape."""

    format = FORMAT
    conversations = 1
    brings_anchor = False

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self._tree = Tree()
        self._shape = Shape(self._tree)
        self._branches = bytearray()
        self._repeated: set[int] = set()
        self._session = ""
        self._first = ""

    def index(self, *, strict: bool) -> Iterator[int]:
        """Read the shape of the tree; yield now and then how many bytes were read.

        Raises UnreadableFile where no line is a record, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=partial(value_of, read=read_value if strict else decode_value), path=self._path, strict=strict)
        if not self._first:
            raise UnreadableFile(self._path, "no line of it is a record of a Claude Code session; name its format with format=")
        self._session = self._session or self._first
        self._branches = self._tree.branches()

    def _note(self, raw: Raw, value: Any) -> None:
        if raw.member is not None:
            return
        if isinstance(value, Fault):
            self._tree.add(sort=Sort.NONE)
            return
        self._first = self._first or (short_digest(raw.body).hex() if is_record(value) else "")
        self._session = self._session or text_of(value, "sessionId")
        if self._shape.add(value):
            self._repeated.add(key_of(text_of(value, "uuid")))

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape. Raises UnreadableFile where the file changed meanwhile."""
        reading = _Reading(self._origin, session=self._session, repeated=self._repeated, notes=notes)
        grouping = Grouping(marks)
        place = -1
        for raw in self._raws:
            seen(raw.end)
            if raw.member is not None:
                yield from reading.member(raw)
                continue
            place += raw.part == 0
            value = value_of(raw, read_value)
            if isinstance(value, Fault):
                for item in reading.unreadable(raw, value.why):
                    yield from grouping.add(Step(item=item, sort=Sort.LINK))
                continue
            if place >= len(self._tree) or self._tree.key(place) != uuid_key(value):
                raise UnreadableFile(self._path, "it changed while it was read; import it again")
            for step in reading.steps(raw, value, place, self._tree, self._branches):
                yield from grouping.add(step)
        yield from grouping.end()
        if place + 1 < len(self._tree):
            raise UnreadableFile(self._path, "it became shorter while it was read; import it again")


class _Reading:
    """Makes the items of one reading: every record, what it repeats about its session, and what cannot be read."""

    def __init__(self, origin: Origin, *, session: str, repeated: set[int], notes: Notes) -> None:
        self._cutter = Cutter(origin, notes=notes)
        self._session = session
        self._repeated = repeated
        self._notes = notes
        self._first: dict[int, set[bytes]] = {}
        self._envelope: dict[str, Any] = {}

    def steps(self, raw: Raw, record: Record, place: int, tree: Tree, branches: bytearray) -> Iterator[Step]:
        """Yield what becomes of a record."""
        cutter = self._cutter
        cutter.date = date_of(record.get("timestamp")) or cutter.date or _snapshot_date(record)
        digest = short_digest(raw.body)
        id_ = self._id(record, digest)
        if id_ is None:
            self._notes.repeated += 1
            return
        changed = self._changed(record)
        if changed:
            make = partial(_event, cutter.origin, "claude_code.session", changed)
            yield Step(item=Item(pieces=(cutter.piece(raw, f"{id_}#session", digest),), make=make), sort=Sort.LINK)
        sort, branch = tree.sort(place), BRANCHES[branches[place]]
        item = Item(
            pieces=(cutter.piece(raw, id_, digest, record),),
            make=RecordMaker(origin=cutter.origin, sort=sort, branch=branch),
            branch=branch,
            second=sort == Sort.RESULT and holds_more_than(record, "tool_result"),
        )
        yield Step(item=item, sort=sort, group=tree.group(place), has_more=tree.has_more(place), is_early=tree.is_early(place))

    def unreadable(self, raw: Raw, why: str) -> Iterator[Item]:
        """Yield the parts of a line that cannot be read."""
        return self._cutter.unreadable(raw, why, within=f"{self._session}:")

    def member(self, raw: Raw) -> Iterator[Item]:
        """Yield what a document holds beside its list of records."""
        value = value_of(raw, read_value)
        if isinstance(value, Fault):
            yield from self.unreadable(raw, value.why)
            return
        digest = short_digest(raw.body)
        piece = self._cutter.piece(raw, self._cutter.counted(f"{self._session}:{raw.member}:{digest.hex()}"), digest, value)
        yield Item(pieces=(piece,), make=partial(_event, self._cutter.origin, "claude_code.document", {str(raw.member): value}))

    def _id(self, record: Record, digest: bytes) -> str | None:
        """Return a name that the record keeps when the file grows, moves or is edited elsewhere; None for a repeated line.

        A uuid where it has one (with the digest of its text where an earlier line has the same); else the session,
        the digest, and how many equal lines came before.
        """
        uuid = text_of(record, "uuid")
        if not uuid:
            return self._cutter.counted(f"{self._session}:{digest.hex()}")
        if not self._repeated or (key := key_of(uuid)) not in self._repeated:
            return uuid
        texts = self._first.setdefault(key, set())
        if digest in texts:
            return None
        texts.add(digest)
        return uuid if len(texts) == 1 else f"{uuid}:{digest.hex()}"

    def _changed(self, record: Record) -> dict[str, Any] | None:
        """Return the fields records repeat, where this one tells others than those before."""
        known = self._envelope
        if all(known.get(k) == record[k] for k in ENVELOPE if k in record):
            return None
        self._envelope = {**known, **{k: record[k] for k in ENVELOPE if k in record}}
        return self._envelope


def _snapshot_date(record: Record) -> str:
    """Return when the snapshot that a session begins with was taken, "" where none says so: the record itself has no date."""
    snapshot = record.get("snapshot")
    return date_of(snapshot.get("timestamp")) or "" if isinstance(snapshot, Mapping) else ""


def _event(origin: Origin, name: str, data: Mapping[str, Any], pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
    return (origin.event(name, data, pieces),)
