"""A conversation: what becomes of the lines that are entered, and of the turns that answer them, on any screen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio

from playhead.agent.events import RunEvent
from playhead.cli.chat.approvals import Approvals
from playhead.cli.chat.pieces import Asked, Piece, Remark, Said
from playhead.cli.chat.screens import Screen
from playhead.cli.chat.session import Session
from playhead.cli.chat.slashes import MARK, Slash, meant
from playhead.cli.chat.talk import Ended, Talk, size_of
from playhead.cli.chat.wording import chatted
from playhead.cli.failures import as_error, spoken
from playhead.entry.message import ToolCall
from playhead.errors import BadReply, ModelUnavailable, PlayheadError
from playhead.model.prices import listed_cost
from playhead.prompt.prompt import Prompt

NOT_BEGUN = "Stopped before the model was asked."
BEHIND = "What was shown of this turn is not on the tape, as the store did not take it. It is kept here, and written as soon as the store answers again."
CAUGHT_UP = "The store answers again: what was shown is on the tape."
LOST = "What was shown of the last turn is not on the tape: the store does not answer."
AGAIN = 5.0
"""How many seconds pass before a store that did not answer is tried again."""


class Conversation:
    """Takes lines, has them answered, and shows both; `failed` says whether a turn or a command has failed."""

    def __init__(self, talk: Talk, *, screen: Screen, approvals: Approvals) -> None:
        self.talk = talk
        self.screen = screen
        self.approvals = approvals
        self.session = Session(tape=talk.name, model=talk.answerer.spec)
        self.prompts: tuple[Prompt, ...] = ()
        self.failed = False
        self._wanted = anyio.Event()
        self._rested = anyio.Event()
        self._rested.set()
        talk.taken = self._taken

    async def open(self) -> None:
        """Look at what waits on the tape, and how large its prompt is."""
        await self.settle()
        await self.measure()

    # -- lines

    async def entered(self, line: str) -> None:
        """Do what a line says: decide, carry out a command, or say it to the model; what fails is shown, and nothing is raised."""
        try:
            await self._entered(line)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the user is told and the chat goes on
            self.fail(exc)
            self.screen.suggest(line)

    async def _entered(self, line: str) -> None:
        slash = meant(line)
        if self.session.question is None and not self.session.is_running:
            with suppress(*(() if slash is None else (Exception,))):  # a command goes on without
                await self._catch_up()
        if slash is not None:
            await self._carry_out(*slash)
        elif self.session.question is not None:
            if (decided := self.approvals.decide(line)) is not None:
                self.remark(decided)
        elif line.strip():
            await self._say(line.removeprefix(MARK) if line.startswith(2 * MARK) else line)
        elif self.session.waiting and not self.session.is_running:
            self.want()

    async def _say(self, text: str) -> None:
        """Say a line: it is kept first, then shown."""
        id = await self.talk.say(text)
        if self.session.is_running or self.session.waiting:
            self._set(self.session.waits(id, text))
        else:
            self._show([Said(text=text)])
        if not self.session.is_running:
            self.want()

    async def _carry_out(self, slash: Slash, rest: str) -> None:
        if slash.rests and self.session.is_running:
            self.remark(f"{MARK}{slash.name} waits until the turn has ended; Ctrl-C ends it.", is_error=True)
            self.screen.suggest(f"{MARK}{slash.name} {rest}".rstrip())
            return
        await slash.carry_out(self, rest)

    # -- turns

    def want(self) -> None:
        """Have a turn begin."""
        self._wanted.set()

    @property
    def is_wanted(self) -> bool:
        """Whether a turn is to begin."""
        return self._wanted.is_set()

    async def turns(self) -> None:
        """Answer whenever a turn is wanted, without end."""
        while True:
            with anyio.move_on_after(AGAIN if self.talk.is_behind else math.inf):
                await self._wanted.wait()
            if self.is_wanted:
                await self.answer()
            elif self.talk.is_behind:
                with suppress(Exception):  # it is tried again
                    await self._catch_up()

    async def answer(self) -> Ended:
        """Answer what was said until nothing waits, and return how the last turn ended."""
        self._rested = anyio.Event()
        try:
            return await self._answer()
        finally:
            self._rested.set()

    async def rested(self) -> None:
        """Wait until no turn runs."""
        await self._rested.wait()

    async def _answer(self) -> Ended:
        while True:
            self._wanted = anyio.Event()
            self._set(self.session.begun())
            ended = await self.talk.turn(self._told)
            cost = await anyio.to_thread.run_sync(partial(listed_cost, self.session.model, self.session.asked))
            session, pieces = self.session.ended(is_interrupted=ended.is_interrupted, error=None if ended.error is None else self._why(ended.error), cost=cost)
            self._show(pieces)
            self._set(session)
            if self.talk.is_behind:
                self.remark(BEHIND, is_error=True)
            await self.settle()
            await self.measure()
            if ended.is_interrupted or ended.error is not None or not self.session.waiting:
                return ended

    async def _catch_up(self) -> None:
        """Write what was shown and is not on the tape yet, and say so."""
        if self.talk.is_behind and await self.talk.catch_up():
            await self.settle()
            await self.measure()
            self.remark(CAUGHT_UP)

    async def end(self) -> None:
        """Write what was shown and is not on the tape yet, a last time; where that fails, say so."""
        try:
            await self._catch_up()
        except Exception as exc:  # noqa: BLE001 - whatever it is, the user is told and the chat ends
            self.remark(f"{LOST} {self._why(exc)}", is_error=True)

    async def stop(self) -> None:
        """End the turn that runs, or see to it that the one that is wanted does not begin: its line waits then."""
        if self.interrupt() or not self.is_wanted:
            return
        self._wanted = anyio.Event()
        await self.settle()
        self.remark(NOT_BEGUN)

    def interrupt(self) -> bool:
        """End the turn that runs; whether one does that was not told to end before."""
        if not self.session.is_running or self.session.is_stopping:
            return False
        self._set(replace(self.session, is_stopping=True))
        self.talk.interrupt()
        return True

    def _told(self, event: RunEvent) -> None:
        session, pieces = self.session.told(event)
        self._show(pieces)
        self._set(session)

    def _taken(self, id: str) -> None:
        session, pieces = self.session.taken(id)
        self._show(pieces)
        self._set(session)

    def asked(self, call: ToolCall | None) -> None:
        """Show a call that waits for an approval; None once it does not any more."""
        if call is not None:
            self._show([Asked(call=call)])
        self._set(replace(self.session, question=call))

    def _why(self, error: Exception) -> str:
        self.failed = True
        known = as_error(error)
        again = " /retry asks again." if isinstance(known, ModelUnavailable | BadReply) and "/retry" not in known.message else ""
        return f"{chatted(spoken(known.message, kind=type(known)))}{again}"

    # -- what is shown

    async def settle(self) -> None:
        """Show which lines wait."""
        before = self.session.waiting
        with suppress(PlayheadError):
            waiting = {id: message.text for id, message in (await self.talk.lines.settle()).items()}
            # A line that was entered meanwhile may not have been seen.
            newer = {id: text for id, text in self.session.waiting.items() if id not in before}
            self._set(replace(self.session, waiting={**waiting, **newer}))

    async def measure(self) -> None:
        """Show how much of the budget the next prompt takes."""
        with suppress(PlayheadError):  # it is told where it matters, when the prompt is sent
            prompt = await self.talk.prompt()
            self.prompts = (*self.prompts[-1:], prompt)
            self._set(replace(self.session, size=size_of(prompt)))

    async def moved(self) -> None:
        """Show that the conversation goes on on another tape, or with another model."""
        self.prompts = ()
        self._set(replace(self.session, tape=self.talk.name, model=self.talk.answerer.spec))
        await self.open()

    def remark(self, text: str, *, is_error: bool = False) -> None:
        """Say something of the program's own."""
        self._show([Remark(text=text, is_error=is_error)])

    def fail(self, failure: Exception) -> None:
        """Say why something failed."""
        self.remark(self._why(failure), is_error=True)

    def _show(self, pieces: Iterable[Piece]) -> None:
        self.screen.show(pieces)

    def _set(self, session: Session) -> None:
        self.session = session
        self.screen.changed(session)
