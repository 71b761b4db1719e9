from __future__ import annotations

from typing import Any

import pytest

from playhead.entry.message import Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
from playhead.errors import UnstorableValue, WireError
from playhead.wire.openai_chat import dump, load
from playhead.wire.rounds import FAILED


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}


def turn(**fields: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", **fields}, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]


def back(messages: list[dict[str, Any]], *, model: str | None = None) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = dump(load(messages, model=model), model=model)["messages"]
    return written


@pytest.mark.parametrize("content", [{"content": None}, {"content": ""}, {}, {"content": "so"}, {"content": [{"type": "text", "text": "so"}]}])
def test_every_spelling_of_a_turns_content_comes_back(content: dict[str, Any]):
    messages = turn(**content, tool_calls=[call("{}")])
    assert back(messages) == messages


def test_no_content_is_no_part():
    assert load(turn(content=None, tool_calls=[call("{}")]))[0].content == (ToolCall(id="c1", name="look"),)


@pytest.mark.parametrize("arguments", ['{"a": 1}', '{"a":1}', '{"b":1,"a":2.0}', "", "no json", "[1]", '{"a":"\\u00e9"}', '{"n":123456789012345678901234567890}'])
def test_arguments_come_back_as_they_were_spelled(arguments: str):
    messages = turn(content=None, tool_calls=[call(arguments)])
    assert back(messages) == messages


def test_arguments_are_an_object_to_read():
    spoken = [load(turn(tool_calls=[call(a)]))[0].calls[0].arguments for a in ('{"a": 1}', "", "no json")]
    assert spoken == [{"a": 1}, {}, {"_unparsed": "no json"}]


def test_a_spelling_that_no_longer_says_the_same_is_not_sent():
    loaded = load(turn(tool_calls=[call('{"key": "secret"}')]))[0].calls[0]
    masked = ToolCall(id=loaded.id, name=loaded.name, arguments={"key": "***"}, extra=loaded.extra)  # type: ignore[arg-type]
    assert dump([assistant(calls=[masked]), tool_result_message("c1")])["messages"][0]["tool_calls"] == [call('{"key":"***"}')]


def test_developer_is_read_as_system_and_comes_back_as_developer():
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}, {"role": "system", "content": "Now in French."}]
    assert [m.role for m in load(messages)] == ["system", "user", "system"]
    assert back(messages) == messages


def test_what_has_no_neutral_form_comes_back():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}, {"type": "x_part", "x": 1}], "x_trace": 7},
        {"role": "assistant", "content": "yes", "refusal": None, "annotations": [], "audio": None},
        *turn(content=None, tool_calls=[call("{}", extra_content={"google": {"thought_signature": "s"}})]),
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    ]
    assert back(messages) == messages


def test_what_only_other_providers_know_is_not_sent():
    item = ProviderItem(provider="anthropic", value={"type": "server_tool_use"})  # type: ignore[arg-type]
    claude = Text(text="hi", extra={"anthropic": {"citations": []}})  # type: ignore[arg-type]
    assert dump([user((claude, item))])["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_a_refusal_is_the_assistants_words():
    (message,) = load([{"role": "assistant", "content": None, "refusal": "I cannot."}])
    assert message.text == "I cannot."
    assert dump([message])["messages"] == [{"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}]


def test_a_refusal_among_other_words_is_sent_as_text():
    messages = load([{"role": "assistant", "content": "Well.", "refusal": "I cannot."}])
    assert dump(messages)["messages"] == [{"role": "assistant", "content": [{"type": "text", "text": "Well."}, {"type": "text", "text": "I cannot."}]}]


def test_reasoning_goes_back_to_its_model_only():
    messages = turn(content=None, reasoning_content="hm", tool_calls=[call("{}")])
    loaded = load(messages, model="deepseek-reasoner")
    assert loaded[0].parts[0] == Thinking(text="hm", provider="openai", model="deepseek-reasoner")
    assert dump(loaded, model="deepseek-reasoner")["messages"] == messages
    assert "reasoning_content" not in dump(loaded, model="gpt-5")["messages"][0]
    assert "reasoning_content" not in dump(loaded)["messages"][0]


def test_the_body_says_which_model_reasoned():
    (message,) = load({"model": "qwen3", "messages": [{"role": "assistant", "content": "4", "reasoning": "2+2"}]})
    assert message.parts[0] == Thinking(text="2+2", provider="openai", model="qwen3", extra={"openai": {"reasoning": "2+2"}})  # type: ignore[arg-type]


def test_reasoning_that_cannot_keep_its_place_stays_behind():
    thinking = Thinking(text="hm", provider="openai", model="m")
    late = assistant((Text(text="so"), thinking))
    twice = assistant((thinking, thinking, Text(text="so")))
    assert dump([late, twice], model="m")["messages"] == [{"role": "assistant", "content": "so"}] * 2


def test_empty_messages_are_left_out():
    messages = [user(""), assistant(""), assistant(()), system(""), user((Text(text=""),)), user("hi"), assistant((Thinking(text="hm"),))]
    assert dump(messages)["messages"] == [{"role": "user", "content": "hi"}]


def test_an_empty_answer_is_sent_and_an_empty_failure_says_so():
    messages = [assistant(calls=[ToolCall(id="c1", name="look"), ToolCall(id="c2", name="look")]), tool_result_message("c1"), tool_result_message("c2", is_error=True)]
    assert [m["content"] for m in dump(messages)["messages"][1:]] == ["", FAILED]


def test_a_failures_words_are_sent_as_they_are():
    messages = [assistant(calls=[ToolCall(id="c1", name="look")]), tool_result_message("c1", "no such file", is_error=True)]
    assert dump(messages)["messages"][1] == {"role": "tool", "tool_call_id": "c1", "content": "no such file"}


def test_the_old_form_of_calls_is_read_and_written_in_the_new_one():
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "ok"},
    ]
    written = back(old)
    call_id = written[0]["tool_calls"][0]["id"]
    assert call_id
    assert written[1] == {"role": "tool", "tool_call_id": call_id, "name": "look", "content": "ok"}


def test_a_custom_tools_text_is_an_argument_elsewhere_and_text_here():
    messages = turn(content=None, tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}])
    assert load(messages)[0].calls[0].arguments == {"input": "select 1"}
    assert back(messages) == messages


def test_half_of_a_surrogate_pair_is_replaced_and_kept_in_the_record():
    loaded = load([{"role": "user", "content": "a\ud800b"}])
    assert loaded[0].content == "a\ud800b"
    assert dump(loaded)["messages"] == [{"role": "user", "content": "a\ufffdb"}]


def test_half_of_a_surrogate_pair_in_arguments_is_replaced_too():
    messages = turn(content=None, tool_calls=[call('{"a": "\\ud800"}')])
    assert load(messages)[0].calls[0].arguments == {"a": "\ud800"}
    assert back(messages)[0]["tool_calls"] == [call('{"a":"\ufffd"}')]


def test_a_whole_body_a_list_and_one_message_are_read_alike():
    message = {"role": "user", "content": "hi"}
    assert load({"messages": [message]}) == load([message]) == load(message) == (user("hi"),)


def test_a_results_parts_and_name_are_read():
    messages = turn(content=None, tool_calls=[call("{}")])
    messages[1] |= {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "look"}
    assert load(messages)[1].results == (ToolResult(call_id="c1", content=(Text(text="a"), Text(text="b")), name="look"),)
    assert back(messages) == messages


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": {"role": "user"}}, "messages"),
        ("hello", "messages"),
        (b"hello", "messages"),
        (7, "messages"),
        (["hello"], "messages[0]"),
        ([None], "messages[0]"),
        ([{"role": "user", "content": "hi"}, {"content": "hi"}], "messages[1].role"),
        ([{"role": "narrator", "content": "hi"}], "messages[0].role"),
        ([{"role": ["user"], "content": "hi"}], "messages[0].role"),
        ([{"role": "user", "content": 7}], "messages[0].content"),
        ([{"role": "user", "content": [7]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text", "text": 7}]}], "messages[0].content[0].text"),
        ([{"role": "assistant", "tool_calls": "look"}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": ["look"]}], "messages[0].tool_calls[0]"),
        ([{"role": "assistant", "tool_calls": [{"id": "c1"}]}], "messages[0].tool_calls[0].function"),
        ([{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"arguments": "{}"}}]}], "messages[0].tool_calls[0].function.name"),
        ([{"role": "assistant", "refusal": 7}], "messages[0].refusal"),
    ],
)
def test_what_is_no_message_is_refused_with_its_path(body: Any, where: str):
    with pytest.raises(WireError) as caught:
        load(body)
    assert caught.value.where == where
    assert caught.value.kind == "wire"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: 2}])
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any):
    with pytest.raises(UnstorableValue) as caught:
        load([{"role": "user", "content": "hi", "x": value}])
    assert caught.value.path.startswith("messages[0].x")


def test_a_message_equal_to_itself_has_equal_bytes_in_any_order_of_keys():
    one = load([{"role": "user", "content": "hi", "name": "ann"}])
    other = load([{"name": "ann", "content": "hi", "role": "user"}])
    assert str(dump(one)) == str(dump(other))
    assert one == other == (Message(role="user", content="hi", name="ann"),)
