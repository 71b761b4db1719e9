"""A chat on a terminal: the prompt stays at the bottom while answers stream above it, and lines are taken at any time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import anyio
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from rich.text import Text

from playhead.cli.chat.live import Live
from playhead.cli.chat.pieces import Piece, length
from playhead.cli.chat.printing import Printing
from playhead.cli.chat.rendering import MARGIN, PROMPT, Renderer
from playhead.cli.chat.session import Session
from playhead.cli.chat.slashes import completed, matching
from playhead.cli.chat.status import status
from playhead.cli.failures import let_go_of_stdout
from playhead.cli.layout import cut
from playhead.cli.output import NARROWEST

INPUT_ROWS = 10
"""How many rows a line that is being typed takes at most."""

HINTS = 8
"""How many commands are listed under a line that begins with a slash."""

REDRAW = 0.04
"""The least time between two pictures, in seconds: words come faster than an eye reads."""


class TerminalScreen:
    """The terminal of a chat. `entered` is given each line, `interrupted` is told of Ctrl-C, `left` of Ctrl-D, `began` of letters that are typed."""

    def __init__(self, *, session: Session, history: Iterable[str], entered: Callable[[str], None], interrupted: Callable[[], None], left: Callable[[], None], began: Callable[[], None]) -> None:
        self._session = session
        self._live = Live()
        self._printing = Printing(self._print)
        self._entered = entered
        self._interrupted = interrupted
        self._left = left
        self._draft: str | None = None
        self._output = _output()
        self._buffer = Buffer(multiline=True, history=InMemoryHistory(list(history)), accept_handler=self._accept, on_text_insert=lambda _: began())
        self._app: Application[None] = Application(
            layout=Layout(self._layout()),
            key_bindings=self._keys(),
            output=self._output,
            erase_when_done=True,
            min_redraw_interval=REDRAW,
        )

    async def run(self, *, draft: str) -> None:
        """Take lines until the chat is left. Whatever else is printed meanwhile stands above the prompt."""
        self._typed(draft)
        with create_app_session(output=self._output), patch_stdout():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._printing.run)
                try:
                    await self._app.run_async(set_exception_handler=False)
                except (EOFError, OSError):  # nothing can be read from the terminal any more, or written to it
                    self._lose()
                finally:
                    tasks.cancel_scope.cancel()
        self._printing.finish()

    # -- what is shown

    @property
    def width(self) -> int:
        """How many columns a line may have."""
        return max(NARROWEST, self._output.get_size().columns)

    @property
    def draft(self) -> str:
        """The line that is being typed."""
        return self._buffer.text or self._draft or ""

    def show(self, pieces: Iterable[Piece]) -> None:
        """Show pieces above the prompt."""
        if shown := tuple(pieces):
            self._printing.print(lambda: "".join(map(Renderer(width=self.width).of, shown)), characters=sum(map(length, shown)))

    def lines(self, lines: Iterable[Text]) -> None:
        """Show lines above the prompt."""
        shown = tuple(lines)
        self._printing.print(lambda: "".join(["\n", *map(Renderer(width=self.width).shown, shown)]), characters=sum(map(len, shown)))

    def changed(self, session: Session) -> None:
        """Show another state; a line that is being typed makes room for the answer to a question, and comes back behind it."""
        self._printing.then(lambda: self._change(session))

    def _change(self, session: Session) -> None:
        is_asked, was_asked = session.question is not None, self._session.question is not None
        self._session = session
        if is_asked and not was_asked:
            self._draft = self._buffer.text
            self._buffer.reset()
        elif was_asked and not is_asked and not self._buffer.text:
            self.suggest(self._draft or "")
        self._draft = self._draft if is_asked else None
        self._app.invalidate()

    def suggest(self, text: str) -> None:
        """Put a line into the prompt, unless another one is being typed."""
        if not self._buffer.text:
            self._typed(text)

    def put_away(self) -> str:
        """Empty the prompt; the line that stood there is the last one of the history."""
        text = self._buffer.text
        self._buffer.reset(append_to_history=True)
        return text

    def leave(self) -> None:
        """End the chat."""
        self._left()

    def close(self) -> None:
        """Take no more lines."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def _print(self, text: str) -> None:
        """Write text above the prompt, whole: the prompt is taken away, and comes back with the next picture."""
        if not text:
            return
        try:
            self._write(text)
        except OSError:
            self._lose()

    def _write(self, text: str) -> None:
        if not self._app.is_running:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        self._app.renderer.erase()
        self._output.write_raw(text.replace("\n", "\r\n"))
        self._output.flush()
        self._app.invalidate()

    def _lose(self) -> None:
        """Leave, as the terminal is gone; what is still shown goes nowhere, and stands on the tape."""
        let_go_of_stdout()
        self._left()

    # -- the prompt

    def _layout(self) -> HSplit:
        live = Window(FormattedTextControl(self._live_text), dont_extend_height=True, wrap_lines=False)
        line = Window(BufferControl(self._buffer), wrap_lines=True, dont_extend_height=True, get_line_prefix=self._prefix, height=Dimension(min=1, max=INPUT_ROWS))
        under = Window(FormattedTextControl(self._under_text), dont_extend_height=True, wrap_lines=False)
        is_live = Condition(lambda: bool(self._live_ansi()))
        return HSplit([ConditionalContainer(live, filter=is_live), Window(height=1), line, under, Window()])

    def _live_ansi(self) -> str:
        size = self._output.get_size()
        return self._live.of(self._session, width=self.width, rows=max(2, size.rows - 8))

    def _live_text(self) -> AnyFormattedText:
        return ANSI(self._live_ansi())

    def _under_text(self) -> AnyFormattedText:
        renderer, width = Renderer(width=self.width), self.width - 1
        hints = matching(self._buffer.text)
        if not hints:
            return ANSI(renderer.shown(status(self._session, width=width)).rstrip("\n"))
        rows = [Text.assemble((f"{MARGIN}{slash.usage:<22}", "cyan"), (cut(slash.about, width=max(10, width - 26)), "dim")) for slash in hints[:HINTS]]
        return ANSI("".join(renderer.shown(row) for row in rows).rstrip("\n"))

    def _prefix(self, number: int, wrapped: int) -> AnyFormattedText:
        return [("bold ansigreen", PROMPT)] if number == 0 and wrapped == 0 else MARGIN

    def _typed(self, text: str) -> None:
        self._buffer.text = text
        self._buffer.cursor_position = len(text)

    def _accept(self, buffer: Buffer) -> bool:
        self._entered(buffer.text)
        return False

    def _suspend(self) -> None:
        """Give the terminal back to the shell; what `fg` brings back is a new picture. Where the system has no such thing, nothing happens."""
        self._app.suspend_to_background()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        is_empty = Condition(lambda: not self._buffer.text)

        for name, act in {
            ("enter",): self._buffer.validate_and_handle,
            ("escape", "enter"): lambda: self._buffer.newline(copy_margin=False),
            ("tab",): lambda: self._typed(completed(self._buffer.text)),
            ("c-c",): self._interrupted,
            ("<sigint>",): self._interrupted,
            ("c-z",): self._suspend,
        }.items():
            keys.add(*name)(_pressed(act))
        keys.add("c-d", filter=is_empty)(_pressed(self._left))
        return keys


def _pressed(act: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    """Return what a key does, whatever else is known of its press."""

    def press(_: KeyPressEvent) -> None:
        act()

    return press


def _output() -> Output:
    """Return the terminal to write to. It is not asked where its cursor stands: the prompt takes no more rows than it needs."""
    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output
