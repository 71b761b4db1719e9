"""Retelling: what was said and done of late, in few words, for the state of a handoff that no model writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from playhead.entry import codec
from playhead.entry.message import Message, ToolResult
from playhead.view.plan import Units
from playhead.view.tokens import Counter, text_tokens

NEWEST = 8
"""How many messages from the end are told at length."""

AT_LENGTH, IN_SHORT = 2_000, 240
"""How many characters of a turn, a call or an answer are told."""


def retold(units: Units, *, room: int, counter: Counter) -> str:
    """Return the end of a view, oldest first, in about `room` tokens: who said what, which tools were called, and what they answered.

    The note that the view opens with comes first, in at most a third of it.
    """
    opening = [line for unit in units[: units.lead] for m in unit.messages if m.role == "user" for line in _lines(m, characters=room)]
    left = room - sum(text_tokens(line, counter=counter) for line in opening)
    messages = [m for unit in units[units.lead :] for m in unit.messages if m.role != "system"]
    kept: list[str] = []
    for place, message in enumerate(reversed(messages)):
        lines = list(_lines(message, characters=AT_LENGTH if place < NEWEST else IN_SHORT))
        left -= sum(text_tokens(line, counter=counter) for line in lines)
        if left < 0:
            break
        kept += reversed(lines)
    return "\n".join([*opening, *reversed(kept)])


def _lines(message: Message, *, characters: int) -> Iterator[str]:
    words = _words(message)
    if words:
        yield f"{_speaker(message)}: {_clipped(words, characters)}"
    for call in message.calls:
        yield f"You called {call.name}: {_clipped(codec.encode(call.arguments).decode(), characters)}"
    for result in message.results:
        yield f"{result.name or 'The tool'} {'failed' if result.is_error else 'answered'}: {_clipped(_answer(result), characters)}"


def _speaker(message: Message) -> str:
    return "You" if message.role == "assistant" else message.name or "User"


def _words(message: Message) -> str:
    return message.text if not message.results else _joined(getattr(p, "text", "") for p in message.parts if p.type == "text")


def _answer(result: ToolResult) -> str:
    return result.content if isinstance(result.content, str) else _joined(getattr(p, "text", f"[{p.type}]") for p in result.content)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts))


def _clipped(text: str, characters: int) -> str:
    half = characters // 2
    return text if len(text) <= characters else f"{text[:half]} [... {len(text) - 2 * half:,} characters are left out ...] {text[-half:]}"
