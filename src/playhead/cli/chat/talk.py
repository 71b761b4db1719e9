"""A talk: an agent, the tape it is on, and who answers; what a chat does, whatever shows it."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import cast

import anyio

from playhead.agent.agent import Agent
from playhead.agent.calling import Approve
from playhead.agent.events import RunEvent
from playhead.agent.recording import InForce, in_force
from playhead.agent.request import UNLIMITED, compiled
from playhead.agent.spill import SpillSidecar
from playhead.agent.stream import RunStream
from playhead.agent.tape_tools import CONTRACT, with_contract
from playhead.agent.unwritten import Unwritten
from playhead.cli.bar import Share
from playhead.cli.chat.answerer import Answerer, chosen
from playhead.cli.chat.arguments import RESERVE
from playhead.cli.chat.lines import Lines
from playhead.cli.chat.session import Size
from playhead.cli.chat.tools import offered
from playhead.cli.chat.undoing import last_said, take_back, words_of
from playhead.cli.store_choice import shown_url, written_store
from playhead.cli.strategy_choice import strategy_of
from playhead.entry.entry import SYSTEM
from playhead.entry.message import user
from playhead.prompt.budget import Budget
from playhead.prompt.prompt import Prompt
from playhead.tape.tape import Tape

AGENT = "chat"
"""Under whose name summaries are kept: the namespace is agents/chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a turn ended: by itself, interrupted, or by an error."""

    is_interrupted: bool = False
    error: Exception | None = None


class Talk:
    """Says lines to an agent on a tape, and has it answer them.

    A line is kept in the tape's inbox before anything else is done with it. `taken` is told the id of one that a request holds,
    before the events of its answer; `url` says where the tape is kept, and the agent's inboxes note these ids in `acknowledged`.
    """

    def __init__(self, agent: Agent, *, tape: str, url: str, answerer: Answerer, acknowledged: list[str]) -> None:
        self.agent = agent
        self.url = url
        self.answerer = answerer
        self.taken: Callable[[str], None] = lambda _: None
        self._acknowledged = acknowledged
        self._stop: Callable[[], None] | None = None
        self._unwritten: list[tuple[Tape, Unwritten]] = []
        self._writing = anyio.Lock()
        self.move(tape)

    def move(self, tape: str) -> None:
        """Go on on another tape, such as a branch."""
        self.tape: Tape = self.agent.tape(tape)
        self.lines = cast(Lines, self.agent.inbox(tape))

    @property
    def name(self) -> str:
        """The name of the tape."""
        return self.tape.name

    # -- saying and answering

    async def say(self, text: str) -> str:
        """Keep a line for the next step of a run, and return its id."""
        return await self.lines.store(user(text))

    async def turn(self, tell: Callable[[RunEvent], None]) -> Ended:
        """Have what waits, and what stands on the tape, answered; nothing is raised but a cancellation."""
        stream: RunStream | None = None
        tape = self.tape
        with anyio.CancelScope() as opening:
            self._stop = opening.cancel
            try:
                async with self.agent.run(None, model=self.answerer.model, tape=self.name) as stream:
                    self._stop = stopped = _Stop(stream)
                    async for event in stream:
                        self._tell_taken(event)
                        tell(event)
                    return Ended(is_interrupted=stopped.is_called)
            except Exception as exc:  # noqa: BLE001 - whatever it is, the user is told and the chat goes on
                return Ended(error=exc)
            finally:
                self._stop = None
                self._tell_taken(None)
                if stream is not None and stream.unwritten is not None:
                    self._unwritten.append((tape, stream.unwritten))
        return Ended(is_interrupted=True)

    @property
    def is_behind(self) -> bool:
        """Whether something that was shown is not on its tape yet."""
        return bool(self._unwritten)

    async def catch_up(self) -> bool:
        """Write what was shown and is not on its tape yet; whether there was something. Raises what the store raises; then it is kept for the next time."""
        was_behind = False
        async with self._writing:
            while self._unwritten:
                was_behind = True
                tape, left = self._unwritten[0]
                await left.write(tape)
                del self._unwritten[0]
        return was_behind

    def interrupt(self) -> None:
        """End the turn that runs, where one does; what was told of it stands on the tape."""
        if self._stop is not None:
            self._stop()

    def _tell_taken(self, event: RunEvent | None) -> None:
        if event is None or event.kind not in ("tool_call", "tool_result"):  # those are of the step before
            while self._acknowledged:
                self.taken(self._acknowledged.pop(0))

    async def drop(self, id: str) -> None:
        """Take back a line that waits."""
        if message := (await self.lines.waiting()).get(id):
            await self.lines.drop(id, message)

    async def undo(self) -> str | None:
        """Take the last line that was said, and all that followed it, out of view, and return the line; None where there is none."""
        entry = await last_said(self.tape)
        if entry is None:
            return None
        await take_back(self.tape, behind=entry.id - 1)
        return words_of(entry)

    async def forget_answer(self) -> bool:
        """Take what followed the last line that was said out of view; whether there is such a line."""
        entry = await last_said(self.tape)
        if entry is None:
            return False
        await take_back(self.tape, behind=entry.id)
        return True

    async def switch(self, spec: str) -> None:
        """Have another model answer from now on, and the tape remember it. Raises what `get_model` and the store raise; then nothing has changed."""
        await self.answerer.switch(spec, record=partial(self.agent.switch_model, self.name, spec))

    # -- looking

    @property
    def folds(self) -> bool:
        """Whether older parts are told by summaries."""
        return bool(getattr(self.agent.strategy, "folds", False))

    async def prompt(self) -> Prompt:
        """Return what the model would be sent now; nothing is written."""
        agent = self.agent
        system, tools = with_contract(agent.system_prompt, agent.tools), agent.tools.specs
        return await compiled(self.tape, model=self.answerer.model, budget=agent.budget, strategy=agent.strategy, system_prompt=system, tools=tools, dry_run=True)


class _Stop:
    """Ends a run, and remembers that it was told to."""

    def __init__(self, stream: RunStream) -> None:
        self._stream = stream
        self.is_called = False

    def __call__(self) -> None:
        self.is_called = True
        self._stream.cancel()


def size_of(prompt: Prompt) -> Size:
    """Return how much of its budget a prompt takes."""
    shares = [Share(form=span.form, tokens=span.tokens or 0) for span in prompt.plan.spans if span.is_shown and span.tokens]
    injected = [Share(form="injection", tokens=prompt.stats.injections)] if prompt.stats.injections else []
    used = prompt.stats.total if prompt.over_budget is None else prompt.over_budget.needed
    return Size(shares=(*shares, *injected), used=used, room=None if prompt.budget is UNLIMITED else prompt.budget.room)


def folder_tape() -> str:
    """Return the name of the tape for the folder one is in."""
    return f"chat/{Path(os.getcwd()).as_posix().lstrip('/')}"  # noqa: PTH109 - as the shell has it


@asynccontextmanager
async def opened_talk(args: Namespace, *, approve: Approve) -> AsyncIterator[Talk]:
    """Open the store, the tape and the model that the arguments name. Raises InvalidInput, and what opening them raises."""
    args.namespace = None
    strategy, tools, name = strategy_of(args), offered(args), args.tape or folder_tape()
    async with written_store(args) as store:
        tape = Tape(store).scoped(name)
        await tape.recover()
        held = await in_force(tape)
        system = args.system if args.system is not None else await _remembered_system(tape, held)
        async with Answerer(chosen(args.model, held)) as answerer:
            acknowledged: list[str] = []
            agent = Agent(
                system,
                store=store,
                strategy=strategy,
                budget=None if args.max_tokens is None else _budget(args),
                sidecars=() if args.bare else (SpillSidecar(),),
                tools=tools,
                inbox=lambda tape: Lines(tape, taken=acknowledged.append),
                approve=approve,
                max_steps=args.max_steps,
                name=AGENT,
            )
            async with agent:
                yield Talk(agent, tape=name, url=shown_url(args), answerer=answerer, acknowledged=acknowledged)


def _budget(args: Namespace) -> Budget:
    reserve = min(RESERVE, args.max_tokens // 4) if args.reserve is None else args.reserve
    return Budget(args.max_tokens, reserve_for_response=reserve)


async def _remembered_system(tape: Tape, held: InForce) -> str:
    """Return the system prompt that the last run on a tape had, as its user gave it; "" where it had none."""
    if not held.system:
        return ""
    async for entry in tape.query().kinds(SYSTEM).newest_first():
        content = entry.payload.get("content")
        if isinstance(content, str) and sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16] == held.system:
            return content.removesuffix(CONTRACT).rstrip("\n")
    return ""
