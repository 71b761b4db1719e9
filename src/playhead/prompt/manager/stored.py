"""Stored messages: what one entry of a tape says, who said it, and what its host noted about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from playhead.entry.entry import MESSAGE, TOOL_CALL, TOOL_RESULT, TapeEntry, parse_date
from playhead.entry.frozen import FrozenDict
from playhead.entry.message import NOTHING, Message, Part, ProviderItem
from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload
from playhead.errors import InvalidInput
from playhead.view.amends import Amend
from playhead.view.pieces import body_of
from playhead.view.units import Body

MessageId = str
"""The uid of a message's entry: an opaque text, the same on every branch and in every copy."""

ROWS = (MESSAGE, TOOL_CALL, TOOL_RESULT)
"""The kinds of entry that are messages."""

PARTICIPANT, METADATA, CAUSED_BY = "participant", "metadata", "caused_by"
"""Meta keys: who brought a tool's results, what a host noted, and which messages led to this one."""

ASSISTANT = "assistant"
_UNNAMED = {"user": "User", "system": "System", "tool": "Tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message as it reads now, or read at a time.

    `id` names it, `entry` is where it stands on the tape. `timestamp` is when it was written, in UTC. `metadata` is what its host
    noted, `caused_by` the ids of messages that led to it. `body` says which part of a long message it is, None where it is whole.
    """

    id: MessageId
    entry: int
    participant: str
    message: Message
    metadata: Mapping[str, Any] = NOTHING
    timestamp: datetime
    caused_by: tuple[MessageId, ...] = ()
    body: Body | None = None
    is_amended: bool = False

    @property
    def content(self) -> tuple[Part, ...]:
        """What it says, as parts."""
        return self.message.parts

    @property
    def text(self) -> str:
        """Its words, results of tools included."""
        return self.message.text


def stored(entry: TapeEntry, *, agent: str, amend: Amend | None = None) -> StoredMessage:
    """Return the message that an entry holds, as a change leaves it that does not remove it; `agent` is who speaks where an assistant has no name."""
    shown = entry if amend is None else amend.applied(entry)
    return StoredMessage(
        id=entry.uid,
        entry=entry.id,
        participant=participant_of(entry, agent=agent),
        message=_message(shown),
        metadata=metadata_of(entry),
        timestamp=parse_date(entry.date),
        caused_by=tuple(id for id in _listed(entry.meta.get(CAUSED_BY)) if isinstance(id, str)),
        body=body_of(entry),
        is_amended=amend is not None,
    )


def participant_of(entry: TapeEntry, *, agent: str) -> str:
    """Return who said what an entry holds: by name, else by role."""
    name = entry.meta.get(PARTICIPANT) if entry.kind == TOOL_RESULT else entry.payload.get("name")
    if isinstance(name, str) and name:
        return name
    role = {TOOL_CALL: ASSISTANT, TOOL_RESULT: "tool"}.get(entry.kind) or entry.payload.get("role")
    return agent if role == ASSISTANT else _UNNAMED.get(str(role), "User")


def metadata_of(entry: TapeEntry) -> FrozenDict:
    """Return what a host noted about a message."""
    noted = entry.meta.get(METADATA)
    return noted if isinstance(noted, FrozenDict) else NOTHING


def is_agent(participant: str, *, agent: str) -> bool:
    """Return whether a participant is the one whose memory this is."""
    return participant.casefold() in (agent.casefold(), ASSISTANT)


def _message(entry: TapeEntry) -> Message:
    """Return what an entry says; what is no message is kept word for word, and goes to no model."""
    sources = (entry.uid,) if entry.uid else ()
    try:
        message = _read(entry, sources)
    except (InvalidInput, TypeError, ValueError, AttributeError):
        message = None
    return message or Message(role="user", content=(ProviderItem(provider="unknown", value=entry.payload),), sources=sources)


def _read(entry: TapeEntry, sources: tuple[str, ...]) -> Message | None:
    if entry.kind == TOOL_CALL:
        return turn_from_payload(entry.payload, sources=sources)
    if entry.kind == TOOL_RESULT:
        return Message(role="tool", content=results_from_payload(entry.payload), sources=sources)
    return message_from_payload(entry.payload, sources=sources)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
