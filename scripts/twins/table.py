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
    """A class that has a twin of the same name.

    `doc` is what its docstring says. `attributes` are those that are set when it is made: name, type, what it is. `on_loop` are
    methods that wait for nothing and touch what belongs to the loop. `without` are methods of which there is no twin. `bodies` are
    methods that are written here: what is returned, and the one line that returns it, which may need what `uses` names. `pages` are iterators that are read so many
    items at a time. `made` says that it can be made like the class itself; else it is made of one. `either` says that where a twin
    is taken, the class itself is taken too.
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
    made: bool = True
    either: bool = False

    @property
    def name(self) -> str:
        """What both are called."""
        return self.source.rpartition(":")[2]

    @property
    def maker(self) -> str:
        """What makes one of a handle."""
        return f"{self.name}.of" if self.made else self.name


TWINS = (
    Twin(
        source="playhead.store.protocol:WholeStore",
        module="store",
        doc="A store, as `open_store` returns it; `with` closes it.\n\n`asynchronous` is the store behind it.",
        bodies={"__enter__": ("Self", "        return self"), "__exit__": ("None", "        self.aclose()")},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.store.query:TapeQuery",
        module="query",
        doc="Which entries of one tape, in which order, and how many; iterate it, or call `all()`.\n\n`asynchronous` is the query behind it.",
        without=frozenset({"admits", "apply"}),
        bodies={"all": ("list[TapeEntry]", "        return list(self)")},
        pages={"__aiter__": "playhead.store.query:PAGE"},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.tape.tape:Tape",
        module="tape",
        doc="One tape of a store, read through one context; `with` closes the store where `open_tape` opened it.\n\n`asynchronous` is the handle behind it.",
        attributes=(
            ("store", "WholeStore", "The store behind it."),
            ("context", "TapeContext", "How the handle reads."),
            ("counter", "Counter", "What counts tokens."),
            ("archives", "Path | None", "Where `reset(archive=True)` writes."),
            ("sidecars", "Mounts", "The abilities that are mounted beside it, by name."),
        ),
    ),
    Twin(source="playhead.tape.tape:Branch", module="tape", doc="A tape that was forked from another, to be merged or discarded.", parent="Tape"),
    Twin(
        source="playhead.model.protocol:Model",
        module="model",
        doc="A model of a provider, as `get_model` returns it; `with` lets go of its connections.\n\n`asynchronous` is the model behind it.",
        bodies={"__enter__": ("Self", "        return self"), "__exit__": ("None", "        self.aclose()")},
        made=False,
        either=True,
    ),
    Twin(
        source="playhead.agent.inbox:Inbox",
        module="agent",
        doc="The inbox of a tape: messages that wait for a run.\n\n`asynchronous` is the inbox behind it.",
        made=False,
    ),
    Twin(
        source="playhead.agent.stream:RunStream",
        module="agent",
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
        module="agent",
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
        module="manager",
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
)

PAGES = MappingProxyType(
    {
        "__init__": (
            "The same names without `await`: blocking twins, served by one event loop in a thread of its own.\n\n"
            "The loop starts with the first call and serves them all, from whichever thread they come, also from one that runs an\n"
            "event loop itself. It ends with the process; a forked child starts its own. `wait` runs any other async function on it.\n"
        ),
        "store": "The blocking store.",
        "query": "The blocking query of a tape.",
        "tape": "The blocking tape, and the blocking branch.",
        "model": "The blocking model.",
        "agent": "The blocking agent, the stream of a run, and the inbox.",
        "manager": "The blocking context manager.",
        "calls": "The functions that take or make something blocking.",
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
    "playhead.model.registry:get_model",
    "playhead.agent.media:resolved",
    "playhead.agent.media:without_media",
)

SCOPES = MappingProxyType({"ForkScope": "Branch", "LeaseScope": "Tape"})
"""Classes of async blocks, and what such a block is given."""

OPENINGS = frozenset({"Opening"})
"""Classes of what is awaited to be opened."""

ALSO = MappingProxyType({"OpenModel": "Model"})
"""Classes of which the twin is that of another."""

TOLD = MappingProxyType({"Store": "WholeStore", "BlobStore": "WholeStore"})
"""Names of types in whose place a twin is taken as well."""
