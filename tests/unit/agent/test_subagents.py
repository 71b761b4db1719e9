"""Agents that give tasks to other agents."""

import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import ToolResultEvent
from playhead.errors import ModelUnavailable
from playhead.model.scripted import ScriptedModel, call
from tests.unit.agent.runs_lab import run, said, shape, turn


def test_a_temporary_subagent_answers_and_leaves_nothing():
    async def go():
        inner = ScriptedModel(["Forty-two."])
        outer = Agent(tools=[Agent("You count.").as_tool("count", "Counts things.", model=inner)])
        model = ScriptedModel([call("count", task="How many?"), "It is 42."])
        await turn(outer, "Count", model)
        assert said(inner.requests[0]) == ["system: You count.", "user: How many?"]
        assert "Forty-two." in said(model.requests[1])[-2]
        assert await outer.tape("t").store.list_tapes() == ["t"]

    run(go)


def test_an_inheriting_subagent_sees_the_running_turn_and_its_work_is_kept_beside_it():
    async def go():
        inner, outer = ScriptedModel(["I saw it."]), Agent()
        outer = Agent(tools=[outer.as_tool("look", "Looks.", model=inner, session="inherit")])
        model = ScriptedModel([call("look", task="What was asked?"), "Done."])
        await turn(outer, "The question", model)
        assert "user: The question" in said(inner.requests[0])
        assert not any("What was asked?" in line for line in said(model.requests[1])[1:-2] if line.startswith("user"))
        tape = outer.tape("t")
        assert [m.text for m in await tape.read_messages()][-1] == "Done."
        assert len([e for e in await tape.query().kinds("message").all() if e.payload["content"] == "What was asked?"]) == 1

    run(go)


@pytest.mark.parametrize("session", ["inherit", "temp"])
def test_a_subagent_that_fails_is_a_tool_that_fails_and_leaves_nothing(session):
    async def go():
        inner = ScriptedModel([ModelUnavailable("down")])
        outer = Agent(tools=[Agent().as_tool("look", "Looks.", model=inner, session=session)])
        events = await turn(outer, "Look", ScriptedModel([call("look", task="x"), "I could not."]))
        (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
        assert result.result.is_error and "down" in str(result.data["result"])
        assert [line for line in shape(await outer.tape("t").query().all()) if line == "message user"] == ["message user"]

    run(go)


def test_a_named_subagent_remembers():
    async def go():
        desk, inner = Agent(), ScriptedModel(["One.", "Two."])
        outer = Agent(tools=[desk.as_tool("ask", "Answers.", model=inner, session="desk")])
        await turn(outer, "First", ScriptedModel([call("ask", task="first"), "ok"]))
        await turn(outer, "Second", ScriptedModel([call("ask", task="second"), "ok"]))
        assert said(inner.requests[1]) == ["user: first", "assistant: One.", "user: second"]

    run(go)


def test_an_inheriting_subagent_leaves_the_system_prompt_of_its_caller_in_force():
    async def go():
        inner = ScriptedModel(["I saw it.", "I saw it."])
        outer = Agent("Be brief.", tools=[Agent("Look.").as_tool("look", "Looks.", model=inner, session="inherit")])
        for _ in range(2):
            await turn(outer, "Look", ScriptedModel([call("look", task="x"), "Done."]))
        kept = await outer.tape("t").query().kinds("system").all()
        assert [e.payload["content"] for e in kept if e.meta.get("context") is not False] == ["Be brief."]

    run(go)
