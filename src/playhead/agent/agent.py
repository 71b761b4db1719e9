"""The agent: what runs are done with, over tapes of one store."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from playhead import clock
from playhead.agent.calling import Approve
from playhead.agent.commands import begun, command, cut_short, is_command
from playhead.agent.events import FinalEvent, TextEvent
from playhead.agent.folding import Folding, Tick, bound, tools_of
from playhead.agent.given import Prompt, checked_budget, checked_call, checked_context, checked_model, checked_prompt, checked_state, checked_steps, checked_tape, checked_text, checked_tools
from playhead.agent.hooks import Hooks
from playhead.agent.inbox import Inbox
from playhead.agent.media import without_media
from playhead.agent.opening import Opened
from playhead.agent.output import OutputForm
from playhead.agent.recording import EFFORT_SWITCH, MODEL_SWITCH, InForce, in_force
from playhead.agent.run import CONTINUE_PROMPT, Run, Settings
from playhead.agent.spill import SpillSidecar
from playhead.agent.stream import Emit, RunStream
from playhead.agent.subagents import TEMP, subagent
from playhead.agent.tape_tools import with_contract
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool, ToolContext
from playhead.entry.message import Message, Text
from playhead.errors import InvalidInput, PlayheadError
from playhead.fold.ticker import Identity, Ticked
from playhead.model.protocol import Model
from playhead.model.registry import get_model, provider_of
from playhead.prompt.budget import Budget
from playhead.prompt.strategy import Strategy
from playhead.store.blobs import blobs_of
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import AsyncTapeStore, TapeStore, WholeStore
from playhead.store.urls import open_store
from playhead.tape.recovery import Recover
from playhead.tape.sidecar import Mounts
from playhead.tape.tape import Branch, Tape
from playhead.tracing import span
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.tokens import Counter

_log = logging.getLogger("playhead")

TEMPORARY = "temp/"
"""How the name of a tape begins of which nothing remains."""

EMPTY_PROMPT = "error: empty prompt"

_locked: ContextVar[frozenset[tuple[int, str]]] = ContextVar("playhead_locked_tapes", default=frozenset())
"""The stores and tapes of the runs, with a lock, in which we are: another run on one of them would wait for its own end."""


class Agent:
    """Answers with a model and tools, and remembers because its tapes do.

    A run with the same tape name goes on where the last one stopped. `model` (a spec such as "openai:gpt-5-mini", or a Model) and
    `fallbacks` serve runs that name none. `inbox` makes the inbox of a tape, such as `TapeInbox`. `approve` is asked before tools that
    need it. With `lock` the runs on one tape wait for each other, in all processes. `recover` says what becomes of runs whose process
    died. `commands` takes prompts that begin with a comma for commands. `context`, `store` and sidecars that are not given may come from
    `plugins`. The default store is in memory and lives as long as the agent; one that is named by its URL is closed with it. With an AutobiographicalStrategy it remembers in summaries, kept
    under its `name` and written in the background after each turn, or with `tick="manual"` by `tick()` alone.
    """

    def __init__(
        self,
        system_prompt: str = "",
        *,
        max_steps: int | None = None,
        store: str | Path | TapeStore | AsyncTapeStore | WholeStore | None = None,
        context: TapeContext | None = None,
        strategy: Strategy | None = None,
        budget: Budget | None = None,
        sidecars: Iterable[object] = (),
        tools: Iterable[Tool | Callable[..., Any]] = (),
        plugins: Iterable[object] = (),
        model: str | Model | None = None,
        fallbacks: Iterable[str | Model] = (),
        inbox: Callable[[Tape], Inbox] | None = None,
        approve: Approve | None = None,
        lock: bool = False,
        recover: Recover = "merge",
        continue_prompt: str = CONTINUE_PROMPT,
        commands: bool = False,
        counter: Counter | None = None,
        archives: str | Path | None = None,
        name: str = "agent",
        tick: Tick = "turn",
    ) -> None:
        self.name = checked_text(name, "An agent's name")
        self.system_prompt = checked_text(system_prompt, "A system prompt")
        self.max_steps = checked_steps(max_steps)
        self.hooks = Hooks(plugins)
        self.context = checked_context(context) or self.hooks.context() or default_tape_context()
        self.strategy = bound(strategy, name=self.name)
        self.budget = checked_budget(budget)
        self.sidecars = Mounts((*sidecars, *self.hooks.sidecars()))
        self.tools = Toolbox((*checked_tools(tools), *_spill_tools(self.sidecars), *tools_of(self.strategy)))
        self.model = None if model is None else checked_model(model)
        self.fallbacks = tuple(checked_model(fallback) for fallback in ((fallbacks,) if isinstance(fallbacks, str) else fallbacks))
        self.approve: Approve | None = checked_call(approve, "What approves calls is an async function of the call and its context")
        self.lock = lock
        self.recover = recover
        self.continue_prompt = checked_text(continue_prompt, "What a model is told behind a step with tools")
        self.commands = commands
        self.counter = counter
        self.archives = archives
        self._own = open_store(str(store)) if isinstance(store, (str, Path)) else None
        self._store: TapeStore | AsyncTapeStore | WholeStore | None = self._own if isinstance(store, (str, Path)) else store
        self._choosing = threading.Lock()
        self._inbox: Callable[[Tape], Inbox] | None = checked_call(inbox, "An agent's inbox is a function that makes the inbox of a tape, such as TapeInbox")
        self._inboxes: dict[str, Inbox] = {}
        self._running: dict[str, list[anyio.Event]] = {}
        self._sessions: dict[str, str] = {}
        self._folding = Folding(self.strategy, tick=tick)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of what plug-ins provided, and of a store that was opened by its URL; summaries that are being written are left for the next turn."""
        await self._folding.aclose()
        try:
            await self.hooks.aclose()
        finally:
            if self._own is not None:
                await self._own.aclose()

    @property
    def store(self) -> TapeStore | AsyncTapeStore | WholeStore:
        """The store of its tapes: the given one, else a plug-in's, else one in memory."""
        return self._chosen(self.hooks.store()) if self._store is None else self._store

    def tape(self, name: str, *, state: dict[str, Any] | None = None) -> Tape:
        """Return the handle of a tape; nothing is written. `state` is what its context and tools see, never copied."""
        context = self.context if state is None else replace(self.context, state=state)
        return Tape(self.store, context=context, counter=self.counter, archives=self.archives, sidecars=self.sidecars).scoped(name)

    def inbox(self, name: str) -> Inbox:
        """Return the inbox of a tape. Raises InvalidInput where the agent has none."""
        if self._inbox is None:
            raise InvalidInput("This agent has no inbox; give it one, such as Agent(inbox=TapeInbox).")
        if name not in self._inboxes:
            self._inboxes[name] = self._inbox(self.tape(name))
        return self._inboxes[name]

    def run(
        self,
        prompt: Prompt | None,
        *,
        model: Model | str | None = None,
        tape: str | Branch,
        state: dict[str, Any] | None = None,
        merge_back: bool = True,
        output_type: Any = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        max_steps: int | None = None,
        reasoning_effort: str | None = None,
    ) -> RunStream:
        """Return the stream of a run: `async with agent.run(...) as stream: async for event in stream`.

        It writes to a branch of the tape, which is merged when the stream is closed, or dropped with `merge_back=False`; given a
        branch (of `session`), it writes there and merges nothing. `state` is for this call alone. `output_type` asks for an answer
        of that type, which is then `stream.output`. A `prompt` of None asks nothing new: what stands on the tape is answered, and
        what waits in its inbox.
        """
        message, tape = None if prompt is None else checked_prompt(prompt), checked_tape(tape)
        settings = self._settings(output_type=output_type, tools=tools, max_steps=checked_steps(max_steps), reasoning_effort=reasoning_effort)
        asked, kept = None if model is None else checked_model(model), checked_state(state, tape)
        is_blank = message is not None and not message.text.strip() and all(isinstance(part, Text) for part in message.parts)
        commanded = message.text if message is not None and self.commands and is_command(message.text) else None

        async def open() -> Opened:
            return await self._opened(asked, tape, kept, merge_back=merge_back and not is_blank, asks=not is_blank and commanded is None, waits=stream.waits)

        async def run(opened: Opened, emit: Emit) -> None:
            if self.lock and isinstance(tape, str):
                _locked.set(_locked.get() | {(id(self.store), tape)})
            if is_blank:
                await emit(TextEvent(delta=EMPTY_PROMPT))
                await emit(FinalEvent(text=EMPTY_PROMPT, ok=False))
            elif commanded is not None:
                await self._commanded(commanded, opened, kept, settings.toolbox, emit)
            else:
                await self._run(message, opened, kept, settings, stream, emit)

        stream = RunStream(open=open, run=run)
        return stream

    async def start(self, prompt: Prompt | None, *, tape: str | Branch, **options: Any) -> RunStream:
        """Return the stream of a run that is open already, as `run` without its `async with`; the caller closes it with `aclose()`."""
        stream = self.run(prompt, tape=tape, **options)
        await stream.__aenter__()
        return stream

    @asynccontextmanager
    async def session(self, name: str, *, merge_back: bool = True, state: dict[str, Any] | None = None) -> AsyncIterator[Branch]:
        """Yield a branch that runs can share, given as their `tape`; it is merged, or dropped, once at the end."""
        tape = self.tape(name, state={} if state is None else state)
        is_kept = merge_back and not name.startswith(TEMPORARY)
        await self._prepared(tape, bootstrapped=is_kept)
        async with tape.fork_tape(merge_back=is_kept) as branch:
            await branch.bootstrap()
            self._sessions[branch.name] = name
            try:
                yield branch
            finally:
                del self._sessions[branch.name]

    async def submit(self, prompt: Prompt, *, tape: str, state: dict[str, Any] | None = None, **options: Any) -> RunStream | None:
        """Return the stream of a run for a message that comes in, as the `admit` hook decides; None where it makes none.

        "process" runs at once, "queue" once those have ended that were opened on the tape before it, "drop" never; "steer" gives it
        to the inbox of the running one, or runs where none does.
        """
        message = checked_prompt(prompt)
        admission = await self.hooks.admit(message, {} if state is None else state)
        if admission == "drop":
            return None
        if admission == "steer" and tape in self._running:
            await self.inbox(tape).store(message)
            return None
        stream = self.run(message, tape=tape, state=state, **options)
        stream.waits = admission == "queue"
        return stream

    async def tick(self, tape: str) -> Ticked:
        """Write one summary of a tape, if one is due; what an agent with `tick="manual"` leaves to its host. Raises NoCompressionModel."""
        return await self._folding.tick(self.tape(tape), client=self.model, identity=self._identity())

    async def settled(self) -> None:
        """Wait until no summary is being written in the background."""
        await self._folding.settled()

    async def switch_model(self, tape: str, model: str) -> None:
        """Have runs on a tape that name no model ask this one from now on; the tape remembers it. Raises InvalidModelSpec, ProviderNotFoundError."""
        provider_of(model)
        await self.tape(tape).append_event(MODEL_SWITCH, {"model": model})

    async def switch_effort(self, tape: str, reasoning_effort: str) -> None:
        """Have runs on a tape that say nothing else reason with this effort from now on; the tape remembers it."""
        await self.tape(tape).append_event(EFFORT_SWITCH, {"reasoning_effort": reasoning_effort})

    def as_tool(self, name: str, description: str, *, model: Model | str | None = None, session: str = TEMP) -> Tool:
        """Return a tool with which another agent gives this one a task, and reads its words.

        `session` is "temp" (nothing remains), "inherit" (it sees the caller's running turn, and what it did is kept beside it), or the
        name of a tape. `model` answers where the agent has none of its own.
        """
        return subagent(self, name=name, description=description, model=model, session=session)

    def _settings(self, *, output_type: Any, tools: Iterable[Tool | Callable[..., Any]], max_steps: int | None, reasoning_effort: str | None) -> Settings:
        spill = next((sidecar for sidecar in self.sidecars.values() if isinstance(sidecar, SpillSidecar)), None)
        toolbox = Toolbox((*self.tools.values(), *checked_tools(tools)))
        return Settings(
            system_prompt=with_contract(self.system_prompt, toolbox),
            max_steps=max_steps or self.max_steps,
            strategy=self.strategy,
            budget=self.budget,
            toolbox=toolbox,
            hooks=self.hooks,
            inbox=None,
            approve=self.approve,
            shrink=None if spill is None else spill.shrink,
            refold=None,
            continue_prompt=self.continue_prompt,
            reasoning_effort=None if reasoning_effort is None else checked_text(reasoning_effort, "A reasoning_effort"),
            output=None if output_type is None else OutputForm(output_type),
        )

    async def _opened(self, model: Model | str | None, tape: str | Branch, state: dict[str, Any], *, merge_back: bool, asks: bool, waits: bool) -> Opened:
        """Open what a run needs, models where it asks one, the last thing first to be closed; where a part of it fails, all is closed again."""
        if self._store is None:
            self._chosen(await self.hooks.open_store())
        async with AsyncExitStack() as stack:
            main = self.tape(tape, state=state) if isinstance(tape, str) else tape
            if self.lock and isinstance(tape, str) and (id(self.store), tape) in _locked.get():
                raise InvalidInput(
                    f"The tape '{tape}' is locked by the run that this one is started in, and both would wait for ever; run on a fork, tape=await context.tape.fork(), or start it outside."
                )
            before = self._began(self._sessions.get(main.name, main.name), stack)
            for ended in before if waits else ():
                await ended.wait()
            if self.lock and isinstance(tape, str):
                await stack.enter_async_context(main.lock())
            is_kept = not isinstance(tape, str) or (merge_back and not tape.startswith(TEMPORARY))
            await self._prepared(main, recovered=isinstance(tape, str), bootstrapped=is_kept)
            held = await in_force(main)
            models = await self._models(model, held, stack) if asks else ()
            if not isinstance(tape, str):
                return Opened(tape=main, models=models, held=held, inbox=self._sessions.get(tape.name), stack=stack.pop_all())
            if is_kept and isinstance(tape, str):
                stack.callback(self._folding.start, main, client=self.model or model, identity=self._identity())
            scope = main.fork_tape(merge_back=is_kept)
            with anyio.CancelScope(shield=True):  # a fork that was cancelled on its way might be there, and nobody's
                branch = await stack.enter_async_context(scope)
            if not is_kept:
                await branch.bootstrap()
            return Opened(tape=branch, models=models, held=held, inbox=tape, stack=stack.pop_all(), scope=scope)

    def _chosen(self, provided: TapeStore | AsyncTapeStore | WholeStore | None) -> TapeStore | AsyncTapeStore | WholeStore:
        """Return the one store of all runs: the first that was chosen stays, whoever waited meanwhile, on whatever thread."""
        with self._choosing:
            if self._store is None:
                self._store = InMemoryTapeStore() if provided is None else provided
            return self._store

    def _identity(self) -> Identity:
        """Return under whose name summaries are written: the agent's own."""
        return Identity(system_prompt=with_contract(self.system_prompt, self.tools) or None, tools=tuple(tool.spec for tool in self.tools.values()))

    def _began(self, name: str, stack: AsyncExitStack) -> tuple[anyio.Event, ...]:
        """Note that a run is there on a tape, until the stack is closed; return the ends of those that were there before it."""
        running, ended = self._running.setdefault(name, []), anyio.Event()
        before = tuple(running)
        running.append(ended)
        stack.callback(self._ended, name, ended)
        return before

    async def _prepared(self, tape: Tape, *, recovered: bool = True, bootstrapped: bool = True) -> None:
        """Bring back what dead runs have left, and see to the first anchor; where a branch is dropped in the end, that stands there."""
        if recovered:
            await tape.recover(self.recover)
        if bootstrapped:
            await tape.bootstrap()

    async def _models(self, model: Model | str | None, held: InForce, stack: AsyncExitStack) -> tuple[Model, ...]:
        """Return who answers: the model of the run alone, else the one the tape remembers or the agent's, and its fallbacks."""
        if model is not None:
            wanted: list[Model | str] = [model]
        else:
            first = held.model or self.model
            if first is None:
                raise InvalidInput("This run has no model; pass run(..., model=...), or make the agent with model='provider:id'.")
            wanted = [first, *self.fallbacks]
        models: list[Model] = []
        for one in wanted:
            try:
                models.append(await stack.enter_async_context(get_model(one)) if isinstance(one, str) else one)
            except PlayheadError:
                if not models:
                    raise
                _log.exception("The fallback %s cannot be used and is left out.", one)
        return tuple(models)

    async def _run(self, prompt: Message | None, opened: Opened, state: dict[str, Any], settings: Settings, stream: RunStream, emit: Emit) -> None:
        recorded = None if prompt is None else (await without_media(prompt, blobs=blobs_of(opened.tape.store))).message
        inbox = self.inbox(opened.inbox) if self._inbox is not None and opened.inbox is not None else None

        def deliver(value: Any) -> None:
            stream.output = value

        run = Run(
            replace(
                settings,
                inbox=inbox,
                refold=self._folding.refold(client=self.model or opened.models[0], identity=self._identity()),
                reasoning_effort=settings.reasoning_effort or opened.held.reasoning_effort,
            ),
            models=opened.models,
            prompt=prompt,
            recorded=recorded,
            state=state,
            run_id=clock.new_uid(),
            held=opened.held,
            deliver=deliver,
        )
        with span("agent", agent=self.name, tape=opened.tape.name, run_id=run.id, model=opened.models[0].name):
            try:
                await run(opened.tape, emit)
            finally:
                stream.unwritten = run.unwritten

    async def _commanded(self, raw: str, opened: Opened, state: dict[str, Any], toolbox: Toolbox, emit: Emit) -> None:
        context = ToolContext(tape=opened.tape, state=state, run_id=clock.new_uid())
        await opened.tape.append(begun(raw, context=context))
        try:
            ran = await command(raw, toolbox=toolbox, context=context)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await opened.tape.append(cut_short(raw, context=context))
            raise
        with anyio.CancelScope(shield=True):
            entry = await opened.tape.append(ran)
        facts = entry.payload["data"]
        said = facts["output"] if isinstance(facts["output"], str) else str(facts["output"])
        await emit(TextEvent(delta=said))
        await emit(FinalEvent(text=said, ok=facts["status"] == "ok"))

    def _ended(self, name: str, ended: anyio.Event) -> None:
        ended.set()
        self._running[name].remove(ended)
        if not self._running[name]:
            del self._running[name]


def _spill_tools(sidecars: Mounts) -> tuple[Tool, ...]:
    return tuple(tool for sidecar in sidecars.values() if isinstance(sidecar, SpillSidecar) for tool in sidecar.tools())
