"""Pieces of a chat as text for a terminal, or as plain text for a pipe.

What begins at the left edge of a terminal is the chat's own, or a line of the user's: all that a model or a tool says is indented,
and what a tool says or is given stands behind a bar, however it is broken into lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import StringIO

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.text import Text

from playhead.cli.chat.markdown import Answer
from playhead.cli.chat.pieces import Answered, Asked, Called, Piece, Remark, Said, Spent, Thoughts, Words
from playhead.cli.layout import cut, wrapped
from playhead.cli.plain import one_line, plain
from playhead.cli.transcript import shortened
from playhead.cli.words import as_json, part_words
from playhead.entry import codec
from playhead.entry.message import ToolCall, ToolResult
from playhead.model.prices import money
from playhead.model.protocol import Usage

BAR = "│ "
INDENT = 2
WIDEST = 110
"""How wide prose gets; longer lines are hard to read."""

PROMPT, MARGIN = "› ", "  "
CALL, RESULT, FAILED = "→", "←", "✗"
ROWS = 6
"""How many lines of what a tool answered are shown."""


class Renderer:
    """Turns pieces into text with the codes of a terminal, for lines of at most `width` columns."""

    def __init__(self, *, width: int) -> None:
        self.width = width
        self._file = StringIO()
        options = {"color_system": None} if os.environ.get("NO_COLOR") else {}
        self._console = Console(file=self._file, width=width, force_terminal=True, highlight=False, markup=False, emoji=False, legacy_windows=False, **options)  # type: ignore[arg-type]

    def of(self, piece: Piece) -> str:
        """Return a piece as lines, an empty one before what begins something new."""
        if isinstance(piece, Words):
            said = self.answer(piece.text)
            return f"\n{said}" if said.strip() else ""
        return self.shown(_shown(piece, width=self.width))

    def answer(self, text: str) -> str:
        """Return some Markdown as lines."""
        return self.shown(_indented(Answer(text), self.width)).strip("\n") + "\n"

    def shown(self, renderable: ConsoleRenderable | str) -> str:
        """Return anything that rich renders as lines without spaces at their ends."""
        self._console.print(renderable)
        text = self._file.getvalue()
        self._file.seek(0)
        self._file.truncate()
        return "".join(f"{line.rstrip(' ')}\n" for line in text.removesuffix("\n").split("\n"))


def _shown(piece: Piece, *, width: int) -> ConsoleRenderable:
    match piece:
        case Said(text=text):
            return Group(Text(""), *(Text(row, style="bold green") for row in hanging(plain(text), width=width, sign=PROMPT)))
        case Words(text=text):
            return _indented(Answer(text), width)
        case Thoughts(text=text):
            said, left = shortened(plain(text))
            more = f" … {left:,} more characters" if left else ""
            return Group(Text(""), _indented(Text(said + more, style="dim italic"), width))
        case Called(call=call):
            return Group(Text(""), Text(call_line(call, width=width), style="cyan"))
        case Asked(call=call):
            return Group(*(Text(f"{MARGIN}{line}", style="yellow") for line in argument_lines(call, width=width - INDENT)))
        case Answered(call=call, result=result, elapsed_ms=elapsed_ms):
            return _answered(call, result, elapsed_ms, width=width)
        case Spent(usage=usage, cost=cost):
            return Group(Text(""), Text(spent_line(usage, cost), style="dim"))
        case Remark(text=text, is_error=is_error):
            return Group(Text(""), *(Text(row, style="red" if is_error else "dim") for row in hanging(plain(text), width=width)))


def hanging(text: str, *, width: int, sign: str = "") -> Iterator[str]:
    """Yield a text as rows behind a sign, all but the first indented, also behind its own newlines."""
    first, *more = wrapped(text, width=width - INDENT)
    yield f"{sign}{first}"
    yield from (f"{MARGIN}{row}" for row in more)


def _answered(call: ToolCall, result: ToolResult, elapsed_ms: int, *, width: int) -> Group:
    sign, style = (FAILED, "red") if result.is_error else (RESULT, "dim")
    head = f"{sign} {cut(call.name, width=width // 2)} {seconds(elapsed_ms)}"
    return Group(*(Text(line, style=style) for line in (head, *result_lines(result, width=width - 2 * INDENT))))


def _indented(renderable: ConsoleRenderable, width: int) -> Padding:
    return Padding(renderable, (0, max(0, width - WIDEST), 0, INDENT))


def call_line(call: ToolCall, *, width: int) -> str:
    """Return a call as one line."""
    return cut(f"{CALL} {call.name} {as_json(call.arguments)}", width=width)


def argument_lines(call: ToolCall, *, width: int) -> list[str]:
    """Return all that a call is given, as lines: who approves it must see it. Only an argument's name begins a line; what follows stands behind a bar."""
    return [row for key, value in call.arguments.items() for row in _argument(one_line(key), value, width=width)]


def _argument(name: str, value: object, *, width: int) -> Iterator[str]:
    words = value if isinstance(value, str) and not _looks_otherwise(value) else as_json(value)
    first, *more = wrapped(plain(f"{name}: {words}"), width=width - len(BAR))
    yield first
    yield from (f"{BAR}{row}" for row in more)


def _looks_otherwise(text: str) -> bool:
    """Return whether a text, as it stands, would be taken for a number, a truth value, a list or nothing."""
    try:
        codec.decode(text)
    except ValueError:
        return text != text.strip(" ")
    return True


def result_lines(result: ToolResult, *, width: int) -> list[str]:
    """Return the first lines of what a tool answered, and how many more there are; of a failure what it says, and its cause."""
    told = _failure(result) if result.is_error else None
    if told is not None:
        lines = list(wrapped(plain(told), width=width))
    else:
        words = result.content if isinstance(result.content, str) else "\n".join(map(part_words, result.content))
        lines = plain(words).strip("\n").split("\n") if words.strip() else []
    shown = [f"{MARGIN}{BAR}{cut(line, width=width)}".rstrip() for line in lines[:ROWS]]
    return [*shown, *([f"{MARGIN}… {len(lines) - ROWS:,} more lines"] if len(lines) > ROWS else [])]


def _failure(result: ToolResult) -> str | None:
    """Return an error of playhead's own, as a tool's answer tells it, in words; None for any other answer."""
    try:
        told = codec.decode(result.content) if isinstance(result.content, str) else None
    except ValueError:
        return None
    if not isinstance(told, dict) or told.keys() != {"kind", "message", "details"} or not isinstance(told["details"], dict):
        return None
    why = [f"{name}: {value if isinstance(value, str) else as_json(value)}" for name, value in told["details"].items() if name != "tool"]
    return "\n".join([str(told["message"]), *why])


def seconds(elapsed_ms: int) -> str:
    """Return how long something took."""
    return f"({elapsed_ms / 1000:.1f} s)"


def spent_line(usage: Usage, cost: float | None = None) -> str:
    """Return what a turn cost: what was read, how much of it came from the provider's cache, what was written, and how much money that is."""
    cached = f" ({usage.cache_read / usage.input:.0%} cached)" if usage.input and usage.cache_read else ""
    return f"{usage.input:,} tokens read{cached}, {usage.output:,} written{'' if cost is None else f', {money(cost)}'}"


def plain_lines(piece: Piece) -> str:
    """Return a piece as plain text, for a pipe; what a model said stays as it was written."""
    match piece:
        case Words(text=text):
            return plain(text)
        case Said(text=text):
            return f"\n{PROMPT}{plain(text)}\n"
        case Called(call=call):
            return f"{plain(f'{CALL} {call.name} {as_json(call.arguments)}')}\n"
        case Answered(call=call, result=result, elapsed_ms=elapsed_ms):
            sign = FAILED if result.is_error else RESULT
            return "\n".join([f"{sign} {plain(call.name)} {seconds(elapsed_ms)}", *result_lines(result, width=WIDEST)]) + "\n"
        case Remark(text=text):
            return f"{plain(text)}\n"
        case Thoughts() | Spent() | Asked():
            return ""
