"""Calls of tools: told, run, and what stands on the tape by then."""

from __future__ import annotations

import json
import threading

import pytest

import playhead as ph
from playhead.testing import ScriptedModel, call
from tests.unit.llm.test_chat import BEGINNING, asked, shape


@ph.tool
def ping(host: str) -> str:
    """Send one packet."""
    return f"{host} answers"


def weigh(parcel: str) -> dict[str, object]:
    """Weigh a parcel; a plain function."""
    return {"parcel": parcel, "grams": 250}


@ph.tool
def fail() -> str:
    """Fail."""
    raise ZeroDivisionError("no")


SCHEMA = {"type": "function", "function": {"name": "search", "description": "Search.", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}


def test_calls_are_told_in_chat_form_and_none_is_run():
    model = ScriptedModel([["Let me look.", call("ping", host="gw"), call("search", q="mtu")]])
    tape = ph.LLM(model).tape("t")
    calls = tape.tool_calls("Up?", tools=[ping, SCHEMA, ph.ToolSpec(name="none", description="", parameters={})])
    assert [(c["type"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls] == [("function", "ping", {"host": "gw"}), ("function", "search", {"q": "mtu"})]
    assert [tool.name for tool in model.requests[0].tools] == ["ping", "search", "none"]
    assert shape(tape) == [*BEGINNING, "message user", "tool_call", "event run"]


def test_the_results_of_told_calls_are_appended_and_the_next_chat_sees_them():
    model = ScriptedModel([call("search", q="mtu"), "1400."])
    tape = ph.LLM(model).tape("t")
    (told,) = tape.tool_calls("Which MTU?", tools=[SCHEMA])
    tape.append(ph.tool_result_message(told["id"], "mtu 1400", name="search"))
    assert tape.chat("So?") == "1400."
    assert asked(model) == ["user: Which MTU?", "assistant: ", "tool: mtu 1400", "user: So?"]


def test_tools_are_run_once_and_what_they_returned_is_returned():
    model = ScriptedModel([[call("ping", host="gw"), call("weigh", parcel="A1")], "Both are fine."])
    tape = ph.LLM(model).tape("t")
    result = tape.run_tools("Look.", tools=[ping, weigh])
    assert (result.kind, result.text, result.error) == ("tools", None, None)
    assert result.tool_results == ["gw answers", {"parcel": "A1", "grams": 250}]
    assert [c["function"]["name"] for c in result.tool_calls] == ["ping", "weigh"]
    assert shape(tape) == [*BEGINNING, "message user", "tool_call", "tool_result", "tool_result", "event run"]
    assert tape.chat("So?") == "Both are fine."
    assert [line.partition(":")[0] for line in asked(model)] == ["user", "assistant", "tool", "tool", "user"]


def test_an_answer_without_calls_is_words():
    result = ph.LLM(ScriptedModel(["No need."])).run_tools("Look.", tools=[ping])
    assert (result.kind, result.text, result.tool_calls, result.tool_results) == ("text", "No need.", [], [])


def test_a_tool_that_fails_is_told_and_the_others_are_kept():
    tape = ph.LLM(ScriptedModel([[call("fail"), call("ping", host="gw"), call("unknown"), call("ping")]])).tape("t")
    result = tape.run_tools("Look.", tools=[ping, fail])
    assert result.kind == "error"
    assert result.error is not None
    assert result.error.kind is ph.ErrorKind.TOOL
    assert result.tool_results[1] == "gw answers"
    assert [found["kind"] for found in result.tool_results if isinstance(found, dict)] == ["tool", "not_found", "invalid_input"]
    assert shape(tape)[-5:] == ["tool_result"] * 4 + ["event run"]


@pytest.mark.parametrize(
    ("name", "tools", "words"),
    [("run_tools", [], "tools are required"), ("tool_calls", [], "tools are required"), ("run_tools", [SCHEMA, ping], "must be runnable"), ("tool_calls", [3], "A tool is a function")],
)
def test_tools_that_cannot_be_used_are_refused(name: str, tools: list[object], words: str):
    with pytest.raises(ph.LLMError, match=words) as caught:
        getattr(ph.LLM(ScriptedModel([])), name)("Look.", tools=tools)
    assert caught.value.kind == "invalid_input"


def test_a_turn_stands_on_the_tape_before_its_tools_run_and_they_may_write_there():
    seen: list[list[str]] = []

    @ph.tool(context=True)
    def write(*, context: ph.ToolContext) -> str:
        """Write beside the conversation; a blocking tool runs in a thread of its own."""
        assert threading.current_thread() is not threading.main_thread()
        tape = ph.sync.Tape.of(context.tape)
        seen.append([e.kind for e in tape.query()])
        context.state["written"] = True
        tape.append_event("noted", {"run": context.run_id})
        return "written"

    context = ph.default_tape_context()
    tape = ph.LLM(ScriptedModel([call("write"), "ok"]), context=context).tape("t")
    tape.run_tools("Write.", tools=[write])
    assert seen == [["anchor", "event", "message", "tool_call"]]
    assert context.state == {"written": True}
    noted = next(e for e in tape.query.kinds("event").all() if e.payload["name"] == "noted")
    assert noted.payload["data"]["run"] == tape.query.all()[-1].meta["run_id"]
    assert tape.chat("So?") == "ok"


def test_a_tool_that_hands_off_takes_its_round_along():
    @ph.tool(context=True)
    async def next_phase(*, context: ph.ToolContext) -> str:
        """Start a new phase."""
        await context.tape.handoff("next", {"summary": "done so far"})
        return "started"

    model = ScriptedModel([call("next_phase"), "ok"])
    tape = ph.LLM(model).tape("t")
    tape.run_tools("Go on.", tools=[next_phase])
    tape.chat("So?")
    assert [m.role for m in model.requests[-1].messages][-3:] == ["assistant", "tool", "user"]


def test_events_of_tools_come_in_order_and_schemas_alone_are_not_run():
    model = ScriptedModel([["Look: ", call("ping", host="gw")], call("search", q="x")])
    tape = ph.LLM(model).tape("t")
    events = list(tape.stream_events("Look.", tools=[ping]))
    assert [e.kind for e in events] == ["text", "tool_call", "tool_result", "final"]
    assert events[2].data["result"] == "gw answers"
    assert [e.kind for e in tape.stream_events("Search.", tools=[SCHEMA])] == ["tool_call", "final"]
