"""Masking: what matches a pattern is replaced in every place of a message that is shown."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playhead.entry.frozen import FrozenDict, FrozenList
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, Thinking, ToolCall, ToolResult

Patterns = Sequence[re.Pattern[str]]


def masked_message(message: Message, patterns: Patterns, replacement: str) -> Message:
    """Return the message with every match replaced, itself where there is none.

    Signed reasoning with a match is left out whole: changed, its provider would refuse it.
    """
    content: str | tuple[Part, ...]
    if isinstance(message.content, str):
        content = masked_text(message.content, patterns, replacement)
    else:
        content = tuple(p for part in message.content if (p := _masked_part(part, patterns, replacement)) is not None)
    name = masked_text(message.name, patterns, replacement) if message.name else message.name
    extra = masked_value(message.extra, patterns, replacement)
    masked = replace(message, content=content, name=name, extra=extra)
    return message if masked == message else masked


def masked_text(text: str, patterns: Patterns, replacement: str) -> str:
    """Return the text with every match of every pattern replaced, word for word."""
    for pattern in patterns:
        text = pattern.sub(lambda _: replacement, text)
    return text


def masked_value(value: Any, patterns: Patterns, replacement: str) -> Any:
    """Return a frozen JSON value with every match in its texts replaced."""
    if isinstance(value, str):
        return masked_text(value, patterns, replacement)
    if isinstance(value, dict):
        return FrozenDict({masked_text(k, patterns, replacement): masked_value(v, patterns, replacement) for k, v in value.items()})
    if isinstance(value, list):
        return FrozenList([masked_value(v, patterns, replacement) for v in value])
    return value


def _masked_part(part: Part, patterns: Patterns, replacement: str) -> Part | None:
    match part:
        case Text():
            return replace(part, text=masked_text(part.text, patterns, replacement), extra=masked_value(part.extra, patterns, replacement))
        case ToolCall():
            return replace(
                part, name=masked_text(part.name, patterns, replacement), arguments=masked_value(part.arguments, patterns, replacement), extra=masked_value(part.extra, patterns, replacement)
            )
        case ToolResult():
            name = masked_text(part.name, patterns, replacement) if part.name else part.name
            return replace(part, name=name, content=_masked_answer(part.content, patterns, replacement), extra=masked_value(part.extra, patterns, replacement))
        case Thinking():
            is_clean = masked_text(part.text, patterns, replacement) == part.text and masked_value(part.extra, patterns, replacement) == part.extra
            return part if is_clean else None
        case Media():
            url, ref, name = (masked_text(t, patterns, replacement) if t else t for t in (part.url, part.ref, part.name))
            return replace(part, url=url, ref=ref, name=name, data=_masked_data(part, patterns, replacement), extra=masked_value(part.extra, patterns, replacement))
        case ProviderItem():
            return replace(part, value=masked_value(part.value, patterns, replacement))


def _masked_answer(content: str | tuple[Text | Media | ProviderItem, ...], patterns: Patterns, replacement: str) -> str | tuple[Text | Media | ProviderItem, ...]:
    if isinstance(content, str):
        return masked_text(content, patterns, replacement)
    masked = (_masked_part(p, patterns, replacement) for p in content)
    return tuple(p for p in masked if isinstance(p, (Text, Media, ProviderItem)))


def _masked_data(part: Media, patterns: Patterns, replacement: str) -> str | None:
    """Mask a document of plain text inside its base64; pictures and sound stay as they are."""
    if not part.data or not (part.mime or "").startswith("text/"):
        return part.data
    try:
        text = b64decode(part.data, validate=True).decode()
    except ValueError:
        return part.data
    masked = masked_text(text, patterns, replacement)
    return part.data if masked == text else b64encode(masked.encode()).decode()
