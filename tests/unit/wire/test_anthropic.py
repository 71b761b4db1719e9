from __future__ import annotations

from typing import Any

import pytest

from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
from playhead.errors import WireError
from playhead.wire.anthropic import BEGINNING, dump, load
from playhead.wire.rounds import FAILED

MODEL = "claude-sonnet-4-5"
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "sig"}
USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}


def sent(*messages: Message, model: str | None = None) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = dump(messages, model=model)["messages"]
    return written


def back(body: Any, *, model: str | None = MODEL) -> Any:
    return dump(load(body, model=model), model=model)


def a_round(*parts: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [*parts, USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
    ]


def test_leading_system_messages_are_the_system_prompt():
    assert dump([system("Be brief."), user("hi")]) == {"system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}
    assert dump([system("a"), system("b"), user("hi")])["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert "system" not in dump([user("hi")])
    assert "system" not in dump([system(" "), user("hi")])


def test_a_later_system_message_stands_in_the_next_turn_of_the_user():
    note = "<system-note>\nNow in French.\n</system-note>"
    assert sent(user("hi"), assistant("hello"), system("Now in French."), user("and?"))[2] == {
        "role": "user",
        "content": [{"type": "text", "text": note}, {"type": "text", "text": "and?"}],
    }


def test_a_system_message_between_two_words_of_the_assistant_makes_a_turn():
    assert [m["role"] for m in sent(user("hi"), assistant("one"), system("note"), assistant("two"))] == ["user", "assistant", "user", "assistant"]


def test_a_system_message_behind_results_stands_behind_them_in_their_turn():
    messages = (user("go"), assistant(calls=[ToolCall(id="t1", name="look")]), tool_result_message("t1", "ok"), system("note"))
    assert [b["type"] for b in sent(*messages)[2]["content"]] == ["tool_result", "text"]


def test_turns_of_one_speaker_become_one():
    assert sent(user("a"), user("b"), assistant("c"), assistant((Text(text="d"),))) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]},
    ]


def test_a_turn_that_is_left_out_lets_its_neighbours_become_one():
    assert [m["role"] for m in sent(user("a"), assistant(" \n"), user("b"), assistant("c"))] == ["user", "assistant"]
    assert [m["role"] for m in sent(user("a"), assistant((Thinking(text="hm"),)), user("b"))] == ["user"]


def test_results_and_words_share_a_turn_results_first():
    words_first = Message(role="user", content=(Text(text="look!"), ToolResult(call_id="t1", content="ok")))
    assert [b["type"] for b in sent(user("go"), assistant(calls=[ToolCall(id="t1", name="look")]), words_first, user("and?"))[2]["content"]] == ["tool_result", "text", "text"]


def test_a_conversation_that_starts_with_the_assistant_is_given_a_beginning():
    messages = (assistant("As I said"), user("go on"))
    assert sent(*messages)[0] == {"role": "user", "content": BEGINNING}
    assert load(dump(messages)) == messages


def test_a_user_who_only_said_the_beginning_is_still_heard():
    assert load({"messages": [{"role": "user", "content": BEGINNING}]}) == (user(BEGINNING),)


def test_the_last_words_of_the_assistant_do_not_end_in_white_space():
    assert sent(user("hi"), assistant("well \n"))[-1]["content"] == "well"
    assert sent(user("hi"), assistant((Text(text="well "),)))[-1]["content"] == [{"type": "text", "text": "well"}]
    assert sent(user("hi"), assistant("well "), user("?"))[1]["content"] == "well "


def test_blank_text_is_left_out():
    assert sent(user((Text(text=" "), Text(text="hi"))), assistant("  "), user("\n")) == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_thinking_goes_back_to_its_model_word_for_word():
    body = {"messages": a_round(SIGNED, {"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "I look."})}
    assert back(body) == body


@pytest.mark.parametrize("model", [None, "claude-opus-4-1"])
def test_thinking_goes_to_no_other_model(model: str | None):
    assert dump(load(a_round(SIGNED), model=MODEL), model=model)["messages"] == a_round()


@pytest.mark.parametrize("odd", [{**SIGNED, "signature": ""}, {"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": ""}])
def test_thinking_goes_whole_or_not_at_all(odd: dict[str, Any]):
    assert back({"messages": a_round(SIGNED, odd)}) == {"messages": a_round()}


def test_thinking_of_two_models_in_one_turn_stays_behind():
    turn = assistant((Thinking(text="a", signature="s", provider="anthropic", model=MODEL), Thinking(text="b", signature="s", provider="anthropic", model="other"), Text(text="so")))
    assert sent(user("hi"), turn, model=MODEL)[1]["content"] == [{"type": "text", "text": "so"}]


def test_thinking_of_another_provider_stays_behind():
    turn = assistant((Thinking(text="a", signature="s", provider="openai-responses", model=MODEL), Text(text="so")))
    assert sent(user("hi"), turn, model=MODEL)[1]["content"] == [{"type": "text", "text": "so"}]


def test_a_turn_never_ends_in_thinking():
    thinking = Thinking(text="hm", signature="s", provider="anthropic", model=MODEL)
    assert sent(user("hi"), assistant((Text(text="so"), thinking)), user("?"), model=MODEL)[1]["content"] == [{"type": "text", "text": "so"}]


def test_thinking_recorded_apart_from_its_words_joins_them():
    thinking = Thinking(text="hm", signature="sig", provider="anthropic", model=MODEL)
    assert sent(user("hi"), assistant((thinking,)), assistant("so"), model=MODEL)[1]["content"] == [SIGNED, {"type": "text", "text": "so"}]


def test_a_reply_says_which_model_thought():
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [SIGNED], "usage": {"output_tokens": 9}}
    (message,) = load(reply, model=MODEL)
    assert message.parts == (Thinking(text="hm", signature="sig", provider="anthropic", model="claude-x"),)
    assert message.extra["anthropic"]["usage"] == {"output_tokens": 9}


def test_what_a_reply_says_of_itself_is_kept_but_never_sent():
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
    assert sent(user("hello"), *load(reply))[1] == {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}


def test_blocks_without_a_neutral_form_come_back_word_for_word():
    body = {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "container_upload", "file_id": "f"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
                    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                    {"type": "text", "text": "Found.", "citations": [{"type": "web_search_result_location", "url": "https://example.org"}]},
                    {**USE, "caller": {"type": "direct"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "search_result", "source": "s", "title": "t", "content": []}]}]},
        ],
    }
    assert back(body) == body


def test_only_the_last_four_cache_marks_are_sent():
    marked = [Text(text=str(i), extra={"anthropic": {"cache_control": {"type": "ephemeral"}}}) for i in range(6)]  # type: ignore[arg-type]
    blocks = sent(user(marked))[0]["content"]
    assert ["cache_control" in b for b in blocks] == [False, False, True, True, True, True]


@pytest.mark.parametrize("fields", [{}, {"content": ""}, {"content": "x"}, {"is_error": False, "content": "x"}, {"is_error": True, "content": "x"}, {"content": [{"type": "text", "text": "x"}]}])
def test_every_spelling_of_a_result_comes_back(fields: dict[str, Any]):
    messages = [*a_round()[:2], {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", **fields}]}]
    assert back({"messages": messages}) == {"messages": messages}


@pytest.mark.parametrize("answer", ["", " \n", (), (Text(text=" "),)])
def test_an_empty_failure_says_that_it_failed(answer: Any):
    block = sent(assistant(calls=[ToolCall(id="t1", name="look")]), tool_result_message("t1", answer, is_error=True))[-1]["content"][0]
    assert block == {"type": "tool_result", "tool_use_id": "t1", "content": FAILED, "is_error": True}


def test_ids_of_other_providers_are_made_to_fit_and_unique():
    turn = [assistant(calls=[ToolCall(id="call_x|fc_y", name="look")]), tool_result_message("call_x|fc_y")]
    messages = sent(user("go"), *turn, *turn)
    ids = [b["id"] for m in messages if m["role"] == "assistant" for b in m["content"]]
    assert len(set(ids)) == 2
    assert [m["content"][0]["tool_use_id"] for m in messages[2::2]] == ids


def test_words_beside_results_are_the_users():
    body = [*a_round()[:2], {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}, {"type": "text", "text": "and?"}]}]
    assert [(m.role, m.text) for m in load(body)][2:] == [("tool", ""), ("user", "and?")]


def test_a_document_keeps_its_title_and_its_settings():
    block = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}, "title": "t", "context": "c", "citations": {"enabled": True}}
    body = {"messages": [{"role": "user", "content": [block]}]}
    (message,) = load(body)
    assert message.parts[0].name == "t"  # type: ignore[union-attr]
    assert back(body) == body


def test_an_uploaded_file_comes_back_and_is_named_elsewhere():
    block = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    (message,) = load([{"role": "user", "content": [block]}])
    assert sent(message)[0]["content"] == [block]
    assert isinstance(message.parts[0], Media)
    assert message.parts[0].ref == "file_1"


def test_items_of_other_providers_are_left_out():
    item = ProviderItem(provider="openai", value={"type": "x"})  # type: ignore[arg-type]
    assert sent(user((item, Text(text="hi"))))[0]["content"] == [{"type": "text", "text": "hi"}]


def test_a_system_message_in_the_list_is_read_in_its_place():
    assert [m.role for m in load([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}])] == ["user", "system"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"system": "x"}, "messages"),
        ("hi", "messages"),
        ([3], "messages[0]"),
        ([{"role": "tool", "content": "hi"}], "messages[0].role"),
        ([{"content": "hi"}], "messages[0].role"),
        ([{"role": "user", "content": 3}], "messages[0].content"),
        ([{"role": "user", "content": [None]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text", "text": []}]}], "messages[0].content[0].text"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}], "messages[0].content[0].name"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": 1}]}], "messages[0].content[0].thinking"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 3}]}], "messages[0].content[0].content"),
        ({"system": 3, "messages": []}, "system"),
        ({"system": [3], "messages": []}, "system[0]"),
    ],
)
def test_what_is_no_message_is_refused_with_its_path(body: Any, where: str):
    with pytest.raises(WireError) as caught:
        load(body)
    assert caught.value.where == where
