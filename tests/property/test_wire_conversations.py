"""What every dump keeps to, whatever a conversation holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.message import Message, Text
from playhead.wire.encodable import encodable
from playhead.wire.providers import format_of
from tests.property.wire_conversations import MODEL, PROVIDERS, conversations, normal_conversations
from tests.unit.wire.faults import faults

each_provider = pytest.mark.parametrize("provider", PROVIDERS)


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations(), model=st.sampled_from([None, MODEL]))
def test_a_dump_has_no_faults(provider: str, messages: list[Message], model: str | None) -> None:
    assert faults(provider, format_of(provider).dump(messages, model=model)) == []


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations())
def test_a_dump_is_plain_json_that_has_a_utf8_form(provider: str, messages: list[Message]) -> None:
    body = format_of(provider).dump(messages, model=MODEL)
    written = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    assert json.loads(written) == body
    assert all(type(v) in (dict, list, str, int, float, bool, type(None)) for v in every_value(body))


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations())
def test_a_dump_read_and_written_again_is_the_same(provider: str, messages: list[Message]) -> None:
    wire = format_of(provider)
    body = wire.dump(messages, model=MODEL)
    assert wire.dump(wire.load(body, model=MODEL), model=MODEL) == body


@each_provider
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_conversation_in_normal_form_comes_back_as_it_was(provider: str, data: st.DataObject) -> None:
    wire = format_of(provider)
    messages = data.draw(normal_conversations(provider))
    assert list(wire.load(wire.dump(messages, model=MODEL), model=MODEL)) == messages


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations())
def test_all_words_and_answers_are_in_the_dump_in_their_order(provider: str, messages: list[Message]) -> None:
    text = "\0".join(v for v in every_value(format_of(provider).dump(messages)) if isinstance(v, str))
    at = 0
    for needle in needles([m for m in messages if m.role != "system"]):
        found = text.find(needle, at)
        assert found >= 0, needle
        at = found + len(needle)
    assert all(needle in text for needle in needles([m for m in messages if m.role == "system"]))


def needles(messages: list[Message]) -> Iterator[str]:
    """The words that must be sent, white space at their ends aside; in a message, answers come first."""
    for message in messages:
        for result in message.results:
            yield from (visible(t) for t in ([result.content] if isinstance(result.content, str) else [p.text for p in result.content if isinstance(p, Text)]))
        yield from (visible(p.text) for p in message.parts if isinstance(p, Text))


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations())
def test_all_calls_are_in_the_dump_in_their_order_with_what_they_ask(provider: str, messages: list[Message]) -> None:
    wire = format_of(provider)
    sent = [c.arguments for m in wire.load(wire.dump(messages)) for c in m.calls]
    assert sent == [encodable(c.arguments) for m in messages for c in m.calls]


def visible(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


@each_provider
@settings(deadline=None, max_examples=40)
@given(messages=conversations(), more=conversations())
def test_what_comes_later_does_not_change_what_was_sent(provider: str, messages: list[Message], more: list[Message]) -> None:
    """Up to the last turn, which later words may join. Cache marks move on purpose."""
    wire = format_of(provider)
    before, after = ([unmarked(m) for m in wire.dump(ms, model=MODEL)[key_of(provider)]] for ms in (messages, [*messages, Message(role="user", content="."), *more]))
    settled = max(len(before) - 1, 0)
    assert after[:settled] == before[:settled]


def key_of(provider: str) -> str:
    return "input" if provider == "openai-responses" else "messages"


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


def every_value(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        for inner in value.values():
            yield from every_value(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every_value(inner)
