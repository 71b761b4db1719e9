"""Words to a running turn: pulled at the start of each step, once in effect; and what becomes of a message that comes in."""

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.agent.inbox import MemoryInbox, TapeInbox
from playhead.agent.tools import tool
from playhead.entry.message import user
from playhead.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from playhead.model.scripted import ScriptedModel, call
from tests.unit.agent.runs_lab import ping, run, said, turn

INBOXES = {"memory": lambda tape: MemoryInbox(), "tape": TapeInbox}
pytestmark = pytest.mark.parametrize("kind", list(INBOXES))


class Admits:
    """A plug-in that admits as it is told."""

    def __init__(self, admission):
        self.admission = admission

    async def admit(self):
        return self.admission


def test_words_are_pulled_at_the_start_of_every_step_before_its_request(kind):
    async def go():
        agent = Agent(tools=[], inbox=INBOXES[kind], continue_prompt="")

        @tool
        async def look(place: str) -> str:
            """Look, while somebody writes."""
            await agent.inbox("t").store(user(f"Also look in {place}."))
            return "nothing"

        model = ScriptedModel([call("look", place="a"), call("look", place="b"), "Nothing."])
        await agent.inbox("t").store(user("Hurry."))
        await turn(agent, "Look", model, tools=[look])
        assert [line for line in said(model.requests[2]) if line.startswith("user")] == ["user: Hurry.", "user: Look", "user: Also look in a.", "user: Also look in b."]
        assert said(model.requests[1])[-1] == "user: Also look in a."
        assert await agent.inbox("t").take_pending() == []

    run(go)


def test_words_that_came_too_late_start_the_next_turn(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])

        async def late(request):
            await agent.inbox("t").store(user("Wait!"))
            return "Done."

        model = ScriptedModel([late, "I wait."])
        await turn(agent, "Go", model)
        await turn(agent, "Well?", model)
        assert said(model.requests[1]) == ["user: Go", "assistant: Done.", "user: Wait!", "user: Well?"]

    run(go)


def test_words_of_a_step_that_failed_are_taken_up_by_the_next_turn_and_not_said_twice(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])
        await agent.inbox("t").store(user("Hurry."))
        with pytest.raises(ModelUnavailable):
            await turn(agent, "Go", ScriptedModel([ModelUnavailable("busy", model="m")]))
        model = ScriptedModel(["Yes."])
        await turn(agent, "Go on", model)
        assert said(model.requests[0]) == ["user: Hurry.", "user: Go", "user: Go on"]
        assert await agent.inbox("t").take_pending() == []

    run(go)


def test_words_that_a_dropped_run_had_not_taken_up_are_there_for_the_next(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])
        await agent.inbox("t").store(user("Hurry."))
        with pytest.raises(ModelUnavailable):
            await turn(agent, "Go", ScriptedModel([ModelUnavailable("busy", model="m")]), merge_back=False)
        model = ScriptedModel(["Yes."])
        await turn(agent, "Go on", model)
        assert said(model.requests[0]) == ["user: Hurry.", "user: Go on"]

    run(go)


def test_runs_of_a_session_hear_what_is_said_to_its_tape(kind):
    async def go():
        agent, model = Agent(inbox=INBOXES[kind], plugins=[Admits("steer")]), ScriptedModel(["One.", "Two."])
        async with agent.session("t") as branch:
            await agent.inbox("t").store(user("Hurry."))
            async with agent.run("Go", model=model, tape=branch) as stream:
                assert await agent.submit("Faster!", tape="t") is None
                await stream.text()
        assert said(model.requests[0]) == ["user: Hurry.", "user: Faster!", "user: Go"]

    run(go)


def test_what_is_asked_is_kept_also_where_the_inbox_fails(kind):
    class Broken(MemoryInbox):
        async def take_pending(self, limit=None):
            raise StoreUnavailable("no inbox")

    async def go():
        agent = Agent(inbox=lambda tape: Broken())
        with pytest.raises(StoreUnavailable):
            await turn(agent, "Go", ScriptedModel([]))
        assert [m.text for m in await agent.tape("t").read_messages()] == ["Go"]

    run(go)


def test_a_message_that_is_dropped_makes_no_run_and_one_that_is_processed_makes_one(kind):
    async def go():
        assert await Agent(plugins=[Admits("drop")]).submit("Hi", tape="t") is None
        stream = await Agent(plugins=[Admits("process")]).submit("Hi", tape="t", model=ScriptedModel(["Hello."]))
        async with stream:
            assert await stream.text() == "Hello."

    run(go)


def test_a_word_to_the_running_one_is_given_to_it_and_makes_a_run_where_none_is(kind):
    async def go():
        agent = Agent(tools=[ping], inbox=INBOXES[kind], plugins=[Admits("steer")])
        model = ScriptedModel([call("ping", host="gw"), "Up."])
        stream = await agent.submit("Up?", tape="t", model=model)
        async with stream:
            async for event in stream:
                if event.kind == "tool_call":
                    assert await agent.submit("And gw2?", tape="t", model=model) is None
        assert "user: And gw2?" in said(model.requests[1])
        deaf = Agent(plugins=[Admits("steer")])
        async with deaf.run("Hi", model=ScriptedModel([]), tape="t"):
            with pytest.raises(InvalidInput, match="no inbox"):
                await deaf.submit("And gw2?", tape="t")

    run(go)


def test_messages_that_queue_are_answered_one_after_the_other_in_the_order_they_came(kind):
    async def go():
        agent, answered = Agent(plugins=[Admits("queue")]), []
        go_on = anyio.Event()

        async def slow(request):
            await go_on.wait()
            return "First."

        async def answer(n, model):
            stream = await agent.submit(f"q{n}", tape="t", model=model)
            async with stream:
                answered.append(await stream.text())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer, 0, ScriptedModel([slow]))
            await anyio.wait_all_tasks_blocked()
            for n in range(1, 5):
                tasks.start_soon(answer, n, ScriptedModel([f"a{n}"]))
                await anyio.wait_all_tasks_blocked()
            assert answered == []
            go_on.set()
        assert answered == ["First.", "a1", "a2", "a3", "a4"]
        assert [m.text for m in await agent.tape("t").read_messages()] == ["q0", "First.", "q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"]
        stream = await agent.submit("never opened", tape="t", model=ScriptedModel([]))
        await answer(5, ScriptedModel(["a5"]))
        assert answered[-1] == "a5" and stream.report is None

    run(go)


def test_what_waits_can_be_seen_without_being_taken_until_it_is_taken_up(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])
        inbox = agent.inbox("t")
        ids = [await inbox.store(user(text)) for text in ("One.", "Two.")]
        assert [(id, message.text) for id, message in (await inbox.waiting()).items()] == list(zip(ids, ["One.", "Two."], strict=True))
        first, _ = await inbox.take_pending()
        await inbox.ack(first)
        assert list(await inbox.waiting()) == ids[1:]

    run(go)


def test_a_run_without_a_prompt_asks_with_what_waits(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])
        await agent.inbox("t").store(user("Up?"))
        model = ScriptedModel(["Up."])
        await turn(agent, None, model)
        assert said(model.requests[0]) == ["user: Up?"]
        assert [m.text for m in await agent.tape("t").read_messages()] == ["Up?", "Up."]

    run(go)


def test_a_run_without_a_prompt_asks_again_what_failed_and_says_nothing_twice(kind):
    async def go():
        agent = Agent(inbox=INBOXES[kind])
        await agent.inbox("t").store(user("Up?"))
        with pytest.raises(ModelUnavailable):
            await turn(agent, None, ScriptedModel([ModelUnavailable("busy", model="m")]))
        await turn(agent, None, ScriptedModel(["Up."]))
        assert [m.text for m in await agent.tape("t").read_messages()] == ["Up?", "Up."]

    run(go)
