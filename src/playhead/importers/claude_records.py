"""Records of a Claude Code session as entries: what each says, pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playhead.entry.entry import ANCHOR, ERROR, TapeEntry
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.entry.message import Message, user
from playhead.entry.payload import message_to_entries
from playhead.errors import InvalidInput, WireError
from playhead.importers.claude_attachments import attachment_content
from playhead.importers.items import Branch, Piece
from playhead.importers.origin import WHY, Origin, date_of, with_keys
from playhead.importers.outline import outline
from playhead.importers.tree import Sort
from playhead.wire import anthropic

FORMAT = "claude-code"
COMPACTION = "compaction"
"""The name of the anchor that a compaction becomes."""

ENVELOPE = ("sessionId", "cwd", "gitBranch", "version", "userType", "entrypoint", "slug")
"""What every record repeats; told once by an event, and again where it changes."""

_PLACED = frozenset({"uuid", "parentUuid", "timestamp", "type", "isSidechain", *ENVELOPE})
_MESSAGE = ("role", "content", "usage", "model", "type", "id", "stop_reason")
_FIELDS_LIMIT = 4_000
_RESULT_LIMIT = 8_000

Record = dict[str, Any]


def sort_of(record: Record) -> Sort:
    """Return what a record is in the tree of its conversation."""
    match record.get("type"):
        case "user" if content_of(record) is not None:
            if record.get("isCompactSummary") is True:
                return Sort.SUMMARY
            if any(True for _ in blocks_of(record, "tool_result")):
                return Sort.RESULT
            return Sort.NOTE if record.get("isMeta") is True else Sort.PROMPT
        case "assistant" if content_of(record) is not None:
            return Sort.ERROR if record.get("isApiErrorMessage") is True else Sort.TURN
        case "system" if record.get("subtype") == "compact_boundary":
            return Sort.BOUNDARY
        case "attachment" if attachment_content(record) is not None:
            return Sort.NOTE
    return Sort.LINK


def text_of(record: Record, key: str) -> str:
    """Return a text field of a record, "" where it has none."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def content_of(record: Record) -> str | list[Any] | None:
    """Return the content of a record's message, None where it has no usable one."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, (str, list)) else None


def blocks_of(record: Record, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the blocks of one type in a record's message."""
    content = content_of(record)
    if isinstance(content, list):
        yield from (b for b in content if isinstance(b, dict) and b.get("type") == kind)


def holds_more_than(record: Record, kind: str) -> bool:
    """Tell whether a record's message has blocks of another type."""
    content = content_of(record)
    return isinstance(content, list) and any(not isinstance(b, dict) or b.get("type") != kind for b in content)


def message_id(record: Record) -> str:
    """Return the provider's id of the turn that a record is part of, "" where it has none."""
    message = record.get("message")
    return text_of(message, "id") if isinstance(message, dict) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMaker:
    """Makes the entries of one item."""

    origin: Origin
    sort: Sort
    branch: Branch

    def __call__(self, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        """Return the entries; what the provider's form cannot be read from becomes an event."""
        try:
            return with_keys(self._made(pieces))
        except (WireError, InvalidInput) as exc:
            return (self._event(pieces, why=exc.message),)

    def _made(self, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        match self.sort:
            case Sort.TURN:
                return self._turn(pieces)
            case Sort.RESULT | Sort.PROMPT | Sort.NOTE:
                return self._spoken(pieces)
            case Sort.BOUNDARY | Sort.SUMMARY if self.branch == "main":
                return (self._compaction(pieces),)
            case Sort.ERROR:
                return (self._error(pieces),)
        why = "no message in it" if pieces[0].value.get("type") in ("user", "assistant") and self.sort == Sort.LINK else None
        return (self._event(pieces, why=why),)

    def _turn(self, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        """Join the records of one model turn, which each hold a block or two, in order."""
        first, last = pieces[0].value, pieces[-1].value
        blocks = [b for p in pieces for b in _blocks(content_of(p.value))]
        model = text_of(last["message"], "model") or None
        (message,) = anthropic.load([{"role": "assistant", "content": blocks}], model=model)
        ids = {**self._ids(first), "message": message_id(first) or None, "stop_reason": last["message"].get("stop_reason")}
        meta = self._meta(pieces, ids=ids, usage=last["message"].get("usage"), model=model)
        return tuple(TapeEntry(0, e.kind, e.payload, meta, pieces[0].date) for e in message_to_entries(message))

    def _spoken(self, pieces: tuple[Piece, ...]) -> tuple[TapeEntry, ...]:
        """Return what a user's record says: results first, words behind them."""
        record = pieces[0].value
        content = attachment_content(record) if record.get("type") == "attachment" else content_of(record)
        if isinstance(content, str):
            loaded: tuple[Message, ...] = (user(content),)
        else:
            loaded = anthropic.load([{"role": "user", "content": content or ()}])
        ids = self._ids(record)
        if record.get("isMeta") is True or record.get("type") == "attachment":
            ids["note"] = True
        if record.get("toolUseResult") is not None:
            ids["result"] = outline(record["toolUseResult"], limit=_RESULT_LIMIT, seen=_seen(loaded))
        meta = self._meta(pieces, ids=ids, context=False if record.get("isVisibleInTranscriptOnly") is True else None)
        results = tuple(r for m in loaded for r in m.results)
        words = [m for m in loaded if not m.results]
        messages = [Message(role="tool", content=results), *words] if results else words
        return tuple(TapeEntry(0, e.kind, e.payload, meta, pieces[0].date) for m in messages for e in message_to_entries(m))

    def _compaction(self, pieces: tuple[Piece, ...]) -> TapeEntry:
        """Return a compaction as the anchor behind which reading starts, with the summary as its state."""
        state: dict[str, Any] = {}
        ids = self._ids(pieces[0].value)
        for record in (p.value for p in pieces):
            known = record.get("compactMetadata")
            if record.get("isCompactSummary") is True:
                state = {"summary": _text(content_of(record)), **state}
            elif isinstance(known, dict):
                state |= {name: known[key] for key, name in (("trigger", "trigger"), ("preTokens", "pre_tokens")) if known.get(key) is not None}
                ids["compaction"] = outline(known, limit=_FIELDS_LIMIT)
        payload = freeze_dict({"name": COMPACTION, "state": state})
        return TapeEntry(0, ANCHOR, payload, self._meta(pieces, ids=ids), pieces[0].date)

    def _error(self, pieces: tuple[Piece, ...]) -> TapeEntry:
        """Return what the client wrote in the model's place when a call failed."""
        record = pieces[0].value
        details = {k: v for k, v in (("error", record.get("error")), ("request", record.get("requestId"))) if v is not None}
        payload = {"kind": "api_error", "message": _text(content_of(record)), **({"details": details} if details else {})}
        return TapeEntry(0, ERROR, freeze_dict(payload), self._meta(pieces, ids=self._ids(record)), pieces[0].date)

    def _event(self, pieces: tuple[Piece, ...], *, why: str | None) -> TapeEntry:
        """Return records that are no part of the conversation, or (`why`) cannot be read as one, whole."""
        kept = [_rest(p.value) for p in pieces]
        record = pieces[0].value
        ids = {k: v for k, v in (("uuid", record.get("uuid")), ("parent", record.get("parentUuid")), (WHY, why)) if v is not None}
        name = f"claude_code.{text_of(record, 'type') or 'unknown'}"
        return self.origin.event(name, kept[0] if len(kept) == 1 else kept, pieces, branch=self.branch, ids=ids)

    def _ids(self, record: Record) -> dict[str, Any]:
        message = record.get("message")
        fields = {k: v for k, v in _rest(record).items() if k not in ("message", "toolUseResult", "attachment", "compactMetadata")}
        if isinstance(message, dict):
            fields |= {k: v for k, v in message.items() if k not in _MESSAGE}
        if record.get("type") == "attachment":
            fields["attachment"] = record.get("attachment")
        kept = {k: v for k, v in fields.items() if v is not None and v is not False and v not in ([], {})}
        ids = {"uuid": record.get("uuid"), "parent": record.get("parentUuid") or record.get("logicalParentUuid")}
        return {**{k: v for k, v in ids.items() if v is not None}, **({"fields": outline(FrozenDict(kept), limit=_FIELDS_LIMIT)} if kept else {})}

    def _meta(self, pieces: tuple[Piece, ...], *, ids: Mapping[str, Any], **more: Any) -> FrozenDict:
        return self.origin.meta(pieces, branch=self.branch, ids={k: v for k, v in ids.items() if v is not None}, **more)


def _rest(record: Record) -> FrozenDict:
    """Return the fields of a record that have no place of their own in an entry."""
    date = record.get("timestamp")
    odd = {"timestamp": date} if date is not None and date_of(date) is None else {}
    return FrozenDict({**{k: v for k, v in record.items() if k not in _PLACED}, **odd})


def _blocks(content: str | list[Any] | None) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []


def _text(content: str | list[Any] | None) -> str:
    if isinstance(content, list):
        return "\n".join(b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str))
    return content or ""


def _seen(loaded: tuple[Message, ...]) -> str:
    return "\n".join(m.text for m in loaded)
