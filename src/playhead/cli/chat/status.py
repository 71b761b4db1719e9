"""The line under the prompt: the tape, who answers, how much of the budget the next prompt takes, how much of the last one was cached."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from playhead.cli.bar import bar
from playhead.cli.chat.session import Session, Size
from playhead.cli.layout import cut
from playhead.model.prices import money
from playhead.model.protocol import Usage

BARS = (20, 10)
"""How many columns the bar has, in a wide terminal and in a narrow one."""

LEAST = 8
"""How many columns each name has at least."""

BETWEEN = " · "
NAMES = 2 * (LEAST + len(BETWEEN))
"""How many columns both names have at least."""


def status(session: Session, *, width: int) -> Text:
    """Return the line, at most `width` columns wide: where it is too narrow, names are cut first, then the bar gets shorter, then what was paid is left out, then the bar and the names."""
    facts, room = [_used(session.size), *_cached(session.last)], session.size.room
    paid = [] if session.paid is None else [money(session.paid)]
    if not room or _columns([*facts, *paid], width=width) or not _columns(facts, width=width):
        facts += paid
    while len(BETWEEN.join(facts)) >= width and len(facts) > 1:
        facts.pop()
    told, columns = BETWEEN.join(facts), _columns(facts, width=width) if room else 0
    left = width - len(told) - 1 - (columns + 1 if columns else 0)
    line = Text(" ", style="dim")
    if left >= NAMES:
        line.append(_names(session, width=left - 2 * len(BETWEEN)))
    if columns and room:
        line.append_text(bar(session.size.shares, room=room, width=columns)).append(" ")
    return line.append(told)


def _columns(facts: Sequence[str], *, width: int) -> int:
    """Return how many columns a bar gets beside facts and names; 0 where it has no place."""
    left = width - len(BETWEEN.join(facts)) - 1
    return next((columns for columns in BARS if left - columns - 1 >= NAMES), 0)


def _names(session: Session, *, width: int) -> str:
    """Return what the tape and the model are called; the longer one is cut first."""
    half = width // 2
    tape = cut(session.tape, width=max(half, width - cell_len(session.model)))
    return f"{tape}{BETWEEN}{cut(session.model, width=max(1, width - cell_len(tape)))}{BETWEEN}"


def _used(size: Size) -> str:
    return f"{size.used:,} tokens" if size.room is None else f"{size.used:,} of {size.room:,} tokens"


def _cached(usage: Usage | None) -> list[str]:
    return [] if usage is None or not usage.input else [f"{usage.cache_read / usage.input:.0%} cached"]
