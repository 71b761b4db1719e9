"""What a chat shows for good, piece by piece, in the order in which it happened."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.entry.message import ToolCall, ToolResult
from playhead.model.protocol import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A line of the user's."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Some whole blocks of an answer, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoughts:
    """What the model thought before it went on."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool that the model asks for."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call that waits for an approval, all of it."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a tool answered, and how long it took."""

    call: ToolCall
    result: ToolResult
    elapsed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a turn cost, in tokens, and in dollars where that is known."""

    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A line of the program's own; `is_error` where something failed."""

    text: str
    is_error: bool = False


Piece = Said | Words | Thoughts | Called | Asked | Answered | Spent | Remark


def length(piece: Piece) -> int:
    """Return how many characters of a piece are shown whole, in Markdown or as they are; the others are cut to a few lines."""
    return len(piece.text) if isinstance(piece, Said | Words | Remark) else 0
