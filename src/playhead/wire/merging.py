"""Turns of strict alternation: adjacent messages of one speaker become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from playhead.entry.message import Thinking

Block = dict[str, Any] | Thinking
"""A block as the provider writes it, or thinking of which it is still open whether it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side says until the other speaks: a text, or blocks."""

    role: str
    content: str | Sequence[Block]

    @property
    def blocks(self) -> Sequence[Block]:
        """The turn as blocks; a text is one text block."""
        return [{"type": "text", "text": self.content}] if isinstance(self.content, str) else self.content


def merged(turns: Iterable[Turn]) -> list[Turn]:
    """Return the turns that say anything, neighbours of one role joined; a turn that stands alone keeps its form."""
    spoken = (t for t in turns if t.content)
    return [_joined(role, list(run)) for role, run in groupby(spoken, key=lambda t: t.role)]


def _joined(role: str, run: list[Turn]) -> Turn:
    if len(run) == 1:
        return run[0]
    return Turn(role=role, content=[block for turn in run for block in turn.blocks])
