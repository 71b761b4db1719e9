"""A chat that is typed: the lines of a terminal, and what Ctrl-C, Ctrl-D and the end of the terminal do to it."""

from __future__ import annotations

import shlex
import signal
from argparse import Namespace
from collections.abc import Iterator

import anyio
from anyio.abc import TaskStatus
from rich.text import Text

from playhead.cli.chat.again import given, still_waiting
from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.conversation import Conversation
from playhead.cli.chat.drafts import keep_draft, kept_draft
from playhead.cli.chat.interrupts import interrupts
from playhead.cli.chat.looking import KEYS
from playhead.cli.chat.session import Session
from playhead.cli.chat.talk import Talk, folder_tape
from playhead.cli.chat.terminal import TerminalScreen
from playhead.cli.chat.undoing import newest_said, words_of
from playhead.cli.hints import program
from playhead.cli.layout import prose
from playhead.cli.output import Output, counted
from playhead.cli.plain import short_name
from playhead.cli.transcript import entry_lines
from playhead.entry.entry import MESSAGE

REMEMBERED = 100
"""How many of the lines that were said before can be had again with the arrow keys."""

RECENT = 4
"""How many entries are shown of a tape that a chat goes on with."""

AGAIN = "Ctrl-C again leaves, and so does Ctrl-D."
HANGUP = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Keyboard:
    """Runs a chat at a terminal. Ctrl-C ends the turn that runs, or puts away the line that is typed; the second one leaves.

    Before it leaves, a turn that runs is ended, and what was typed is kept: lines in the inbox, one that was only begun as a draft.
    """

    def __init__(self, talk: Talk, *, args: Namespace, out: Output, approvals: Approvals) -> None:
        self._talk = talk
        self._args = args
        self._out = out
        self._approvals = approvals
        self._send, self._lines = anyio.create_memory_object_stream[str | None](100_000)
        self._leaving = anyio.Event()
        self._is_warned = False
        self._put_away = ""
        self._on_their_way = 0
        self._screen: TerminalScreen
        self._conversation: Conversation

    async def run(self) -> int:
        """Talk until the user leaves."""
        self._screen = TerminalScreen(
            session=Session(tape=self._talk.name, model=self._talk.answerer.spec),
            history=await self._history(),
            entered=self._entered,
            interrupted=self._interrupted,
            left=self._left,
            began=self._began,
        )
        self._conversation = Conversation(self._talk, screen=self._screen, approvals=self._approvals)
        self._approvals.ask = self._conversation.asked
        await self._conversation.open()
        self._out.lines(*await self._greeting())
        self._out.flush()
        async with interrupts(self._left, signals=HANGUP), anyio.create_task_group() as tasks:
            await tasks.start(self._take_lines)
            tasks.start_soon(self._conversation.turns)
            tasks.start_soon(self._leave)
            try:
                await self._screen.run(draft=await kept_draft(self._talk.tape))
            finally:
                await self._end()
            tasks.cancel_scope.cancel()
        self._out.lines(*self._farewell())
        return 0

    async def _end(self) -> None:
        """End the turn that runs, take the lines that were sent, and keep the one that was begun; whyever the prompt has ended."""
        self._leaving.set()
        with anyio.CancelScope(shield=True):
            self._conversation.interrupt()
            await self._conversation.rested()
            self._send.close()
            await self._taken.wait()
            await self._conversation.end()
            await keep_draft(self._talk.tape, self._screen.draft or self._put_away)

    # -- keys

    def _began(self) -> None:
        self._is_warned = False

    def _entered(self, line: str) -> None:
        self._is_warned, self._put_away = False, ""
        self._send_on(line)

    def _interrupted(self) -> None:
        """End the turn that runs, or put away the line that is typed; the second time in a row, leave."""
        if self._is_warned:
            self._left()
            return
        self._is_warned = True
        if self._conversation.interrupt():
            return
        if self._on_their_way or self._conversation.is_wanted:
            self._send_on(None)
        elif self._screen.draft:
            self._put_away = self._screen.put_away()
            self._conversation.remark(f"The line is put away: the up arrow brings it back. {AGAIN}")
        else:
            self._conversation.remark(AGAIN)

    def _left(self) -> None:
        self._leaving.set()

    def _send_on(self, line: str | None) -> None:
        """Have a line taken behind those that were entered before; None has what they began stopped."""
        self._on_their_way += 1
        self._send.send_nowait(line)

    # -- tasks

    async def _take_lines(self, *, task_status: TaskStatus[None]) -> None:
        """Take the lines that are entered, each to its end: none that was sent is lost."""
        self._taken = anyio.Event()
        task_status.started()
        try:
            with anyio.CancelScope(shield=True), self._lines:
                async for line in self._lines:
                    await (self._conversation.stop() if line is None else self._conversation.entered(line))
                    self._on_their_way -= 1
        finally:
            self._taken.set()

    async def _leave(self) -> None:
        """Once the user has left, end the turn that runs, and close the prompt when all of it is shown."""
        await self._leaving.wait()
        self._conversation.interrupt()
        await self._conversation.rested()
        self._screen.close()

    # -- words

    async def _greeting(self) -> list[Text]:
        """Return what is said first: where one is, who answers, and the end of what was said before."""
        tape, width = self._talk.tape, self._out.width
        end = (await tape.head()).id
        held = f"goes on at entry {end}" if end else "is new"
        head = list(prose(f"Tape '{short_name(tape.name)}' {held}; {self._talk.answerer.spec} answers. /help lists the commands.", width=width, style="bold"))
        recent = await newest_said(tape, limit=RECENT)
        before = [line for entry in recent for line in entry_lines(entry, width=width)]
        more = [Text(f"… {counted(recent[0].id - 1, 'entry')} before", style="dim")] if recent and recent[0].id > 1 else []
        return [*head, *more, *before] if recent else [*head, *prose(KEYS, width=width, style="dim")]

    def _farewell(self) -> Iterator[Text]:
        if waiting := still_waiting(self._conversation.session):
            yield from prose(waiting, width=self._out.width, style="dim")
        words = ["chat", *given(self._args, tape=None if self._talk.name == folder_tape() else self._talk.name, model=self._talk.answerer.spec)]
        yield Text("")
        yield from prose(f"Kept on tape '{short_name(self._talk.name)}'. To go on:", width=self._out.width, style="dim")
        yield Text(f"  {program()} {shlex.join(words)}")

    async def _history(self) -> list[str]:
        """Return what the user said before, the oldest first."""
        lines: list[str] = []
        async for entry in self._talk.tape.query().kinds(MESSAGE).newest_first():
            if entry.payload.get("role") == "user" and (text := words_of(entry)):
                lines.append(text)
            if len(lines) == REMEMBERED:
                break
        return lines[::-1]
