from __future__ import annotations

import pytest

from playhead.entry.message import assistant, user
from playhead.errors import InvalidInput, WireError
from playhead.wire.providers import FORMATS, format_of, messages_from


def test_every_provider_has_a_format_of_its_name():
    assert list(FORMATS) == ["openai", "openai-responses", "anthropic"]
    assert [format_of(name).provider for name in FORMATS] == list(FORMATS)


@pytest.mark.parametrize("provider", list(FORMATS))
def test_a_format_reads_what_it_wrote(provider: str):
    messages = (user("hi"), assistant("hello"))
    assert format_of(provider).load(format_of(provider).dump(messages)) == messages


@pytest.mark.parametrize("provider", list(FORMATS))
def test_nothing_is_an_empty_body(provider: str):
    assert list(format_of(provider).dump([]).values()) == [[]]
    assert format_of(provider).load([]) == ()


@pytest.mark.parametrize("name", ["gemini", "OpenAI", ""])
def test_an_unknown_provider_is_refused_with_those_known(name: str):
    with pytest.raises(InvalidInput, match="known are openai, openai-responses, anthropic"):
        format_of(name)


def test_a_reply_is_read_whatever_holds_it():
    class Reply:
        def model_dump(self, **_):
            return {"id": "x", "model": "m", "choices": [{"message": {"role": "assistant", "content": "It is up."}}]}

    assert [m.text for m in messages_from("openai", Reply())] == ["It is up."]
    assert [m.text for m in messages_from("openai", {"role": "user", "content": "hi"})] == ["hi"]
    answer = {"role": "assistant", "model": "claude-x", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Yes."}]}
    (message,) = messages_from("anthropic", answer)
    assert message.text == "Yes." and message.parts[0].model == "claude-x"
    with pytest.raises(WireError):
        messages_from("openai", {"choices": [{}]})
