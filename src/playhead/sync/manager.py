"""The blocking context manager."""

# Written by `python -m scripts.twins` from the table there and from the source of the async names.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead import clock as clocks
from playhead.entry.message import Message
from playhead.fold.choosing.debt import Debt
from playhead.fold.choosing.holds import Hold
from playhead.fold.choosing.quarantine import Alarm, Quarantine
from playhead.fold.forest import Pin
from playhead.fold.ledger.search import Placed, SummaryHit
from playhead.fold.node import Node
from playhead.fold.ticker import Identity, Ticked
from playhead.model.protocol import Model as AsyncModel
from playhead.model.protocol import ToolSpec, Usage
from playhead.prompt.budget import Budget
from playhead.prompt.folding.makeup import RenderStats
from playhead.prompt.injection import Injection
from playhead.prompt.manager.listeners import Listener
from playhead.prompt.manager.manager import ContextManager as AsyncContextManager
from playhead.prompt.manager.opening import Store
from playhead.prompt.manager.receipts import FoldReceipt
from playhead.prompt.manager.stored import StoredMessage
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.sync.model import Model
from playhead.sync.portal import given, soon, wait
from playhead.sync.scope import each, entered, opened
from playhead.sync.store import WholeStore
from playhead.sync.tape import Tape
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter


class ContextManager:
    """Keeps the messages of one agent on a tape and compiles what its model should see of them; `with` closes it.

    `asynchronous` is the manager behind it. What is done in the background goes on while nothing is asked of it. Listeners are called
    in the thread of the loop, and a blocking call made there raises.
    """

    asynchronous: AsyncContextManager

    def __init__(self, tape: Tape, *, strategy: Strategy, namespace: str | None, agent: str, model: AsyncModel | Model | str | None, clock: clocks.Clock | None, owns_store: bool) -> None:
        self.asynchronous = AsyncContextManager(given(tape), strategy=strategy, namespace=namespace, agent=agent, model=given(model), clock=clock, owns_store=owns_store)

    @classmethod
    def of(cls, asynchronous: AsyncContextManager) -> Self:
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
    def tape(self) -> Tape:
        """The tape, or the branch, that it keeps messages on."""
        return Tape.of(self.asynchronous.tape)

    @property
    def namespace(self) -> str | None:
        """What keeps its summaries apart from those of others."""
        return self.asynchronous.namespace

    @property
    def agent(self) -> str:
        """Who the assistant is."""
        return self.asynchronous.agent

    @property
    def identity(self) -> Identity:
        """Under whose name summaries are written."""
        return self.asynchronous.identity

    def tick(self) -> Ticked:
        """Write one summary or make one merge, if any is due; what came of it is true where it did.

        Raises NoCompressionModel where one is due and no model is named, and what a drain in the background has raised before.
        """
        return wait(self.asynchronous.tick)

    def drain(self, *, progress: Callable[[Ticked], object] | None = None) -> int:
        """Tick until nothing is due, or what is due must wait; return how many jobs were done."""
        return wait(self.asynchronous.drain, progress=progress)

    def settled(self) -> None:
        """Wait for what `auto_tick_on_new_message` does in the background. Raises what it raised."""
        wait(self.asynchronous.settled)

    def hold_compression(self, ids: str | Iterable[str], *, timeout: float | None = None) -> None:
        """Keep messages, and all that follows, from being summarised until they are released, or for `timeout` seconds. Raises MessageNotFound.

        For what will still be edited: edit first, then release. Holds live in memory alone.
        """
        wait(self.asynchronous.hold_compression, ids, timeout=timeout)

    def release_compression(self, ids: str | Iterable[str]) -> None:
        """Let go of messages; unknown ones are passed over."""
        wait(self.asynchronous.release_compression, ids)

    def compression_holds(self) -> tuple[Hold, ...]:
        """Return what is held, since when, and until when."""
        return wait(soon, self.asynchronous.compression_holds)

    def pin_range(self, first: str, last: str, *, name: str | None = None, level: int | None = None, max_level: int | None = None) -> str:
        """Keep messages in place as they are, from one to another, in either order; return the pin's id. Raises MessageNotFound.

        `level` and `max_level` are kept; the resolvers there are show the messages raw whatever they say.
        """
        return wait(self.asynchronous.pin_range, first, last, name=name, level=level, max_level=max_level)

    def mark_document(self, id: str, *, name: str | None = None, level: int | None = None, max_level: int | None = None) -> str:
        """Keep one message in place as it is; return the pin's id. Raises MessageNotFound."""
        return wait(self.asynchronous.mark_document, id, name=name, level=level, max_level=max_level)

    def unpin(self, pin: str) -> bool:
        """Let go of a pin; whether there was one."""
        return wait(self.asynchronous.unpin, pin)

    def list_pins(self) -> tuple[Pin, ...]:
        """Return the pins, in the order they were made."""
        return wait(self.asynchronous.list_pins)

    def lock_chunk(self, id: str) -> None:
        """Have resolvers leave it as it is how deep a message is told. Raises MessageNotFound."""
        wait(self.asynchronous.lock_chunk, id)

    def unlock_chunk(self, id: str) -> None:
        """Let resolvers fold a message again. Raises MessageNotFound."""
        wait(self.asynchronous.unlock_chunk, id)

    def search_summaries(self, text: str | None = None, *, regex: str | None = None, levels: Collection[int] | None = None, limit: int = 50, include_merged: bool = False) -> list[SummaryHit]:
        """Return the summaries that hold a text, or match a regular expression, the most matches first, then the newest; without either all of them."""
        return wait(self.asynchronous.search_summaries, text, regex=regex, levels=levels, limit=limit, include_merged=include_merged)

    def get_summary(self, id: str) -> Node:
        """Return a summary by what it is called, such as `L1-3`. Raises SummaryNotFound."""
        return wait(self.asynchronous.get_summary, id)

    def read_summary(self, id: str) -> tuple[Message, ...]:
        """Return what a summary tells, word for word: the messages under it, however deep. Raises SummaryNotFound."""
        return wait(self.asynchronous.read_summary, id)

    def get_summaries_in_range(self, since: datetime | str | None = None, until: datetime | str | None = None, *, level: int | None = None) -> list[Placed]:
        """Return the summaries of what happened between two instants, by when it began; one and its parent may both be there."""
        return wait(self.asynchronous.get_summaries_in_range, since, until, level=level)

    def max_summary_level(self) -> int:
        """Return the highest level of any summary, 0 without one."""
        return wait(self.asynchronous.max_summary_level)

    def list_fold_receipts(self, *, limit: int = 10, after: str | None = None) -> tuple[FoldReceipt, ...]:
        """Return when what is shown of the past changed, and how: the newest first; with `after`, a receipt's id, those behind it, the oldest first."""
        return wait(self.asynchronous.list_fold_receipts, limit=limit, after=after)

    def forget_summary(self, id: str, *, reason: str = "") -> Node:
        """Take back a summary and those above it, so that what they told is told anew, by whom `compression_model` names then; return it. Raises SummaryNotFound."""
        return wait(self.asynchronous.forget_summary, id, reason=reason)

    def compression_debt(self) -> Debt | None:
        """Return how far summaries are behind the tape, None for a strategy that writes none; reads all that waits."""
        return wait(self.asynchronous.compression_debt)

    def quarantine_status(self) -> Quarantine:
        """Return what could not be summarised and stays as it is."""
        return wait(self.asynchronous.quarantine_status)

    def clear_quarantine(self, key: str | None = None) -> int:
        """Have what is in quarantine tried again: one span by its key, or all; return how many there were."""
        return wait(self.asynchronous.clear_quarantine, key)

    def on_quarantine_alarm(self, handler: Callable[[Alarm], object] | None) -> None:
        """Have a function told, while ticks go on, of what is in quarantine, and once that nothing is any more."""
        self.asynchronous.on_quarantine_alarm(handler)

    @classmethod
    def open(
        cls,
        *,
        path: str | Path | None = None,
        store: Store | WholeStore | None = None,
        strategy: Strategy | None = None,
        namespace: str | None = None,
        isolate: bool = False,
        agent: str = "Claude",
        model: AsyncModel | Model | str | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        clock: clocks.Clock | None = None,
    ) -> Self:
        """Return a manager that is being opened: at a `path`, which is made and belongs to it, or on a `store`, which stays open at its end.

        `namespace` keeps its summaries apart from those of other managers of the store; with `isolate` its messages, too. `agent` is
        who the assistant is, `model` serves a compression_model that is a bare id. `tape` names the tape, such as one that an agent
        or an import wrote; `context` says how it is read (all of it, where none is given). The default strategy is PassthroughStrategy.
        Raises InvalidInput where neither or both of path and store are given.
        """
        return cls.of(
            opened(
                AsyncContextManager.open(
                    path=path, store=given(store), strategy=strategy, namespace=namespace, isolate=isolate, agent=agent, model=given(model), tape=tape, context=context, counter=counter, clock=clock
                )
            )
        )

    def aclose(self) -> None:
        """Stop what is done in the background, and close the store where the manager opened it; closing twice is fine."""
        wait(self.asynchronous.aclose)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self.asynchronous.is_closed

    def add_message(self, participant: str, content: Any, metadata: Mapping[str, Any] | None = None, *, caused_by: str | Iterable[str] = (), hold: bool | float | None = False) -> str:
        """Keep a message at the end, and return its id.

        `content` is a text, parts, a Message, or block dicts such as `{"type": "text", "text": ...}`; the manager's own agent is the assistant, everybody
        else a user of that name. `hold` keeps it from being summarised until it is released, a number for so many seconds at most.
        """
        return wait(self.asynchronous.add_message, participant, content, metadata, caused_by=caused_by, hold=hold)

    def edit_message(self, id: str, content: Any) -> None:
        """Show a message otherwise from now on; what it said before stays on the tape, and summaries of it stay as they are. Raises MessageNotFound, BodyNotWhole."""
        wait(self.asynchronous.edit_message, id, content)

    def remove_message(self, id: str) -> None:
        """Show a message no longer; it stays on the tape. Raises MessageNotFound, BodyNotWhole."""
        wait(self.asynchronous.remove_message, id)

    def remove_messages(self, first: str, last: str) -> None:
        """Show the messages from one to another, in either order, no longer. Raises MessageNotFound, BodyNotWhole where an end lies inside a long message."""
        wait(self.asynchronous.remove_messages, first, last)

    def remove_body(self, id: str) -> None:
        """Show a long message, of which `id` is any part, no longer. Raises MessageNotFound."""
        wait(self.asynchronous.remove_body, id)

    def get_message(self, id: str) -> StoredMessage:
        """Return a message as it is now. Raises MessageNotFound."""
        return wait(self.asynchronous.get_message, id)

    def get_message_at(self, id: str, entry: int) -> StoredMessage:
        """Return a message as it was when an entry was the tape's last. Raises MessageNotFound."""
        return wait(self.asynchronous.get_message_at, id, entry)

    def messages(self) -> Iterator[StoredMessage]:
        """Yield every message, in order."""
        return each(self.asynchronous.messages(), at_a_time=256)

    def message_window(self, offset: int, limit: int, *, align_to_bodies: bool = False) -> tuple[tuple[StoredMessage, ...], int, int]:
        """Return `limit` messages from the one of index `offset` on, the index of the first of them, and how many there are."""
        return wait(self.asynchronous.message_window, offset, limit, align_to_bodies=align_to_bodies)

    def message_count(self) -> int:
        """Return how many messages there are."""
        return wait(self.asynchronous.message_count)

    def query_messages(self, **filters: Any) -> tuple[tuple[StoredMessage, ...], int]:
        """Return the messages that filters leave, and how many these are without `limit`.

        Filters are participant, metadata, source, external_ids, channel, since, until, limit and reverse.
        """
        return wait(self.asynchronous.query_messages, **filters)

    def find_message_by_external_id(self, source: str, id: str) -> StoredMessage | None:
        """Return the message that came from elsewhere under an id, None where none did."""
        return wait(self.asynchronous.find_message_by_external_id, source, id)

    def channel_counts(self) -> Mapping[str | int, int]:
        """Return how many messages came through each channel; reads all of them."""
        return wait(self.asynchronous.channel_counts)

    def on_message(self, listener: Listener) -> Callable[[], None]:
        """Have a function told of every message that is added, edited or removed through this manager; return what ends that."""
        return self.asynchronous.on_message(listener)

    def compile(self, budget: Budget | None = None, injections: Iterable[Injection] = (), *, dry_run: bool = False, request_overhead: Mapping[str, object] | None = None) -> Prompt:
        """Compile what the model should see within a budget; `prompt.render_stats` says what it is made of.

        It never waits for a summary: it tells what there is. A dry run changes nothing and reports in `prompt.over_budget` what does not fit.
        Raises OverBudgetError where it does not; its diagnostics say what takes how much.
        """
        return wait(self.asynchronous.compile, budget, injections, dry_run=dry_run, request_overhead=request_overhead)

    def preview(self, budget: Budget | None = None, **overrides: Any) -> Prompt:
        """Return what compile would give with some settings changed for once; nothing is kept. Raises InvalidOption, InvalidInput for a strategy without settings."""
        return wait(self.asynchronous.preview, budget, **overrides)

    def get_render_stats(self) -> RenderStats | None:
        """Return the makeup of the last live compile on this branch with this strategy, None before the first."""
        return self.asynchronous.get_render_stats()

    def report_usage(self, usage: Usage | float, *, overhead: int = 0) -> float:
        """Learn from what a provider counted for the last compile: all input tokens, cached ones too, less `overhead` that the compile did not hold.

        Return the factor now in force. One report a compile counts; later calls of the same turn have grown.
        """
        return wait(self.asynchronous.report_usage, usage, overhead=overhead)

    def set_tool_definitions(self, tools: Sequence[ToolSpec | Any]) -> None:
        """Have summaries written with the agent's own tools at hand; an empty list takes none away."""
        self.asynchronous.set_tool_definitions(tools)

    def set_system_prompt(self, text: str | None) -> None:
        """Have summaries written under the agent's own system prompt, as it is when one is written; an empty one takes none away."""
        self.asynchronous.set_system_prompt(text)

    @property
    def strategy(self) -> Strategy:
        """The strategy in force, as it was given."""
        return self.asynchronous.strategy

    @property
    def strategy_in_force(self) -> Strategy:
        """The strategy as this manager compiles with it: bound to its namespace and its agent."""
        return self.asynchronous.strategy_in_force

    def set_strategy(self, strategy: Strategy) -> None:
        """Compile with another strategy from now on."""
        wait(self.asynchronous.set_strategy, strategy)

    def is_ready(self) -> bool:
        """Whether nothing is being summarised and nothing is due."""
        return wait(self.asynchronous.is_ready)

    def get_hot_settings(self) -> dict[str, Any]:
        """Return the settings that may be changed while the manager is open. Raises InvalidInput for a strategy without settings."""
        return self.asynchronous.get_hot_settings()

    def update_hot_settings(self, **settings: Any) -> dict[str, Any]:
        """Change settings for all that comes, and return them; what was told stays told. Raises InvalidOption for one that is not hot, InvalidInput for a wrong value; then none was changed."""
        return wait(self.asynchronous.update_hot_settings, **settings)

    def branch_at(self, message: str, name: str | None = None) -> str:
        """Make a branch that ends with a message, and return its name; the manager stays where it is. Raises MessageNotFound, NameTaken."""
        return wait(self.asynchronous.branch_at, message, name)

    def switch_branch(self, name: str) -> None:
        """Go on on another branch, `main` for the tape itself; what is being written for this one is thrown away. Raises BranchNotFound."""
        wait(self.asynchronous.switch_branch, name)

    def fork(self, name: str | None = None) -> str:
        """Make a branch that ends where this one does, go on there, and return its name. Raises NameTaken."""
        return wait(self.asynchronous.fork, name)

    def current_branch(self) -> str:
        """Return the name of the branch the manager is on, `main` for the tape itself."""
        return self.asynchronous.current_branch()

    def list_branches(self) -> list[str]:
        """Return the names of the branches that are open, `main` first."""
        return wait(self.asynchronous.list_branches)
