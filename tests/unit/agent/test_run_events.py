"""The event `run`: who answered, within how many tokens."""

from dataclasses import replace

import pytest

from playhead.agent.agent import Agent
from playhead.agent.decisions import Finish
from playhead.entry.entry import event_name
from playhead.entry.message import assistant
from playhead.model.protocol import Reply
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
        (lambda: Agent(plugins=[Changes(lambda request: Finish("Not today."))]), "Hello.", {"answered_by": "hook"}),
    ],
)
def test_it_says_who_answered_and_within_how_many_tokens(agent, answer, facts):
    async def go():
        assert await told(agent(), ScriptedModel([answer])) == PLAIN | facts

    run(go)
