"""Answers of models that keep no promise, and of those that say very much."""

import asyncio
import base64
from contextlib import asynccontextmanager

import anyio
import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import ToolResultEvent
from playhead.agent.tools import tool
from playhead.entry.message import Media, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from playhead.errors import BadReply, InvalidInput, ModelError, ModelUnavailable, StoreUnavailable
from playhead.model.protocol import CallReady, Reply, TextDelta, Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.store.memory.store import InMemoryTapeStore
from playhead.wire.providers import FORMATS, request_body
from tests.unit.agent.bodies import faults
from tests.unit.agent.runs_lab import ping, run, said, turn


class Says:
    """A model that yields what it is given, and then raises."""

    name = "own:model"
    context_limit = None

    def __init__(self, *events, error=None):
        self._events = events
        self._error = error

    @asynccontextmanager
    async def stream(self, request):
        yield self._said()

    async def _said(self):
        for event in self._events:
            yield event
        if self._error is not None:
            raise self._error


def is_fit(messages):
    return all(faults(provider, request_body(provider, messages, model="any")) == [] for provider in FORMATS)


async def goes_on(agent):
    """Return what the model sees of the tape in the next turn."""
    model = ScriptedModel(["Yes."])
    await turn(agent, "Still there?", model)
    assert is_fit(model.requests[0].messages)
    return said(model.requests[0])


@pytest.mark.parametrize(
    "events",
    [
        [None],
        ["words"],
        [{"text": "words"}],
        [ValueError("x")],
        [TextDelta(text=None)],
        [CallReady(call=None)],
        [Reply(message=None)],
        [Reply(message="words")],
        [Reply(message=assistant("words"), usage=7)],
        [Reply(message=assistant("words"), model=7)],
        [Reply(message=user("words"))],
        [Reply(message=Message(role="assistant", content=(ToolResult(call_id="a", content="b"),)))],
        [],
        [TextDelta(text="Half an ans")],
        [TextDelta(text="All of it."), Reply(message=assistant(""))],
        [CallReady(call=ToolCall(id="1", name="ping", arguments={"host": "a"})), Reply(message=assistant("Done."))],
    ],
)
def test_an_answer_that_is_none_is_a_bad_reply_and_the_words_of_it_are_kept(events):
    async def go():
        agent = Agent(tools=[ping])
        with pytest.raises(BadReply, match="own:model"):
            await turn(agent, "Hi", Says(*events))
        heard = "".join(e.text for e in events if isinstance(e, TextDelta) and e.text)
        assert (await goes_on(agent))[: 2 if heard else 1] == ["user: Hi", *([f"assistant: {heard}"] if heard else [])]

    run(go)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError(1), OSError("net"), StopAsyncIteration(), RecursionError("deep"), MemoryError()])
def test_what_a_model_raises_is_a_model_error_and_its_cause_is_kept(error):
    async def go():
        agent = Agent(model=Says(TextDelta(text="I "), error=error))
        with pytest.raises(ModelError, match="own:model failed with") as raised:
            async with agent.run("Hi", tape="t") as stream:
                await stream.text()
        assert raised.value.__cause__ is not None
        assert await goes_on(agent) == ["user: Hi", "assistant: I ", "user: Still there?"]

    run(go)


def test_a_model_that_raises_anything_before_it_speaks_is_followed_by_the_next_one():
    async def go():
        async with Agent(model=Says(error=OSError("net")), fallbacks=[ScriptedModel(["I answer."])]).run("Hi", tape="t") as stream:
            assert await stream.text() == "I answer."
            runs = [e.payload["data"] for e in await stream.tape.query().kinds("event").all() if e.payload["name"] == "run"]
        assert [(facts["status"], facts["model"]) for facts in runs] == [("ok", "script")]

    run(go)


def test_a_cancellation_that_is_not_the_runs_own_is_an_error():
    async def go():
        agent = Agent()
        with pytest.raises(ModelUnavailable, match="cancelled by something else"):
            await turn(agent, "Hi", Says(TextDelta(text="I "), error=asyncio.CancelledError()))
        assert len(await goes_on(agent)) == 3

    run(go)


def test_a_model_whose_stream_is_no_context_manager_is_told_how_to_make_it_one():
    class Bare(Says):
        async def stream(self, request):
            yield TextDelta(text="Hi")

    class Coroutine(Says):
        async def stream(self, request):
            return []

    async def go():
        for model in (Bare(), Coroutine()):
            with pytest.raises(InvalidInput, match="asynccontextmanager"):
                await turn(Agent(), "Hi", model)

    run(go)


def test_calls_without_id_and_with_the_id_of_another_are_all_run_and_answered():
    async def go():
        calls = [ToolCall(id=id, name="ping", arguments={"host": host}) for id, host in [("", "a"), ("", "b"), ("x", "c"), ("x", "d"), ("x", "e")]]
        message = Message(role="assistant", content=(Thinking(text="Hm.", signature="s", provider="own", model="model"), *calls))
        agent = Agent(tools=[ping])
        problems = {"x": "The arguments are no JSON object."}

        class Twice(Says):
            @asynccontextmanager
            async def stream(self, request):
                self.request = request
                yield self._turns(request)

            async def _turns(self, request):
                yield Reply(message=assistant("Done.") if request.messages[-1].role != "user" or len(request.messages) > 1 else message, problems=problems)

        model = Twice()
        events = await turn(agent, "Go", model)
        answers = [e.result for e in events if isinstance(e, ToolResultEvent)]
        assert len({answer.call_id for answer in answers}) == 5 and "" not in {answer.call_id for answer in answers}
        assert sorted(answer.content for answer in answers if not answer.is_error) == ["a answers", "b answers"]
        assert sum("no JSON object" in answer.content for answer in answers) == 3
        assert is_fit(model.request.messages)

    run(go)


def test_an_empty_answer_ends_the_turn_and_the_next_request_is_sound():
    async def go():
        agent = Agent()
        assert (await turn(agent, "Hi", Says(Reply(message=assistant("")))))[-1].data == {"text": "", "ok": True, "last": True, "stop": "end"}
        assert (await goes_on(agent))[-1] == "user: Still there?"

    run(go)


def test_a_thousand_calls_in_one_answer_are_run_and_answered_in_order():
    async def go():
        done = []

        @tool
        async def note(n: int) -> int:
            """Note a number."""
            await anyio.lowlevel.checkpoint()
            done.append(n)
            return n

        agent = Agent(tools=[note])
        model = ScriptedModel([[call("note", n=n) for n in range(1000)], "Done."])
        await turn(agent, "Go", model)
        assert sorted(done) == list(range(1000))
        assert [r.content for m in model.requests[1].messages for r in m.results] == [str(n) for n in range(1000)]
        assert is_fit(model.requests[1].messages)

    run(go)


def test_thirty_megabytes_of_words_in_small_pieces_are_heard_in_linear_time():
    async def go():
        agent = Agent()
        async with agent.run("Talk", model=Flood("word " * 200, 30_000), tape="t") as stream:
            assert len(await stream.text()) == 30_000_000
        (answer,) = [e for e in await agent.tape("t").query().kinds("message").all() if e.payload["role"] == "assistant"]
        assert len(answer.payload["content"]) == 30_000_000

    run(go)


class Flood(Says):
    """A model that says one piece very often."""

    def __init__(self, piece, times):
        self._piece = piece
        self._times = times

    async def _said(self):
        for _ in range(self._times):
            yield TextDelta(text=self._piece)
        yield Reply(message=assistant(self._piece * self._times), usage=Usage(input=1, output=1))


def test_a_tool_that_returns_thirty_megabytes_or_raises_what_cannot_be_shown_is_told_to_the_model():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no words")

        __repr__ = __str__

    @tool
    def flood() -> str:
        """Return much."""
        return "x" * 30_000_000

    @tool
    def mute() -> str:
        """Fail without words."""
        raise Mute

    async def go():
        agent = Agent(tools=[flood, mute])
        model = ScriptedModel([[call("flood"), call("mute")], "Done."])
        await turn(agent, "Go", model)
        results = [r for m in model.requests[1].messages for r in m.results]
        assert [r.is_error for r in results] == [False, True] and "Mute" in str(results[1].content)

    run(go)


def test_text_beside_media_and_words_of_a_turn_are_one_answer():
    async def go():
        agent = Agent()
        await turn(agent, "Hi", Says(TextDelta(text="One. "), TextDelta(text="Two."), Reply(message=Message(role="assistant", content=(Text(text="One. "), Text(text="Two."))))))
        assert (await goes_on(agent))[1].replace("\n", "") == "assistant: One. Two."

    run(go)


def test_a_result_whose_media_nobody_can_keep_is_kept_without_them(caplog):
    class NoBlobs(InMemoryTapeStore):
        async def put_blob(self, data, *, mime=None):
            raise StoreUnavailable("the disk is full")

    @tool
    def draw() -> list:
        """Draw a picture, once."""
        return ["A picture:", Media(kind="image", mime="image/png", data=base64.b64encode(b"PNG" * 50).decode())]

    async def go():
        model = ScriptedModel([call("draw"), "Done."])
        await turn(Agent(store=NoBlobs(), tools=[draw]), "Draw", model)
        (result,) = [r for m in model.requests[1].messages for r in m.results]
        assert [part.text.split(":")[0] for part in result.content] == ["A picture", "[image not kept"]

    run(go)
    assert "could not be kept" in caplog.text


def test_a_final_event_says_that_an_answer_was_cut_off():
    async def go():
        events = await turn(Agent(), "Hi", ScriptedModel([Reply(message=assistant("Half an ans"), stop="length")]))
        assert events[-1].data == {"text": "Half an ans", "ok": True, "last": True, "stop": "length"}

    run(go)
