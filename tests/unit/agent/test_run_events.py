"""The event `run`: who answered, within how many tokens."""

from dataclasses import replace

import pytest

from playhead.agent.agent import Agent
from playhead.agent.decisions import Finish
from playhead.agent.spending import usage_of
from playhead.entry.entry import event_name
from playhead.entry.message import assistant
from playhead.errors import ModelUnavailable
from playhead.model.protocol import Reply, Usage
from playhead.model.scripted import ScriptedModel
from playhead.prompt.budget import Budget
from tests.unit.agent.runs_lab import run, turn


class Changes:
    """Changes requests, or answers them itself."""

    def __init__(self, change):
        self._change = change

    def before_llm_call(self, request):
        return self._change(request)


async def told(agent, model):
    await turn(agent, "Hi", model)
    (event,) = [e for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "run"]
    return {key: value for key, value in event.payload["data"].items() if key != "usage"}


PLAIN = {"status": "ok", "provider": "scripted", "model": "script"}


@pytest.mark.parametrize(
    ("agent", "answer", "facts"),
    [
        (Agent, "Hello.", {}),
        (lambda: Agent(budget=Budget(9_000, reserve_for_response=700)), "Hello.", {"max_tokens": 700}),
        (lambda: Agent(plugins=[Changes(lambda request: replace(request, max_tokens=77))]), "Hello.", {"max_tokens": 77}),
        (Agent, Reply(message=assistant("Hello."), model="another"), {"answered_by": "another"}),
        (
            lambda: Agent(plugins=[Changes(lambda request: replace(request, extra={"model": "large", "max_completion_tokens": 9}))]),
            "Hello.",
            {"model": "large", "max_tokens": 9, "answered_by": "scripted:script"},
        ),
        (lambda: Agent(plugins=[Changes(lambda request: replace(request, extra={"model": "large"}))]), Reply(message=assistant("Hello."), model="large"), {"model": "large"}),
        (
            lambda: Agent(plugins=[Changes(lambda request: replace(request, extra={"model": "large"}))]),
            Reply(message=assistant("Hello."), model="large-1"),
            {"model": "large", "answered_by": "large-1"},
        ),
        (lambda: Agent(plugins=[Changes(lambda request: Finish("Not today."))]), "Hello.", {"answered_by": "hook"}),
    ],
)
def test_it_says_who_answered_and_within_how_many_tokens(agent, answer, facts):
    async def go():
        assert await told(agent(), ScriptedModel([answer])) == PLAIN | facts

    run(go)


def test_a_call_that_fails_tells_whom_it_asked_and_within_how_many_tokens():
    async def go():
        agent = Agent(plugins=[Changes(lambda request: replace(request, max_tokens=77, extra={"model": "large"}))])
        with pytest.raises(ModelUnavailable):
            await told(agent, ScriptedModel([ModelUnavailable("busy")]))
        [event] = [e for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "run"]
        assert event.payload["data"] == {"status": "error", "provider": "scripted", "model": "large", "max_tokens": 77}

    run(go)


def test_what_another_model_cost_is_added_up_under_its_name():
    async def go():
        agent = Agent(plugins=[Changes(lambda request: replace(request, extra={"model": "large"}))])
        await turn(agent, "Hi", ScriptedModel([["Hello.", Usage(input=7, output=2)]]))
        assert [(each.model, each.usage.total) for each in (await usage_of(agent.tape("t"))).models] == [("scripted:large", 9)]

    run(go)
