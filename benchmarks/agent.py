"""What an agent adds to a step: all but the model and the tools, on conversations of 1,000 to 100,000 entries.

The model asks for a tool that returns at once, so what is left is reading, compiling, recording and telling. A step is the
difference between a run of many steps and one of few, so that opening, forking and merging are apart, in the column `turn`.
Run: python -m benchmarks.agent [--rounds N] [--long] [--json FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.measure import parser, report
from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.entry.message import Message, ToolCall, assistant, user
from playhead.model.protocol import CallReady, ModelEvent, ModelRequest, Reply, TextDelta
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.sqlite.store import SQLiteTapeStore

LENGTHS = (1_000, 10_000, 100_000)
FEW, MANY = 2, 22
BUDGET = Budget(16_000, reserve_for_response=2_000)
WORDS = "The quick brown fox jumps over the lazy dog. " * 8


@tool
async def look(place: str) -> str:
    """Look somewhere."""
    return f"nothing in {place}"


async def fill(agent: Agent, name: str, length: int) -> None:
    """Write a conversation."""
    tape = agent.tape(name)
    await tape.bootstrap()
    for start in range(0, length, 500):
        await tape.append_many([user(f"{n} {WORDS}") if n % 2 else assistant(f"{n} {WORDS}") for n in range(start, min(start + 500, length))])


class Looking:
    """A model that asks for a tool so many times, and then answers; it takes no time."""

    name = "bench:looking"
    context_limit = None

    def __init__(self, steps: int) -> None:
        self._left = steps

    def stream(self, request: ModelRequest) -> aclosing[AsyncGenerator[ModelEvent, None]]:
        """Answer."""
        return aclosing(self._events())

    async def _events(self) -> AsyncGenerator[ModelEvent, None]:
        self._left -= 1
        if self._left < 0:
            yield TextDelta(text="Nothing.")
            yield Reply(message=assistant("Nothing."))
            return
        asked = ToolCall(id=f"call_{self._left}", name="look", arguments={"place": str(self._left)})
        yield CallReady(call=asked)
        yield Reply(message=Message(role="assistant", content=(asked,)), stop="tool_calls")

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer as a whole."""
        async with self.stream(request) as events:
            *_, reply = [event async for event in events]
        assert isinstance(reply, Reply)
        return reply

    async def aclose(self) -> None:
        """Do nothing."""


async def timed(agent: Agent, name: str, steps: int, *, merge_back: bool = False) -> float:
    """Return the seconds of a run of so many steps with a tool, and one without."""
    start = perf_counter()
    async with agent.run("Look around.", model=Looking(steps), tape=name, merge_back=merge_back) as stream:
        await stream.text()
    return perf_counter() - start


async def measure(store: WholeStore, length: int, *, rounds: int) -> tuple[float, float]:
    """Return the milliseconds of a step, and of a turn of one step."""
    agent = Agent("Be brief.", store=store, tools=[look], budget=BUDGET, strategy=WindowedPassthroughStrategy())
    await fill(agent, "t", length)
    await timed(agent, "t", FEW, merge_back=True)
    few, many = [], []
    for _ in range(rounds):
        few.append(await timed(agent, "t", FEW))
        many.append(await timed(agent, "t", MANY))
    step = (median(many) - median(few)) / (MANY - FEW)
    return step * 1e3, (median(few) - FEW * step) * 1e3


async def main() -> None:
    """Print a row for each store and length."""
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help="a conversation of 1,000,000 entries too")
    given = options.parse_args()
    rows: list[list[object]] = []
    for length in (*LENGTHS, *((1_000_000,) if given.long else ())):
        with tempfile.TemporaryDirectory() as place:
            stores: dict[str, WholeStore] = {
                "memory": InMemoryTapeStore(),
                "SQLite": SQLiteTapeStore(Path(place) / "tapes.db", durability="process"),
                "file": FileTapeStore(Path(place) / "tapes", durability="process"),
            }
            for name, store in stores.items():
                rows.append([name, f"{length:,}", *await measure(store, length, rounds=min(given.rounds, 7))])
                await store.aclose()
    report("agent", ["store, ms", "entries", "step", "turn"], rows, file=given.json)


if __name__ == "__main__":
    asyncio.run(main())
