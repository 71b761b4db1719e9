"""The blocking agent, the stream of a run, and the inbox."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead.agent.agent import Agent as AsyncAgent
from playhead.agent.calling import Approve
from playhead.agent.events import RunEvent
from playhead.agent.folding import Tick
from playhead.agent.given import Prompt
from playhead.agent.hooks import Hooks
from playhead.agent.inbox import Inbox as AsyncInbox
from playhead.agent.inbox import Leased
from playhead.agent.run import CONTINUE_PROMPT
from playhead.agent.stream import RunStream as AsyncRunStream
from playhead.agent.subagents import TEMP
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool
from playhead.entry.message import Message
from playhead.fold.ticker import Ticked
from playhead.model.protocol import Model as AsyncModel
from playhead.model.protocol import Usage
from playhead.prompt.budget import Budget
from playhead.prompt.strategy import Strategy
from playhead.store.adapt import adapt
from playhead.store.protocol import AsyncTapeStore, TapeStore
from playhead.store.protocol import WholeStore as AsyncWholeStore
from playhead.sync.model import Model
from playhead.sync.portal import given, soon, wait
from playhead.sync.scope import Scope, each, entered, one
from playhead.sync.store import WholeStore
from playhead.sync.tape import Branch, Tape
from playhead.tape.merging import MergeReport
from playhead.tape.recovery import Recover
from playhead.tape.sidecar import Mounts
from playhead.tape.tape import Tape as AsyncTape
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


class Inbox:
    """The inbox of a tape: messages that wait for a run.

    `asynchronous` is the inbox behind it.
    """

    asynchronous: AsyncInbox

    def __init__(self, asynchronous: AsyncInbox) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def store(self, message: Message, *, key: str | None = None) -> str:
        """Keep a message and return its id; the same `key` again changes nothing."""
        return wait(self.asynchronous.store, message, key=key)

    def take_pending(self, limit: int | None = None) -> list[Leased]:
        """Lease the oldest messages that nobody has, up to a limit."""
        return wait(self.asynchronous.take_pending, limit)

    def ack(self, leased: Leased) -> None:
        """Say that a message was taken up, so that it is never given out again; saying it twice changes nothing."""
        wait(self.asynchronous.ack, leased)

    def release(self, leased: Leased) -> None:
        """Give a message back, to the place where it was; nothing changes where it was taken up, or another has it by now."""
        wait(self.asynchronous.release, leased)


class RunStream:
    """The events of one run: `with agent.run(...) as stream: for event in stream`.

    The run begins with the first event that is asked for and goes on by itself, in the thread of the loop. However the block is
    left, the run is ended there. `cancel` may come from another thread. `asynchronous` is the stream behind it.
    """

    asynchronous: AsyncRunStream

    def __init__(self, asynchronous: AsyncRunStream) -> None:
        self.asynchronous = asynchronous

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    def __iter__(self) -> Iterator[RunEvent]:
        return self

    def __next__(self) -> RunEvent:
        return one(self.asynchronous)

    @property
    def usage(self) -> Usage:
        """What the calls of the run cost so far."""
        return self.asynchronous.usage

    @property
    def error(self) -> Exception | None:
        """The last error, None without one."""
        return self.asynchronous.error

    @property
    def output(self) -> Any:
        """The answer in the form that `output_type` asked for, None before it is there."""
        return self.asynchronous.output

    def aclose(self) -> None:
        """End the run where it stands and merge what it wrote; closing twice is fine."""
        wait(self.asynchronous.aclose)

    @property
    def tape(self) -> Tape:
        """The tape the run writes to: its branch, until it is closed. Raises InvalidInput before the stream is entered."""
        return Tape.of(self.asynchronous.tape)

    @property
    def report(self) -> MergeReport | None:
        """What the merge at the end did, None before."""
        return self.asynchronous.report

    def cancel(self) -> None:
        """Cancel the run where it stands; what is known by then is recorded, and the stream ends."""
        wait(soon, self.asynchronous.cancel)

    def text(self) -> str:
        """Run to the end and return the words of the last answer. Raises what the run raises."""
        return wait(self.asynchronous.text)

    def text_deltas(self) -> Iterator[str]:
        """Yield the words of all answers as they come."""
        return each(self.asynchronous.text_deltas())


class Agent:
    """Answers with a model and tools, and remembers because its tapes do; `with` closes it.

    `asynchronous` is the agent behind it: tools, hooks and whoever approves are called by its runs, in the thread of the loop, or
    where a tool is no async function in a thread of its own, where blocking calls may be made.
    """

    asynchronous: AsyncAgent

    def __init__(
        self,
        system_prompt: str = "",
        *,
        max_steps: int | None = None,
        store: str | Path | TapeStore | AsyncTapeStore | AsyncWholeStore | WholeStore | None = None,
        context: TapeContext | None = None,
        strategy: Strategy | None = None,
        budget: Budget | None = None,
        sidecars: Iterable[object] = (),
        tools: Iterable[Tool | Callable[..., Any]] = (),
        plugins: Iterable[object] = (),
        model: str | AsyncModel | Model | None = None,
        fallbacks: Iterable[str | AsyncModel | Model] = (),
        inbox: Callable[[AsyncTape], AsyncInbox] | None = None,
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
        self.asynchronous = AsyncAgent(
            system_prompt,
            max_steps=max_steps,
            store=given(store),
            context=context,
            strategy=strategy,
            budget=budget,
            sidecars=sidecars,
            tools=tools,
            plugins=plugins,
            model=given(model),
            fallbacks=given(fallbacks),
            inbox=inbox,
            approve=approve,
            lock=lock,
            recover=recover,
            continue_prompt=continue_prompt,
            commands=commands,
            counter=counter,
            archives=archives,
            name=name,
            tick=tick,
        )

    @classmethod
    def of(cls, asynchronous: AsyncAgent) -> Self:
        """Return the twin of what is there already."""
        twin: Self = cls.__new__(cls)
        twin.asynchronous = asynchronous
        return twin

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Self:
        entered(self.asynchronous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        wait(self.asynchronous.__aexit__, kind, error, trace)

    @property
    def name(self) -> str:
        """What its summaries are kept under."""
        return self.asynchronous.name

    @property
    def system_prompt(self) -> str:
        """What its models are told first."""
        return self.asynchronous.system_prompt

    @property
    def max_steps(self) -> int | None:
        """How many steps a run may take, None for any number."""
        return self.asynchronous.max_steps

    @property
    def hooks(self) -> Hooks:
        """What its plug-ins do."""
        return self.asynchronous.hooks

    @property
    def context(self) -> TapeContext:
        """How its tapes are read."""
        return self.asynchronous.context

    @property
    def strategy(self) -> Strategy | None:
        """How its prompts are compiled."""
        return self.asynchronous.strategy

    @property
    def budget(self) -> Budget | None:
        """The budget of its prompts, None for that of the model."""
        return self.asynchronous.budget

    @property
    def sidecars(self) -> Mounts:
        """The abilities that are mounted beside its tapes, by name."""
        return self.asynchronous.sidecars

    @property
    def tools(self) -> Toolbox:
        """Its tools, by name."""
        return self.asynchronous.tools

    @property
    def model(self) -> AsyncModel | str | None:
        """Who answers runs that name no model."""
        return self.asynchronous.model

    @property
    def fallbacks(self) -> tuple[AsyncModel | str, ...]:
        """Who answers where that one fails."""
        return self.asynchronous.fallbacks

    @property
    def approve(self) -> Approve | None:
        """Who is asked before tools that need it."""
        return self.asynchronous.approve

    @property
    def lock(self) -> bool:
        """Whether the runs on one tape wait for each other."""
        return self.asynchronous.lock

    @property
    def recover(self) -> Recover:
        """What becomes of runs whose process died."""
        return self.asynchronous.recover

    @property
    def continue_prompt(self) -> str:
        """What a model is told behind a step with tools."""
        return self.asynchronous.continue_prompt

    @property
    def commands(self) -> bool:
        """Whether prompts that begin with a comma are commands."""
        return self.asynchronous.commands

    @property
    def counter(self) -> Counter | None:
        """What counts tokens."""
        return self.asynchronous.counter

    @property
    def archives(self) -> str | Path | None:
        """Where tapes are archived to."""
        return self.asynchronous.archives

    def aclose(self) -> None:
        """Let go of what plug-ins provided, and of a store that was opened by its URL; summaries that are being written are left for the next turn."""
        wait(self.asynchronous.aclose)

    @property
    def store(self) -> WholeStore:
        """The store of its tapes: the given one, else a plug-in's, else one in memory."""
        return WholeStore(adapt(wait(soon, getattr, self.asynchronous, "store")))

    def tape(self, name: str, *, state: dict[str, Any] | None = None) -> Tape:
        """Return the handle of a tape; nothing is written. `state` is what its context and tools see, never copied."""
        return Tape.of(wait(soon, self.asynchronous.tape, name, state=state))

    def inbox(self, name: str) -> Inbox:
        """Return the inbox of a tape. Raises InvalidInput where the agent has none."""
        return Inbox(wait(soon, self.asynchronous.inbox, name))

    def run(
        self,
        prompt: Prompt | None,
        *,
        model: AsyncModel | Model | str | None = None,
        tape: str | Branch,
        state: dict[str, Any] | None = None,
        merge_back: bool = True,
        output_type: Any = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        max_steps: int | None = None,
        reasoning_effort: str | None = None,
    ) -> RunStream:
        """Return the stream of a run: `with agent.run(...) as stream: for event in stream`.

        It writes to a branch of the tape, which is merged when the stream is closed, or dropped with `merge_back=False`; given a
        branch (of `session`), it writes there and merges nothing. `state` is for this call alone. `output_type` asks for an answer
        of that type, which is then `stream.output`. A `prompt` of None asks nothing new: what stands on the tape is answered, and
        what waits in its inbox.
        """
        return RunStream(
            self.asynchronous.run(
                prompt, model=given(model), tape=given(tape), state=state, merge_back=merge_back, output_type=output_type, tools=tools, max_steps=max_steps, reasoning_effort=reasoning_effort
            )
        )

    def start(self, prompt: Prompt | None, *, tape: str | Branch, **options: Any) -> RunStream:
        """Return the stream of a run that is open already, as `run` without its `with`; the caller closes it with `aclose()`."""
        return RunStream(wait(self.asynchronous.start, prompt, tape=given(tape), **{name: given(option) for name, option in options.items()}))

    def session(self, name: str, *, merge_back: bool = True, state: dict[str, Any] | None = None) -> Scope[Branch]:
        """Yield a branch that runs can share, given as their `tape`; it is merged, or dropped, once at the end."""
        return Scope(self.asynchronous.session(name, merge_back=merge_back, state=state), Branch.of)

    def submit(self, prompt: Prompt, *, tape: str, state: dict[str, Any] | None = None, **options: Any) -> RunStream | None:
        """Return the stream of a run for a message that comes in, as the `admit` hook decides; None where it makes none.

        "process" runs at once, "queue" once those have ended that were opened on the tape before it, "drop" never; "steer" gives it
        to the inbox of the running one, or runs where none does.
        """
        found = wait(self.asynchronous.submit, prompt, tape=tape, state=state, **{name: given(option) for name, option in options.items()})
        return None if found is None else RunStream(found)

    def tick(self, tape: str) -> Ticked:
        """Write one summary of a tape, if one is due; what an agent with `tick="manual"` leaves to its host. Raises NoCompressionModel."""
        return wait(self.asynchronous.tick, tape)

    def settled(self) -> None:
        """Wait until no summary is being written in the background."""
        wait(self.asynchronous.settled)

    def switch_model(self, tape: str, model: str) -> None:
        """Have runs on a tape that name no model ask this one from now on; the tape remembers it. Raises InvalidModelSpec, ProviderNotFoundError."""
        wait(self.asynchronous.switch_model, tape, model)

    def switch_effort(self, tape: str, reasoning_effort: str) -> None:
        """Have runs on a tape that say nothing else reason with this effort from now on; the tape remembers it."""
        wait(self.asynchronous.switch_effort, tape, reasoning_effort)

    def as_tool(self, name: str, description: str, *, model: AsyncModel | Model | str | None = None, session: str = TEMP) -> Tool:
        """Return a tool with which another agent gives this one a task, and reads its words.

        `session` is "temp" (nothing remains), "inherit" (it sees the caller's running turn, and what it did is kept beside it), or the
        name of a tape. `model` answers where the agent has none of its own.
        """
        return self.asynchronous.as_tool(name, description, model=given(model), session=session)
