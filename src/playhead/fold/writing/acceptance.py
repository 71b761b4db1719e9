"""Acceptance: which answers become memory, and what the others came to (specs: context-manager 14.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from playhead.entry.message import ProviderItem, Text, Thinking
from playhead.model.protocol import Reply

Flaw = Literal["refusal", "content_filter", "tool_calls", "length", "stop_sequence", "other", "empty", "overlong"]
"""Why an answer is not kept: how it ended, a call in it, no words, or more of them than what it tells has."""

FLAWS: tuple[str, ...] = get_args(Flaw)

_THOUGHT = "<thinking>"
_LEADING = re.compile(r"<thinking>.*?</thinking>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The words of an answer that become a memory."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """An answer that is not kept, and why."""

    flaw: Flaw


def judged(reply: Reply) -> Accepted | Unusable:
    """Return the memory that an answer is, or why it is none.

    Only a turn that came to its own end, holds words and calls nothing is one. A literal <thinking> element at its start is taken
    off, one that is never closed with all behind it; further on the tag is a word like any other.
    """
    parts = reply.message.parts
    if any(_is_refusal(part) for part in parts):
        return Unusable(flaw="refusal")
    if reply.calls:
        return Unusable(flaw="tool_calls")
    if reply.stop != "end":
        return Unusable(flaw=reply.stop if reply.stop in FLAWS else "other")
    if reply.message.role != "assistant" or not all(isinstance(part, (Text, Thinking, ProviderItem)) for part in parts):
        return Unusable(flaw="other")
    text = without_thinking("\n".join(part.text for part in parts if isinstance(part, Text)))
    return Accepted(text=text) if text else Unusable(flaw="empty")


def without_thinking(text: str) -> str:
    """Return the words without the literal <thinking> elements they begin with, white space around them left out."""
    text = text.strip()
    while text.startswith(_THOUGHT):
        closed = _LEADING.match(text)
        if closed is None:
            return ""
        text = text[closed.end() :]
    return text


def _is_refusal(part: object) -> bool:
    """Whether words are marked as a refusal by the provider, whatever it says of how the answer ended."""
    return isinstance(part, Text) and any(isinstance(own, dict) and own.get("type") == "refusal" for own in part.extra.values())
