"""Answers as they come: words and events, blocking and awaited, kept when the iteration ends, however it ends."""

from __future__ import annotations

import anyio
import pytest

import playhead as ph
from playhead.testing import ScriptedModel, call
from tests.unit.llm.test_chat import BEGINNING, TURN, shape


def test_words_come_one_by_one_and_the_call_is_kept_at_their_end():
    tape = ph.LLM(ScriptedModel([["one ", "two", ph.Usage(input=4, output=2)]])).tape("t")
    stream = tape.stream("Count.")
    assert shape(tape) == []
    assert list(stream) == ["one ", "two"]
    assert (stream.usage.total, stream.error) == (6, None)
    assert shape(tape) == [*BEGINNING, *TURN]
    assert list(stream) == []


def test_events_come_as_those_of_an_agent():
    tape = ph.LLM(ScriptedModel([[ph.Thinking(text="Hm."), "one", ph.Usage(input=4, output=2)]])).tape("t")
    stream = tape.stream_events("Count.")
    assert [(e.kind, e.data.get("delta") or e.data.get("text")) for e in stream] == [("reasoning", "Hm."), ("text", "one"), ("usage", None), ("final", "one")]
    assert stream.usage.output == 2


@pytest.mark.parametrize("name", ["stream", "stream_events"])
@pytest.mark.parametrize("way", ["break", "block", "close"])
def test_a_stream_that_is_left_early_keeps_what_had_come(name: str, way: str):
    tape = ph.LLM(ScriptedModel([["one ", "two ", "three"], "Again."])).tape("t")
    stream = getattr(tape, name)("Count.")
    if way == "break":
        for _ in stream:
            break
    elif way == "block":
        with stream:
            next(iter(stream))
    else:
        iter(stream).__next__()
        stream.aclose()
        stream.aclose()
    assert shape(tape)[:3] == [*BEGINNING, "message user"]
    assert shape(tape)[-1] == "event run"
    assert tape.query.kinds("message").all()[0].payload["content"] == "Count."
    assert tape.chat("Again?") == "Again."


def test_a_stream_that_is_never_begun_asks_nobody():
    model = ScriptedModel([])
    tape = ph.LLM(model).tape("t")
    tape.stream("Count.")
    with tape.stream_events("Count."):
        pass
    assert (shape(tape), model.requests) == ([], [])


def test_an_error_comes_behind_the_words_and_stays_with_the_stream():
    tape = ph.LLM(ScriptedModel([["half an ", ph.ModelUnavailable("Busy.")]])).tape("t")
    stream, heard = tape.stream("Hi."), []
    with pytest.raises(ph.LLMError, match="Busy") as caught:
        heard += stream
    assert stream.error is caught.value
    assert shape(tape) == [*BEGINNING, "message user", "message assistant", "error temporary", "event run"]


def test_the_last_events_of_a_failure_say_so():
    events, stream = [], ph.LLM(ScriptedModel([["half an ", ph.ModelUnavailable("Busy.")]])).stream_events("Hi.")
    with pytest.raises(ph.LLMError):
        events += ((event.kind, event.data) for event in stream)
    assert events[0] == ("text", {"delta": "half an "})
    assert events[1][0] == "error"
    assert (events[1][1]["kind"], events[1][1]["message"]) == ("temporary", "Busy.")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_streams_are_awaited_too(backend: str):
    @ph.tool
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing in {place}"

    llm = ph.LLM(ScriptedModel([["one ", "two"], [call("look", place="here")], ["x", ph.ModelRefused("No.")], ["a", "b"]]))
    tape = llm.tape("t")

    async def go() -> None:
        assert [delta async for delta in await tape.stream_async("Count.")] == ["one ", "two"]
        assert [event.kind async for event in await tape.stream_events_async("Look.", tools=[look])] == ["tool_call", "tool_result", "final"]
        async with await tape.stream_async("Fail.") as stream:
            with pytest.raises(ph.LLMError):
                assert [delta async for delta in stream] == []
        async with await llm.stream_async("Alone.") as alone:
            assert [delta async for delta in alone] == ["a", "b"]

    anyio.run(go, backend=backend)
    assert [e.payload["data"]["status"] for e in tape.query.kinds("event").all() if e.payload["name"] == "run"] == ["ok", "ok", "error"]
