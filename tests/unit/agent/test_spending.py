"""What a tape has cost: runs, imported turns and summaries, by model, with a price where one is known."""

from __future__ import annotations

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.agent.spending import usage_from, usage_of
from playhead.entry.message import assistant
from playhead.model.prices import listed_price
from playhead.model.protocol import Usage
from playhead.model.scripted import ScriptedModel
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from tests.unit.prompt.folding.managed import SMALL


def dollar(model, usage):
    """Price a million tokens at a dollar, of one model alone."""
    return usage.total / 1e6 if model.startswith("openai:") else None


def test_the_calls_of_runs_add_up_by_model():
    async def go():
        agent = Agent(store=InMemoryTapeStore())
        for name, usage in (("openai:a", Usage(input=100, output=10, cache_read=60)), ("openai:a", Usage(input=200, output=20)), ("x:b", Usage(input=5, output=5))):
            async with agent.run("Hello?", model=ScriptedModel([["Hello.", usage]], name=name), tape="t") as stream:
                await stream.text()
        spent = await usage_of(agent.tape("t"), prices=dollar)
        assert [(m.model, m.calls, m.usage, m.cost) for m in spent.models] == [("openai:a", 2, Usage(input=300, output=30, cache_read=60), 330 / 1e6), ("x:b", 1, Usage(input=5, output=5), None)]
        assert (spent.calls, spent.usage.total, spent.cost, spent.unpriced) == (3, 340, 330 / 1e6, ("x:b",))

    anyio.run(go)


def test_each_call_is_priced_by_itself():
    def steps(model, usage):
        """Price what is longer than a thousand tokens ten times as high."""
        return usage.input * (10 if usage.input > 1_000 else 1) / 1e6 if model == "x:a" else None

    async def go():
        agent = Agent(store=InMemoryTapeStore())
        for name, size in (("x:a", 600), ("x:a", 600), ("x:a", 2_000), ("x:b", 5)):
            async with agent.run("Hello?", model=ScriptedModel([["Hello.", Usage(input=size)]], name=name), tape="t") as stream:
                await stream.text()
        spent = await usage_of(agent.tape("t"), prices=steps)
        assert [(m.model, m.cost) for m in spent.models] == [("x:a", pytest.approx(0.0212)), ("x:b", None)]
        assert spent.cost == pytest.approx(0.0212)

    anyio.run(go)


def test_imported_turns_count_with_the_words_of_their_provider():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        told = {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1_000, "output_tokens": 7}
        await tape.append(assistant("Up."), usage=told, model="claude-sonnet-4-5")
        spent = await usage_of(tape)
        assert spent.usage == Usage(input=1_103, output=7, cache_read=1_000, cache_write=100)
        assert spent.models[0].model == "claude-sonnet-4-5"

    anyio.run(go)


def test_summaries_count_as_what_they_are():
    async def go():
        writer = ScriptedModel([["gw-1 was slow.", Usage(input=900, output=5)]], name="openai:writer")
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=AutobiographicalStrategy(compression_model=writer, **SMALL)) as manager:
            for number in range(24):
                await manager.add_message("User" if number % 2 else "Claude", f"{number}: the gateway gw-1 was slow because its queue was full, and nobody freed a slot there.")
            await manager.tick()
            spent = await usage_of(manager.tape, prices=dollar)
        assert [(m.model, m.calls, m.summaries, m.usage.input) for m in spent.models] == [("openai:writer", 1, 1, 900)]

    anyio.run(go)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 1}},
            Usage(input=10, output=2, cache_read=4, reasoning=1),
        ),
        ({"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, Usage(input=10, output=2, cache_read=4)),
        ({"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3}, Usage(input=18, output=2, cache_read=5, cache_write=3)),
        ({"input": 10, "output": 2, "cacheRead": 5, "cacheWrite": 3}, Usage(input=18, output=2, cache_read=5, cache_write=3)),
        ({"input": 10, "output": 2, "cached": 5, "thoughts": 1, "total": 12}, Usage(input=10, output=2, cache_read=5, reasoning=1)),
        (Usage(input=9, output=1, cache_read=3, cache_write=2, reasoning=1).facts(), Usage(input=9, output=1, cache_read=3, cache_write=2, reasoning=1)),
        ({"input_tokens": True, "output_tokens": -1}, None),
        ({}, None),
        ("many", None),
    ],
)
def test_every_provider_s_words_for_tokens_are_read(told, usage):
    assert usage_from(told) == usage


def test_a_listed_model_has_a_price_and_what_was_cached_is_cheaper():
    pytest.importorskip("genai_prices")
    full, cached = (listed_price("openai:gpt-5-mini", Usage(input=1_000_000, output=0, cache_read=read)) for read in (0, 1_000_000))
    assert full is not None and cached is not None and 0 < cached < full
    assert listed_price("claude-sonnet-4-5", Usage(input=1_000, output=10)) is not None
    assert listed_price("nobody:knows-it", Usage(input=1_000)) is None
