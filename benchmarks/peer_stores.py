"""One store of a peer, or one of ours, filled and timed in a process of its own; started by `benchmarks.peers`.

Run: python -m benchmarks.peer_stores NAME PLACE COUNT, where NAME is one of STORES; prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import operator
import resource
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any, Protocol, TypedDict

TEXT = "The quick brown fox jumps over the lazy dog. " * 20
TAIL = 50
TIMES = 15
BATCH = 500


class Session(Protocol):
    """A conversation in a store: what a peer's users call to write one message and to read the last ones."""

    async def fill(self, count: int) -> None:
        """Keep so many messages, by whatever is fastest."""
        ...

    async def append(self) -> None:
        """Keep one message, as safe as the store makes it by default."""
        ...

    async def last(self) -> int:
        """Read the last fifty and return how many they are."""
        ...


def message(number: int) -> dict[str, Any]:
    """Return a message of about 900 bytes."""
    return {"role": "user" if number % 2 else "assistant", "content": f"{number} {TEXT}"}


class Ours:
    """A tape of one of our stores, at durability "disk"."""

    def __init__(self, url: str) -> None:
        from playhead import Tape, open_store

        self._tape = Tape(open_store(url), "session")

    async def fill(self, count: int) -> None:
        """Keep messages in batches."""
        from playhead import TapeEntry

        for start in range(0, count, BATCH):
            await self._tape.append_many([TapeEntry.message(message(i)) for i in range(start, min(start + BATCH, count))])

    async def append(self) -> None:
        """Keep one message."""
        from playhead import TapeEntry

        await self._tape.append(TapeEntry.message(message(0)))

    async def last(self) -> int:
        """Read the last fifty."""
        return len([entry.payload["content"] async for entry in self._tape.query().newest_first().limit(TAIL)])


class OpenAIAgents:
    """A SQLiteSession of openai-agents."""

    def __init__(self, path: Path) -> None:
        self._session = import_module("agents").SQLiteSession("session", path)

    async def fill(self, count: int) -> None:
        """Keep items in batches."""
        for start in range(0, count, BATCH):
            await self._session.add_items([message(i) for i in range(start, min(start + BATCH, count))])

    async def append(self) -> None:
        """Keep one item."""
        await self._session.add_items([message(0)])

    async def last(self) -> int:
        """Read the last fifty."""
        return len(await self._session.get_items(limit=TAIL))


class _State(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]


class LangGraph:
    """A graph whose state is a list of messages, checkpointed by SqliteSaver."""

    def __init__(self, path: Path) -> None:
        graphs, checkpoints = import_module("langgraph.graph"), import_module("langgraph.checkpoint.sqlite")
        graph = graphs.StateGraph(_State)
        graph.add_node("said", lambda _: {"messages": []})
        graph.add_edge(graphs.START, "said")
        graph.add_edge("said", graphs.END)
        self._graph = graph.compile(checkpointer=checkpoints.SqliteSaver(sqlite3.connect(path, check_same_thread=False)))
        self._config: Any = {"configurable": {"thread_id": "session"}}

    async def fill(self, count: int) -> None:
        """Keep all messages in one step."""
        self._graph.update_state(self._config, {"messages": [message(i) for i in range(count)]}, as_node="said")

    async def append(self) -> None:
        """Keep one message by one step."""
        self._graph.update_state(self._config, {"messages": [message(0)]}, as_node="said")

    async def last(self) -> int:
        """Read the state and take the last fifty."""
        return len(self._graph.get_state(self._config).values["messages"][-TAIL:])


class Bub:
    """A tape of bub's file store."""

    def __init__(self, path: Path) -> None:
        stores = import_module("bub.store")
        path.mkdir(exist_ok=True)
        self._store, self._query, self._entry = stores.FileTapeStore(path), stores.TapeQuery, import_module("bub.tape").TapeEntry

    async def fill(self, count: int) -> None:
        """Keep entries one by one, as it has no batch."""
        for i in range(count):
            self._store.append("a__b", self._entry.message(message(i)))

    async def append(self) -> None:
        """Keep one entry."""
        self._store.append("a__b", self._entry.message(message(0)))

    async def last(self) -> int:
        """Read all and take the last fifty, as a query counts from the front."""
        return len(list(self._query(tape="a__b", store=self._store).all())[-TAIL:])


STORES: dict[str, tuple[str, Callable[[Path], Session]]] = {
    "playhead SQLite": ("playhead", lambda place: Ours(f"sqlite:///{place / 'ours.db'}")),
    "playhead file": ("playhead", lambda place: Ours(f"file:{place / 'ours'}")),
    "openai-agents SQLiteSession": ("openai-agents", lambda place: OpenAIAgents(place / "agents.db")),
    "LangGraph SqliteSaver": ("langgraph-checkpoint-sqlite", lambda place: LangGraph(place / "graph.db")),
    "bub FileTapeStore": ("bub", lambda place: Bub(place / "bub")),
}


async def timed(action: Callable[[], Awaitable[object]], *, seconds: float = 20.0) -> float:
    """Return the median milliseconds of an action, of fewer tries where it takes long."""
    found: list[float] = []
    while len(found) < TIMES and sum(found) < seconds:
        start = perf_counter()
        await action()
        found.append(perf_counter() - start)
    return median(found) * 1e3


async def measured(name: str, place: Path, count: int) -> dict[str, object]:
    """Fill a store where COUNT is above 0, else time it as it is found, the first append apart."""
    package, opened = STORES[name]
    await _warmed_up(opened)
    before = _peak()
    start = perf_counter()
    session = opened(place)
    if count:
        await session.fill(count)
        return {"filled": count}
    opening = perf_counter() - start
    start = perf_counter()
    await session.append()
    first = opening + perf_counter() - start
    if await session.last() != TAIL:
        sys.exit(f"{name} lost messages")
    return {
        "version": version(package),
        "open and append": first * 1e3,
        "append": await timed(session.append),
        "last 50": await timed(session.last),
        "memory, MB": (_peak() - before) / 1024,
    }


async def _warmed_up(opened: Callable[[Path], Session]) -> None:
    """Import all that a store needs, by using an empty one."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        session = opened(Path(place))
        await session.append()
        await session.last()


def _peak() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))))
