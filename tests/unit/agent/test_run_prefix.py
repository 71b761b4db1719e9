"""Each request begins with the bytes of the one before it, in the body of every provider, but where the window really moves."""

import json
from itertools import pairwise

import pytest

from playhead.agent.agent import Agent
from playhead.agent.inbox import MemoryInbox
from playhead.agent.tools import ToolContext, tool
from playhead.entry.message import Text, Thinking, user
from playhead.errors import ContextLimitExceeded, ModelUnavailable
from playhead.model.scripted import ScriptedModel, call
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.wire.providers import FORMATS, request_body
from tests.unit.agent.runs_lab import run, turn

STEPS = 12


@tool(context=True)
async def look(place: str, *, context: ToolContext) -> str:
    """Look somewhere."""
    await context.tape.append_event("looked", {"place": place})
    return f"nothing in {place} " + "x" * 300


@tool
def broken() -> str:
    """Fail."""
    raise OSError("no route")


def pieces(provider, request):
    """Return a body in the order in which a provider reads it, as the bytes of each block of each turn."""
    body = request_body(provider, request.messages, model="scripted")
    turns = body.pop(FORMATS[provider].turns)
    tools = [[spec.name, spec.description, spec.parameters] for spec in request.tools]
    return [json.dumps(piece, ensure_ascii=False) for piece in (tools, body, *(block for said in turns for block in blocks(said)))]


def blocks(said):
    content = said.get("content")
    return [{**said, "content": block} for block in content] if isinstance(content, list) and content else [said]


def shared(one, other):
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def script(turn_number):
    thought = Thinking(text=f"Hm {turn_number}.", signature="sig", provider="scripted", model="scripted")
    steps = [[thought, Text(text=f"Step {n}."), call("look", place=f"{turn_number}.{n}"), call("look", place="b"), call("broken")] if n % 3 else [call("look", place=str(n))] for n in range(STEPS)]
    return [*steps, f"Answer {turn_number}."]


async def requests_of(agent, turns, *, steering=True):
    requests = []
    for number in range(turns):
        model = ScriptedModel(script(number), name="scripted:scripted")
        if steering:
            await agent.inbox("t").store(user(f"Word {number}."))
        await turn(agent, f"Question {number}", model)
        requests += model.requests
    return requests


@pytest.mark.parametrize("provider", list(FORMATS))
@pytest.mark.parametrize("continue_prompt", ["", "Continue."])
def test_all_requests_of_many_turns_share_their_beginning(provider, continue_prompt):
    async def go():
        agent = Agent("Be brief.", tools=[look, broken], inbox=lambda tape: MemoryInbox(), continue_prompt=continue_prompt)
        bodies = [pieces(provider, request) for request in await requests_of(agent, 4)]
        tail = 1 if continue_prompt else 0
        for one, other in pairwise(bodies):
            assert shared(one, other) >= len(one) - tail

    run(go)


@pytest.mark.parametrize("provider", list(FORMATS))
def test_a_window_moves_seldom_and_by_much(provider):
    async def go():
        agent = Agent("Be brief.", tools=[look, broken], inbox=lambda tape: MemoryInbox(), strategy=WindowedPassthroughStrategy(), budget=Budget(6_000, reserve_for_response=500))
        bodies = [pieces(provider, request) for request in await requests_of(agent, 6)]
        moves = [place for place, (one, other) in enumerate(pairwise(bodies)) if shared(one, other) < len(one) - 1]
        assert 0 < len(moves) < len(bodies) / 8

    run(go)


@pytest.mark.parametrize("provider", list(FORMATS))
def test_a_failure_a_cancellation_and_another_store_handle_move_nothing(provider):
    async def go():
        agent = Agent("Be brief.", tools=[look, broken], inbox=lambda tape: MemoryInbox(), continue_prompt="")
        before = (await requests_of(agent, 1))[-1]
        with pytest.raises(ModelUnavailable):
            await turn(agent, "Fail", ScriptedModel([["Half", ModelUnavailable("busy", model="m")]]))
        async with agent.run("Stop", model=ScriptedModel([["One", "Two"]]), tape="t") as stream:
            await anext(stream)
        again = Agent("Be brief.", store=agent.store, tools=[look, broken], continue_prompt="")
        model = ScriptedModel(["Yes."])
        await turn(again, "And?", model)
        one, other = pieces(provider, before), pieces(provider, model.requests[0])
        assert shared(one, other) == len(one)

    run(go)


def test_a_handoff_is_the_one_place_where_a_turn_starts_anew():
    async def go():
        agent = Agent("Be brief.", tools=[look, broken], continue_prompt="")
        model = ScriptedModel([*script(0)[:5], ContextLimitExceeded("long"), *script(0)[5:]], name="scripted:scripted")
        await turn(agent, "Question", model)
        bodies = [pieces("openai", request) for request in model.requests]
        assert [n for n, (a, b) in enumerate(pairwise(bodies)) if shared(a, b) < len(a)] == [5]

    run(go)
