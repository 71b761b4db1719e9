"""Who speaks: a participant's name in the provider's name field, or as a prefix of the words."""

from __future__ import annotations

import re
from dataclasses import replace

from playhead.entry.message import Media, Message, Text

FIELD = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names OpenAI takes in a message's name field."""


def named(message: Message) -> tuple[str | None, Message]:
    """Return the name for the name field and the message without it; a user's name that does not fit becomes a prefix."""
    if message.name is not None and FIELD.fullmatch(message.name):
        return message.name, message
    return None, prefixed(message)


def prefixed(message: Message) -> Message:
    """Return the message with `Name: ` before its first words; only users are introduced so, the assistant is itself."""
    name = " ".join((message.name or "").split())
    if message.role != "user" or not name:
        return message
    if isinstance(message.content, str):
        return replace(message, content=f"{name}: {message.content}") if message.content.strip() else message
    for i, part in enumerate(message.content):
        if isinstance(part, Text) and part.text.strip():
            introduced = replace(part, text=f"{name}: {part.text}")
            return replace(message, content=(*message.content[:i], introduced, *message.content[i + 1 :]))
    if any(isinstance(part, Media) for part in message.content):
        return replace(message, content=(Text(text=f"{name}:"), *message.content))
    return message
