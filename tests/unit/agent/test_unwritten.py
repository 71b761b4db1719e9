"""A store that is lost in the middle of an answer: what was told is written once it is there again, and once only."""

from __future__ import annotations

import pytest

from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.errors import StoreUnavailable
from playhead.model.scripted import ScriptedModel, call
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.agent.runs_lab import run
from tests.unit.agent.trouble import Points, TroubledStore


def gone():
    raise StoreUnavailable("The store does not answer.")


def losing(points, *words):
    """Return an answer in the middle of which the store is lost."""

    def answer(request):
        async def pieces():
            for word in words:
                yield word
                points.is_on = True

        return pieces()

    return answer


def answers_of(entries):
    return [entry for entry in entries if entry.payload.get("role") == "assistant"]


async def heard_of(agent, question, model):
    """Return the stream of a turn, what it told, and what it raised."""
    heard, error = "", None
    stream = agent.run(question, model=model, tape="t")
    try:
        async with stream:
            async for event in stream:
                heard += event.delta if event.kind == "text" else ""
    except StoreUnavailable as exc:
        error = exc
    return stream, heard, error


@pytest.mark.parametrize("at", range(1, 9))
def test_what_was_told_is_written_once_the_store_answers_again(at):
    async def go():
        points = Points(at, trouble=gone, stays=True)
        agent = Agent(store=TroubledStore(InMemoryTapeStore(), points))
        stream, heard, error = await heard_of(agent, "How many?", ScriptedModel([losing(points, "Twelve ", "tunnels.")]))
        assert heard == "Twelve tunnels." and error is not None
        tape = agent.tape("t")
        left = stream.unwritten
        if left is not None:
            with pytest.raises(StoreUnavailable):
                await left.write(tape)
            points.is_on = False
            await left.write(tape)
            assert await left.write(tape) == ()
        points.is_on = False
        await tape.recover()
        entries = await tape.query().all()
        assert [entry.payload["content"] for entry in entries if entry.kind == "message"] == ["How many?", "Twelve tunnels."]
        assert len({entry.uid for entry in entries}) == len(entries)

    run(go)


def test_the_result_of_a_tool_is_written_once_the_store_answers_again():
    points = Points(1, trouble=gone, stays=True)

    @tool
    def cut(host: str) -> str:
        """Cut a host off."""
        points.is_on = True
        return f"{host} is off"

    async def go():
        agent = Agent(store=TroubledStore(InMemoryTapeStore(), points), tools=[cut])
        stream, _, _ = await heard_of(agent, "Cut gw1.", ScriptedModel([call("cut", host="gw1")]))
        points.is_on = False
        await stream.unwritten.write(agent.tape("t"))
        (result,) = await agent.tape("t").query().kinds("tool_result").all()
        assert result.payload["results"] == ["gw1 is off"]

    run(go)


def test_a_turn_that_told_nothing_leaves_nothing_to_write():
    async def go():
        points = Points(1, trouble=gone, stays=True)
        agent = Agent(store=TroubledStore(InMemoryTapeStore(), points))
        stream = agent.run("Hello", model=ScriptedModel(["Hi."]), tape="t")

        async def lost():
            async with stream:
                points.is_on = True
                await stream.text()

        with pytest.raises(StoreUnavailable):
            await lost()
        assert stream.unwritten is None

    run(go)
