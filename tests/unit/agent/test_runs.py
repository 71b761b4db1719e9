"""Runs of an agent on a tape: what the model sees, what is kept, and in which order."""

import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import FinalEvent, ToolCallEvent, ToolResultEvent, UsageEvent
from playhead.agent.tape_tools import tape_tools
from playhead.agent.tools import ToolContext, tool
from playhead.entry.entry import event_name
from playhead.entry.message import Text, Thinking, assistant, user
from playhead.errors import InvalidInput, InvalidModelSpec, ProviderNotFoundError, StoreUnavailable
from playhead.model.protocol import Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.view.context import TapeContext
from tests.unit.agent.runs_lab import ping, run, said, shape, turn


def test_a_plain_turn_leaves_its_entries_in_order():
    async def go():
        agent, model = Agent("Be brief."), ScriptedModel([["Hello.", Usage(input=10, output=2, cache_read=8)]])
        events = await turn(agent, "Hi", model)
        assert [e.kind for e in events] == ["text", "usage", "final"]
        entries = await agent.tape("t").query().all()
        assert shape(entries)[:9] == [
            "anchor session/start",
            "event handoff",
            "event loop.start",
            "event loop.step.start",
            "system",
            "message user",
            "message assistant",
            "event run",
            "event loop.step",
        ]
        assert shape(entries)[9:] == ["event merge"]
        assert len({e.meta["run_id"] for e in entries[2:9]}) == 1
        info = await agent.tape("t").info()
        assert (info.last_token_usage, info.last_cache_hit_rate) == (12, 0.8)

    run(go)


@pytest.mark.parametrize("words", [{}, {"merge_back": False}], ids=["kept", "dropped"])
def test_the_first_run_sees_what_stood_on_the_tape_before_it(words):
    async def go():
        agent, model = Agent(), ScriptedModel(["One.", "Two."])
        await agent.tape("t").append(user("My VPN drops."))
        await turn(agent, "Is it up?", model, **words)
        await turn(agent, "And now?", model)
        assert said(model.requests[0]) == ["user: My VPN drops.", "user: Is it up?"]
        assert said(model.requests[1])[0] == "user: My VPN drops."
        assert (await agent.tape("t").read_messages())[0].text == "My VPN drops."
        assert [a.name for a in await agent.tape("t").anchors()] == ["session/start"]

    run(go)


def test_a_session_shows_what_stood_on_the_tape_before_it():
    async def go():
        agent, model = Agent(), ScriptedModel(["One."])
        await agent.tape("t").append(user("My VPN drops."))
        async with agent.session("t") as branch, agent.run("Is it up?", model=model, tape=branch) as stream:
            await stream.text()
        assert said(model.requests[0]) == ["user: My VPN drops.", "user: Is it up?"]

    run(go)


def test_the_second_turn_sees_the_first_and_the_system_prompt_is_kept_once():
    async def go():
        agent, model = Agent("Be brief."), ScriptedModel(["One.", "Two."])
        await turn(agent, "first", model)
        await turn(agent, "second", model)
        assert said(model.requests[1]) == ["system: Be brief.", "user: first", "assistant: One.", "user: second"]
        entries = await agent.tape("t").query().all()
        assert [e.kind for e in entries].count("system") == 1

    run(go)


def test_a_stream_gives_text_by_kind_and_data_as_its_users_write_it():
    async def go():
        agent, model, words = Agent(), ScriptedModel([["Hel", "lo."]]), ""
        async with agent.run("Hi", model=model, tape="t") as stream:
            async for event in stream:
                if event.kind == "text":
                    words += event.data["delta"]
        assert words == "Hello."
        async with agent.run("Hi", model=ScriptedModel(["A", "B"]), tape="t") as stream:
            assert await stream.text() == "A"
        async with agent.run("Hi", model=ScriptedModel([["A", "B"]]), tape="t") as stream:
            assert [delta async for delta in stream.text_deltas()] == ["A", "B"]

    run(go)


def test_tools_run_and_the_model_goes_on_with_their_results():
    async def go():
        agent = Agent(tools=[ping], max_steps=3)
        model = ScriptedModel([["I look.", call("ping", host="gw")], "It is up."])
        events = await turn(agent, "Up?", model)
        assert [e.kind for e in events] == ["text", "final", "tool_call", "tool_result", "text", "final"]
        assert [(e.text, e.last) for e in events if isinstance(e, FinalEvent)] == [("I look.", False), ("It is up.", True)]
        (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
        assert (result.data["result"], result.value, result.data["is_error"]) == ("gw answers", "gw answers", False)
        assert said(model.requests[1])[-3:] == ["assistant: I look.", "tool: gw answers", "user: Continue the task until all targets are completed."]
        kinds = [e.kind for e in await agent.tape("t").query().kinds("message", "tool_call", "tool_result").all()]
        assert kinds == ["message", "tool_call", "tool_result", "message"]
        steps = [e.payload["data"]["status"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "loop.step"]
        assert steps == ["continue", "ok"]

    run(go)


def test_a_tool_sees_the_very_state_of_the_run_and_writes_to_its_tape():
    async def go():
        seen = []

        @tool(context=True)
        async def add_order_note(note: str, *, context: ToolContext) -> str:
            """Add a note."""
            seen.append(context.state)
            await context.tape.append_event("order.note", {"text": note, "request_id": context.state.get("request_id")})
            return "Noted."

        state = {"request_id": "r-7"}
        agent = Agent(tools=[add_order_note])
        await turn(agent, "Note it", ScriptedModel([call("add_order_note", note="paid"), "Done."]), state=state)
        assert seen[0] is state
        (note,) = [e for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "order.note"]
        assert note.payload["data"] == {"text": "paid", "request_id": "r-7"}

    run(go)


@pytest.mark.parametrize("prompt", ["", "   "])
def test_an_empty_prompt_is_answered_without_a_model_and_without_a_trace(prompt):
    async def go():
        agent, model = Agent(), ScriptedModel([])
        events = await turn(agent, prompt, model)
        assert [(e.kind, e.data.get("ok")) for e in events] == [("text", None), ("final", False)]
        assert events[0].data["delta"] == "error: empty prompt" and model.requests == []
        assert await agent.tape("t").query().all() == []

    run(go)


@pytest.mark.parametrize("spec", ["gpt-5-mini", "opnai:gpt-5-mini", "openai:", None])
def test_a_tape_is_switched_to_no_model_that_cannot_be(spec):
    async def go():
        agent = Agent()
        with pytest.raises((InvalidModelSpec, ProviderNotFoundError)):
            await agent.switch_model("t", spec)
        assert await agent.tape("t").query().all() == []

    run(go)


def test_a_switch_of_the_model_is_remembered_by_the_tape():
    async def go():
        agent = Agent(model=ScriptedModel(["From the script."]))
        await agent.switch_model("t", "echo:")
        async with agent.run("Hi", tape="t") as stream:
            assert await stream.text() == "Hi"
        runs = [e.payload["data"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "loop.start"]
        assert runs[-1]["model"] == "echo:"
        with pytest.raises(InvalidInput, match="has no model"):
            await turn(Agent(), "Hi", None)

    run(go)


def test_reasoning_and_words_beside_calls_are_kept_and_sent_back():
    async def go():
        thought = Thinking(text="Let me see.", signature="sig", provider="anthropic", model="m")
        model = ScriptedModel([[thought, Text(text="I look."), call("ping", host="gw")], "Up."])
        await turn(Agent(tools=[ping]), "Up?", model)
        sent = next(m for m in model.requests[1].messages if m.role == "assistant")
        assert [type(p).__name__ for p in sent.parts] == ["Thinking", "Text", "ToolCall"] and sent.parts[0] == thought

    run(go)


def test_an_answer_of_a_type_is_read_and_a_misfit_may_try_again():
    async def go():
        agent, model = Agent(), ScriptedModel(["soon", "```json\n[1, 2]\n```"])
        async with agent.run("Numbers", model=model, tape="t", output_type=list[int]) as stream:
            await stream.text()
            assert stream.output == [1, 2]
        assert model.requests[0].output_schema["properties"] == {"answer": {"type": "array", "items": {"type": "integer"}}}
        assert "does not have the form" in said(model.requests[1])[-1]

    run(go)


def test_a_context_without_anchor_and_a_select_of_ones_own_reach_the_model():
    async def go():
        from playhead.view.context import default_tape_context
        from playhead.view.selection import build_messages

        def with_notes(entries, context):
            messages = build_messages(entries, default_tape_context())
            notes = [e.payload.get("data", {}) for e in entries if e.kind == "event" and event_name(e) == "order.note"]
            return [*messages, user(f"notes: {notes}")] if notes else messages

        agent = Agent(context=TapeContext(anchor=None, select=with_notes))
        await agent.tape("t").append_event("order.note", {"text": "paid"})
        model = ScriptedModel(["ok"])
        await turn(agent, "Hi", model)
        assert said(model.requests[0])[-1].startswith("user: notes: [")

    run(go)


def test_a_prompt_is_asked_by_a_user():
    with pytest.raises(InvalidInput, match="asked something by a user"):
        Agent().run(assistant("x"), tape="t")


def test_usage_adds_up_over_the_calls_of_a_run():
    async def go():
        agent = Agent(tools=[ping])
        model = ScriptedModel([[call("ping", host="a"), Usage(input=10, output=1)], ["Done.", Usage(input=20, output=2)]])
        async with agent.run("Hi", model=model, tape="t") as stream:
            events = [e async for e in stream]
            assert stream.usage == Usage(input=30, output=3)
        assert sum(isinstance(e, UsageEvent) for e in events) == 2 and sum(isinstance(e, ToolCallEvent) for e in events) == 1

    run(go)


def test_a_model_with_the_tools_of_its_tape_is_told_what_they_are_for():
    async def go():
        model = ScriptedModel([call("tape_handoff", name="next", summary="Half is done."), "Going on.", "Plain."])
        agent = Agent("Be brief.", tools=[*tape_tools(), ping])
        await turn(agent, "Begin", model)
        told = model.requests[0].messages[0].text
        assert told.startswith("Be brief.\n\nEverything that is said") and "tape_handoff" in told
        assert any("Half is done." in line for line in said(model.requests[1]))
        await turn(Agent("Be brief.", tools=[ping]), "Hi", model)
        assert model.requests[2].messages[0].text == "Be brief."

    run(go)


def test_a_store_may_be_named_by_its_url_and_is_closed_with_the_agent(tmp_path):
    async def go():
        url = f"sqlite:///{tmp_path}/x.db"
        async with Agent(store=url) as agent:
            await turn(agent, "Hi", ScriptedModel(["Hello."]))
        with pytest.raises(StoreUnavailable):
            await agent.tape("t").head()
        async with Agent(store=url) as agent:
            assert [m.text for m in await agent.tape("t").read_messages()] == ["Hi", "Hello."]
        with pytest.raises(InvalidInput, match="names no store"):
            Agent(store="notes")

    run(go)
