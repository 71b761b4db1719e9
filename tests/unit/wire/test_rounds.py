from __future__ import annotations

import re

import pytest

from playhead.entry.message import Message, Text, ToolCall, ToolResult, assistant, tool_result_message, user
from playhead.errors import WireError
from playhead.wire.ids import IdRule
from playhead.wire.rounds import settled

RULE = IdRule(pattern=re.compile("[a-z_0-9]{1,20}"), unique_in="body")


def settle(*messages: Message, rule: IdRule = RULE) -> tuple[Message, ...]:
    return settled(messages, ids=rule, longest_name=20)


def call(*ids: str) -> Message:
    return assistant(calls=[ToolCall(id=i, name="look") for i in ids])


def test_a_whole_round_stays_as_it_is():
    messages = (user("hi"), call("a", "b"), tool_result_message("b", "2"), tool_result_message("a", "1"))
    assert settle(*messages) == messages


def test_several_results_in_one_message_become_one_message_each():
    together = Message(role="tool", content=(ToolResult(call_id="a", content="1"), ToolResult(call_id="b", content="2")))
    assert settle(call("a", "b"), together)[1:] == (tool_result_message("a", "1"), tool_result_message("b", "2"))


def test_words_beside_results_follow_the_whole_round():
    first = Message(role="user", content=(Text(text="look!"), ToolResult(call_id="a", content="1")), name="Ann")
    written = settle(call("a", "b"), first, tool_result_message("b", "2"))
    assert written[1:] == (tool_result_message("a", "1"), tool_result_message("b", "2"), Message(role="user", content=(Text(text="look!"),), name="Ann"))


def test_a_result_without_id_answers_the_first_open_call():
    assert [m.results[0].call_id for m in settle(call("a", "b"), tool_result_message("", "1"), tool_result_message("", "2"))[1:]] == ["a", "b"]


def test_calls_of_one_id_in_one_turn_are_told_apart_and_answered_in_order():
    written = settle(call("a", "a"), tool_result_message("a", "first"), tool_result_message("a", "second"))
    ids = [c.id for c in written[0].calls]
    assert ids[0] == "a"
    assert len(set(ids)) == 2
    assert [(m.results[0].call_id, m.results[0].content) for m in written[1:]] == list(zip(ids, ["first", "second"], strict=True))


def test_an_id_used_in_an_earlier_turn_is_changed_where_the_body_wants_unique_ones():
    written = settle(call("a"), tool_result_message("a"), call("a"), tool_result_message("a"))
    assert written[2].calls[0].id != "a"
    assert written[3].results[0].call_id == written[2].calls[0].id


def test_an_id_used_in_an_earlier_turn_stays_where_only_the_round_wants_unique_ones():
    messages = (call("a"), tool_result_message("a"), call("a"), tool_result_message("a"))
    assert settle(*messages, rule=IdRule(pattern=RULE.pattern, unique_in="round")) == messages


def test_ids_do_not_depend_on_what_comes_later():
    begin = (call("A b", "a"), tool_result_message("A b"), tool_result_message("a"))
    assert settle(*begin, call("A b"), tool_result_message("A b"))[:3] == settle(*begin)


@pytest.mark.parametrize("after", [(), (user("and?"),), (assistant("so"),)])
def test_an_unanswered_call_is_refused_with_its_id_and_place(after: tuple[Message, ...]):
    with pytest.raises(WireError, match=r"1 tool call\(s\) of messages\[1\] unanswered: 'b'") as caught:
        settle(user("hi"), call("a", "b"), tool_result_message("a"), *after)
    assert caught.value.where == "messages[3]"


def test_a_result_without_call_is_refused():
    with pytest.raises(WireError, match="A result without call: 'x'") as caught:
        settle(user("hi"), tool_result_message("x"))
    assert caught.value.where == "messages[1]"


def test_a_second_result_is_refused_as_such():
    with pytest.raises(WireError, match="Call 'a' is answered a second time"):
        settle(call("a"), tool_result_message("a"), tool_result_message("a"))


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_only_an_assistant_calls_tools(role: str):
    with pytest.raises(WireError, match="only an assistant does"):
        settle(Message(role=role, content=(ToolCall(id="a", name="look"),)))  # type: ignore[arg-type]


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_results_stand_in_a_tools_or_users_message_only(role: str):
    with pytest.raises(WireError, match="holds a tool's result"):
        settle(call("a"), Message(role=role, content=(ToolResult(call_id="a"),)))  # type: ignore[arg-type]


def test_a_tools_message_that_answers_nothing_is_refused():
    with pytest.raises(WireError, match="without a result"):
        settle(Message(role="tool", content="4"))
