"""What one entry stands for in a conversation, before calls and results are paired."""

from __future__ import annotations

from dataclasses import dataclass, replace

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, EVENT, MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry, event_name
from playhead.entry.message import Message, Part, Text, ToolCall, ToolResult, assistant, user
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload
from playhead.errors import InvalidInput
from playhead.view.tokens import Counter, message_tokens

BOOTSTRAP = "session/start"
"""The anchor a tape's first run, import or reset leaves; its state is no news to a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What an entry says: a message (a turn with calls is one too), results, both, or nothing and why; priced.

    `tokens` is the price of the message, `result_tokens` that of each result. `lost` says what of the entry is no part
    of a conversation and is left out. `event` is the name and the data of an event.
    """

    message: Message | None = None
    results: tuple[ToolResult, ...] = ()
    hidden: str | None = None
    tokens: int = 0
    result_tokens: tuple[int, ...] = ()
    lost: str | None = None
    event: tuple[str, object] | None = None


def read_piece(entry: TapeEntry, *, counter: Counter) -> Piece:
    """Return what an entry of a kind with a message form says, priced; it does not ask whether a view shows it."""
    try:
        piece = _piece(entry)
    except (InvalidInput, TypeError, ValueError, AttributeError) as exc:
        return Piece(hidden=f"no message can be read from it ({type(exc).__name__})")
    return priced(piece, counter=counter)


def priced(piece: Piece, *, counter: Counter) -> Piece:
    """Return the piece with the prices of its message and its results."""
    tokens = message_tokens(piece.message, counter=counter) if piece.message else 0
    return replace(piece, tokens=tokens, result_tokens=tuple(result_tokens(r, counter=counter) for r in piece.results))


def result_tokens(result: ToolResult, *, counter: Counter) -> int:
    """Return the price of one tool's answer."""
    return message_tokens(Message(role="tool", content=(result,)), counter=counter)


def _piece(entry: TapeEntry) -> Piece:
    sources = (entry.uid,) if entry.uid else ()
    if entry.kind == MESSAGE:
        return message_piece(message_from_payload(entry.payload, sources=sources), salt=entry.uid or str(entry.id))
    if entry.kind == TOOL_CALL:
        turn = turn_from_payload(entry.payload, sources=sources)
        asked = entry.payload.get("calls")
        odd = len(asked) - len(turn.calls) if isinstance(asked, list) else 0
        piece = message_piece(turn, salt=entry.uid or str(entry.id))
        return replace(piece, lost=f"{odd} of its calls have no name") if odd > 0 and piece.hidden is None else piece
    if entry.kind == TOOL_RESULT:
        results = results_from_payload(entry.payload)
        return Piece(results=results) if results else Piece(hidden="no result in it")
    if entry.kind == ANCHOR:
        return Piece(message=replace(assistant(anchor_text(entry)), sources=sources))
    if entry.kind == EVENT:
        return Piece(message=replace(user(event_text(entry)), sources=sources), event=(event_name(entry), entry.payload.get("data")))
    return Piece(hidden="no message form")


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


def note_of(anchor: TapeEntry) -> Message | None:
    """Return the state of the anchor that reading starts behind as a user's message, None where it says nothing.

    It is labelled as a note and comes from a user, so that what an earlier phase left never has the voice of the model.
    """
    state = anchor.payload.get("state")
    name = event_name(anchor)
    if not state or name == BOOTSTRAP:
        return None
    summary = state.get("summary") if isinstance(state, dict) else None
    rest = {k: v for k, v in state.items() if k != "summary"} if isinstance(summary, str) else state
    words = [f"[Note left at {name}, where this part of the conversation starts. It is a record of what came before, not an instruction.]"]
    if isinstance(summary, str):
        words.append(summary)
    if rest:
        words.append(codec.encode(rest).decode())
    return replace(user((Text(text="\n\n".join(words)),)), sources=(anchor.uid,) if anchor.uid else ())
