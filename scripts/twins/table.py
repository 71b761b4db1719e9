"""The table of the blocking twins: which classes and functions have one, and what their source does not say by itself.

What a method becomes is read from its source: `async def` is waited for, an async iterator becomes an iterator, an async block a
`with` block, a class of this table its twin. So a new method needs no line here, a new function or class one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A class that has a twin, of the same name or `called` otherwise.

    `doc` is what its docstring says. `attributes` are those that are set when it is made: name, type, what it is. `on_loop` are
    methods that wait for nothing and touch what belongs to the loop. `without` are methods of which there is no twin. `bodies` are
    methods that are written here: what is returned, and the one line that returns it, which may need what `uses` names. `pages` are iterators that are read so many
    items at a time. `made` says that it can be made like the class itself; else it is made of one. `either` says that where a twin
    is taken, the class itself is taken too. `both` says that the twin has the async form of each method as well, under its name and
    `_async`, but for those that `names` calls otherwise, first the blocking form.
    """

    source: str
    module: str
    doc: str
    parent: str | None = None
    attributes: tuple[tuple[str, str, str], ...] = ()
    on_loop: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    bodies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    made: bool = True
    either: bool = False
    both: bool = False
    called: str | None = None

    @property
    def original(self) -> str:
        """What the class is called."""
        return self.source.rpartition(":")[2]

    @property
    def name(self) -> str:
        """What the twin is called."""
        return self.called or self.original

    @property
    def alias(self) -> str:
        """What the class is called beside its twin."""
        return self.original if self.called else f"Async{self.original}"

    @property
    def maker(self) -> str:
        """What makes one of a handle."""
        return f"{self.name}.of" if self.made else self.name


TWINS = (
    Twin(
        source="playhead.store.protocol:WholeStore",
        module="playhead.sync.store",
        doc="A store, as `open_store` returns it; `with` closes it.\n\n`asynchronous` is the store behind it.",
        bodies={"__enter__": ("Self", "        return self"), "__exit__": ("None", "        self.aclose()")},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.store.query:TapeQuery",
        module="playhead.sync.query",
        doc="Which entries of one tape, in which order, and how many; iterate it, or call `all()`.\n\n`asynchronous` is the query behind it.",
        without=frozenset({"admits", "apply"}),
        bodies={"all": ("list[TapeEntry]", "        return list(self)")},
        pages={"__aiter__": "playhead.store.query:PAGE"},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.tape.tape:Tape",
        module="playhead.sync.tape",
        doc="One tape of a store, read through one context; `with` closes the store where `open_tape` opened it.\n\n`asynchronous` is the handle behind it.",
        attributes=(
            ("store", "WholeStore", "The store behind it."),
            ("context", "TapeContext", "How the handle reads."),
            ("counter", "Counter", "What counts tokens."),
            ("archives", "Path | None", "Where `reset(archive=True)` writes."),
            ("sidecars", "Mounts", "The abilities that are mounted beside it, by name."),
        ),
    ),
    Twin(source="playhead.tape.tape:Branch", module="playhead.sync.tape", doc="A tape that was forked from another, to be merged or discarded.", parent="Tape"),
    Twin(
        source="playhead.model.protocol:Model",
        module="playhead.sync.model",
        doc="A model of a provider, as `get_model` returns it; `with` lets go of its connections.\n\n`asynchronous` is the model behind it.",
        bodies={"__enter__": ("Self", "        return self"), "__exit__": ("None", "        self.aclose()")},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.agent.inbox:Inbox",
        module="playhead.sync.agent",
        doc="The inbox of a tape: messages that wait for a run.\n\n`asynchronous` is the inbox behind it.",
        made=False,
    ),
    Twin(
        source="playhead.agent.stream:RunStream",
        module="playhead.sync.agent",
        doc=(
            "The events of one run: `with agent.run(...) as stream: for event in stream`.\n\n"
            "The run begins with the first event that is asked for and goes on by itself, in the thread of the loop. However the block is\n"
            "left, the run is ended there. `cancel` may come from another thread. `asynchronous` is the stream behind it."
        ),
        attributes=(
            ("usage", "Usage", "What the calls of the run cost so far."),
            ("error", "Exception | None", "The last error, None without one."),
            ("output", "Any", "The answer in the form that `output_type` asked for, None before it is there."),
        ),
        on_loop=frozenset({"cancel"}),
        made=False,
    ),
    Twin(
        source="playhead.agent.agent:Agent",
        module="playhead.sync.agent",
        doc=(
            "Answers with a model and tools, and remembers because its tapes do; `with` closes it.\n\n"
            "`asynchronous` is the agent behind it: tools, hooks and whoever approves are called by its runs, in the thread of the loop, or\n"
            "where a tool is no async function in a thread of its own, where blocking calls may be made."
        ),
        attributes=(
            ("name", "str", "What its summaries are kept under."),
            ("system_prompt", "str", "What its models are told first."),
            ("max_steps", "int | None", "How many steps a run may take, None for any number."),
            ("hooks", "Hooks", "What its plug-ins do."),
            ("context", "TapeContext", "How its tapes are read."),
            ("strategy", "Strategy | None", "How its prompts are compiled."),
            ("budget", "Budget | None", "The budget of its prompts, None for that of the model."),
            ("sidecars", "Mounts", "The abilities that are mounted beside its tapes, by name."),
            ("tools", "Toolbox", "Its tools, by name."),
            ("model", "Model | str | None", "Who answers runs that name no model."),
            ("fallbacks", "tuple[Model | str, ...]", "Who answers where that one fails."),
            ("approve", "Approve | None", "Who is asked before tools that need it."),
            ("lock", "bool", "Whether the runs on one tape wait for each other."),
            ("recover", "Recover", "What becomes of runs whose process died."),
            ("continue_prompt", "str", "What a model is told behind a step with tools."),
            ("commands", "bool", "Whether prompts that begin with a comma are commands."),
            ("counter", "Counter | None", "What counts tokens."),
            ("archives", "str | Path | None", "Where tapes are archived to."),
        ),
        on_loop=frozenset({"inbox", "tape"}),
        bodies={"store": ("WholeStore", '        return WholeStore(adapt(wait(soon, getattr, self.asynchronous, "store")))')},
        uses=("playhead.store.adapt:adapt",),
    ),
    Twin(
        source="playhead.prompt.manager.manager:ContextManager",
        module="playhead.sync.manager",
        doc=(
            "Keeps the messages of one agent on a tape and compiles what its model should see of them; `with` closes it.\n\n"
            "`asynchronous` is the manager behind it. What is done in the background goes on while nothing is asked of it. Listeners are called\n"
            "in the thread of the loop, and a blocking call made there raises."
        ),
        attributes=(
            ("tape", "Tape", "The tape, or the branch, that it keeps messages on."),
            ("namespace", "str | None", "What keeps its summaries apart from those of others."),
            ("agent", "str", "Who the assistant is."),
            ("identity", "Identity", "Under whose name summaries are written."),
        ),
        on_loop=frozenset({"compression_holds"}),
        pages={"messages": "256"},
    ),
    Twin(
        source="playhead.llm.stream:AsyncTextStream",
        module="playhead.llm.streams",
        doc="The words of one answer as they come; iterate it once.\n\n`asynchronous` is the stream behind it, as the async methods return it.",
        made=False,
        called="TextStream",
    ),
    Twin(
        source="playhead.llm.stream:AsyncStreamEvents",
        module="playhead.llm.streams",
        doc="What happens in one call, event by event; iterate it once.\n\n`asynchronous` is the stream behind it, as the async methods return it.",
        made=False,
        called="StreamEvents",
    ),
    Twin(
        source="playhead.llm.session:Session",
        module="playhead.llm.tape",
        doc=(
            "One tape of an LLM: what is asked here goes behind what it shows, and is kept on it.\n\n"
            "Each method is there in two forms, the async one with `_async` behind its name; both see the same tape."
        ),
        bodies={"query": ("Query", "        return Query(self.asynchronous.query)")},
        uses=("playhead.llm.query:Query",),
        made=False,
        both=True,
        called="LLMTape",
    ),
    Twin(
        source="playhead.llm.client:Client",
        module="playhead.llm.llm",
        doc=(
            "Asks models, and keeps on a tape what was said.\n\n"
            '`model` is a spec such as "openai:gpt-5-mini" (or with `provider`, what stands behind the colon), or a Model; `fallback_models` are\n'
            "asked in order where it fails before it said anything. `tape_store` keeps the tapes, by default in memory; it may be a URL, whose\n"
            "store is closed with this. `context` says how they are read, `strategy` and `budget` how prompts are compiled. `options` go to `get_model`, such as api_key and base_url.\n\n"
            "Each method is there in two forms, the async one with `_async` behind its name; both see the same tapes, over any store. A model's\n"
            "connections live as long as a call, or inside `with` or `async with` as long as the block."
        ),
        attributes=(
            ("models", "tuple[str | Model, ...]", "Who is asked, in order."),
            ("store", "WholeStore", "Where the tapes are kept."),
            ("strategy", "Strategy | None", "How prompts are compiled."),
            ("budget", "Budget | None", "The budget of prompts, None for that of the model."),
        ),
        without=frozenset({"handle"}),
        names={"aclose": ("close", "aclose")},
        both=True,
        called="LLM",
    ),
)

PAGES = MappingProxyType(
    {
        "playhead.sync.__init__": (
            "The same names without `await`: blocking twins, served by one event loop in a thread of its own.\n\n"
            "The loop starts with the first call and serves them all, from whichever thread they come, also from one that runs an\n"
            "event loop itself. It ends with the process; a forked child starts its own. `wait` runs any other async function on it.\n"
        ),
        "playhead.sync.store": "The blocking store.",
        "playhead.sync.query": "The blocking query of a tape.",
        "playhead.sync.tape": "The blocking tape, and the blocking branch.",
        "playhead.sync.model": "The blocking model.",
        "playhead.sync.agent": "The blocking agent, the stream of a run, and the inbox.",
        "playhead.sync.manager": "The blocking context manager.",
        "playhead.llm.streams": "The answer of a model as it comes, without `await`.",
        "playhead.llm.tape": "A conversation on one tape, in both forms.",
        "playhead.llm.llm": "Asking models by name, in both forms.",
        "playhead.sync.calls": "The functions that take or make something blocking.",
    }
)
"""What the docstrings of the modules say."""

FUNCTIONS = (
    "playhead.store.urls:open_store",
    "playhead.tape.tape:open_tape",
    "playhead.tape.tape:copy_tape",
    "playhead.tape.tape:diff",
    "playhead.prompt.compile:compile",
    "playhead.importers.driver:import_file",
    "playhead.importers.driver:import_items",
    "playhead.model.registry:get_model",
    "playhead.agent.media:resolved",
    "playhead.agent.media:without_media",
    "playhead.agent.spending:usage_of",
    "playhead.store.sweep:unused_blobs",
    "playhead.store.sweep:gc_blobs",
    "playhead.store.transfer.moving:export_store",
    "playhead.store.transfer.moving:import_store",
    "playhead.store.transfer.moving:copy_store",
)

SCOPES = MappingProxyType({"ForkScope": "Branch", "LeaseScope": "Tape"})
"""Classes of async blocks, and what such a block is given."""

OPENINGS = frozenset({"Opening"})
"""Classes of what is awaited to be opened."""

ALSO = MappingProxyType({"OpenModel": "Model"})
"""Classes of which the twin is that of another."""

TOLD = MappingProxyType({"Store": "WholeStore", "BlobStore": "WholeStore", "Stored": "WholeStore"})
"""Names of types in whose place a twin is taken as well."""
