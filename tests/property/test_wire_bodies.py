"""What a provider's body says comes back word for word."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from playhead.entry.message import Message
from playhead.entry.payload import message_from_payload, message_to_entries, results_from_payload, turn_from_payload
from playhead.wire.providers import format_of
from tests.property import wire_bodies as bodies


def same(provider: str, body: dict[str, Any]) -> None:
    wire = format_of(provider)
    messages = wire.load(body, model=bodies.MODEL)
    assert wire.dump(messages, model=bodies.MODEL) == body
    assert wire.dump(from_tape(messages), model=bodies.MODEL) == body


def from_tape(messages: tuple[Message, ...]) -> list[Message]:
    """The messages as they come back from the entries they are written as."""
    read: list[Message] = []
    for message in messages:
        for entry in message_to_entries(message):
            payload = json.loads(json.dumps(entry.payload))
            if entry.kind == "tool_call":
                read.append(turn_from_payload(payload))
            elif entry.kind == "tool_result":
                read.extend(Message(role="tool", content=(r,)) for r in results_from_payload(payload))
            else:
                back = message_from_payload(payload)
                assert back is not None
                read.append(back)
    return read


@settings(deadline=None)
@given(bodies.chat_bodies())
def test_openai_chat_bodies_come_back_word_for_word_also_over_the_tape(body: dict[str, Any]) -> None:
    same("openai", body)


@settings(deadline=None)
@given(bodies.claude_bodies())
def test_anthropic_bodies_come_back_word_for_word_also_over_the_tape(body: dict[str, Any]) -> None:
    same("anthropic", body)


@settings(deadline=None)
@given(bodies.response_bodies())
def test_openai_responses_bodies_come_back_word_for_word_also_over_the_tape(body: dict[str, Any]) -> None:
    same("openai-responses", body)
