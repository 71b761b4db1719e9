from __future__ import annotations

import pytest

from playhead.entry.message import Media, Message, ProviderItem, Text, assistant, system, user
from playhead.wire import anthropic, openai_chat, openai_responses
from playhead.wire.participants import prefixed

PICTURE = Media(kind="image", mime="image/png", data="iVBORw0KGgo=")


def test_a_users_name_stands_before_the_words():
    assert prefixed(user("Hello", name="Ann Lee")).content == "Ann Lee: Hello"


def test_a_name_of_several_lines_is_one_line():
    assert prefixed(user("Hello", name="Ann\n Lee ")).content == "Ann Lee: Hello"


def test_the_name_stands_before_the_first_words_among_parts():
    message = user((PICTURE, Text(text=" "), Text(text="this?"), Text(text="or that?")), name="Ann")
    assert prefixed(message).content == (PICTURE, Text(text=" "), Text(text="Ann: this?"), Text(text="or that?"))


def test_a_picture_without_words_is_introduced():
    assert prefixed(user((PICTURE,), name="Ann")).content == (Text(text="Ann:"), PICTURE)


@pytest.mark.parametrize("message", [user("", name="Ann"), user("  ", name="Ann"), user((), name="Ann"), user((ProviderItem(provider="x", value={}),), name="Ann"), user("hi", name=" ")])  # type: ignore[arg-type]
def test_a_name_alone_is_nothing_to_say(message: Message):
    assert prefixed(message) == message


@pytest.mark.parametrize("message", [assistant("hi", name="Ann"), system("hi", name="Ann"), user("hi")])
def test_only_users_are_introduced(message: Message):
    assert prefixed(message) == message


def test_openai_chat_has_a_field_for_names_that_fit_it():
    messages = [user("hi", name="ann_1"), user("ho", name="Zoë"), assistant("yes", name="agent-1"), assistant("no", name="the agent")]
    assert openai_chat.dump(messages)["messages"] == [
        {"role": "user", "content": "hi", "name": "ann_1"},
        {"role": "user", "content": "Zoë: ho"},
        {"role": "assistant", "content": "yes", "name": "agent-1"},
        {"role": "assistant", "content": "no"},
    ]


def test_the_others_have_none():
    messages = [user("hi", name="ann_1"), assistant("yes", name="agent-1")]
    assert [m["content"] for m in anthropic.dump(messages)["messages"]] == ["ann_1: hi", "yes"]
    assert [m["content"] for m in openai_responses.dump(messages)["input"]] == ["ann_1: hi", "yes"]
