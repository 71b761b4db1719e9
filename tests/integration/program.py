"""The real program: run as a user runs it, in a pipe or on a terminal of its own."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE = 120
SMALL = ("--recent", "400", "--set", "target_chunk_tokens=300")
"""Settings under which a conversation of a few thousand tokens folds."""


def said(number: int) -> str:
    """Return one thing that is said in such a conversation."""
    return f"Host gw{number} answered in {number} ms; its configuration is in hosts/gw{number}.yaml and nothing else was amiss."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object it printed."""
        (line,) = self.out.splitlines()
        value = json.loads(line)
        assert isinstance(value, dict)
        return value

    @property
    def error(self) -> str:
        """The one line it said on standard error."""
        (line,) = self.err.splitlines()
        return line


class Program:
    """playhead with a store and a home of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.store = place / "tapes.db"

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Return the environment of a run; None removes a variable."""
        kept = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR", "PLAYHEAD_TRACEBACK", "XDG_DATA_HOME"}}
        wanted = {**kept, "HOME": str(self.place), "PLAYHEAD_STORE": f"sqlite:///{self.store}", "PYTHONWARNINGS": "default", **changes}
        return {k: v for k, v in wanted.items() if v is not None}

    def command(self, *words: str) -> list[str]:
        """Return the command line that runs the program."""
        return [sys.executable, "-m", "playhead", *words]

    def run(self, *words: str, stdin: str | bytes = b"", **changes: str | None) -> Ran:
        """Run the program in pipes."""
        sent = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(self.command(*words), input=sent, capture_output=True, env=self.environment(changes), cwd=self.place, timeout=PATIENCE, check=False)
        return Ran(code=done.returncode, out=done.stdout.decode(errors="surrogateescape"), err=done.stderr.decode(errors="surrogateescape"))

    def json(self, *words: str, stdin: str | bytes = b"") -> dict[str, Any]:
        """Run the program with `--json`, which must do what it is asked for, and return what it printed."""
        ran = self.run(*words, "--json", stdin=stdin)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.json

    def shell(self, line: str) -> Ran:
        """Run a line of a shell in which `playhead` is the program."""
        script = f'playhead() {{ "{sys.executable}" -m playhead "$@"; }}\n{line}'
        done = subprocess.run(["bash", "-c", script], input=b"", capture_output=True, env=self.environment({}), cwd=self.place, timeout=PATIENCE, check=False)
        return Ran(code=done.returncode, out=done.stdout.decode(errors="surrogateescape"), err=done.stderr.decode(errors="surrogateescape"))

    def on_terminal(self, *words: str, columns: int, **changes: str | None) -> Ran:
        """Run the program on a terminal; what it says on standard error is shown there too."""
        pty = pytest.importorskip("pty", reason="terminals are tested where the system has pseudo-terminals")
        ours, theirs = pty.openpty()
        try:
            _resize(theirs, columns)
            child = subprocess.Popen(
                self.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=self.environment({"TERM": "xterm-256color", **changes}), cwd=self.place, start_new_session=True
            )
        finally:
            os.close(theirs)
        shown = _everything(ours)
        return Ran(code=child.wait(PATIENCE), out=shown.decode(errors="surrogateescape").replace("\r\n", "\n"), err="")


def _resize(terminal: int, columns: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))


def _everything(terminal: int) -> bytes:
    """Read a terminal until the program has left it."""
    shown = []
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            piece = b""
        if not piece:
            os.close(terminal)
            return b"".join(shown)
        shown.append(piece)


def uncoloured(text: str) -> str:
    """Return the text without the codes that colour it."""
    return ANSI.sub("", text)
