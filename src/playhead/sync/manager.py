"""The blocking context manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from playhead import clock as clocks
from playhead.fold.choosing.holds import Hold
from playhead.fold.choosing.quarantine import Alarm
from playhead.fold.ticker import Identity
from playhead.model.protocol import Model, ToolSpec
from playhead.prompt.budget import Budget
from playhead.prompt.folding.makeup import RenderStats
from playhead.prompt.manager import manager as managers
from playhead.prompt.manager.listeners import Listener
from playhead.prompt.manager.opening import Opening, Store
from playhead.prompt.manager.stored import StoredMessage
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategy import Strategy
from playhead.sync.portal import blocking, wait
from playhead.sync.scope import each
from playhead.sync.tape import Tape
from playhead.view.context import TapeContext
from playhead.view.tokens import Counter

PAGE = 256
"""How many messages are read at a time."""


class ContextManager:
    """Keeps the messages of one agent on a tape and compiles what its model should see of them; `with` closes it.

    `asynchronous` is the manager behind it. What is done in the background goes on while nothing is asked of it. Listeners are called in
    the thread of the loop, and a blocking call made there raises.
    """

    def __init__(self, tape: Tape, *, strategy: Strategy, namespace: str | None, agent: str, model: Model | str | None, clock: clocks.Clock | None, owns_store: bool) -> None:
        self.asynchronous = managers.ContextManager(tape.asynchronous, strategy=strategy, namespace=namespace, agent=agent, model=model, clock=clock, owns_store=owns_store)

    @classmethod
    def open(
        cls,
        *,
        path: str | Path | None = None,
        store: Store | None = None,
        strategy: Strategy | None = None,
        namespace: str | None = None,
        isolate: bool = False,
        agent: str = "Claude",
        model: Model | str | None = None,
        tape: str | None = None,
        context: TapeContext | None = None,
        counter: Counter | None = None,
        clock: clocks.Clock | None = None,
    ) -> Self:
        """Return an open manager: at a `path`, which is made and belongs to it, or on a `store`, which stays open at its end; see `playhead.ContextManager.open`."""
        opening = managers.ContextManager.open(
            path=path, store=store, strategy=strategy, namespace=namespace, isolate=isolate, agent=agent, model=model, tape=tape, context=context, counter=counter, clock=clock
        )
        twin = cls.__new__(cls)
        twin.asynchronous = wait(_opened, opening)
        return twin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.aclose()

    def __repr__(self) -> str:
        return repr(self.asynchronous)

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

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self.asynchronous.is_closed

    @property
    def strategy(self) -> Strategy:
        """The strategy in force, as it was given."""
        return self.asynchronous.strategy

    @property
    def strategy_in_force(self) -> Strategy:
        """The strategy as this manager compiles with it: bound to its namespace and its agent."""
        return self.asynchronous.strategy_in_force

    # What waits for nothing.

    def messages(self) -> Iterator[StoredMessage]:
        """Yield every message, in order."""
        return each(self.asynchronous.messages(), at_a_time=PAGE)

    def on_message(self, listener: Listener) -> Callable[[], None]:
        """Have a function told of every message that is added, edited or removed through this manager; return what ends that."""
        return self.asynchronous.on_message(listener)

    def get_render_stats(self) -> RenderStats | None:
        """Return the makeup of the last live compile on this branch with this strategy, None before the first."""
        return self.asynchronous.get_render_stats()

    def set_tool_definitions(self, tools: Sequence[ToolSpec | Any]) -> None:
        """Have summaries written with the agent's own tools at hand; an empty list takes none away."""
        self.asynchronous.set_tool_definitions(tools)

    def set_system_prompt(self, text: str | None) -> None:
        """Have summaries written under the agent's own system prompt, as it is when one is written; an empty one takes none away."""
        self.asynchronous.set_system_prompt(text)

    def get_hot_settings(self) -> dict[str, Any]:
        """Return the settings that may be changed while the manager is open. Raises InvalidInput for a strategy without settings."""
        return self.asynchronous.get_hot_settings()

    def compression_holds(self) -> tuple[Hold, ...]:
        """Return what is held, since when, and until when."""
        return wait(_holds, self.asynchronous)

    def on_quarantine_alarm(self, handler: Callable[[Alarm], object] | None) -> None:
        """Have a function told, while ticks go on, of what is in quarantine, and once that nothing is any more."""
        self.asynchronous.on_quarantine_alarm(handler)

    def current_branch(self) -> str:
        """Return the name of the branch the manager is on, `main` for the tape itself."""
        return self.asynchronous.current_branch()

    # Written out: a checker cannot carry over the parameters of a method that takes any by name.

    def query_messages(self, **filters: Any) -> tuple[tuple[StoredMessage, ...], int]:
        """Return the messages that filters leave, and how many these are without `limit`."""
        return wait(self.asynchronous.query_messages, **filters)

    def preview(self, budget: Budget | None = None, **overrides: Any) -> Prompt:
        """Return what compile would give with some settings changed for once; nothing is kept. Raises InvalidOption, InvalidInput for a strategy without settings."""
        return wait(self.asynchronous.preview, budget, **overrides)

    def update_hot_settings(self, **settings: Any) -> dict[str, Any]:
        """Change settings for all that comes, and return them; what was told stays told. Raises InvalidOption for one that is not hot, InvalidInput for a wrong value; then none was changed."""
        return wait(self.asynchronous.update_hot_settings, **settings)

    aclose = blocking(managers.ContextManager.aclose)
    add_message = blocking(managers.ContextManager.add_message)
    edit_message = blocking(managers.ContextManager.edit_message)
    remove_message = blocking(managers.ContextManager.remove_message)
    remove_messages = blocking(managers.ContextManager.remove_messages)
    remove_body = blocking(managers.ContextManager.remove_body)
    get_message = blocking(managers.ContextManager.get_message)
    get_message_at = blocking(managers.ContextManager.get_message_at)
    message_window = blocking(managers.ContextManager.message_window)
    message_count = blocking(managers.ContextManager.message_count)
    find_message_by_external_id = blocking(managers.ContextManager.find_message_by_external_id)
    compile = blocking(managers.ContextManager.compile)
    report_usage = blocking(managers.ContextManager.report_usage)
    set_strategy = blocking(managers.ContextManager.set_strategy)
    is_ready = blocking(managers.ContextManager.is_ready)
    tick = blocking(managers.ContextManager.tick)
    drain = blocking(managers.ContextManager.drain)
    settled = blocking(managers.ContextManager.settled)
    hold_compression = blocking(managers.ContextManager.hold_compression)
    release_compression = blocking(managers.ContextManager.release_compression)
    pin_range = blocking(managers.ContextManager.pin_range)
    mark_document = blocking(managers.ContextManager.mark_document)
    unpin = blocking(managers.ContextManager.unpin)
    list_pins = blocking(managers.ContextManager.list_pins)
    lock_chunk = blocking(managers.ContextManager.lock_chunk)
    unlock_chunk = blocking(managers.ContextManager.unlock_chunk)
    search_summaries = blocking(managers.ContextManager.search_summaries)
    get_summary = blocking(managers.ContextManager.get_summary)
    read_summary = blocking(managers.ContextManager.read_summary)
    list_fold_receipts = blocking(managers.ContextManager.list_fold_receipts)
    channel_counts = blocking(managers.ContextManager.channel_counts)
    get_summaries_in_range = blocking(managers.ContextManager.get_summaries_in_range)
    max_summary_level = blocking(managers.ContextManager.max_summary_level)
    forget_summary = blocking(managers.ContextManager.forget_summary)
    compression_debt = blocking(managers.ContextManager.compression_debt)
    quarantine_status = blocking(managers.ContextManager.quarantine_status)
    clear_quarantine = blocking(managers.ContextManager.clear_quarantine)
    branch_at = blocking(managers.ContextManager.branch_at)
    switch_branch = blocking(managers.ContextManager.switch_branch)
    fork = blocking(managers.ContextManager.fork)
    list_branches = blocking(managers.ContextManager.list_branches)


async def _opened(opening: Opening) -> managers.ContextManager:
    return await opening


async def _holds(manager: managers.ContextManager) -> tuple[Hold, ...]:
    return manager.compression_holds()
