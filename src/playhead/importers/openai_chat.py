"""OpenAI Chat conversations in the forms they are kept in.

A JSON list of messages, `{"messages": [...]}`, a list of such objects (with `traj` too), and JSON Lines of messages
or of such objects. Each conversation of several begins with an anchor `conversation/<number>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, TapeEntry
from playhead.entry.frozen import FrozenDict, freeze_dict
from playhead.entry.message import message_to_entries
from playhead.errors import InvalidInput, UnreadableFile, WireError
from playhead.importers.items import STEP, Item, Marks, Piece, short_digest
from playhead.importers.lines import Fault, Raw, decode_value, in_chunks, in_parts, read_value
from playhead.importers.origin import WHY, Origin, date_of, with_keys
from playhead.importers.places import Tally, key_of
from playhead.importers.report import Notes
from playhead.wire import openai_chat

FORMAT = "openai-chat"
LISTS = ("messages", "traj", "conversation")
"""The members of a conversation that hold its messages; the first that is a list counts."""

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
NAMES = ("id", "conversation_id", "session_id", "thread_id", "custom_id", "task_id", "instance_id", "trial")
"""Fields that tell conversations apart which open with the same words."""

_DATES = ("timestamp", "created_at", "create_time", "date")


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message in chat form."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    return value["role"] in ROLES and ("content" in value or "tool_calls" in value or "function_call" in value)


def messages_of(value: object) -> tuple[str, list[Any]] | None:
    """Return the messages of a conversation and the member they stand in, None where a value is none."""
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and all(isinstance(m, dict) and "role" in m for m in found[:10]):
            return name, found
    return None


class OpenAIChat:
    """A file of conversations: `index` counts them, then `items` yields what goes onto a tape."""

    format = FORMAT

    def __init__(self, raws: Iterable[Raw], *, path: str, source: str) -> None:
        self._raws = raws
        self._path = path
        self._origin = Origin(format=FORMAT, source=source)
        self.conversations = 0

    def index(self, *, strict: bool) -> Iterator[int]:
        """Count the conversations; yield now and then how many bytes were read.

        Raises UnreadableFile where there is none, or (`strict`) a line cannot be read.
        """
        loose = due = 0
        for raw in self._raws:
            if raw.end >= due:
                due = raw.end + STEP
                yield raw.end
            if raw.part:
                continue
            value = _value(raw, read_value if strict else decode_value)
            if isinstance(value, Fault):
                if strict:
                    raise UnreadableFile(self._path, f"line {raw.line}: {value.why}")
            elif raw.member is None:
                loose = loose or is_message(value)
                self.conversations += messages_of(value) is not None
        self.conversations += loose
        if not self.conversations:
            raise UnreadableFile(self._path, "nothing in it is a message or a conversation in OpenAI's chat form; name its format with format=")

    def items(self, *, marks: Marks, notes: Notes, seen: Callable[[int], None]) -> Iterator[Item]:
        """Yield the items in the order they go onto the tape."""
        reading = _Reading(self._origin, several=self.conversations > 1, notes=notes)
        for raw in self._raws:
            seen(raw.end)
            yield from reading.read(raw, _value(raw, read_value))


def _date(fields: Any) -> str | None:
    if not isinstance(fields, dict):
        return None
    return next((date for key in _DATES if (date := date_of(fields.get(key)))), None)


def _value(raw: Raw, read: Callable[[bytes], Any]) -> Any:
    value = Fault(raw.fault) if raw.fault is not None else read(raw.body)
    if isinstance(value, (Fault, dict)) or raw.member is not None:
        return value
    return Fault(f"no message but a JSON {'list' if isinstance(value, list) else 'text' if isinstance(value, str) else 'value'}")


class _Conversation:
    """Names the messages of one conversation.

    A name holds what the conversation opens with, the message's digest, and how many equal messages came before; so
    it stays when the file grows, moves, is written anew with other spaces, or is edited elsewhere. What comes before
    the first user's message is named by the first message alone: it is all that is known by then.
    """

    def __init__(self, names: Mapping[str, Any], first: Any, *, heads: Tally, openings: Tally) -> None:
        self._openings = openings
        self._opening = blake2b(codec.encode_sorted(names), digest_size=8)
        head = self._opening.copy()
        head.update(codec.encode_sorted(first))
        self._head = f"head:{_numbered(head.hexdigest(), heads)}"
        self._id = ""
        self._equal = Tally()

    def name(self, message: Any, digest: bytes) -> str:
        """Return the name of the next message."""
        if not self._id:
            self._opening.update(digest)
            if isinstance(message, dict) and message.get("role") == "user":
                self._id = _numbered(self._opening.hexdigest(), self._openings)
        part_of = self._id or self._head
        before = self._equal.count(key_of(part_of.encode() + digest))
        return f"{part_of}:{digest.hex()}:{before}" if before else f"{part_of}:{digest.hex()}"

    def part(self, what: str) -> str:
        """Return the name of something that belongs to the conversation beside its messages."""
        return f"{self._head}:{what}"


def _numbered(digest: str, tally: Tally) -> str:
    before = tally.count(key_of(digest))
    return f"{digest}.{before}" if before else digest


class _Reading:
    """Makes the items of one reading."""

    def __init__(self, origin: Origin, *, several: bool, notes: Notes) -> None:
        self._origin = origin
        self._several = several
        self._notes = notes
        self._heads, self._openings, self._others = Tally(), Tally(), Tally()
        self._loose: _Conversation | None = None
        self._count = 0
        self._numbers = 0
        self._date = ""

    def read(self, raw: Raw, value: Any) -> Iterator[Item]:
        """Yield what becomes of a line or an element."""
        if isinstance(value, Fault):
            yield from self._unreadable(raw, value.why)
        elif raw.member is not None:
            yield self._beside(raw, FrozenDict({raw.member: value}), "conversation")
        elif is_message(value):
            if self._loose is None:
                self._loose = self._conversation({}, value)
                yield from self._begin(self._loose, raw, {})
            yield self._message(self._loose, raw, value, len(raw.body))
        elif (found := messages_of(value)) is not None and found[1]:
            yield from self._whole(raw, value, *found)
        else:
            yield self._beside(raw, value, "unknown")

    def _conversation(self, fields: Mapping[str, Any], first: Any) -> _Conversation:
        self._count += 1
        self._date = _date(fields) or ""
        return _Conversation({k: fields[k] for k in NAMES if k in fields}, first, heads=self._heads, openings=self._openings)

    def _whole(self, raw: Raw, value: FrozenDict, member: str, messages: list[Any]) -> Iterator[Item]:
        """Yield a conversation that stands in one value: its anchor, its other fields as an event, its messages."""
        conversation = self._conversation(value, messages[0])
        yield from self._begin(conversation, raw, value)
        rest = FrozenDict({k: v for k, v in value.items() if k != member})
        if rest:
            digest = short_digest(codec.encode_sorted(rest))
            piece = self._piece(raw, conversation.part(f"fields:{digest.hex()}"), digest, rest, 0)
            yield Item(pieces=(piece,), make=partial(_event, self._origin, "openai_chat.conversation"))
        for message in messages:
            yield self._message(conversation, raw, message, len(raw.body) // len(messages))

    def _begin(self, conversation: _Conversation, raw: Raw, fields: Mapping[str, Any]) -> Iterator[Item]:
        """Yield the anchor a conversation begins with, where the file holds several."""
        if self._several:
            ids = {k: fields[k] for k in NAMES if k in fields}
            make = partial(_anchor, self._origin, self._count, ids)
            yield Item(pieces=(self._piece(raw, conversation.part("start"), b"", None, 0),), make=make)

    def _message(self, conversation: _Conversation, raw: Raw, value: Any, size: int) -> Item:
        digest = short_digest(codec.encode_sorted(value))
        name = conversation.name(value, digest)
        self._date = _date(value) or self._date
        return Item(pieces=(self._piece(raw, name, digest, value, size),), make=partial(_spoken, self._origin, self._count))

    def _beside(self, raw: Raw, value: Mapping[str, Any], what: str) -> Item:
        digest = short_digest(codec.encode_sorted(value))
        piece = self._piece(raw, _numbered(f"{what}:{digest.hex()}", self._others), digest, value)
        return Item(pieces=(piece,), make=partial(_event, self._origin, f"openai_chat.{what}"))

    def _unreadable(self, raw: Raw, why: str) -> Iterator[Item]:
        if raw.part == 0:
            self._notes.refuse(raw.line, why)
        for part in (raw,) if raw.fault else in_parts(in_chunks(raw.body), raw):
            digest = short_digest(part.body)
            piece = self._piece(part, _numbered(f"unreadable:{digest.hex()}", self._others), digest)
            yield Item(pieces=(piece,), make=partial(_kept_raw, self._origin, part, why))

    def _piece(self, raw: Raw, id_: str, digest: bytes, value: Any = None, size: int | None = None) -> Piece:
        self._numbers += 1
        key = f"import:{self._origin.format}:{id_}"
        return Piece(number=self._numbers - 1, line=raw.line, id=id_, key=key, digest=digest, date=self._date, size=len(raw.body) if size is None else size, value=value)


Entries = tuple[TapeEntry, ...]


def _spoken(origin: Origin, conversation: int, pieces: tuple[Piece, ...]) -> Entries:
    value = pieces[0].value
    ids = {"conversation": conversation}
    try:
        (message,) = openai_chat.load([value], model=value.get("model") if isinstance(value, dict) else None)
        meta = origin.meta(pieces, ids=ids)
        return with_keys(tuple(TapeEntry(0, e.kind, e.payload, meta, pieces[0].date) for e in message_to_entries(message)))
    except (WireError, InvalidInput) as exc:
        return (origin.event("openai_chat.message", value, pieces, ids={**ids, WHY: exc.message}),)


def _anchor(origin: Origin, number: int, ids: Mapping[str, Any], pieces: tuple[Piece, ...]) -> Entries:
    meta = origin.meta(pieces, ids={"conversation": number, **({"fields": FrozenDict(ids)} if ids else {})})
    return (TapeEntry(0, ANCHOR, freeze_dict({"name": f"conversation/{number}", "state": {}}), meta, pieces[0].date),)


def _event(origin: Origin, name: str, pieces: tuple[Piece, ...]) -> Entries:
    return (origin.event(name, pieces[0].value, pieces),)


def _kept_raw(origin: Origin, raw: Raw, why: str, pieces: tuple[Piece, ...]) -> Entries:
    return (origin.unreadable(raw, why, pieces[0]),)
