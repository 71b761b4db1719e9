"""A context that is too short, or that starts anew in the middle of a turn: what the turn did is not done again."""

import base64

import pytest

from playhead.agent.agent import Agent
from playhead.agent.budget_watch import BudgetWatcher, ContextBudget
from playhead.agent.events import ErrorEvent
from playhead.agent.inbox import MemoryInbox
from playhead.agent.overflow import CONTEXT_OVERFLOW
from playhead.agent.tape_tools import tape_tools
from playhead.agent.tools import ToolContext, tool
from playhead.entry.message import Media, Message, Text, Thinking, user
from playhead.errors import ContextLimitExceeded
from playhead.model.scripted import ScriptedModel, call
from playhead.view.context import default_tape_context
from playhead.wire.providers import FORMATS, request_body
from tests.unit.agent.bodies import faults
from tests.unit.agent.runs_lab import run, said, turn

TOO_LONG = ContextLimitExceeded("too long")


def charging():
    charged = []

    @tool
    async def charge(card: str) -> str:
        """Charge a card."""
        charged.append(card)
        return f"charged {card} " + "x" * 9_000

    return charge, charged


def is_fit(request):
    return all(faults(provider, request_body(provider, request.messages, model="any")) == [] for provider in FORMATS)


def answers(request):
    """Return, by card, what the request shows of the calls that were made."""
    results = {r.call_id: str(r.content) for m in request.messages for r in m.results}
    return [(c.arguments["card"], results[c.id][:12].strip()) for m in request.messages for c in m.calls if c.name == "charge"]


def test_all_of_a_turn_is_taken_along_tools_side_by_side_thinking_and_media():
    async def go():
        charge, charged = charging()
        picture = base64.b64encode(b"\x89PNG" + b"p" * 200).decode()
        prompt = Message(role="user", content=(Text(text="Charge both"), Media(kind="image", mime="image/png", data=picture)))
        thought = Thinking(text="Both.", signature="sig", provider="scripted", model="script")
        agent = Agent("Be careful.", tools=[charge], inbox=lambda tape: MemoryInbox())
        await turn(agent, "old talk", ScriptedModel(["old answer"]))
        await agent.inbox("t").store(user("Be quick."))
        model = ScriptedModel([[thought, "I charge.", call("charge", card="red"), call("charge", card="blue")], TOO_LONG, [call("charge", card="green")], "Done."])
        await turn(agent, prompt, model)
        assert charged == ["red", "blue", "green"]
        for request in model.requests[2:]:
            assert is_fit(request) and answers(request)[:2] == [("red", "charged red"), ("blue", "charged blue")]
            assert sum("old" in line for line in said(request)) == 0
            assert [m.text for m in request.messages if m.role == "user"].count("Be quick.") == 1
            assert [p.data for m in request.messages for p in m.parts if isinstance(p, Media)] == [picture]
            assert thought in [p for m in request.messages for p in m.parts]
        next_turn = ScriptedModel(["Yes."])
        await turn(agent, "All?", next_turn)
        assert [card for card, _ in answers(next_turn.requests[0])] == ["red", "blue", "green"] and is_fit(next_turn.requests[0])

    run(go)


def test_a_second_overflow_is_raised_and_the_next_turn_knows_what_was_done():
    async def go():
        charge, charged = charging()
        agent = Agent(tools=[charge])
        model = ScriptedModel([call("charge", card="red"), TOO_LONG, call("charge", card="blue"), TOO_LONG])
        with pytest.raises(ContextLimitExceeded):
            await turn(agent, "Charge", model)
        assert charged == ["red", "blue"]
        later = ScriptedModel([TOO_LONG, "Both are charged."])
        await turn(agent, "Well?", later)
        assert is_fit(later.requests[0]) and [card for card, _ in answers(later.requests[0])] == ["red", "blue"]
        assert charged == ["red", "blue"]

    run(go)


def test_a_view_that_a_handoff_does_not_shorten_overflows_at_once_and_nothing_is_said_twice():
    async def go():
        charge, charged = charging()
        agent = Agent(tools=[charge], context=default_tape_context(anchor=None))
        with pytest.raises(ContextLimitExceeded):
            await turn(agent, "Charge", ScriptedModel([call("charge", card="red"), TOO_LONG]))
        later = ScriptedModel(["Yes."])
        await turn(agent, "Well?", later)
        assert is_fit(later.requests[0]) and answers(later.requests[0]) == [("red", "charged red")] and charged == ["red"]

    run(go)


def test_an_overflow_behind_the_models_own_handoff_keeps_its_summary_and_only_what_came_since():
    async def go():
        charge, _ = charging()
        agent = Agent(tools=[charge, *tape_tools()])
        model = ScriptedModel([call("charge", card="red"), call("tape_handoff", name="halfway", summary="Red is paid."), call("charge", card="blue"), TOO_LONG, "Done."])
        await turn(agent, "Charge both", model)
        last = model.requests[-1]
        assert is_fit(last) and answers(last) == [("blue", "charged blue")] and "Red is paid." in str(said(last))
        assert [a.name for a in await agent.tape("t").anchors()] == ["session/start", "halfway", CONTEXT_OVERFLOW]

    run(go)


@pytest.mark.parametrize("handed", ["by the model", "by a tool"])
def test_what_runs_beside_a_handoff_is_not_forgotten(handed):
    @tool(context=True)
    async def finish_phase(summary: str, *, context: ToolContext) -> str:
        """Finish a phase."""
        await context.tape.handoff("phase", {"summary": summary})
        return "finished"

    async def go():
        charge, charged = charging()
        agent = Agent(tools=[charge, finish_phase, *tape_tools()])
        hands = call("tape_handoff", name="x", summary="So far so good.") if handed == "by the model" else call("finish_phase", summary="So far so good.")
        model = ScriptedModel([[call("charge", card="red"), hands, call("charge", card="blue")], "Done.", "Yes."])
        await turn(agent, "Charge both", model)
        await turn(agent, "Both?", model)
        for request in model.requests[1:]:
            assert is_fit(request) and [card for card, _ in answers(request)] == ["red", "blue"]
            assert len([r for m in request.messages for r in m.results]) == 3
            assert "So far so good." in said(request)[1] and "user: Charge both" not in said(request)
        assert charged == ["red", "blue"]

    run(go)


def test_behind_a_handoff_that_says_nothing_the_model_still_knows_what_it_was_asked():
    async def go():
        charge, _ = charging()
        agent = Agent(tools=[charge, *tape_tools()])
        model = ScriptedModel([[call("charge", card="red"), call("tape_handoff", name="x")], "Done.", "Yes."])
        await turn(agent, "Charge red", model)
        await turn(agent, "Sure?", model)
        for request in model.requests[1:]:
            assert is_fit(request) and said(request).count("user: Charge red") == 1 and answers(request) == [("red", "charged red")]

    run(go)


def test_a_handoff_of_the_budget_watcher_and_an_overflow_in_one_turn_repeat_nothing():
    async def go():
        charge, charged = charging()
        agent = Agent(tools=[charge], plugins=[BudgetWatcher(ContextBudget(max_context_tokens=4_000, compact_after=1))])
        model = ScriptedModel([*[call("charge", card=card) for card in ("a", "b", "c", "d", "e")], TOO_LONG, "Done."])
        events = await turn(agent, "Charge five", model)
        assert charged == ["a", "b", "c", "d", "e"] and sum(isinstance(e, ErrorEvent) for e in events) == 1
        last = model.requests[-1]
        told = str(said(last)) + str(answers(last))
        assert is_fit(last) and "Charge five" in told and "charged e" in told
        names = [a.name for a in await agent.tape("t").anchors()]
        assert names.count(CONTEXT_OVERFLOW) == 1 and "auto_handoff/context_budget" in names

    run(go)


def test_an_overflow_of_the_first_request_asks_the_same_again_and_nothing_else():
    async def go():
        agent, model = Agent(), ScriptedModel([TOO_LONG, "Short."])
        await turn(agent, "Say it", model)
        assert said(model.requests[1])[-1] == "user: Say it"

    run(go)
