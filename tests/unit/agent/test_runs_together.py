"""Runs that follow each other, share a branch, or happen at the same time."""

import threading
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.errors import InvalidInput
from playhead.model.scripted import ScriptedModel, call
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.agent.runs_lab import ping, run, said, shape, turn


def test_tools_of_one_step_run_at_the_same_time_and_each_result_is_kept_when_its_tool_ends():
    async def go():
        together = anyio.Event()

        @tool
        async def slow() -> str:
            """Wait for the other one."""
            await together.wait()
            return "slow"

        @tool
        async def fast() -> str:
            """Let the other one go."""
            together.set()
            return "fast"

        agent = Agent(tools=[slow, fast])
        model = ScriptedModel([[call("slow"), call("fast")], "Done."])
        await turn(agent, "Both", model)
        results = [e.payload["results"][0] for e in await agent.tape("t").query().kinds("tool_result").all()]
        assert results == ["fast", "slow"]
        assert [m.text for m in model.requests[1].messages if m.role == "tool"] == ["slow\nfast"] or [r.content for m in model.requests[1].messages for r in m.results] == ["slow", "fast"]

    run(go)


def test_runs_of_a_session_share_its_branch_and_are_merged_once():
    async def go():
        agent, model = Agent(), ScriptedModel(["One.", "Two."])
        async with agent.session("t") as branch:
            await turn(agent, "first", model, tape=branch)
            await turn(agent, "second", model, tape=branch)
            assert len(await agent.tape("t").query().all()) == 2
        assert said(model.requests[1]) == ["user: first", "assistant: One.", "user: second"]
        assert shape(await agent.tape("t").query().all()).count("event merge") == 1

    run(go)


def test_start_gives_an_open_stream_that_the_caller_closes():
    async def go():
        agent = Agent()
        stream = await agent.start("Hi", model=ScriptedModel(["Hello."]), tape="t")
        assert await stream.text() == "Hello."
        await stream.aclose()
        assert "message assistant" in shape(await agent.tape("t").query().all())

    run(go)


def test_twenty_runs_under_the_lock_leave_twenty_ordered_turns():
    async def go():
        agent = Agent(lock=True, store=InMemoryTapeStore())

        async def one(n):
            await turn(agent, f"question {n}", ScriptedModel([f"answer {n}"]))

        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(one, n)
        texts = [m.text for m in await agent.tape("t").read_messages()]
        assert len(texts) == 40 and all(texts[i].split()[1] == texts[i + 1].split()[1] for i in range(0, 40, 2))

    run(go)


def test_runs_at_the_same_time_see_what_was_there_when_they_began_and_never_interleave():
    async def go():
        agent = Agent()
        await turn(agent, "before", ScriptedModel(["yes"]))
        both = [anyio.Event(), anyio.Event()]

        async def wait(n, request):
            both[n].set()
            await both[1 - n].wait()
            return f"answer {n}"

        models = [ScriptedModel([lambda request, n=n: wait(n, request)]) for n in range(2)]
        async with anyio.create_task_group() as tasks:
            for n in range(2):
                tasks.start_soon(turn, agent, f"question {n}", models[n])
        for n in range(2):
            assert said(models[n].requests[0]) == ["user: before", "assistant: yes", f"user: question {n}"]
        texts = [m.text for m in await agent.tape("t").read_messages()][2:]
        assert sorted([texts[:2], texts[2:]]) == [["question 0", "answer 0"], ["question 1", "answer 1"]]

    run(go)


def test_consecutive_calls_share_their_beginning_to_the_byte():
    async def go():
        model = ScriptedModel([call("ping", host="a"), call("ping", host="b"), "Done.", "More."])
        agent = Agent("Be brief.", tools=[ping], continue_prompt="")
        await turn(agent, "Both", model)
        await turn(agent, "And?", model)
        for one, other in zip(model.requests, model.requests[1:], strict=False):
            assert other.messages[: len(one.messages)] == one.messages and one.tools == other.tools

    run(go)


def test_a_run_within_a_run_that_locks_its_tape_is_refused_and_one_on_a_fork_is_not():
    async def go():
        refused = []

        @tool(context=True)
        async def think(aloud: bool, context) -> str:
            """Think."""
            return await words("t" if aloud else await context.tape.fork())

        async def words(tape):
            try:
                async with agent.run("Think", model=ScriptedModel(["Thought."]), tape=tape) as stream:
                    return await stream.text()
            except InvalidInput as exc:
                refused.append(exc.message)
                raise

        agent = Agent(lock=True, tools=[think])
        model = ScriptedModel([[call("think", aloud=True), call("think", aloud=False)], "Done."])
        with anyio.fail_after(20):
            await turn(agent, "Both", model)
            await turn(agent, "Again", ScriptedModel(["Yes."]))
        assert len(refused) == 1 and "wait for ever" in refused[0]
        assert [r.content for m in model.requests[1].messages for r in m.results][1] == "Thought."

    run(go)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_first_runs_at_the_same_time_share_one_store(backend):
    async def go():
        agent = Agent()

        async def one(n):
            await turn(agent, f"question {n}", ScriptedModel([f"answer {n}"]), tape=f"t{n}")

        async with anyio.create_task_group() as tasks:
            for n in range(5):
                tasks.start_soon(one, n)
        return [[m.text for m in await agent.tape(f"t{n}").read_messages()] for n in range(5)]

    assert anyio.run(go, backend=backend) == [[f"question {n}", f"answer {n}"] for n in range(5)]


def test_first_runs_of_several_threads_share_one_store():
    agent, ready = Agent(), threading.Barrier(4)

    def one(n):
        ready.wait()
        anyio.run(partial(turn, agent, f"question {n}", ScriptedModel([f"answer {n}"]), tape=f"t{n}"))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(anyio.run(agent.store.list_tapes)) == [f"t{n}" for n in range(4)]
