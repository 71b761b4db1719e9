"""Whatever is handed to a load, it answers with messages or with a typed error."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.message import Message
from playhead.errors import InvalidInput, WireError
from playhead.wire.providers import format_of
from tests.property import wire_bodies as bodies
from tests.property.wire_conversations import PROVIDERS

each_provider = pytest.mark.parametrize("provider", PROVIDERS)
BODIES = {"openai": bodies.chat_bodies(), "openai-responses": bodies.response_bodies(), "anthropic": bodies.claude_bodies()}
KEYS = ["role", "content", "type", "text", "tool_calls", "function", "name", "id", "call_id", "input", "output", "source", "summary", "image_url", "messages", "arguments", "refusal"]
WORDS = ["user", "assistant", "tool", "system", "text", "tool_use", "tool_result", "thinking", "image", "document", "reasoning", "function_call", "message", "custom", "file"]

scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def answers(provider: str, body: Any) -> None:
    wire = format_of(provider)
    try:
        messages = wire.load(body)
    except (WireError, InvalidInput):
        return
    assert all(isinstance(m, Message) for m in messages)
    try:
        wire.dump(messages, model="m")
    except WireError as error:
        assert error.where


@each_provider
@settings(deadline=None, max_examples=60)
@given(body=scraps)
def test_scraps_are_read_or_refused(provider: str, body: Any) -> None:
    answers(provider, body)


@each_provider
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_bodies_with_a_value_replaced_are_read_or_refused(provider: str, data: st.DataObject) -> None:
    body = deepcopy(data.draw(BODIES[provider]))
    places = list(_places(body))
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(scraps)
    answers(provider, body)


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)
