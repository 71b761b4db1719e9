"""The line under the prompt: the tape, who answers, how much of the budget the next prompt takes, how much of the last one was cached."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from playhead.cli.bar import bar
from playhead.cli.chat.session import Session, Size
from playhead.cli.layout import cut
from playhead.model.protocol import Usage

BAR = 20
"""How many columns the bar has."""

LEAST = 12
BETWEEN = " · "


def status(session: Session, *, width: int) -> Text:
    """Return the line, at most `width` columns wide: where it is too narrow, names are cut first, then the bar is left out."""
    facts = [_used(session.size), *_cached(session.last)]
    told = BETWEEN.join(facts)
    line = Text(" ", style="dim")
    room = session.size.room
    left = width - len(told) - 1
    if room and left - BAR - 1 >= 2 * LEAST + 2 * len(BETWEEN):
        left -= BAR + 1
    else:
        room = None
    if left >= 2 * LEAST + 2 * len(BETWEEN):
        line.append(_names(session, width=left - 2 * len(BETWEEN)))
    if room:
        line.append_text(bar(session.size.shares, room=room, width=BAR)).append(" ")
    return line.append(told)


def _names(session: Session, *, width: int) -> str:
    """Return what the tape and the model are called; the longer one is cut first."""
    half = width // 2
    tape = cut(session.tape, width=max(half, width - cell_len(session.model)))
    return f"{tape}{BETWEEN}{cut(session.model, width=max(1, width - cell_len(tape)))}{BETWEEN}"


def _used(size: Size) -> str:
    return f"{size.used:,} tokens" if size.room is None else f"{size.used:,} of {size.room:,} tokens"


def _cached(usage: Usage | None) -> list[str]:
    return [] if usage is None or not usage.input else [f"{usage.cache_read / usage.input:.0%} cached"]
