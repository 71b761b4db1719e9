"""What remains of runs of which nothing is to remain, and of commands that are cut short."""

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.entry.entry import event_name
from playhead.model.scripted import ScriptedModel, call
from tests.unit.agent.runs_lab import ping, run, said, turn


@pytest.mark.parametrize(("tape", "prompt", "options"), [("temp/1", "Hi", {}), ("t", "Hi", {"merge_back": False}), ("t", "  ", {})])
def test_of_a_run_that_is_dropped_not_even_its_tape_remains(tape, prompt, options):
    async def go():
        agent = Agent()
        await turn(agent, prompt, ScriptedModel(["Hello."]), tape=tape, **options)
        assert await agent.store.list_tapes() == []

    run(go)


def test_a_session_that_is_dropped_starts_at_an_anchor_all_the_same():
    async def go():
        agent, model = Agent(), ScriptedModel(["One.", "Two."])
        async with agent.session("t", merge_back=False) as branch:
            await turn(agent, "First?", model, tape=branch)
            await turn(agent, "Second?", model, tape=branch)
            assert [m.text for m in await branch.read_messages()] == ["First?", "One.", "Second?", "Two."]
        assert await agent.store.list_tapes() == []

    run(go)


def test_a_subagent_leaves_no_tape_in_a_store_of_its_own():
    async def go():
        inner = Agent("You ask around.")
        model = ScriptedModel([call("ask", task="Who?"), "Ada."])
        await turn(Agent(tools=[inner.as_tool("ask", "Asks around.", model=ScriptedModel(["It was Ada."]))]), "Who was it?", model)
        assert said(model.requests[1])[2] == "tool: It was Ada." and await inner.store.list_tapes() == []

    run(go)


def test_a_command_that_is_cancelled_is_kept_as_that():
    async def go():
        begun = anyio.Event()

        @tool
        async def move(host: str) -> str:
            """Move a host."""
            begun.set()
            await anyio.sleep_forever()
            return host

        agent = Agent(tools=[move], commands=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn, agent, ",move gw1", None)
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert [event_name(e) for e in await agent.tape("t").query().kinds("event").all()] == ["handoff", "command.start", "command", "merge"]
        (facts,) = [e.payload["data"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "command"]
        assert (facts["raw"], facts["name"], facts["status"]) == (",move gw1", "move", "cancelled") and "may have happened" in facts["output"]

    run(go)


def test_a_command_may_run_a_tool_that_only_this_run_has():
    async def go():
        events = await turn(Agent(commands=True), ",ping gw", None, tools=[ping])
        assert events[0].data["delta"] == "gw answers"

    run(go)
