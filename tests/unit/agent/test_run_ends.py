"""How a run ends: by itself, by an error, by being left; and what it leaves then."""

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import ErrorEvent, TextEvent, ToolResultEvent
from playhead.agent.overflow import CONTEXT_OVERFLOW
from playhead.agent.tools import tool
from playhead.entry.entry import event_name
from playhead.entry.message import Thinking
from playhead.errors import BadReply, ContextLimitExceeded, InvalidInput, ModelUnavailable, StepLimitReached
from playhead.model.scripted import ScriptedModel, call
from playhead.wire.providers import request_body
from tests.unit.agent.runs_lab import ping, run, said, shape, turn


def test_a_tool_that_fails_is_told_to_the_model_and_the_turn_goes_on():
    async def go():
        @tool
        def broken() -> str:
            """Fail."""
            raise OSError("no route")

        model = ScriptedModel([[call("broken"), call("pnig", host="gw")], "I could not."])
        events = await turn(Agent(tools=[broken, ping]), "Try", model)
        results = [e for e in events if isinstance(e, ToolResultEvent)]
        assert all(e.result.is_error for e in results)
        told = "\n".join(str(e.data["result"]) for e in results)
        assert "no route" in told and "Unknown tool name: pnig." in told and "ping" in told

    run(go)


def test_a_run_that_takes_too_many_steps_ends_with_an_error_and_keeps_what_it_did():
    async def go():
        agent = Agent(tools=[ping], max_steps=2)
        model = ScriptedModel([call("ping", host="a"), call("ping", host="b"), "never"])
        with pytest.raises(StepLimitReached, match="max_steps_reached=2"):
            await turn(agent, "Go", model)
        with pytest.raises(RuntimeError):
            await turn(agent, "Go", ScriptedModel([call("ping", host="a"), call("ping", host="b")]))
        assert len(await agent.tape("t").query().kinds("tool_result").all()) == 4

    run(go)


def test_a_failing_model_leaves_the_question_what_had_come_and_the_error():
    async def go():
        agent = Agent()
        model = ScriptedModel([["Half an ans", ModelUnavailable("busy", model="scripted:script")]])
        with pytest.raises(ModelUnavailable):
            await turn(agent, "Well?", model)
        entries = await agent.tape("t").query().all()
        assert shape(entries)[4:] == ["message user", "message assistant", "error", "event run", "event loop.step", "event merge"]
        partial = entries[5]
        assert (partial.payload["content"], partial.meta["partial"]) == ("Half an ans", True)
        assert entries[7].payload["data"]["status"] == "error"
        model = ScriptedModel(["Better now."])
        await turn(agent, "Again?", model)
        assert "user: Well?" in said(model.requests[0])

    run(go)


def test_the_question_is_on_the_tape_before_the_model_is_asked():
    async def go():
        agent = Agent()
        seen = []

        async def look(request):
            (record,) = await agent.tape("t").branches()
            seen.extend([m.text for m in await agent.tape("t").scoped(record.name).read_messages()])
            return "ok"

        await turn(agent, "Are you there?", ScriptedModel([look]))
        assert seen == ["Are you there?"]

    run(go)


def test_a_stream_that_is_left_early_is_merged_with_what_had_come():
    async def go():
        agent = Agent()

        async def endless(request):
            while True:
                yield "word "
                await anyio.lowlevel.checkpoint()

        async with agent.run("Talk", model=ScriptedModel([endless]), tape="t") as stream:
            async for event in stream:
                if isinstance(event, TextEvent):
                    break
        entries = await agent.tape("t").query().all()
        assert "message user" in shape(entries) and any(e.meta.get("partial") for e in entries)
        assert [e.payload["data"]["status"] for e in entries if event_name(e) == "loop.step"] == ["cancelled"]
        assert await agent.tape("t").branches() == []

    run(go)


def test_a_run_that_is_cancelled_from_outside_ends_its_stream():
    async def go():
        agent = Agent()

        async def hang(request):
            yield "I begin"
            await anyio.sleep_forever()

        async with agent.run("Talk", model=ScriptedModel([hang]), tape="t") as stream:
            kinds = []
            async for event in stream:
                kinds.append(event.kind)
                stream.cancel()
        assert kinds[0] == "text"
        assert "message user" in shape(await agent.tape("t").query().all())

    run(go)


def test_a_stream_that_is_never_iterated_asks_nobody():
    async def go():
        agent, model = Agent(), ScriptedModel(["Hello."])
        async with agent.run("Hi", model=model, tape="t"):
            pass
        assert model.requests == [] and shape(await agent.tape("t").query().all()) == ["anchor session/start", "event handoff"]

    run(go)


def test_a_context_that_is_too_short_is_handed_off_once_with_the_work_of_the_turn():
    async def go():
        charged = []

        @tool
        def charge(card: str) -> str:
            """Charge a card."""
            charged.append(card)
            return "charged " + "x" * 9_000

        agent = Agent(tools=[charge])
        await turn(agent, "old talk", ScriptedModel(["old answer"]))
        model = ScriptedModel([call("charge", card="4711"), ContextLimitExceeded("too long"), "It is charged."])
        events = await turn(agent, "Charge the card", model)
        assert charged == ["4711"]
        last = said(model.requests[-1])
        assert "user: Charge the card" in last and not any("old" in line for line in last[1:])
        assert any(line.startswith("tool: charged x") and "characters left out" in line for line in last)
        assert [type(e) for e in events if isinstance(e, ErrorEvent)] == [ErrorEvent]
        anchors = await agent.tape("t").anchors()
        assert [a.name for a in anchors] == ["session/start", CONTEXT_OVERFLOW]
        assert anchors[-1].state["reason"] == "context_length_exceeded"
        statuses = [e.payload["data"]["status"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "loop.step"]
        assert statuses[-3:] == ["continue", "auto_handoff", "ok"]

    run(go)


def test_a_second_overflow_of_a_turn_is_raised():
    async def go():
        agent = Agent()
        with pytest.raises(ContextLimitExceeded):
            await turn(agent, "Hi", ScriptedModel([ContextLimitExceeded("too long"), ContextLimitExceeded("still")]))
        statuses = [e.payload["data"]["status"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "loop.step"]
        assert statuses == ["auto_handoff", "error"]

    run(go)


def test_fallbacks_answer_for_the_default_model_alone():
    async def go():
        down = ModelUnavailable("down")
        first, second = ScriptedModel([down, down]), ScriptedModel(["I answer."])
        agent = Agent(model=first, fallbacks=[second])
        async with agent.run("Hi", tape="t") as stream:
            assert await stream.text() == "I answer."
        with pytest.raises(ModelUnavailable, match="down"):
            await turn(agent, "Hi", first)
        with pytest.raises(ModelUnavailable, match="first"):
            await turn(Agent(model=ScriptedModel([ModelUnavailable("first")]), fallbacks=[ScriptedModel([ModelUnavailable("second")])]), "Hi", None)

    run(go)


def test_a_past_its_script_model_is_an_error_that_names_the_request():
    async def go():
        with pytest.raises(BadReply, match="request 1 asks: 'user: Hi'"):
            await turn(Agent(), "Hi", ScriptedModel([]))

    run(go)


def test_a_fallback_that_cannot_be_used_is_left_out_and_the_first_model_never(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def go():
        agent = Agent(model=ScriptedModel([ModelUnavailable("down")]), fallbacks=["openai:gpt-5-mini", ScriptedModel(["I answer."])])
        async with agent.run("Hi", tape="t") as stream:
            assert await stream.text() == "I answer."
        with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
            await turn(Agent(model="openai:gpt-5-mini", fallbacks=["echo:"]), "Hi", None)

    run(go)


@pytest.mark.parametrize("words", [[], ["Half an ans"]])
def test_thoughts_that_had_come_are_kept_with_the_words_and_never_sent_back(words):
    async def go():
        agent = Agent()
        with pytest.raises(ModelUnavailable):
            await turn(agent, "Well?", ScriptedModel([[Thinking(text="Let me see."), *words, ModelUnavailable("busy", model="m")]]))
        (partial,) = [e for e in await agent.tape("t").query().kinds("message").all() if e.meta.get("partial")]
        assert [part["type"] for part in partial.payload["content"]] == ["thinking", *["text"] * len(words)]
        model = ScriptedModel(["Well."])
        await turn(agent, "Again?", model)
        for provider in ("openai", "openai-responses", "anthropic"):
            assert "Let me see." not in str(request_body(provider, model.requests[0].messages))

    run(go)


def test_a_run_that_is_cancelled_keeps_the_thoughts_that_had_come():
    async def go():
        agent = Agent()

        async def slow(request):
            yield Thinking(text="Let me see.")
            await anyio.sleep_forever()

        async with agent.run("Well?", model=ScriptedModel([slow]), tape="t") as stream:
            async for event in stream:
                if event.kind == "reasoning":
                    stream.cancel()
        (partial,) = [e for e in await agent.tape("t").query().kinds("message").all() if e.meta.get("partial")]
        assert partial.payload["content"] == [{"type": "thinking", "text": "Let me see."}]

    run(go)
