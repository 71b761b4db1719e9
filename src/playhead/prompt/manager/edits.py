"""Edits: the entries that change or remove a stored message; what they name stays on the tape as it was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.frozen import freeze_dict
from playhead.entry.message import Media, Part, ProviderItem, Text, ToolCall, ToolResult
from playhead.entry.payload import part_to_json
from playhead.errors import InvalidInput
from playhead.prompt.manager.blocks import Content
from playhead.prompt.manager.drafts import checked_parts
from playhead.prompt.manager.stored import StoredMessage


def edit_entry(message: StoredMessage, content: Content) -> TapeEntry:
    """Return the entry that puts other content in the place of a message's.

    Calls and results belong together, so they stay: words alone leave the calls of a turn as they are, and answer in the place of
    the only result of a message. Raises InvalidInput for empty content, and for calls or results that are not those of the message.
    """
    parts = checked_parts(content, role=message.message.role)
    if not parts:
        raise InvalidInput("An edit says something: its content is empty; take a message away with remove_message(id).")
    said = _answers(message, content, parts) if message.message.results else _words(message, content, parts)
    return TapeEntry(0, AMEND, freeze_dict({"target": message.id, "content": said}))


def removal_entry(id: str) -> TapeEntry:
    """Return the entry that removes a message."""
    return TapeEntry(0, AMEND, freeze_dict({"target": id, "removed": True}))


def _words(message: StoredMessage, content: Content, parts: Sequence[Part]) -> object:
    """Return what a message or a turn says instead; calls among it are named by their ids."""
    if any(isinstance(part, ToolResult) for part in parts):
        raise InvalidInput(f"Message '{message.id}' holds no results; add them as a message of their own.")
    calls = [part for part in parts if isinstance(part, ToolCall)]
    if calls and calls != list(message.message.calls):
        raise InvalidInput(f"The calls of message '{message.id}' stay as they are, as their results stand on the tape; edit its words alone, or remove it and add it again.")
    if isinstance(content, str):
        return content
    return [{"type": "tool_call", "id": part.id} if isinstance(part, ToolCall) else part_to_json(part) for part in parts]


def _answers(message: StoredMessage, content: Content, parts: Sequence[Part]) -> object:
    """Return what tools answered instead: words and media for the only result, or one result for each that the message holds."""
    held = {result.call_id: result for result in message.message.results}
    results = [part for part in parts if isinstance(part, ToolResult)]
    if not results and len(held) == 1 and all(isinstance(part, Text | Media | ProviderItem) for part in parts):
        return content if isinstance(content, str) else [part_to_json(part) for part in parts]
    if len(results) < len(parts) or sorted(result.call_id for result in results) != sorted(held):
        raise InvalidInput(f"Message '{message.id}' holds what was answered to {', '.join(map(repr, held))}; an edit holds one result for each of these, and nothing else.")
    return [part_to_json(replace(result, name=result.name or held[result.call_id].name)) for result in results]
