"""The last resort against what is too large for any request and reached the tape whole, a tool's result or a call's arguments: there it is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playhead.agent.chunks import boundary
from playhead.entry.message import Message, Part, Text, ToolCall, ToolResult

MOST = 262_144
"""How many bytes of words a result of a tool, or one text in the arguments of a call, has in a request at most."""


def capped(message: Message, *, most: int = MOST) -> Message:
    """Return a message for a request in which no tool's result, and no text in a call's arguments, has more than so many bytes: of a longer one the middle is left out.

    For results that bypass spilling, such as imported ones, and for calls that wrote a whole file; the tape keeps them whole. What a
    user says is never cut. The same message always comes out the same.
    """
    if isinstance(message.content, str):
        return message
    parts = [_cut(part, most) for part in message.content]
    return message if all(new is old for new, old in zip(parts, message.content, strict=True)) else replace(message, content=tuple(parts))


def _cut(part: Part, most: int) -> Part:
    if isinstance(part, ToolResult):
        return _fitted(part, most)
    if not isinstance(part, ToolCall):
        return part
    arguments = _told(part.arguments, most)
    return part if arguments is part.arguments else replace(part, arguments=arguments)


def _told(value: Any, most: int) -> Any:
    """Return a value of JSON with its long texts cut, the very value where it has none."""
    if isinstance(value, str):
        return _shortened(value, most, what="arguments") if _size(value, most) > most else value
    if isinstance(value, Mapping):
        told = {key: _told(item, most) for key, item in value.items()}
        return value if all(told[key] is value[key] for key in value) else told
    if isinstance(value, (list, tuple)):
        items = [_told(item, most) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _fitted(result: ToolResult, most: int) -> ToolResult:
    if isinstance(result.content, str):
        return replace(result, content=_shortened(result.content, most)) if _size(result.content, most) > most else result
    sizes = [_size(part.text, most) if isinstance(part, Text) else 0 for part in result.content]
    if sum(sizes) <= most:
        return result
    share = most // sum(size > 0 for size in sizes)
    return replace(result, content=tuple([replace(part, text=_shortened(part.text, share)) if isinstance(part, Text) else part for part in result.content]))


def _size(text: str, most: int) -> int:
    """Return how many bytes a text has; where it is surely short, no less."""
    return len(text) * 4 if len(text) * 4 <= most else len(_raw(text))


def _shortened(text: str, most: int, *, what: str = "tool output") -> str:
    raw = _raw(text)
    if len(raw) <= most:
        return text
    head, tail = boundary(raw, most // 2), boundary(raw, len(raw) - most // 2)
    left_out = f"[{what} truncated: {tail - head:,} of {len(raw):,} bytes left out here]"
    return f"{_words(raw[:head])}\n{left_out}\n{_words(raw[tail:])}"


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _words(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
