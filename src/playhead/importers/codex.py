"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, of today's form and of the first one.

A file is read twice: once for its shape, once for its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict
from playhead.errors import UnreadableFile
from playhead.importers.codex_records import (
    COMPACTED,
    CONTEXT,
    EVENT,
    FORMAT,
    ITEM,
    META,
    Record,
    is_in_turn,
    is_spoken,
    judge,
    neutral,
    record_of,
    tell_compaction,
    tell_event,
    tell_items,
    tell_other,
    tell_prompt,
    words_of,
)
from playhead.importers.codex_shape import CodexShape
from playhead.importers.cutting import Cutter, value_of
from playhead.importers.first_reading import first_reading
from playhead.importers.items import Branch, Item, Marks, short_digest
from playhead.importers.lines import Fault, Raw, read_value
from playhead.importers.openai_responses import is_readable
from playhead.importers.origin import Origin, date_of
from playhead.importers.report import Notes
from playhead.importers.told import Maker, Telling, text_in
from playhead.importers.turns import Step, Turns


class Codex:
    """A rollout: `index` reads its shape, then `items` yields what goes onto a tape."""

    format = FORMAT
    conversations = 1
    brings_anchor = False

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self._shape = CodexShape()
        self._session = ""
        self._first = ""

    def index(self, *, strict: bool) -> Iterator[int]:
        """Read the shape; yield now and then how many bytes were read.

        Raises UnreadableFile where no line is a record, or (`strict`) a line cannot be read.
        """
        yield from first_reading(self._raws, self._note, value_of=partial(value_of, read=read_value), path=self._path, strict=strict)
        if not self._first:
            raise UnreadableFile(self._path, "no line of it is a record of a Codex rollout; name its format with format=")
        self._session = self._session or self._first

    def _note(self, raw: Raw, value: Any) -> None:
        if raw.member is not None or isinstance(value, Fault):
            return
        record = record_of(value)
        self._first = self._first or (short_digest(raw.body).hex() if judge(value) or is_spoken(record) else "")
        if record.kind == META:
            self._session = self._session or text_in(record.payload, "id")
        self._shape.add(record)

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape."""
        turns = Turns(marks)
        reading = _Reading(self._origin, self._shape, session=self._session, notes=notes)
        for raw in self._raws:
            seen(raw.end)
            for step in reading.read(raw):
                yield from turns.add(step)
        yield from turns.end()


class _Reading:
    """Makes the steps of one reading."""

    def __init__(self, origin: Origin, shape: CodexShape, *, session: str, notes: Notes) -> None:
        self._cutter = Cutter(origin, notes=notes)
        self._shape = shape
        self._within = f"{session}:"
        self._model: str | None = None
        self._provider = ""
        self._count = -1

    def read(self, raw: Raw) -> Iterator[Step]:
        """Yield what becomes of a line."""
        value = value_of(raw, read_value)
        if isinstance(value, Fault):
            yield from (Step(item=i, beside=True) for i in self._cutter.unreadable(raw, value.why, within=self._within))
            return
        if raw.member is not None:
            yield Step(item=self._cutter.event(raw, "document", FrozenDict({raw.member: value}), within=self._within), beside=True)
            return
        self._count += 1
        self._cutter.date = date_of(value.get("timestamp")) or self._cutter.date
        record = record_of(value)
        branch: Branch = "abandoned" if self._shape.is_rolled_back(self._count) else "main"
        name = self._cutter.counted(f"{self._within}{short_digest(raw.body).hex()}")
        yield from self._record(raw, record, name, branch)

    def _record(self, raw: Raw, record: Record, name: str, branch: Branch) -> Iterator[Step]:
        if record.kind == COMPACTED:
            yield from self._compaction(raw, record, name, branch)
        elif is_spoken(record):
            yield self._item(raw, record.payload, name, branch, rest=record.rest)
        elif record.kind == EVENT:
            yield self._event(raw, record, name, branch)
        else:
            self._note(record)
            kind = record.type if record.kind == ITEM else record.kind
            yield self._step(raw, record.payload, name, branch, partial(tell_other, name=f"codex.{kind}"), rest=record.rest, beside=True)

    def _note(self, record: Record) -> None:
        """Note which model of whom the turns to come are made by."""
        if record.kind == CONTEXT:
            self._model = text_in(record.payload, "model") or self._model
        elif record.kind == META:
            self._provider = text_in(record.payload, "model_provider") or self._provider

    def _item(self, raw: Raw, payload: Mapping[str, Any], name: str, branch: Branch, *, rest: Mapping[str, Any], size: int | None = None) -> Step:
        tell = partial(tell_items, model=self._model, provider=self._provider)
        joins = is_in_turn(payload) and is_readable(neutral(payload))
        return self._step(raw, payload, name, branch, tell, rest=rest, joins=joins, size=size)

    def _event(self, raw: Raw, record: Record, name: str, branch: Branch) -> Step:
        """Return what the client noted: an event, or what was said where no item says it."""
        payload = record.payload
        if record.type == "user_message" and "user" not in self._shape.has_items:
            return self._step(raw, payload, name, branch, tell_prompt, rest=record.rest)
        if record.type == "agent_message" and "assistant" not in self._shape.has_items:
            spoken = FrozenDict({"type": "message", "role": "assistant", "content": text_in(payload, "message")})
            return self._item(raw, spoken, name, branch, rest=record.rest)
        return self._step(raw, payload, name, branch, tell_event, rest=record.rest, beside=True)

    def _compaction(self, raw: Raw, record: Record, name: str, branch: Branch) -> Iterator[Step]:
        """Yield the anchor, and behind it the items that the client went on with."""
        value = FrozenDict({"payload": record.payload, "anchors": branch == "main"})
        yield self._step(raw, value, name, branch, tell_compaction, rest=record.rest)
        history = record.payload.get("replacement_history")
        for i, item in enumerate(history if isinstance(history, list) else ()):
            if not isinstance(item, dict) or not is_spoken(Record(kind=ITEM, payload=item, rest={})):
                yield Step(item=self._cutter.event(raw, "replacement", FrozenDict({"value": item}), within=f"{name}/"), beside=True)
            elif not text_in(record.payload, "message").strip() or words_of(item) != record.payload["message"]:
                yield self._item(raw, item, f"{name}/{i}", branch, rest={}, size=0)

    def _step(
        self, raw: Raw, value: Mapping[str, Any], name: str, branch: Branch, tell: Telling, *, rest: Mapping[str, Any], joins: bool = False, beside: bool = False, size: int | None = None
    ) -> Step:
        digest = short_digest(codec.encode_sorted(value))
        piece = self._cutter.piece(raw, name, digest, value, size=size)
        maker = Maker(origin=self._cutter.origin, tell=tell, name=f"codex.{text_in(value, 'type') or 'item'}", branch=branch, ids={"fields": rest} if rest else {})
        return Step(item=Item(pieces=(piece,), make=maker, branch=branch), joins=joins, beside=beside)
