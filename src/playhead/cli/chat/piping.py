"""A chat through a pipe: each line that comes is a turn, and answers go to standard output as they were written."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal
from rich.text import Text

from playhead.cli.chat.again import still_waiting
from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.conversation import Conversation
from playhead.cli.chat.interrupts import interrupts
from playhead.cli.chat.pieces import Answered, Piece, Remark, Words
from playhead.cli.chat.rendering import plain_lines
from playhead.cli.chat.session import Session
from playhead.cli.chat.talk import Talk
from playhead.cli.failures import FAILED, INTERRUPTED
from playhead.cli.output import Output
from playhead.cli.words import part_words
from playhead.entry.frozen import thaw
from playhead.errors import InvalidInput


class PipeScreen:
    """Writes what a chat shows as plain text, with failures on standard error; with `--json` it is kept, a record for each line.

    Where it cannot be written any more, as its reader has gone, `lost` is told, once: `failure` says why, and nothing else is written.
    """

    def __init__(self, out: Output, *, lost: Callable[[], None]) -> None:
        self.records: list[dict[str, Any]] = []
        self.is_over = False
        self.failure: OSError | None = None
        self._out = out
        self._lost = lost

    @property
    def width(self) -> int | None:
        """How many columns a line may have."""
        return self._out.width

    def begin(self, line: str) -> None:
        """Begin the record of a line."""
        self.records.append({"said": line, "text": "", "calls": [], "error": None})

    def show(self, pieces: Iterable[Piece]) -> None:
        """Write pieces."""
        with self._written():
            for piece in pieces:
                self._show(piece)

    def lines(self, lines: Iterable[Text]) -> None:
        """Write lines."""
        if self._out.as_json:
            self._add("".join(f"{line.plain}\n" for line in lines))
            return
        with self._written():
            if self.failure is None:
                self._out.lines(*lines)
                self._out.flush()

    def changed(self, session: Session) -> None:
        """Do nothing: a pipe shows only what is for good."""

    def suggest(self, text: str) -> None:
        """Do nothing: nobody is there to change a line."""

    def leave(self) -> None:
        """Take no more lines."""
        self.is_over = True

    def _show(self, piece: Piece) -> None:
        if self._out.as_json:
            self._record(piece)
        elif self.failure is not None:
            return
        elif isinstance(piece, Remark) and piece.is_error:
            self._out.flush()
            self._out.note(f"error: {piece.text}")
        elif text := plain_lines(piece):
            self._write(text)

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Take note of the first failure of what is written inside."""
        try:
            yield
        except OSError as exc:
            self.failure, self.is_over = exc, True
            self._lost()

    def _write(self, text: str) -> None:
        self._out.write(text.removesuffix("\n"))
        self._out.flush()

    def _record(self, piece: Piece) -> None:
        match piece:
            case Words(text=text):
                self._add(text if text.endswith("\n") else f"{text}\n")
            case Answered(call=call, result=result):
                words = result.content if isinstance(result.content, str) else "\n".join(map(part_words, result.content))
                self.records[-1]["calls"].append({"name": call.name, "arguments": thaw(call.arguments), "result": words, "is_error": result.is_error})
            case Remark(text=text, is_error=True):
                self.records[-1]["error"] = text
            case Remark(text=text):
                self._add(f"{text}\n")

    def _add(self, text: str) -> None:
        if self.records:
            self.records[-1]["text"] += text


class Piped:
    """Takes lines until there are no more, or the program is interrupted: then the turn that runs is ended, and what it said is kept."""

    def __init__(self, talk: Talk, *, out: Output, approvals: Approvals) -> None:
        self._out = out
        self._screen = PipeScreen(out, lost=self._lost)
        self._conversation = Conversation(talk, screen=self._screen, approvals=approvals)
        self._reading = anyio.CancelScope()
        self._is_interrupted = False

    async def run(self) -> int:
        """Answer each line and return the exit code: 1 where one of them failed. Raises OSError where the answers cannot be written any more."""
        await self._conversation.open()
        async with interrupts(self._interrupt):
            with self._reading:
                async with _stdin_lines() as lines:
                    async for line in lines:
                        with anyio.CancelScope(shield=True):
                            await self._answered(line)
                        if self._is_interrupted or self._screen.is_over:
                            break
        with anyio.CancelScope(shield=True):
            await self._conversation.end()
        if self._screen.failure is not None:
            raise self._screen.failure
        if waiting := still_waiting(self._conversation.session):
            self._out.note(waiting)
        if self._out.as_json:
            talk = self._conversation.talk
            turns = [{**record, "text": record["text"].rstrip("\n")} for record in self._screen.records]
            self._out.json({"tape": talk.name, "model": talk.answerer.spec, "turns": turns})
        return INTERRUPTED if self._is_interrupted else FAILED if self._conversation.failed else 0

    async def _answered(self, line: str) -> None:
        self._screen.begin(line)
        await self._conversation.entered(line)
        if self._conversation.is_wanted and not self._is_interrupted and not self._screen.is_over:
            await self._conversation.answer()

    def _lost(self) -> None:
        """Leave, as nobody reads what is written: the turn that runs is ended, and no other line is taken."""
        self._conversation.interrupt()
        self._reading.cancel()

    def _interrupt(self) -> None:
        self._is_interrupted = True
        self._conversation.interrupt()
        self._reading.cancel()


@asynccontextmanager
async def _stdin_lines() -> AsyncIterator[AsyncIterator[str]]:
    """Give the lines of standard input as they come. A thread of its own reads them, which no end of the program waits for."""
    if sys.stdin is None:
        raise InvalidInput("Standard input is closed; there is nothing to read.")
    send, lines = anyio.create_memory_object_stream[str](0)
    descriptor = sys.stdin.fileno()

    def read(portal: BlockingPortal) -> None:
        with suppress(RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
            for line in _lines_of(descriptor):
                portal.call(send.send, line.decode(errors="replace").rstrip("\r\n"))
            portal.call(send.aclose)

    async with BlockingPortal() as portal:
        threading.Thread(target=read, args=(portal,), daemon=True, name="playhead stdin").start()
        try:
            yield lines
        finally:
            send.close()
            lines.close()
            await portal.stop(cancel_remaining=True)


def _lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a file as they come; not through a buffer, whose lock a thread that waits would hold at the program's end."""
    rest = b""
    while piece := os.read(descriptor, 1 << 16):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest
