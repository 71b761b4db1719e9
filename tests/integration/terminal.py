"""A terminal with somebody at it: what the program writes becomes a screen, keys are pressed, the window changes its size."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from types import TracebackType

from rich.cells import cell_len

from tests.integration.program import Program

CONTROL = re.compile(r"\x1b\[([0-9;?>=]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78cM]|\x1b[()][0-9A-B]")
ROWS = 40
PATIENCE = 40


class Screen:
    """What a terminal shows: its rows, and those that have scrolled out of it."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.gone: list[str] = []
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self._rest = ""

    @property
    def rows(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    @property
    def text(self) -> str:
        """All that can be seen, the rows above the window, too."""
        return "\n".join([*self.gone, *self.rows])

    def write(self, text: str) -> None:
        text = self._rest + text
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                found = CONTROL.match(text, place)
                if found is None:
                    break
                if found[2]:
                    self._control(found[1], found[2])
                place = found.end()
            else:
                self._put(text[place])
                place += 1
        self._rest = text[place:]

    def _put(self, sign: str) -> None:
        match sign:
            case "\r":
                self._column = 0
            case "\n":
                self._down()
            case "\b":
                self._column = max(0, self._column - 1)
            case _ if sign >= " ":
                width = cell_len(sign)
                if self._column + width > self.columns:
                    self._column = 0
                    self._down()
                row = self._rows[self._row]
                row.extend(" " * (self._column + max(width, 1) - len(row)))
                row[self._column : self._column + width] = [sign, *[""] * (width - 1)]
                self._column += width

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])
        if len(self._rows) > ROWS:
            self.gone.append("".join(self._rows.pop(0)).rstrip())
            self._row -= 1

    def _control(self, numbers: str, what: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        row = self._rows[self._row]
        match what:
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._row = min(len(self._rows) - 1, self._row + count)
            case "C":
                self._column = min(self.columns - 1, self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "K":
                del row[self._column :]
            case "J":
                del row[self._column :]
                del self._rows[self._row + 1 :]


class Terminal:
    """Runs the program at a terminal of its own; `async` nothing: each call waits until it has seen what it waits for."""

    def __init__(self, program: Program, *words: str, columns: int = 80, **changes: str | None) -> None:
        import pty

        self.screen = Screen(columns)
        self.seen: set[str] = set()
        self.pattern: re.Pattern[str] | None = None
        self._ours, theirs = pty.openpty()
        self._end, self._ending = os.pipe()
        self._changed = threading.Condition()
        self._is_over = self._is_gone = False
        self.resize(columns)
        environment = program.environment({"TERM": "xterm-256color", **changes})
        self._child = subprocess.Popen(program.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=program.place, start_new_session=True)
        os.close(theirs)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        if not self._is_gone:
            self._reader.join()
            os.close(self._ours)
        for end in (self._end, self._ending):
            os.close(end)
        if error is not None:
            error.add_note(f"The screen was:\n{self.screen.text}")

    def type(self, text: str) -> None:
        """Press keys, as fast as they can be pressed."""
        os.write(self._ours, text.encode())

    def enter(self, line: str) -> None:
        """Type a line, see it, and send it."""
        self.wait("›")
        self.type(line)
        self.wait(lambda text: line[-20:] in text)
        self.type("\r")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def wait(self, is_shown: Callable[[str], bool] | str) -> str:
        """Wait until something is shown, and return all that is."""
        shown = (lambda text: is_shown in text) if isinstance(is_shown, str) else is_shown
        with self._changed:
            assert self._changed.wait_for(lambda: shown(self.screen.text) or self._is_over, PATIENCE), f"not shown: {is_shown}"
            assert shown(self.screen.text), f"not shown before the end: {is_shown}"
            return self.screen.text

    def resize(self, columns: int) -> None:
        """Change the size of the window."""
        self.screen.columns = columns
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self._child.send_signal(number)

    def hang_up(self) -> None:
        """Close the window: nobody reads what the program writes any more."""
        os.write(self._ending, b".")
        self._reader.join()
        os.close(self._ours)
        self._is_gone = True

    def ended(self) -> int:
        """Wait for the program's end and return its exit code."""
        code = self._child.wait(PATIENCE)
        self._reader.join()
        return code

    def _read(self) -> None:
        while self._end not in select.select([self._ours, self._end], [], [])[0]:
            try:
                piece = os.read(self._ours, 1 << 16)
            except OSError:
                piece = b""
            with self._changed:
                self.screen.write(piece.decode(errors="replace"))
                if self.pattern is not None:
                    self.seen.update(self.pattern.findall(self.screen.text))
                self._is_over = not piece
                self._changed.notify_all()
            if not piece:
                return
