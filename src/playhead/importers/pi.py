"""pi sessions: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, a tree of records; its first files were a list.

A file is read twice: once for the shape of its tree, once for its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from playhead.entry.frozen import FrozenDict
from playhead.errors import UnreadableFile
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.first_reading import first_reading
from playhead.importers.items import Item, Marks, short_digest
from playhead.importers.lines import Fault, Raw, read_value
from playhead.importers.origin import Origin, date_of
from playhead.importers.pi_records import FORMAT, judge, tell, tell_compaction
from playhead.importers.places import key_of
from playhead.importers.repeats import repeats_in
from playhead.importers.report import Notes
from playhead.importers.told import Maker, text_in
from playhead.importers.tree import BRANCHES, MAIN, Sort, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compaction:
    """A compaction: where it stands, what it says, and which record it names as the first that it keeps."""

    place: int
    raw: Raw
    record: Mapping[str, Any]
    digest: bytes

    def first_kept(self, tree: Tree, branches: bytearray) -> int:
        """Return the place of the first record it keeps, its own where it names none before it on the main line."""
        index = self.record.get("firstKeptEntryIndex")
        named = tree.find(_key(self.record, "firstKeptEntryId"))
        found = named if named is not None else index if isinstance(index, int) and not isinstance(index, bool) else None
        return found if found is not None and 0 <= found < self.place and branches[found] == MAIN else self.place


class Pi:
    """A session's file: `index` reads its shape, then `items` yields what goes onto a tape."""

    format = FORMAT
    conversations = 1
    brings_anchor = False

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self._tree = Tree()
        self._branches = bytearray()
        self._compactions: list[_Compaction] = []
        self._anchors: dict[int, list[_Compaction]] = {}
        self._session = ""
        self._first = ""

    def index(self, *, strict: bool) -> Iterator[int]:
        """Read the shape of the tree; yield now and then how many bytes were read.

        Raises UnreadableFile where no line is a record, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=partial(value_of, read=read_value), path=self._path, strict=strict)
        if not self._first:
            raise UnreadableFile(self._path, "no line of it is a record of a pi session; name its format with format=")
        self._session = self._session or self._first
        self._branches = self._tree.branches()
        for compaction in self._compactions:
            if self._branches[compaction.place] == MAIN:
                self._anchors.setdefault(compaction.first_kept(self._tree, self._branches), []).append(compaction)

    def _note(self, raw: Raw, record: Any) -> None:
        if raw.member is not None or isinstance(record, Fault):
            return
        self._first = self._first or (short_digest(raw.body).hex() if judge(record) else "")
        if record.get("type") == "session":
            self._session = self._session or text_in(record, "id")
        is_step = record.get("type") != "session" and bool(judge(record) or "parentId" in record)
        if record.get("type") == "compaction" and is_step:
            value = read_value(raw.body)
            if not isinstance(value, Fault):
                self._compactions.append(_Compaction(place=len(self._tree), raw=raw if repeats_in(raw.body) else replace(raw, body=b""), record=value, digest=short_digest(raw.body)))
        self._tree.add(sort=Sort.PROMPT if is_step else Sort.LINK, key=_key(record, "id"), parent=_key(record, "parentId"))

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape. Raises UnreadableFile where the file changed meanwhile.

        The anchor of a compaction comes before the records that it keeps, so that reading starts with them. Where
        they are on the tape already it comes behind them, and they are told again.
        """
        cutter = Cutter(self._origin, notes=notes)
        anchors = _Anchors(self._anchors, marks, cutter, self._session)
        place = -1
        for raw in self._raws:
            seen(raw.end)
            value = value_of(raw, read_value)
            if isinstance(value, Fault):
                yield from cutter.unreadable(raw, value.why, within=f"{self._session}:")
                continue
            if raw.member is not None:
                yield cutter.event(raw, "document", FrozenDict({raw.member: value}), within=f"{self._session}:")
                continue
            place += 1
            if place >= len(self._tree) or self._tree.key(place) != _key(value, "id"):
                raise UnreadableFile(self._path, "it changed while it was read; import it again")
            cutter.date = date_of(value.get("timestamp")) or cutter.date
            yield from anchors.before(place)
            if anchors.is_anchor(place):
                yield from anchors.at(place)
            else:
                item = self._item(cutter, raw, value, place)
                anchors.keep(item)
                yield item
        if place + 1 < len(self._tree):
            raise UnreadableFile(self._path, "it became shorter while it was read; import it again")

    def _item(self, cutter: Cutter, raw: Raw, record: Mapping[str, Any], place: int) -> Item:
        digest = short_digest(raw.body)
        piece = cutter.piece(raw, cutter.counted(_name(self._session, record, digest)), digest, record)
        branch = BRANCHES[self._branches[place]]
        return Item(pieces=(piece,), make=Maker(origin=self._origin, tell=tell, name=f"pi.{text_in(record, 'type') or 'record'}", branch=branch), branch=branch)


class _Anchors:
    """The anchors of one reading. Each has two numbers, one for either place where it may stand."""

    def __init__(self, anchors: Mapping[int, list[_Compaction]], marks: Marks, cutter: Cutter, session: str) -> None:
        self._anchors = anchors
        self._marks = marks
        self._cutter = cutter
        self._session = session
        self._places = {c.place for found in anchors.values() for c in found}
        self._late: dict[int, tuple[Item, list[Item]]] = {}

    def is_anchor(self, place: int) -> bool:
        """Tell whether a record is a compaction that becomes an anchor."""
        return place in self._places

    def before(self, place: int) -> Iterator[Item]:
        """Yield the anchors that come before a record, but for those whose records are on the tape already."""
        found = [(c, self._item(c)) for c in self._anchors.get(place, ())]
        for compaction, item in found:
            (piece,), (last,) = item.pieces, found[-1][1].pieces
            follows = replace(last, number=last.number + 1)
            if compaction.place != place and self._marks.is_known(follows) and not self._marks.is_known(piece):
                self._late[compaction.place] = (item, [])
            else:
                yield item

    def keep(self, item: Item) -> None:
        """Hold a record that an anchor still to come keeps."""
        for _, kept in self._late.values():
            if item.branch == "main":
                kept.append(item)

    def at(self, place: int) -> Iterator[Item]:
        """Yield what comes where a compaction stands: nothing, or its anchor and what it keeps, told again."""
        number = self._cutter.number()
        late = self._late.pop(place, None)
        if late is None:
            return
        anchor, kept = late
        (piece,) = anchor.pieces
        yield replace(anchor, pieces=(replace(piece, number=number),))
        for item in kept:
            (first,) = item.pieces
            yield replace(item, pieces=(replace(first, number=number, id=f"{first.id}#{piece.id}", key=f"{first.key}#{piece.id}"),))

    def _item(self, compaction: _Compaction) -> Item:
        date, self._cutter.date = self._cutter.date, date_of(compaction.record.get("timestamp")) or self._cutter.date
        name = self._cutter.counted(_name(self._session, compaction.record, compaction.digest))
        piece = self._cutter.piece(compaction.raw, name, compaction.digest, compaction.record)
        self._cutter.date = date
        return Item(pieces=(piece,), make=Maker(origin=self._cutter.origin, tell=tell_compaction, name="pi.compaction"))


def _name(session: str, record: Mapping[str, Any], digest: bytes) -> str:
    return f"{session}:{text_in(record, 'id') or digest.hex()}"


def _key(record: Mapping[str, Any], name: str) -> int:
    text = text_in(record, name)
    return key_of(text) if text else 0
