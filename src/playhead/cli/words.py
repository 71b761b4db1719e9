"""What entries and messages say, as text for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from playhead.entry import codec
from playhead.entry.entry import ANCHOR, ERROR, EVENT, MESSAGE, SYSTEM, TOOL_CALL, TOOL_RESULT, TapeEntry, event_name
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload


def speaker(entry: TapeEntry) -> str:
    """Return who or what speaks in an entry: a role with its participant's name, or a kind with the entry's name."""
    if entry.kind == MESSAGE:
        return _named(str(entry.payload.get("role") or MESSAGE), entry.payload.get("name"))
    if entry.kind == TOOL_CALL:
        return _named("assistant", entry.payload.get("name"))
    if entry.kind == TOOL_RESULT:
        return "tool"
    return _named(entry.kind, event_name(entry) if entry.kind in (ANCHOR, EVENT) else None)


def _named(role: str, name: object) -> str:
    return f"{role} {name}" if isinstance(name, str) and name else role


def entry_words(entry: TapeEntry) -> str:
    """Return what an entry says, its calls and results a line or more each; an unknown payload as its JSON."""
    payload = entry.payload
    if entry.kind == MESSAGE and (message := message_from_payload(payload)) is not None:
        return message_words(message)
    if entry.kind == TOOL_CALL:
        return message_words(turn_from_payload(payload))
    if entry.kind == TOOL_RESULT and (results := results_from_payload(payload)):
        return "\n".join(map(_result_words, results))
    if entry.kind == SYSTEM and isinstance(payload.get("content"), str):
        return str(payload["content"])
    if entry.kind == ERROR and isinstance(payload.get("message"), str):
        return f"{payload.get('kind', ERROR)}: {payload['message']}" + (f"\n{as_json(payload['details'])}" if payload.get("details") else "")
    if entry.kind in (ANCHOR, EVENT):
        return _rest(payload)
    return as_json(payload)


def message_words(message: Message) -> str:
    """Return what a message says: its words, and a line for each call, result and part that is not text."""
    return "\n".join(filter(None, map(part_words, message.parts)))


def part_words(part: Part) -> str:
    """Return one part of a message as text."""
    match part:
        case Text():
            return part.text
        case Thinking():
            return f"[thinking] {part.text}" if part.text else "[thinking, not readable]"
        case ToolCall():
            return f"→ {part.name} {as_json(part.arguments)}"
        case ToolResult():
            return _result_words(part)
        case Media():
            return f"[{part.kind}{_where(part)}]"
        case ProviderItem():
            return f"[{part.provider} {part.value.get('type', 'block')}]"


def _result_words(result: ToolResult) -> str:
    words = result.content if isinstance(result.content, str) else "\n".join(map(part_words, result.content))
    said = " ".join(filter(None, ("←", result.name, "failed" if result.is_error else "")))
    return f"{said}: {words}" if said != "←" else f"← {words}"


def _where(media: Media) -> str:
    size = f"{len(media.data) * 3 // 4:,} bytes" if media.data else ""
    return "".join(f", {fact}" for fact in (media.name, media.mime, media.url, media.ref, size) if fact)


def _rest(payload: Mapping[str, object]) -> str:
    """Return what an anchor or event holds besides its name: a text as it is, the rest as JSON, a line each."""
    held = [value for key, value in payload.items() if key != "name" and value not in (None, {}, [])]
    return "\n".join(line for value in held for line in _facts(value))


def _facts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (f"{key}: {fact if isinstance(fact, str) else as_json(fact)}" for key, fact in value.items())
    else:
        yield value if isinstance(value, str) else as_json(value)


def as_json(value: object) -> str:
    """Return a value as one line of JSON."""
    return codec.encode(value).decode()
