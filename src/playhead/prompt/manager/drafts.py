"""Drafts: the entries that a message becomes, before a tape has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from playhead.entry.entry import TOOL_RESULT, TapeEntry
from playhead.entry.frozen import freeze, freeze_dict
from playhead.entry.message import NOTHING, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from playhead.entry.payload import message_to_entries
from playhead.errors import InvalidInput
from playhead.fold.choosing.shards import body_id, shards
from playhead.prompt.manager.blocks import Content, parts_of
from playhead.prompt.manager.stored import CAUSED_BY, METADATA, PARTICIPANT, is_agent
from playhead.view.pieces import SHARD

_Meta = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who says something, and in what role: the one whose memory this is is the assistant, all others are users."""

    name: str | None
    role: Role


def speaker_of(participant: str, *, agent: str) -> Speaker:
    """Return a participant as a speaker; "User" is nobody's name. Raises InvalidInput for anything but a name."""
    if not isinstance(participant, str) or not participant.strip():
        raise InvalidInput(f"A message has a participant, such as 'User' or '{agent}', not {participant!r:.80}.")
    if is_agent(participant, agent=agent):
        return Speaker(name=agent, role="assistant")
    return Speaker(name=None if participant.strip().casefold() == "user" else participant, role="user")


def entries_of(participant: str, content: Content, *, agent: str, metadata: Mapping[str, Any] | None = None, caused_by: Iterable[str] = (), shard_tokens: int | None = None) -> tuple[TapeEntry, ...]:
    """Return the entries that a message becomes: one, or the results in it and its words apart, or its shards where it is long.

    Results are of the role `tool`, whoever brings them. A Message keeps its role where that is `system`. All entries have one date.
    Raises InvalidInput for an empty message, for calls and reasoning of anybody but the agent, UnstorableValue for what JSON cannot hold.
    """
    speaker = speaker_of(participant, agent=agent)
    parts = checked_parts(content, role=speaker.role)
    if not parts:
        raise InvalidInput("A message says something: its content is empty.")
    entries = _entries(_message(content, parts, speaker), _meta(metadata, caused_by), speaker, shard_tokens=shard_tokens)
    return tuple(replace(entry, date=entries[0].date) for entry in entries)


def _entries(whole: Message, meta: _Meta, speaker: Speaker, *, shard_tokens: int | None) -> tuple[TapeEntry, ...]:
    if whole.calls or whole.results:
        return tuple(entry for message in _turns(whole) for entry in _written(message, meta, speaker))
    if shard_tokens is not None and whole.role != "system" and (cut := _shards(whole, tokens=shard_tokens)):
        return cut.entries(meta)
    return message_to_entries(whole, **meta)


def checked_parts(content: Content, *, role: str) -> tuple[Part, ...]:
    """Return what is said as parts. Raises InvalidInput where it holds what only the agent says."""
    parts = parts_of(content)
    if role != "assistant" and any(isinstance(part, ToolCall) for part in parts):
        raise InvalidInput("Only the agent calls tools; add a message with tool_use blocks under the agent's name.")
    if role != "assistant" and any(isinstance(part, Thinking) for part in parts):
        raise InvalidInput("Only the agent reasons; add a message with thinking blocks under the agent's name.")
    return parts


def _meta(metadata: Mapping[str, Any] | None, caused_by: Iterable[str]) -> _Meta:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(f"A message's metadata is a mapping, not {type(metadata).__name__}.")
    causes = [caused_by] if isinstance(caused_by, str) else list(caused_by)
    if not all(isinstance(id, str) for id in causes):
        raise InvalidInput(f"A message is caused by messages, named by their ids, not by {causes!r:.100}.")
    meta: _Meta = {METADATA: freeze_dict(metadata, path=METADATA)} if metadata else {}
    return {**meta, CAUSED_BY: causes} if causes else meta


def _message(content: Content, parts: tuple[Part, ...], speaker: Speaker) -> Message:
    """Return what is said as one message; a text stays a text."""
    plain = content.content if isinstance(content, Message) else content
    role = "system" if isinstance(content, Message) and content.role == "system" else speaker.role
    return Message(role=role, content=plain if isinstance(plain, str) else parts, name=speaker.name, extra=content.extra if isinstance(content, Message) else NOTHING)


def _turns(whole: Message) -> list[Message]:
    """Return a message with calls or results as messages of one sort each.

    Without calls the results come first, as they answer the turn before; with calls everything stays in its order.
    """
    parts = whole.parts if whole.calls else sorted(whole.parts, key=_is_word)
    runs = [(is_result, tuple(run)) for is_result, run in groupby(parts, key=lambda part: isinstance(part, ToolResult))]
    return [Message(role="tool", content=run) if is_result else replace(whole, content=run) for is_result, run in runs]


def _is_word(part: Part) -> bool:
    return not isinstance(part, ToolResult)


def _written(message: Message, meta: _Meta, speaker: Speaker) -> tuple[TapeEntry, ...]:
    entries = message_to_entries(message, **meta)
    return tuple(replace(e, meta=freeze_dict({**e.meta, PARTICIPANT: speaker.name or "User"}, path="meta")) if e.kind == TOOL_RESULT else e for e in entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shards:
    """A long message in parts: its words cut, all else with the first of them."""

    message: Message
    body: str
    texts: tuple[str, ...]

    def entries(self, meta: _Meta) -> tuple[TapeEntry, ...]:
        """Return the entries of all parts, in order."""
        first = _with_words(self.message, self.texts[0])
        messages = (first, *(replace(self.message, content=text) for text in self.texts[1:]))
        count = len(self.texts)
        return tuple(e for i, m in enumerate(messages) for e in message_to_entries(m, **meta, **{SHARD: {"body": self.body, "index": i, "count": count}}))


def _shards(message: Message, *, tokens: int) -> _Shards | None:
    """Return a message in parts, None where it is short, or where the fields that a provider gave several texts would be lost."""
    texts = [part for part in message.parts if isinstance(part, Text)]
    if len(texts) > 1 and any(text.extra for text in texts):
        return None
    words: str = freeze(message.text)
    pieces = shards(words, tokens=tokens)
    return _Shards(message=message, body=body_id(words), texts=pieces) if len(pieces) > 1 else None


def _with_words(message: Message, words: str) -> Message:
    """Return a message with other words in the place of the first it has, and no more."""
    if isinstance(message.content, str):
        return replace(message, content=words)
    parts: list[Part] = []
    for part in message.content:
        if not isinstance(part, Text):
            parts.append(part)
        elif words:
            parts.append(replace(part, text=words))
            words = ""
    return replace(message, content=tuple(parts))
