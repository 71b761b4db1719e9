"""The context manager: an agent's messages on a tape, summaries of what is older beside it, and a prompt for every call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Self

from playhead import clock as clocks
from playhead.errors import InvalidInput, InvalidOption
from playhead.fold.choosing.holds import check_timeout
from playhead.fold.ticker import Identity
from playhead.model.protocol import Model, ToolSpec, Usage
from playhead.prompt.budget import Budget
from playhead.prompt.folding.makeup import RenderStats
from playhead.prompt.injection import Injection
from playhead.prompt.manager.compiling import Compiling
from playhead.prompt.manager.holding import Holding
from playhead.prompt.manager.listeners import Listener, Listeners
from playhead.prompt.manager.memories import Memories
from playhead.prompt.manager.messages import MessageBook
from playhead.prompt.manager.opening import Opening, Store, tape_of
from playhead.prompt.manager.remembering import Remembering
from playhead.prompt.manager.stored import StoredMessage
from playhead.prompt.manager.ticking import Alarms, Ticking
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategy import Strategy
from playhead.store.family import kin_of
from playhead.store.protocol import WholeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.tokens import Counter

MAIN = "main"
"""What the tape itself is called among its branches."""

HOT = ("recent_window_tokens", "head_window_tokens", "low_water_ratio", "auto_tick_on_new_message")
"""The settings that may be changed while a manager is open."""


class ContextManager(Remembering):
    """Keeps the messages of one agent on a tape and compiles what its model should see of them.

    The window follows the record: every message of the tape, whoever wrote it, in order. `tape` is the handle behind it. Open it with
    `async with ContextManager.open(...)` or `await ContextManager.open(...)`. Every method raises ManagerClosed once it is closed.
    """

    def __init__(self, tape: Tape, *, strategy: Strategy, namespace: str | None, agent: str, model: Model | str | None, clock: clocks.Clock | None, owns_store: bool) -> None:
        self.tape = tape
        self.namespace = namespace
        self.agent = agent
        self.identity = Identity()
        self._model = model
        self._clock = clock
        self._owns_store = owns_store
        self._is_closed = False
        self._given = strategy
        self._listeners = Listeners()
        self._alarms = Alarms()
        self._holding = Holding(lambda: self._book)
        self._begin()

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
    ) -> Opening:
        """Return a manager that is being opened: at a `path`, which is made and belongs to it, or on a `store`, which stays open at its end.

        `namespace` keeps its summaries apart from those of other managers of the store; with `isolate` its messages, too. `agent` is
        who the assistant is, `model` serves a compression_model that is a bare id. `tape` names the tape, such as one that an agent
        or an import wrote; `context` says how it is read (all of it, where none is given). The default strategy is PassthroughStrategy.
        Raises InvalidInput where neither or both of path and store are given.
        """
        name = tape_of(tape, namespace=namespace, isolate=isolate)

        def made(whole: WholeStore, *, owns_store: bool) -> ContextManager:
            handle = Tape(whole, context=context or default_tape_context(anchor=None, agent=agent), counter=counter).scoped(name)
            return cls(handle, strategy=strategy or PassthroughStrategy(), namespace=namespace, agent=agent, model=model, clock=clock, owns_store=owns_store)

        return Opening(path=path, store=store, made=made)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"ContextManager({self.tape.name!r}, strategy={type(self._strategy).__name__}, namespace={self.namespace!r})"

    async def aclose(self) -> None:
        """Stop what is done in the background, and close the store where the manager opened it; closing twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._ticking.aclose()
        finally:
            if self._owns_store:
                await self.tape.store.aclose()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    # -- messages

    async def add_message(self, participant: str, content: Any, metadata: Mapping[str, Any] | None = None, *, caused_by: str | Iterable[str] = (), hold: bool | float | None = False) -> str:
        """Keep a message at the end, and return its id.

        `content` is a text, parts, a Message, or block dicts such as `{"type": "text", "text": ...}`; the manager's own agent is the assistant, everybody
        else a user of that name. `hold` keeps it from being summarised until it is released, a number for so many seconds at most.
        """
        with self._in_use():
            lasting = None if hold is True or hold is False or hold is None else hold
            check_timeout(lasting)
            ids = await self._book.add(participant, content, metadata=metadata, caused_by=caused_by)
            if hold is not False and hold is not None:
                await self._holding.hold(ids, timeout=lasting)
            if self._is_automatic:
                self._ticking.start()
            return ids[0]

    async def edit_message(self, id: str, content: Any) -> None:
        """Show a message otherwise from now on; what it said before stays on the tape, and summaries of it stay as they are. Raises MessageNotFound, BodyNotWhole."""
        with self._in_use():
            await self._book.edit(id, content)

    async def remove_message(self, id: str) -> None:
        """Show a message no longer; it stays on the tape. Raises MessageNotFound, BodyNotWhole."""
        with self._in_use():
            await self._book.remove(id)
            self._holding.drop((id,))

    async def remove_messages(self, first: str, last: str) -> None:
        """Show the messages from one to another, in either order, no longer. Raises MessageNotFound, BodyNotWhole where an end lies inside a long message."""
        with self._in_use():
            self._holding.drop(await self._book.remove_range(first, last))

    async def remove_body(self, id: str) -> None:
        """Show a long message, of which `id` is any part, no longer. Raises MessageNotFound."""
        with self._in_use():
            self._holding.drop(await self._book.remove_body(id))

    async def get_message(self, id: str) -> StoredMessage:
        """Return a message as it is now. Raises MessageNotFound."""
        with self._in_use():
            return await self._book.get(id)

    async def get_message_at(self, id: str, entry: int) -> StoredMessage:
        """Return a message as it was when an entry was the tape's last. Raises MessageNotFound."""
        with self._in_use():
            return await self._book.get_at(id, entry)

    def messages(self) -> AsyncIterator[StoredMessage]:
        """Yield every message, in order."""
        with self._in_use():
            return self._book.all()

    async def message_window(self, offset: int, limit: int, *, align_to_bodies: bool = False) -> tuple[tuple[StoredMessage, ...], int, int]:
        """Return `limit` messages from the one of index `offset` on, the index of the first of them, and how many there are."""
        with self._in_use():
            return await self._book.window(offset, limit, align_to_bodies=align_to_bodies)

    async def message_count(self) -> int:
        """Return how many messages there are."""
        with self._in_use():
            return await self._book.count()

    async def query_messages(self, **filters: Any) -> tuple[tuple[StoredMessage, ...], int]:
        """Return the messages that filters leave, and how many these are without `limit`.

        Filters are participant, metadata, source, external_ids, channel, since, until, limit and reverse.
        """
        with self._in_use():
            return await self._book.query(**filters)

    async def find_message_by_external_id(self, source: str, id: str) -> StoredMessage | None:
        """Return the message that came from elsewhere under an id, None where none did."""
        with self._in_use():
            return await self._book.find_by_external_id(source, id)

    async def channel_counts(self) -> Mapping[str | int, int]:
        """Return how many messages came through each channel; reads all of them."""
        with self._in_use():
            return await self._book.channel_counts()

    def on_message(self, listener: Listener) -> Callable[[], None]:
        """Have a function told of every message that is added, edited or removed through this manager; return what ends that."""
        return self._listeners.add(listener)

    # -- what the model sees

    async def compile(self, budget: Budget | None = None, injections: Iterable[Injection] = (), *, dry_run: bool = False, request_overhead: Mapping[str, object] | None = None) -> Prompt:
        """Compile what the model should see within a budget; `prompt.render_stats` says what it is made of.

        It never waits for a summary: it tells what there is. A dry run changes nothing and reports in `prompt.over_budget` what does not fit.
        Raises OverBudgetError where it does not; its diagnostics say what takes how much.
        """
        with self._in_use():
            return await self._compiling.compile(budget, injections, strategy=self._strategy, dry_run=dry_run, request_overhead=request_overhead)

    async def preview(self, budget: Budget | None = None, **overrides: Any) -> Prompt:
        """Return what compile would give with some settings changed for once; nothing is kept. Raises InvalidOption, InvalidInput for a strategy without settings."""
        with self._in_use():
            strategy = self._folding("preview other settings")
            changed = {name: value for name, value in overrides.items() if value is not None}
            return await self._compiling.compile(budget, strategy=strategy.with_options(changed), dry_run=True)

    def get_render_stats(self) -> RenderStats | None:
        """Return the makeup of the last live compile on this branch with this strategy, None before the first."""
        return self._compiling.stats

    async def report_usage(self, usage: Usage | float, *, overhead: int = 0) -> float:
        """Learn from what a provider counted for the last compile: all input tokens, cached ones too, less `overhead` that the compile did not hold.

        Return the factor now in force. One report a compile counts; later calls of the same turn have grown.
        """
        with self._in_use():
            reported = usage.input if isinstance(usage, Usage) else usage
            if not isinstance(reported, (int, float)) or isinstance(reported, bool) or not isfinite(reported):
                raise InvalidInput(f"A usage is a Usage, or the input tokens that a provider counted, not {usage!r:.80}.")
            return await self._compiling.learn(int(reported) - overhead)

    def set_tool_definitions(self, tools: Sequence[ToolSpec | Any]) -> None:
        """Have summaries written with the agent's own tools at hand; an empty list takes none away."""
        asked = [tool if isinstance(tool, ToolSpec) else getattr(tool, "spec", None) for tool in tools or ()]
        specs = tuple(spec for spec in asked if isinstance(spec, ToolSpec))
        if len(specs) < len(asked):
            raise InvalidInput("Tool definitions are ToolSpec objects, or what the decorator tool makes of a function.")
        if specs:
            self.identity.tools = specs

    def set_system_prompt(self, text: str | None) -> None:
        """Have summaries written under the agent's own system prompt, as it is when one is written; an empty one takes none away."""
        if text:
            self.identity.system_prompt = text

    # -- the strategy

    @property
    def strategy(self) -> Strategy:
        """The strategy in force, as it was given."""
        return self._given

    @property
    def strategy_in_force(self) -> Strategy:
        """The strategy as this manager compiles with it: bound to its namespace and its agent."""
        return self._strategy

    async def set_strategy(self, strategy: Strategy) -> None:
        """Compile with another strategy from now on."""
        with self._in_use():
            await self._ticking.aclose()
            self._given = strategy
            self._begin()

    async def is_ready(self) -> bool:
        """Whether nothing is being summarised and nothing is due."""
        with self._in_use():
            waiting = await self._ticking.waiting()
            return not self._ticking.is_busy and (waiting is None or not (waiting.chunks or waiting.merges))

    def get_hot_settings(self) -> dict[str, Any]:
        """Return the settings that may be changed while the manager is open. Raises InvalidInput for a strategy without settings."""
        config = self._folding("have settings").config
        return {name: getattr(config, name) for name in HOT}

    async def update_hot_settings(self, **settings: Any) -> dict[str, Any]:
        """Change settings for all that comes, and return them; what was told stays told. Raises InvalidOption for one that is not hot, InvalidInput for a wrong value; then none was changed."""
        with self._in_use():
            strategy = self._folding("change settings")
            for name in settings:
                if name not in HOT:
                    raise InvalidOption(name, instead=f"one of {', '.join(HOT)}, or open another manager")
            before = self._compiling
            await self.set_strategy(strategy.with_options(settings))
            self._compiling.go_on_from(before)
            return self.get_hot_settings()

    # -- branches

    async def branch_at(self, message: str, name: str | None = None) -> str:
        """Make a branch that ends with a message, and return its name; the manager stays where it is. Raises MessageNotFound, NameTaken."""
        with self._in_use():
            if name == MAIN:
                raise InvalidInput(f"'{MAIN}' is what the tape itself is called; give the branch another name.")
            branch = await self.tape.fork(at=await self._book.place(message), name=name)
            return kin_of(branch.name).branch or MAIN

    async def switch_branch(self, name: str) -> None:
        """Go on on another branch, `main` for the tape itself; what is being written for this one is thrown away. Raises BranchNotFound."""
        with self._in_use():
            root = self.tape.scoped(kin_of(self.tape.name).root)
            tape = root if name == MAIN else await root.branch(name)
            await self._ticking.aclose()
            self.tape = tape
            self._holding.forget()
            self._begin()

    async def fork(self, name: str | None = None) -> str:
        """Make a branch that ends where this one does, go on there, and return its name. Raises NameTaken."""
        with self._in_use():
            if name == MAIN:
                raise InvalidInput(f"'{MAIN}' is what the tape itself is called; give the branch another name.")
            branch = kin_of((await self.tape.fork(name=name)).name).branch or MAIN
            await self.switch_branch(branch)
            return branch

    def current_branch(self) -> str:
        """Return the name of the branch the manager is on, `main` for the tape itself."""
        return kin_of(self.tape.name).branch or MAIN

    async def list_branches(self) -> list[str]:
        """Return the names of the branches that are open, `main` first."""
        with self._in_use():
            return [MAIN, *(kin_of(record.name).branch or "" for record in await self.tape.branches() if record.is_open)]

    # -- within

    def _begin(self) -> None:
        """Start on this tape with this strategy: nothing of another one is carried over."""
        is_folding = isinstance(self._given, AutobiographicalStrategy)
        self._strategy: Strategy = self._given.bound(self.namespace, agent=self.agent) if isinstance(self._given, AutobiographicalStrategy) else self._given
        folding = self._strategy if isinstance(self._strategy, AutobiographicalStrategy) else AutobiographicalStrategy(namespace=self.namespace)
        config = folding.config
        self._is_automatic = is_folding and config.auto_tick_on_new_message
        shards = config.target_chunk_tokens if is_folding and config.adaptive_resolution else None
        self._book = MessageBook(self.tape, agent=self.agent, shard_tokens=shards, listeners=self._listeners)
        self._memories = Memories(folding.memory(self.tape), self._book)
        self._ticking = Ticking(self.tape, self._strategy, holding=self._holding, client=self._model, identity=self.identity, alarms=self._alarms)
        self._compiling = Compiling(self.tape, holding=self._holding, memories=self._memories, ticking=self._ticking)

    def _folding(self, what: str) -> AutobiographicalStrategy:
        if not isinstance(self._strategy, AutobiographicalStrategy):
            raise InvalidInput(f"{type(self._strategy).__name__} cannot {what}; open the manager with an AutobiographicalStrategy.")
        return self._strategy
