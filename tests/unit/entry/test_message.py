import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.entry.frozen import FrozenDict, freeze
from playhead.entry.message import Media, Message, ProviderItem, Text, Thinking, ToolCall, ToolResult, assistant, system, tool_result_message, user
from playhead.entry.payload import message_from_payload, message_to_entries, results_from_payload, turn_from_payload
from playhead.errors import InvalidInput

words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
names = st.text("abcdef_", min_size=1, max_size=6)
extras = st.just(FrozenDict()) | st.builds(lambda k, v: FrozenDict({k: freeze({"x": v})}), st.sampled_from(["openai", "anthropic"]), words)
text_parts = st.builds(Text, text=words, extra=extras)
media_parts = st.builds(Media, kind=st.sampled_from(["image", "audio", "video", "document"]), mime=st.none() | words, data=words, name=st.none() | words, extra=extras)
items = st.builds(ProviderItem, provider=names, value=st.builds(lambda v: freeze({"type": "odd", "v": v}), words))
thoughts = st.builds(
    Thinking,
    text=words,
    signature=st.none() | words,
    redacted=st.none() | words,
    provider=st.none() | names,
    model=st.none() | names,
    extra=extras,
)
calls = st.builds(ToolCall, id=names, name=names, arguments=st.dictionaries(words, words, max_size=2), extra=extras)
results = st.builds(
    ToolResult,
    call_id=names,
    content=words | st.lists(text_parts | media_parts | items, min_size=1, max_size=2).map(tuple),
    is_error=st.booleans(),
    name=st.none() | names,
    extra=extras,
)


@given(st.lists(text_parts | media_parts | items | thoughts, max_size=4).map(tuple) | words, st.sampled_from(["user", "system", "assistant"]), st.none() | words, extras)
def test_a_message_reads_back_from_its_entry(content, role, name, extra):
    message = Message(role=role, content=content, name=name, extra=extra)
    (entry,) = message_to_entries(message)
    assert entry.kind == "message"
    assert message_from_payload(entry.payload) == message


@given(st.lists(text_parts | thoughts | calls, min_size=1, max_size=5).filter(lambda ps: any(isinstance(p, ToolCall) for p in ps)), extras)
def test_a_turn_with_calls_reads_back_from_its_entry_parts_in_order(parts, extra):
    turn = Message(role="assistant", content=tuple(parts), extra=extra)
    (entry,) = message_to_entries(turn)
    assert entry.kind == "tool_call"
    assert turn_from_payload(entry.payload) == turn


@given(st.lists(results, min_size=1, max_size=3).map(tuple))
def test_results_read_back_from_their_entry(answers):
    (entry,) = message_to_entries(Message(role="tool", content=answers))
    assert entry.kind == "tool_result"
    assert results_from_payload(entry.payload) == answers


def test_the_payload_of_a_turn_holds_its_calls_once_and_its_content_in_order():
    turn = assistant("Looking.", calls=[ToolCall(id="c1", name="ping", arguments={"host": "gw"})])
    (entry,) = message_to_entries(turn, run_id="r1")
    assert entry.payload == {
        "calls": [{"id": "c1", "name": "ping", "arguments": {"host": "gw"}}],
        "content": [{"type": "text", "text": "Looking."}, {"type": "tool_call", "id": "c1"}],
    }
    assert entry.meta == {"run_id": "r1"}


def test_results_beside_words_become_two_entries():
    message = Message(role="user", content=(ToolResult(call_id="c1", content="pong"), Text(text="and now?")))
    result, words = message_to_entries(message)
    assert result.payload == {"results": ["pong"], "call_ids": ["c1"]}
    assert words.payload == {"role": "user", "content": [{"type": "text", "text": "and now?"}]}


def test_the_text_of_a_message_is_its_words():
    assert str(user("Hello")) == "Hello"
    assert str(assistant([Thinking(text="hm"), Text(text="a"), Text(text="b")])) == "a\nb"
    assert str(tool_result_message("c", "pong")) == "pong"
    assert str(assistant(calls=[ToolCall(id="c", name="f")])) == ""
    assert f"{system('Be brief.')}" == "Be brief."


def test_openai_shaped_turns_and_results_are_read():
    openai_call = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": '{"host": "gw"}'}}
    turn = turn_from_payload({"calls": [openai_call, "no call", {"id": "x"}]})
    (call,) = turn.calls
    assert (call.id, call.name, call.arguments) == ("c1", "ping", {"host": "gw"})
    message = message_from_payload({"role": "assistant", "content": None, "tool_calls": [openai_call]})
    assert message is not None and message.calls == turn.calls
    answer = message_from_payload({"role": "tool", "tool_call_id": "c1", "content": "pong", "name": "ping"})
    assert answer == tool_result_message("c1", "pong", name="ping")


def test_arguments_that_are_no_object_are_kept_word_for_word():
    turn = turn_from_payload({"calls": [{"id": "c", "function": {"name": "f", "arguments": "{broken"}}]})
    assert turn.calls[0].arguments == {"_unparsed": "{broken"}
    assert turn.calls[0].extra == {"openai": {"arguments": "{broken"}}


def test_results_that_are_no_text_read_as_their_json():
    answers = results_from_payload({"results": [{"ort": "Köln"}, [1, 2], None, "plain"]})
    assert [r.content for r in answers] == ['{"ort":"Köln"}', "[1,2]", "null", "plain"]
    assert [r.call_id for r in answers] == ["", "", "", ""]


@pytest.mark.parametrize("payload", [{}, {"role": "chef", "content": "x"}, {"role": None}, {"content": "x"}])
def test_a_payload_without_a_known_role_is_no_message(payload):
    assert message_from_payload(payload) is None


def test_an_unknown_part_is_kept_word_for_word():
    message = message_from_payload({"role": "user", "content": [{"type": "hologram", "depth": 3}]})
    assert message is not None
    assert message.parts == (ProviderItem(provider="unknown", value={"type": "hologram", "depth": 3}),)


def test_a_role_that_is_none_of_the_four_is_refused():
    with pytest.raises(InvalidInput, match="system, user, assistant, tool"):
        Message(role="chef", content="x")  # type: ignore[arg-type]


def test_only_an_assistant_calls_tools():
    with pytest.raises(InvalidInput, match="Only an assistant"):
        message_to_entries(Message(role="user", content=(ToolCall(id="c", name="f"),)))


def test_sources_take_no_part_in_equality():
    assert Message(role="user", content="a", sources=("u1",)) == user("a")


def test_a_message_entry_in_chat_form_is_an_ordinary_entry():
    entry = TapeEntry.message({"role": "user", "content": "hi", "name": "ada"})
    assert message_from_payload(entry.payload) == user("hi", name="ada")
