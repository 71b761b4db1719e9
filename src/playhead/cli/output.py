"""Where a command writes: text or one JSON object to standard output, notes to standard error."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import AsyncIterable, Iterable, Mapping
from io import TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO, TextIO

from playhead.cli.plain import plain, plain_json
from playhead.entry import codec
from playhead.errors import StoreUnavailable

if TYPE_CHECKING:
    from rich.text import Text

    from playhead.cli.console import PlainConsole

NARROWEST = 40
UNBOUNDED = 100_000
"""How wide a line may get where no terminal bounds it."""

USUAL = 80
BATCH = 1 << 16
PLAINER = "playhead-plainer"
SIGNS = {"→": "->", "←": "<-", "…": "...", "·": ".", "█": "#", "▓": "=", "▒": "-", "◆": "+", "├": "|", "└": "`", "│": "|", "─": "-"}
"""What stands for our own signs where the encoding has none of them."""


class Output:
    """The standard streams as a command uses them.

    `width` is the terminal's, or what COLUMNS says; None where lines may be of any length, as in a pipe. Colours are
    used on a terminal only, never where NO_COLOR is set. Characters that the encoding of the stream lacks are
    written as escapes, so that no text of a tape can fail to print.
    """

    def __init__(self, *, as_json: bool, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.as_json = as_json
        self._stdout = _lenient(sys.stdout if stdout is None else stdout)
        self._stderr = _lenient(sys.stderr if stderr is None else stderr)
        self.width = _columns(self._stdout)
        self._console: PlainConsole | None = None

    def write(self, text: str) -> None:
        """Print text as it is, one newline behind it."""
        self._out().write(plain(text) + "\n")

    def words(self, text: str) -> None:
        """Print some words as they are, at once and with nothing behind them."""
        self._out().write(plain(text))
        self.flush()

    def lines(self, *lines: Text) -> None:
        """Print lines, in colours where the terminal has them."""
        out = self._out()
        for line in lines:
            # Most lines have no colours, and rich takes dozens of times as long over a line as a stream does.
            if self.console.color_system and (line.spans or line.style):
                self.console.print(line, soft_wrap=True)
            else:
                out.write(line.plain + "\n")

    def json(self, value: Mapping[str, object]) -> None:
        """Print one JSON object on a line of its own."""
        self.body(plain_json(codec.encode(value)) + b"\n")

    async def json_with_list(self, value: Mapping[str, object], *, key: str, items: AsyncIterable[object]) -> None:
        """Print one JSON object whose last key holds a list, an item at a time as they come."""
        opening = codec.encode({**value, key: []})
        self.body(plain_json(opening[: -len(b"]}")]))
        batch, size, first = [], 0, True
        async for item in items:
            batch.append(plain_json(codec.encode(item)) if first else b"," + plain_json(codec.encode(item)))
            size, first = size + len(batch[-1]), False
            if size > BATCH:
                self.body(b"".join(batch))
                batch, size = [], 0
        self.body(b"".join(batch) + b"]}\n")

    def body(self, body: bytes) -> None:
        """Print bytes as they are: JSON is UTF-8 whatever the terminal's encoding is."""
        out = self._out()
        out.flush()
        binary: BinaryIO | None = getattr(out, "buffer", None)
        if binary is None:
            out.write(body.decode())
        else:
            binary.write(body)

    def flush(self) -> None:
        """Write out what is held back. Raises OSError where it cannot be written."""
        if self._stdout is not None:
            self._stdout.flush()

    @property
    def is_terminal(self) -> bool:
        """Whether somebody reads standard output as it comes."""
        return self._stdout is not None and self._stdout.isatty()

    @property
    def console(self) -> PlainConsole:
        """The rich console on standard output, made when it is first used."""
        if self._console is None:
            self._console = _console(self._out(), width=self.width or UNBOUNDED)
        return self._console

    def _out(self) -> TextIO:
        if self._stdout is None:
            raise StoreUnavailable("Standard output is closed; there is nowhere to print to.")
        return self._stdout

    def note(self, text: str) -> None:
        """Say something beside the output, on one line of standard error."""
        if self._stderr is not None:
            try:
                self._stderr.write(plain(" ".join(text.split("\n"))) + "\n")
                self._stderr.flush()
            except OSError:
                self._stderr = None

    def warn(self, text: str) -> None:
        """Warn on standard error."""
        self.note(f"warning: {text}")

    def error_console(self) -> PlainConsole | None:
        """Return a rich console on standard error where that is a terminal, else None."""
        if self._stderr is None or not self._stderr.isatty() or os.environ.get("TERM") == "dumb":
            return None
        return _console(self._stderr, width=_columns(self._stderr) or USUAL)


def _lenient(stream: TextIO | None) -> TextIO | None:
    """Let a stream write any text: what its encoding lacks in plainer signs, or as escapes."""
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(PLAINER, _plainer)
        stream.reconfigure(errors=PLAINER)
    return stream


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


def _columns(stream: TextIO | None) -> int | None:
    """Return how many columns a stream's terminal has, None where it is none and COLUMNS does not say."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and int(said) > 0:
        return max(NARROWEST, int(said))
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns) if stream is not None and stream.isatty() else None
    except (OSError, ValueError):
        return USUAL


def _console(stream: TextIO, *, width: int) -> PlainConsole:
    from playhead.cli.console import PlainConsole  # noqa: PLC0415 - commands that print JSON do without rich

    return PlainConsole(stream, width=width)


def counted(count: int, thing: str) -> str:
    """Return a number with the thing it counts: `1 entry`, `2 entries`."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


def listed(words: Iterable[str]) -> str:
    """Return words as a reader lists them: `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
