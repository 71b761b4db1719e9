from __future__ import annotations

from typing import Any

import pytest

from playhead.entry.message import Message, ProviderItem, Text, Thinking, ToolCall, assistant, system, tool_result_message, user
from playhead.errors import WireError
from playhead.wire.openai_responses import dump, load
from playhead.wire.rounds import FAILED

MODEL = "gpt-5"
ASK = {"type": "message", "role": "user", "content": "go"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "opaque"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"a": 1}', "status": "completed"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
SAID = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}],
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def sent(*messages: Message, model: str | None = None) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = dump(messages, model=model)["input"]
    return written


def back(items: list[dict[str, Any]], *, model: str | None = MODEL) -> list[dict[str, Any]]:
    return sent(*load(items, model=MODEL), model=model)


def test_a_whole_conversation_comes_back_word_for_word():
    items = [ASK, REASONING, CALL, OUTPUT, {**REASONING, "id": "rs_2"}, SEARCH, SAID]
    assert back(items) == items


def test_all_the_model_does_at_once_is_one_turn():
    messages = load([ASK, REASONING, CALL, OUTPUT, SEARCH, SAID], model=MODEL)
    assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].parts[0] == Thinking(text="hm", signature="opaque", provider="openai-responses", model=MODEL, extra={"openai-responses": {"id": "rs_1"}})  # type: ignore[arg-type]
    assert messages[3].text == "Done."


@pytest.mark.parametrize("model", [None, "gpt-5-mini"])
def test_without_its_reasoning_a_turn_goes_without_ids_and_without_the_servers_items(model: str | None):
    items = [ASK, REASONING, SEARCH, SAID, CALL, {**OUTPUT, "id": "fco_1"}]
    without = [{k: v for k, v in i.items() if k != "id"} for i in (ASK, SAID, CALL, OUTPUT)]
    assert back(items, model=model) == without


def test_reasoning_taken_out_on_the_way_takes_the_ids_with_it():
    turn = load([REASONING, CALL, OUTPUT], model=MODEL)
    stripped = Message(role="assistant", content=tuple(p for p in turn[0].parts if not isinstance(p, Thinking)), extra=turn[0].extra)
    assert "id" not in sent(stripped, turn[1], model=MODEL)[0]


def test_ids_of_a_turn_that_never_reasoned_come_back():
    assert back([ASK, SEARCH, SAID], model=None) == [ASK, SEARCH, SAID]


def test_a_turn_never_ends_in_reasoning():
    assert back([ASK, SAID, REASONING]) == [ASK, {k: v for k, v in SAID.items() if k != "id"}]
    assert back([ASK, REASONING]) == [ASK]


def test_reasoning_goes_whole_or_not_at_all():
    foreign = Thinking(text="x", provider="anthropic", signature="s", model=MODEL)
    turn = load([REASONING, SAID], model=MODEL)[0]
    mixed = Message(role="assistant", content=(foreign, *turn.parts), extra=turn.extra)
    assert [i["type"] for i in sent(mixed, model=MODEL)] == ["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": []},
        {"summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        {"summary": [], "content": [{"type": "reasoning_text", "text": "raw"}], "encrypted_content": None},
        {"summary": [{"type": "summary_text", "text": ""}], "status": "completed"},
    ],
)
def test_every_spelling_of_reasoning_comes_back(fields: dict[str, Any]):
    items = [ASK, {"type": "reasoning", "id": "rs_1", **fields}, SAID]
    assert back(items) == items


def test_the_words_of_reasoning_are_read_from_wherever_they_stand():
    raw = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "raw"}]}
    two = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]}
    assert [p.text for p in load([raw, two, SAID])[0].parts if isinstance(p, Thinking)] == ["raw", "a\n\nb"]


def test_instructions_are_the_first_message_and_come_back():
    body = {"instructions": "Be brief.", "input": [ASK]}
    messages = load(body)
    assert messages[0].role == "system"
    assert messages[0].text == "Be brief."
    assert dump(messages) == body
    assert "instructions" not in dump([system("Be brief."), user("hi")])


def test_instructions_behind_something_else_are_an_ordinary_message():
    assert sent(system("First."), *load({"instructions": "Be brief.", "input": []})) == [
        {"type": "message", "role": "system", "content": "First."},
        {"type": "message", "role": "system", "content": "Be brief."},
    ]


def test_a_response_is_read_like_a_request():
    response = {"object": "response", "model": "gpt-5-2025-08-07", "instructions": "Be brief.", "output": [REASONING, SAID]}
    (message,) = load(response)
    assert dump([message], model="gpt-5") == {"input": [REASONING, SAID]}


def test_a_bare_text_is_the_users():
    assert load({"input": "hi"}) == (user("hi"),)


def test_the_type_of_a_message_may_be_left_out():
    assert load([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]) == (user("hi"), assistant("yes"))


def test_developer_is_read_as_system_and_comes_back_as_developer():
    items = [{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}, ASK]
    assert load(items)[0].role == "system"
    assert back(items) == items


def test_plain_words_of_the_assistant_are_a_plain_text():
    assert sent(assistant("yes")) == sent(assistant((Text(text="yes"),))) == [{"type": "message", "role": "assistant", "content": "yes"}]


def test_two_messages_of_one_turn_stay_two():
    items = [{"type": "message", "role": "assistant", "content": "a"}, {"type": "message", "role": "assistant", "content": "b"}, {**SAID, "id": "msg_2"}]
    assert back(items) == items
    assert len(load(items)) == 1


def test_words_and_calls_keep_their_order():
    turn = assistant((Text(text="first"), ToolCall(id="c1", name="look"), Text(text="then")))
    assert [i["type"] for i in sent(turn, tool_result_message("c1"))] == ["message", "function_call", "message", "function_call_output"]


def test_a_refusal_is_the_assistants_words():
    items = [ASK, {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}]
    assert load(items)[1].text == "I cannot."
    assert back(items) == items


def test_a_custom_tools_call_and_its_output_keep_their_kind():
    items = [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    ]
    assert load(items)[0].calls[0].arguments == {"input": "select 1"}
    assert back(items) == items


def test_an_output_that_is_a_list_comes_back():
    items = [CALL, {**OUTPUT, "output": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"}]}]
    assert back(items) == items


def test_an_empty_failure_says_that_it_failed():
    messages = [assistant(calls=[ToolCall(id="c1", name="look")]), tool_result_message("c1", is_error=True)]
    assert sent(*messages)[1]["output"] == FAILED


def test_ids_repeated_in_a_later_turn_are_told_apart():
    turn = [assistant(calls=[ToolCall(id="c1", name="look")]), tool_result_message("c1")]
    items = sent(*turn, *turn)
    assert items[0]["call_id"] == items[1]["call_id"] == "c1"
    assert items[2]["call_id"] == items[3]["call_id"] != "c1"


def test_items_of_other_providers_are_left_out():
    item = ProviderItem(provider="anthropic", value={"type": "x"})  # type: ignore[arg-type]
    assert sent(assistant((item, Text(text="hi")))) == [{"type": "message", "role": "assistant", "content": "hi"}]


def test_empty_messages_are_left_out():
    assert sent(user(""), assistant(""), system(()), user((Text(text=""),)), assistant((Text(text=""),))) == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "input"),
        (7, "input"),
        ("hi", "input"),
        ({"input": 7}, "input"),
        ([7], "input[0]"),
        ([{}], "input[0]"),
        ([{"role": "tool", "content": "hi"}], "input[0].role"),
        ([{"type": "message", "content": "hi"}], "input[0].role"),
        ([{"role": "user", "content": 7}], "input[0].content"),
        ([{"role": "user", "content": [7]}], "input[0].content[0]"),
        ([{"role": "assistant", "content": 7}], "input[0].content"),
        ([{"type": "function_call", "call_id": "c"}], "input[0].name"),
        ([{"type": "function_call_output", "call_id": "c", "output": 7}], "input[0].output"),
        ({"instructions": 7, "input": []}, "instructions"),
    ],
)
def test_what_is_no_item_is_refused_with_its_path(body: Any, where: str):
    with pytest.raises(WireError) as caught:
        load(body)
    assert caught.value.where == where
