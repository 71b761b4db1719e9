"""An agent that remembers: its turns are compiled through its strategy, and summaries are written behind them."""

from __future__ import annotations

import logging

import anyio
import pytest

from playhead.agent import folding
from playhead.agent.agent import Agent
from playhead.entry.message import assistant, user
from playhead.errors import InvalidInput, ModelUnavailable, NoCompressionModel
from playhead.fold.ledger.memory import FoldMemory
from playhead.model.scripted import ScriptedModel, call
from playhead.prompt.budget import Budget
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.knowledge import KnowledgeStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.agent.runs_lab import ping, run, turn
from tests.unit.fold.telling import check
from tests.unit.prompt.folding.managed import SMALL

BUDGET = Budget(2_500, reserve_for_response=0)
WORDS = "The gateway gw-1 was slow because its queue was full, and nobody freed a slot there."


def remembering(*, writer="extractive", **options):
    return AutobiographicalStrategy(compression_model=writer, **{**SMALL, "recent_window_tokens": 300, **options})


def agent_with(strategy=None, **options):
    return Agent(store=InMemoryTapeStore(), strategy=strategy or remembering(), budget=BUDGET, **options)


def memory(agent, tape="t"):
    return FoldMemory(agent.tape(tape), namespace=f"agents/{agent.name}")


async def talked(agent, turns, *, model=None, start=0):
    model = model or ScriptedModel([f"Answer {number}: {WORDS}" for number in range(turns)])
    for number in range(start, start + turns):
        await turn(agent, f"Question {number}: {WORDS}", model)
    return model


def test_turns_are_folded_behind_them_under_the_name_of_the_agent():
    async def go():
        agent = agent_with(name="bot")
        await talked(agent, 30)
        await agent.settled()
        forest = await check(memory(agent))
        assert forest.counts[1] > 3 and not forest.ignored
        assert memory(agent).name == "fold.agents/bot"
        await agent.aclose()

    run(go)


def test_every_step_is_compiled_within_the_budget_and_shows_summaries_in_the_agents_voice():
    async def go():
        agent = agent_with(system_prompt="Be brief.")
        model = await talked(agent, 50)
        await agent.aclose()
        last = model.requests[-1].messages
        assert any(m.text.startswith("[Recall L") for m in last)
        answer = next(last[index + 1] for index, m in enumerate(last) if m.text.startswith("[Recall L"))
        assert answer.role == "assistant"
        assert all(f"Question {number}:" not in "".join(m.text for m in last if m.role == "user" and "Recall" not in m.text) for number in range(3))

    run(go)


def test_the_prefix_of_the_requests_only_changes_where_something_was_folded():
    async def go():
        agent = agent_with()
        model = await talked(agent, 60)
        await agent.aclose()
        breaks = sum(later.messages[: len(earlier.messages)] != earlier.messages for earlier, later in zip(model.requests, model.requests[1:], strict=False))
        assert 1 <= breaks <= 10

    run(go)


def test_tool_rounds_of_a_turn_are_folded_with_it():
    async def go():
        agent = agent_with(tools=[ping])
        model = ScriptedModel([piece for number in range(20) for piece in (call("ping", host=f"gw-{number}"), f"Answer {number}: {WORDS}")])
        await talked(agent, 20, model=model)
        await agent.settled()
        nodes = [node async for node in memory(agent).nodes() if node.level == 1]
        assert nodes and any("ping" in node.tools for node in nodes)
        await check(memory(agent))
        await agent.aclose()

    run(go)


def test_a_summariser_that_fails_fails_no_turn(caplog):
    async def go():
        def down(request):
            raise ModelUnavailable("the summariser is down", model="s", status=500)

        agent = agent_with(remembering(writer=ScriptedModel([down] * 500)))
        model = ScriptedModel([f"Answer {number}." for number in range(20)])
        for number in range(20):
            events = await turn(agent, f"Question {number}.", model)
            assert events[-1].kind == "final"
        await agent.settled()
        await agent.aclose()

    run(go)


def test_no_model_named_fails_no_turn_and_is_logged(caplog):
    async def go():
        agent = agent_with(remembering(writer=None, target_chunk_tokens=20, recent_window_tokens=20))
        with caplog.at_level(logging.ERROR, "playhead"):
            await talked(agent, 6)
            await agent.settled()
        assert "NoCompressionModel" in caplog.text
        with pytest.raises(NoCompressionModel):
            await agent.tick("t")
        await agent.aclose()

    run(go)


def test_with_manual_ticks_nothing_is_written_unless_it_is_asked_for():
    async def go():
        agent = agent_with(tick="manual")
        await talked(agent, 15)
        await agent.settled()
        assert (await memory(agent).look()).roots == ()
        ticked = await agent.tick("t")
        assert ticked.did == "summary" and (await memory(agent).look()).counts == {1: 1}
        await agent.aclose()

    run(go)


def test_an_agent_without_such_a_strategy_ticks_to_nothing():
    async def go():
        for strategy in (None, PassthroughStrategy(), WindowedPassthroughStrategy()):
            agent = Agent(store=InMemoryTapeStore(), strategy=strategy)
            assert not await agent.tick("t")
            await agent.settled()
            assert not any(name.startswith("memory") for name in agent.tools)
            await agent.aclose()

    run(go)


def test_when_an_agent_ticks_is_one_of_two():
    with pytest.raises(InvalidInput, match="'turn' or 'manual'"):
        agent_with(tick="sometimes")


def test_a_turn_that_is_not_kept_writes_nothing():
    async def go():
        agent = agent_with()
        await talked(agent, 12)
        await agent.settled()
        before = (await memory(agent).look()).head
        async with agent.run("What if?", model=ScriptedModel(["Then."]), tape="t", merge_back=False) as stream:
            async for _ in stream:
                pass
        await agent.settled()
        assert (await memory(agent).look()).head == before
        await agent.aclose()

    run(go)


def test_closing_ends_what_is_being_written():
    async def go():
        asked, never = anyio.Event(), anyio.Event()

        async def hang(request):
            asked.set()
            await never.wait()

        agent = agent_with(remembering(writer=ScriptedModel([hang] * 9), target_chunk_tokens=20, recent_window_tokens=20))
        await talked(agent, 8)
        await asked.wait()
        with anyio.fail_after(5):
            await agent.aclose()
        assert (await memory(agent).look()).roots == ()

    run(go)


def test_summaries_are_written_under_the_prompt_and_the_tools_that_the_agent_has_then():
    async def go():
        writer = ScriptedModel(["I remember that."] * 500, name="scripted:writer")
        agent = agent_with(remembering(writer=writer, hierarchical=False), system_prompt="Be brief.", tools=[ping])
        await talked(agent, 15)
        await agent.settled()
        first = len(writer.requests)
        agent.system_prompt = "Be kind."
        await talked(agent, 15, start=15)
        await agent.settled()
        await agent.aclose()
        prompts = ["".join(m.text for m in request.messages if m.role == "system") for request in writer.requests]
        assert all("Be brief." in said for said in prompts[:first]) and "Be kind." in prompts[-1]
        assert {tool.name.replace(".", "_") for tool in writer.requests[0].tools} == {"ping", "memory_search", "memory_expand"}

    run(go)


def test_the_writers_of_many_tapes_are_let_go_of(monkeypatch):
    async def go():
        agent = agent_with()
        for number in range(12):
            await turn(agent, "Hello.", ScriptedModel(["Hello."]), tape=f"t{number}")
        await agent.settled()
        assert len(agent._folding._running) <= 5
        await agent.aclose()

    monkeypatch.setattr(folding, "REMEMBERED", 4)
    run(go)


def test_two_agents_on_one_tape_keep_memories_of_their_own():
    async def go():
        store = InMemoryTapeStore()
        one, other = (Agent(store=store, strategy=remembering(), budget=BUDGET, name=name) for name in ("one", "other"))
        await talked(one, 12)
        await talked(other, 12)
        for agent in (one, other):
            await agent.settled()
            await check(memory(agent))
        assert (await memory(one).look()).roots != (await memory(other).look()).roots != ()
        await one.aclose()
        await other.aclose()

    run(go)


def test_a_bare_id_is_served_by_the_model_of_the_newest_run():
    async def go():
        agent = agent_with(remembering(writer="small"))
        await talked(agent, 12, model=ScriptedModel([f"I remember: {WORDS}"] * 60))
        await agent.settled()
        newest = ScriptedModel([f"I remember: {WORDS}"] * 60)
        for number in range(12, 24):
            await turn(agent, f"Question {number}: {WORDS}", newest)
            await agent.settled()
        assert len(newest.requests) > 12
        await agent.aclose()

    run(go)


LONG = " ".join(f"{WORDS} It was {number} o'clock." for number in range(20))


@pytest.mark.parametrize("strategy", [AutobiographicalStrategy, KnowledgeStrategy])
@pytest.mark.parametrize("tokens", [6_000, 16_000])
def test_turns_fit_a_small_window_of_which_nothing_else_is_said(strategy, tokens):
    async def go():
        agent = Agent(store=InMemoryTapeStore(), strategy=strategy(compression_model="extractive"), budget=Budget(tokens, reserve_for_response=tokens // 4))
        model = ScriptedModel([f"Answer {number}: {LONG}" for number in range(24)])
        for number in range(24):
            assert (await turn(agent, f"Question {number}: {LONG}", model))[-1].kind == "final"
        assert any("[Recall L" in message.text for message in model.requests[-1].messages)
        await agent.settled()
        await check(memory(agent))
        await agent.aclose()

    run(go)


@pytest.mark.parametrize("strategy", [AutobiographicalStrategy, KnowledgeStrategy])
def test_a_long_tape_that_was_never_folded_is_answered_from_the_first_turn(strategy):
    async def go():
        agent = Agent(store=InMemoryTapeStore(), strategy=strategy(compression_model="extractive"), budget=Budget(8_000, reserve_for_response=2_000))
        tape = agent.tape("t")
        await tape.bootstrap()
        await tape.append_many([made(f"{number}: {LONG}") for number in range(60) for made in (user, assistant)])
        model = ScriptedModel(["Yes.", "Still."])
        for answer in ("Yes.", "Still."):
            assert (await turn(agent, "Is gw-1 slow?", model))[-1].text == answer
        assert any("[Recall L" in message.text for message in model.requests[0].messages)
        await agent.aclose()

    run(go)
