"""A scripted model says what it was told, in the forms a script may have, and complains where a provider would."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead.testing import ScriptedModel, call

HELLO = ph.ModelRequest(messages=(ph.user("Is gw-3 up?"),))


def said(model: ph.Model, request: ph.ModelRequest = HELLO) -> list[Any]:
    """Return the events of the next turn; an error is the last of them."""

    async def listen() -> list[Any]:
        events: list[Any] = []
        try:
            async with model.stream(request) as stream:
                async for event in stream:
                    events.append(event)  # noqa: PERF401 - what came before a failure stays
        except Exception as error:  # noqa: BLE001 - a script raises what it likes
            events.append(error)
        return events

    return anyio.run(listen)


def reply_of(model: ph.Model) -> ph.Reply:
    return anyio.run(model.complete, HELLO)


def test_a_text_is_a_turn():
    events = said(ScriptedModel(["It is up."]))
    assert events == [ph.TextDelta(text="It is up."), ph.Reply(message=ph.assistant("It is up."), model="scripted:script")]


def test_a_call_is_a_turn_and_gets_an_id():
    model = ScriptedModel([call("ping", host="gw-3"), [call("ping"), ph.ToolCall(id="mine", name="look")]])
    first, second = reply_of(model), reply_of(model)
    assert [(c.id, c.name, c.arguments) for c in (*first.calls, *second.calls)] == [("call_1", "ping", {"host": "gw-3"}), ("call_2", "ping", {}), ("mine", "look", {})]
    assert first.stop == "tool_calls"


def test_several_pieces_are_one_turn_in_order():
    events = said(ScriptedModel([[ph.Thinking(text="Hm."), "Let me ", "look.", call("ping"), ph.Usage(input=7, output=2)]]))
    assert events[:4] == [ph.ReasoningDelta(text="Hm."), ph.TextDelta(text="Let me "), ph.TextDelta(text="look."), ph.CallReady(call=ph.ToolCall(id="call_1", name="ping"))]
    assert events[4].message.content == (ph.Thinking(text="Hm."), ph.Text(text="Let me look."), ph.ToolCall(id="call_1", name="ping"))
    assert events[4].usage == ph.Usage(input=7, output=2)


def test_raw_events_are_said_as_they_are():
    bad = ph.CallReady(call=ph.ToolCall(id="c", name="ping"), problem="No JSON.")
    events = said(ScriptedModel([[ph.TextDelta(text="a"), ph.ReasoningDelta(text="b"), bad]]))
    assert events[:3] == [ph.TextDelta(text="a"), ph.ReasoningDelta(text="b"), bad]
    assert events[3].problems == {"c": "No JSON."}


def test_a_message_and_a_reply_are_turns():
    whole = ph.Reply(message=ph.assistant([ph.Thinking(text="Hm."), ph.Text(text="No.")]), stop="refusal")
    model = ScriptedModel([ph.assistant("Yes.", calls=[call("look")]), whole])
    assert reply_of(model).calls[0].id == "call_1"
    assert said(model) == [ph.ReasoningDelta(text="Hm."), ph.TextDelta(text="No."), whole]


def test_an_error_is_raised_where_it_stands():
    model = ScriptedModel([ph.ModelUnavailable("Busy."), ["Half", ValueError], [KeyError("k")]])
    assert isinstance(said(model)[0], ph.ModelUnavailable)
    half = said(model)
    assert half[0] == ph.TextDelta(text="Half")
    assert isinstance(half[1], ValueError)
    assert isinstance(said(model)[0], KeyError)


def test_a_function_answers_the_request():
    async def later(request: ph.ModelRequest) -> str:
        return request.messages[0].text.upper()

    async def pieces(request: ph.ModelRequest) -> AsyncIterator[str]:
        yield "one "
        yield "two"

    model = ScriptedModel([lambda request: [f"{len(request.messages)} message"], later, pieces])
    assert [reply_of(model).text for _ in range(3)] == ["1 message", "IS GW-3 UP?", "one two"]


def test_it_keeps_the_requests_and_counts_what_is_left():
    model = ScriptedModel(["a", "b"])
    reply_of(model)
    assert model.requests == [HELLO]
    assert model.left == 1


def test_past_its_end_it_says_who_asked_what():
    model = ScriptedModel(["a"])
    reply_of(model)
    with pytest.raises(ph.BadReply, match=r"script of 1 turn\(s\) is over, and request 2 asks: 'user: Is gw-3 up\?'"):
        reply_of(model)


def test_a_request_no_provider_takes_is_refused():
    open_call = ph.ModelRequest(messages=(ph.user("go"), ph.assistant("", calls=[ph.ToolCall(id="c", name="ping")])))
    assert isinstance(said(ScriptedModel(["a"]), open_call)[0], ph.WireError)
    assert isinstance(said(ScriptedModel(["a"]), ph.ModelRequest(messages=()))[0], ph.NothingToSend)


def test_what_is_no_script_is_refused():
    with pytest.raises(ph.InvalidInput, match="list of turns"):
        ScriptedModel("It is up.")
    assert isinstance(said(ScriptedModel([[3]]))[0], ph.InvalidInput)


def test_it_is_a_model_and_closes():
    async def use() -> str:
        async with ScriptedModel(["a"], name="scripted:mine", context_limit=9) as model:
            assert isinstance(model, ph.Model)
            assert (model.name, model.context_limit) == ("scripted:mine", 9)
            return (await model.complete(HELLO)).text

    assert anyio.run(use) == "a"


TURNS: list[Any] = [
    "It is up.",
    [{"reasoning": "Hm."}, "Let me look.", {"call": "ping", "arguments": {"host": "gw-3"}}, {"usage": {"input": 7, "output": 2}}],
    {"call": "ping", "arguments": '{"host": '},
    {"error": "context_limit", "limit": 100, "needed": 200},
    ["Half", {"error": "unavailable", "message": "Busy.", "retry_after": 3}],
    {"type": "text", "text": "As a part."},
]


@pytest.mark.parametrize("written", [json.dumps(TURNS, indent=1), "\n".join(json.dumps(t) for t in TURNS), "\n\n".join(json.dumps(t) for t in TURNS)], ids=["a list", "lines", "blank lines"])
def test_a_file_holds_a_script(tmp_path: Path, written: str):
    (tmp_path / "script.json").write_text(written, encoding="utf-8")
    model = ph.get_model(f"scripted:{tmp_path / 'script.json'}")
    assert reply_of(model).text == "It is up."
    second = reply_of(model)
    assert (second.message.content[0], second.calls[0].arguments, second.usage) == (ph.Thinking(text="Hm."), {"host": "gw-3"}, ph.Usage(input=7, output=2))
    assert reply_of(model).problems.keys() == {"call_2"}
    limit = said(model)[0]
    assert (type(limit), limit.limit, limit.needed) == (ph.ContextLimitExceeded, 100, 200)
    half, busy = said(model)
    assert (half.text, busy.message, busy.retry_after) == ("Half", "Busy.", 3)
    assert reply_of(model).text == "As a part."


def test_a_file_of_lists_a_line_is_a_script(tmp_path: Path):
    (tmp_path / "s.jsonl").write_text('["a", "b"]\n["c"]\n', encoding="utf-8")
    model = ph.get_model(f"scripted:{tmp_path / 's.jsonl'}")
    assert [reply_of(model).text for _ in range(2)] == ["ab", "c"]


@pytest.mark.parametrize(
    ("written", "line"), [('"a"\n{"what": 1}\n', 2), ('"a"\n{what\n', 2), ("17\n", 1), ('{"error": "bad luck"}\n', 1), ('{"usage": {"tokens": 1}}\n', 1), ('{"call": "x", "arguments": 3}\n', 1)]
)
def test_what_is_no_turn_is_told_with_its_line(tmp_path: Path, written: str, line: int):
    (tmp_path / "s.jsonl").write_text(written, encoding="utf-8")
    with pytest.raises(ph.UnreadableFile) as caught:
        ph.get_model(f"scripted:{tmp_path / 's.jsonl'}")
    assert caught.value.line == line


def test_a_script_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ph.FileMissing):
        ph.get_model(f"scripted:{tmp_path / 'none.json'}")


def test_echo_says_the_last_words_of_the_user():
    request = ph.ModelRequest(messages=(ph.system("Be brief."), ph.user("First."), ph.assistant("Yes?"), ph.user("Second.")))
    assert said(ph.get_model("echo:"), request) == [ph.TextDelta(text="Second."), ph.Reply(message=ph.assistant("Second."), model="echo:")]
    assert said(ph.get_model("echo:"), ph.ModelRequest(messages=()))[-1].text == ""
