"""What a terminal shows over the prompt for as long as it is so: the end of the answer that is being said, tools at work, lines that wait."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from playhead.cli.chat.ends import end_of
from playhead.cli.chat.rendering import MARGIN, Renderer
from playhead.cli.chat.session import Session
from playhead.cli.layout import cut, wrapped
from playhead.cli.plain import plain

THINKING = 3
"""How many rows of its thoughts are shown while the model thinks."""

THOUGHT = 8
"""How many characters of them are looked at for each column: more than these rows hold."""

LINES = 5
"""How many of the lines that wait are shown."""


class Live:
    """Renders the live part of a session, at most so many rows of it; what is asked for twice is rendered once."""

    def __init__(self) -> None:
        self._known: tuple[Session, int, int] | None = None
        self._text = ""

    def of(self, session: Session, *, width: int, rows: int) -> str:
        """Return the live part as lines, "" where there is none."""
        if self._known is None or self._known[0] is not session or self._known[1:] != (width, rows):
            self._known, self._text = (session, width, rows), _rendered(session, width, rows)
        return self._text


def _rendered(session: Session, width: int, rows: int) -> str:
    renderer = Renderer(width=width)
    below = renderer.shown(Group(*_below(session, width))).rstrip("\n")
    under = below.split("\n") if below else []
    room = max(0, rows - len(under))
    over: list[str] = []
    if session.tail.strip():
        end = end_of(session.tail, fence=session.reading.fence, rows=max(room, 1), width=width)
        over = ["", *renderer.answer(end).strip("\n").split("\n")]
    elif session.thoughts.strip():
        thought = list(wrapped(plain(session.thoughts[-THOUGHT * width :].strip()), width=width - 4))[-THINKING:]
        over = ["", *renderer.shown(Group(*(Text(f"{MARGIN}{row}", style="dim italic") for row in thought))).rstrip("\n").split("\n")]
    return "\n".join([*over[-room:], *under] if room else under)


def _below(session: Session, width: int) -> Iterator[Text]:
    """Yield the lines under what is being said."""
    if session.question is not None:
        yield Text("")
        yield Text(cut(f"Run {session.question.name}? y: yes, n: no, a: always, or say why not", width=width), style="bold yellow")
    elif session.is_running:
        yield Text("")
        if session.calls:
            yield Text(cut(f"at work: {', '.join(call.name for call in session.calls)}", width=width), style="dim cyan")
        yield Text("stopping …" if session.is_stopping else "Ctrl-C stops; what you type is said to the model meanwhile", style="dim")
    waiting = list(session.waiting.values())
    if waiting and not session.is_running:
        yield Text("")
        told = "A line waits: Enter has it answered, /undo takes it back." if len(waiting) == 1 else f"{len(waiting)} lines wait: Enter has them answered, /undo takes the last one back."
        yield Text(cut(told, width=width), style="dim")
    for text in waiting[-LINES:]:
        yield Text(cut(f"… {text}", width=width), style="green")
