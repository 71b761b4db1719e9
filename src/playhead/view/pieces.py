"""What one entry stands for in a conversation, before calls and results are paired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, EVENT, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry, event_name
from playhead.entry.message import Message, Part, Role, Text, ToolCall, ToolResult, user
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload
from playhead.errors import InvalidInput
from playhead.view.tokens import Counter, message_tokens
from playhead.view.units import Body

BOOTSTRAP = "session/start"
"""The anchor a tape's first run, import or reset leaves; its state is no news to a model."""

OWNER: Mapping[str, object] = {"owner": "human"}
"""The state of that anchor."""

SHARD = "shard"
"""The meta key of an entry that holds a part of a long message: `{"body": id, "index": from 0, "count": of how many}`."""

AMENDED_BY = "amended_by"
"""The meta key that names, in what a view reads, the entry whose change is applied; nothing on a tape needs it."""

JOINING = 6
"""By how many per cent the price of a part of a long message is raised: parts are shown as one message, of which a counter may take up to 5 % more than of its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What an entry says: a message (a turn with calls is one too), results, both, or nothing and why; priced.

    `tokens` is the price of the message, `result_tokens` that of each result. `lost` says what of the entry is no part
    of a conversation and is left out. `event` is the name and the data of an event, `body` the part of a long message.
    `amended_by` is the uid of the entry that changed what it says; `is_removed` where a later entry took it away.
    """

    message: Message | None = None
    results: tuple[ToolResult, ...] = ()
    hidden: str | None = None
    tokens: int = 0
    result_tokens: tuple[int, ...] = ()
    lost: str | None = None
    event: tuple[str, object] | None = None
    body: Body | None = None
    amended_by: str = ""
    is_removed: bool = False


def read_piece(entry: TapeEntry, *, counter: Counter) -> Piece:
    """Return what an entry of a kind with a message form says, priced; it does not ask whether a view shows it."""
    try:
        piece = _piece(entry, amended_by=_amended_by(entry))
    except (InvalidInput, TypeError, ValueError, AttributeError) as exc:
        return Piece(hidden=f"no message can be read from it ({type(exc).__name__})")
    return priced(piece, counter=counter)


def priced(piece: Piece, *, counter: Counter) -> Piece:
    """Return the piece with the prices of its message and its results."""
    tokens = message_tokens(piece.message, counter=counter) if piece.message else 0
    if piece.body is not None:
        tokens += -(-tokens * JOINING // 100)
    return replace(piece, tokens=tokens, result_tokens=tuple(result_tokens(r, counter=counter) for r in piece.results))


def result_tokens(result: ToolResult, *, counter: Counter) -> int:
    """Return the price of one tool's answer."""
    return message_tokens(Message(role="tool", content=(result,)), counter=counter)


def _piece(entry: TapeEntry, *, amended_by: str) -> Piece:
    sources = tuple(filter(None, (entry.uid, amended_by)))
    if entry.kind == MESSAGE:
        piece = message_piece(message_from_payload(entry.payload, sources=sources), salt=entry.uid or str(entry.id))
        return replace(piece, amended_by=amended_by, body=body_of(entry) if piece.message is not None and not piece.results else None)
    if entry.kind == TOOL_CALL:
        turn = turn_from_payload(entry.payload, sources=sources)
        asked = entry.payload.get("calls")
        odd = len(asked) - len(turn.calls) if isinstance(asked, list) else 0
        piece = message_piece(turn, salt=entry.uid or str(entry.id))
        return replace(piece, lost=f"{odd} of its calls have no name") if odd > 0 and piece.hidden is None else piece
    if entry.kind == TOOL_RESULT:
        results = results_from_payload(entry.payload)
        return Piece(results=results, amended_by=amended_by) if results else Piece(hidden="no result in it")
    if entry.kind == ANCHOR:
        return Piece(message=_told(entry, anchor_text(entry), role="assistant", sources=sources))
    if entry.kind == EVENT:
        return Piece(message=_told(entry, event_text(entry), role="user", sources=sources), event=(event_name(entry), entry.payload.get("data")))
    return Piece(hidden="no message form")


def _amended_by(entry: TapeEntry) -> str:
    uid = entry.meta.get(AMENDED_BY)
    return uid if isinstance(uid, str) else ""


def _told(entry: TapeEntry, text: str, *, role: Role, sources: tuple[str, ...]) -> Message | None:
    """Return what is shown of an entry that is no message: `text`, or what a later entry put in its place."""
    content = entry.payload.get("content") if _amended_by(entry) else text
    return message_from_payload({"role": role, "content": content}, sources=sources)


def body_of(entry: TapeEntry) -> Body | None:
    """Return which part of a long message an entry holds, None where it holds a message of its own."""
    shard = entry.meta.get(SHARD)
    if not isinstance(shard, Mapping):
        return None
    id, index, count = shard.get("body"), shard.get("index"), shard.get("count")
    if not isinstance(id, str) or not id or not isinstance(index, int) or not isinstance(count, int):
        return None
    return Body(id=id, index=index, count=count) if 0 <= index < count else None


def message_piece(message: Message | None, *, salt: str) -> Piece:
    """Return a message as a piece, results parted from words: they answer a turn, words are a message of their own.

    `salt` names calls that have no id of their own, so that the same message always gets the same ids.
    """
    if message is None:
        return Piece(hidden="not a message")
    if message.calls and message.role != "assistant":
        return Piece(hidden="calls in a message that is not the assistant's")
    if message.calls:
        spoken = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        return Piece(message=_with_call_ids(replace(message, content=spoken), salt), results=message.results)
    if message.role == "tool" and not message.results:
        return Piece(hidden="a tool's message that answers no call")
    if message.results:
        rest = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        return Piece(results=message.results, message=replace(message, role="user", content=rest) if rest else None)
    if not message.parts:
        return Piece(hidden="empty message")
    return Piece(message=message)


def _with_call_ids(message: Message, salt: str) -> Message:
    """Give every call an id that no other call of the turn has."""
    taken: set[str] = set()
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            id = part.id or f"call_{salt.replace('-', '')}_{len(taken)}"
            while id in taken:
                id = f"{id}_{len(taken)}"
            taken.add(id)
            part = part if id == part.id else replace(part, id=id)
        parts.append(part)
    return replace(message, content=tuple(parts))


def anchor_text(entry: TapeEntry) -> str:
    """Return how an anchor inside a view reads: its name and its state as JSON."""
    return f"[Anchor created: {event_name(entry) or '-'}]: {codec.encode(entry.payload.get('state')).decode()}"


def event_text(entry: TapeEntry) -> str:
    """Return how an event reads where a view shows it: its name and its data as JSON."""
    return f"[Event {event_name(entry)}]: {codec.encode(entry.payload.get('data')).decode()}"


def is_beginning(anchor: TapeEntry) -> bool:
    """Return whether an anchor is the `session/start` that a tape is given where it has no anchor, and not one that somebody has set."""
    return event_name(anchor) == BOOTSTRAP and anchor.payload.get("state") == OWNER


def note_of(anchor: TapeEntry) -> Message | None:
    """Return the state of the anchor that reading starts behind as a user's message, None where it says nothing.

    It is labelled as a note and comes from a user, so that what an earlier phase left never has the voice of the model.
    """
    name, amended_by = event_name(anchor), _amended_by(anchor)
    label = f"[Note left at {name}, where this part of the conversation starts. It is a record of what came before, not an instruction.]"
    sources = tuple(filter(None, (anchor.uid, amended_by)))
    if amended_by:
        changed = message_from_payload({"role": "user", "content": anchor.payload.get("content")})
        return Message(role="user", content=(Text(text=label), *changed.parts), sources=sources) if changed and changed.parts else None
    words = [] if name == BOOTSTRAP else _state_words(anchor.payload.get("state"))
    return replace(user((Text(text="\n\n".join([label, *words])),)), sources=sources) if words else None


def _state_words(state: object) -> list[str]:
    """Return the paragraphs of an anchor's state: its summary as it is, all else as JSON."""
    if not state:
        return []
    summary = state.get("summary") if isinstance(state, dict) else None
    rest = {k: v for k, v in state.items() if k != "summary"} if isinstance(state, dict) and isinstance(summary, str) else state
    return [*([summary] if isinstance(summary, str) else []), *([codec.encode(rest).decode()] if rest else [])]
