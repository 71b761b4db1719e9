"""What counts and prices keep to, whatever the text or the message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry import codec
from playhead.entry.message import Message
from playhead.view.token_prices import split
from playhead.view.tokens import MESSAGE, ClassAwareCounter, default_counter, message_tokens
from playhead.wire.providers import format_of
from tests.property.wire_conversations import MODEL, PROVIDERS, conversations

any_character = st.characters() | st.characters(categories=["Cs"])
ordinary = st.sampled_from([*"aAzZ09 \n\t\r.,'\"\\{}[]()/<>=_-#~`", "the ", "don't", " I'll", "HTTPServer", "日本", "한국", "где", "é", "ế", "─", "🎉", "\u200d", "\ufe0f", "\xa0", "١٢", "   "])
texts = st.text(any_character, max_size=60) | st.lists(ordinary, max_size=40).map("".join)
BODY_WORDS = 12
"""What a dump may say once for the whole body: that the conversation starts earlier."""


@settings(deadline=None, max_examples=100)
@given(text=texts)
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    assert "".join(piece for block in split(text) for piece in block) == text


@settings(deadline=None, max_examples=100)
@given(text=texts)
def test_a_count_is_positive_and_no_more_than_the_bytes(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert min(1, len(text)) <= default_counter().count(text) <= size
    assert ClassAwareCounter().count(text) == default_counter().count(text)


@settings(deadline=None, max_examples=100)
@given(first=texts, second=texts)
def test_lines_cost_together_what_they_cost_alone(first: str, second: str) -> None:
    alone = default_counter().count(first) + default_counter().count(second)
    assert abs(default_counter().count(f"{first}\n{second}") - alone) <= 4


@settings(deadline=None, max_examples=100)
@given(text=texts, times=st.integers(2, 400))
def test_repeating_a_line_multiplies_its_count(text: str, times: int) -> None:
    line = f"{text}.\n"
    once, many = default_counter().count(line), default_counter().count(line * times)
    assert times * (once - 3) <= many <= times * (once + 2) * 1.06


@settings(deadline=None, max_examples=60)
@given(messages=conversations())
def test_every_message_has_a_price_and_each_part_adds_to_it(messages: list[Message]) -> None:
    for message in messages:
        tokens = message_tokens(message, counter=default_counter())
        assert tokens >= MESSAGE + (len(message.content) if not isinstance(message.content, str) else bool(message.content))


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(deadline=None, max_examples=60)
@given(messages=conversations(), model=st.sampled_from([None, MODEL]))
def test_prices_cover_the_words_of_every_dump(provider: str, messages: list[Message], model: str | None) -> None:
    body = format_of(provider).dump(messages, model=model)
    sent = sum(map(default_counter().count, spoken(body)))
    assert sum(message_tokens(m, counter=default_counter()) for m in messages) + BODY_WORDS >= sent


UNSPOKEN = {"type", "role", "data", "url", "image_url", "file_data", "format", "media_type", "signature", "cache_control", "encrypted_content", "detail", "status", "x_field"}


def spoken(value: Any, key: str = "") -> Iterator[str]:
    """Yield the words in a body: no names of kinds, no media, no signatures; a call's input as the JSON it is."""
    if key in UNSPOKEN:
        return
    if key in ("input", "arguments") and isinstance(value, dict):
        yield codec.encode(value).decode()
    elif isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from spoken(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from spoken(inner)
