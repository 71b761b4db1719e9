"""Prompts that are commands, given to an agent."""

import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import FinalEvent
from playhead.entry.entry import event_name
from playhead.model.scripted import ScriptedModel
from tests.unit.agent.runs_lab import ping, run, said, turn


async def commands(agent):
    return [e.payload["data"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "command"]


@pytest.mark.parametrize("prompt", [",ping host=gw", "  ,ping gw"])
def test_a_command_runs_its_tool_and_needs_no_model(prompt):
    async def go():
        agent = Agent(tools=[ping], commands=True)
        events = await turn(agent, prompt, None)
        assert [(e.kind, e.data.get("ok")) for e in events] == [("text", None), ("final", True)]
        assert events[0].data["delta"] == "gw answers"
        (facts,) = await commands(agent)
        assert (facts["raw"], facts["name"], facts["status"], facts["output"]) == (prompt, "ping", "ok", "gw answers")
        assert await agent.tape("t").read_messages() == []

    run(go)


def test_a_command_that_fails_says_so_and_is_kept():
    async def go():
        agent = Agent(tools=[ping], commands=True)
        (final,) = [e for e in await turn(agent, ",pnig gw", None) if isinstance(e, FinalEvent)]
        assert not final.ok and "ping" in final.text
        assert [facts["status"] for facts in await commands(agent)] == ["error"]

    run(go)


def test_without_leave_a_comma_is_a_word_to_the_model():
    async def go():
        agent, model = Agent(tools=[ping]), ScriptedModel(["What do you mean?"])
        await turn(agent, ",ping gw", model)
        assert said(model.requests[0]) == ["user: ,ping gw"] and await commands(agent) == []

    run(go)


def test_an_empty_prompt_needs_no_model():
    async def go():
        events = await turn(Agent(), " ", None)
        assert events[0].data["delta"] == "error: empty prompt"

    run(go)
