"""Many runs on one tape under the lock, in one process and in several: each turn stands whole, one behind the other."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.model.scripted import ScriptedModel, call
from tests.crash.processes import started
from tests.stores import KEPT, opened

RUNS = 20
EACH = 20 if os.environ.get("PLAYHEAD_SOAK") else 5

ASKS = """
import sys, anyio
from pathlib import Path
from tests.crash.test_runs_together import asking
from tests.stores import opened

async def main():
    store = opened(sys.argv[1], Path(sys.argv[2]), durability="process")
    for n in range(int(sys.argv[4])):
        await asking(store, f"{sys.argv[3]}.{n}")
    await store.aclose()

anyio.run(main)
"""


@tool
async def look(place: str) -> str:
    """Look somewhere."""
    await anyio.lowlevel.checkpoint()
    return f"nothing in {place}"


async def asking(store, name):
    agent = Agent("Be brief.", store=store, tools=[look], lock=True)
    model = ScriptedModel([[call("look", place=f"{name}.a"), call("look", place=f"{name}.b")], f"answer {name}"])
    async with agent.run(f"question {name}", model=model, tape="t") as stream:
        assert await stream.text() == f"answer {name}"
    said = [m.text for m in model.requests[0].messages if m.role != "system"]
    assert said[-1] == f"question {name}" and said[:-1].count(f"question {name}") == 0


async def turns(store):
    """Return the names of the turns in order, each proved to be whole and in one piece."""
    entries = [e for e in await Agent(store=store).tape("t").query().all() if e.kind in ("message", "tool_call", "tool_result")]
    names = []
    for start in range(0, len(entries), 5):
        question, asked, *results, answer = entries[start : start + 5]
        name = question.payload["content"].removeprefix("question ")
        assert [c["arguments"]["place"] for c in asked.payload["calls"]] == [f"{name}.a", f"{name}.b"]
        assert sorted(e.payload["results"][0] for e in results) == [f"nothing in {name}.a", f"nothing in {name}.b"]
        assert answer.payload["content"] == f"answer {name}"
        assert len({e.meta["run_id"] for e in (question, asked, *results, answer)}) == 1
        names.append(name)
    assert not any(record.is_open for record in await Agent(store=store).tape("t").branches())
    return names


@asynccontextmanager
async def used(kind, at):
    store = opened(kind, at, **({} if kind == "memory" else {"durability": "process"}))
    try:
        yield store
    finally:
        await store.aclose()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", ["memory", *KEPT])
def test_twenty_runs_at_a_time_are_twenty_turns_in_order(kind, backend, store_place):
    async def go():
        async with used(kind, store_place) as store:
            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    for n in range(RUNS):
                        tasks.start_soon(asking, store, str(n))
            assert sorted(await turns(store), key=int) == [str(n) for n in range(RUNS)]

    anyio.run(go, backend=backend)


@pytest.mark.parametrize("kind", KEPT)
def test_runs_of_four_processes_are_turns_in_order(kind, store_place):
    processes = [started(ASKS, kind, store_place, number, EACH, cwd=os.getcwd()) for number in range(4)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err.decode()[-3000:]

    async def go():
        async with used(kind, store_place) as store:
            return await turns(store)

    names = anyio.run(go)
    assert sorted(names) == sorted(f"{number}.{n}" for number in range(4) for n in range(EACH))
    for number in range(4):
        own = [name for name in names if name.startswith(f"{number}.")]
        assert own == [f"{number}.{n}" for n in range(EACH)]
