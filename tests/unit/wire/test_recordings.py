"""Conversations that really took place."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.message import Message, assistant, tool_result_message, user
from playhead.wire import anthropic, openai_chat, openai_responses
from tests.data import shared
from tests.unit.wire.faults import faults


@cache
def _read(place: Path) -> list[Any]:
    return [trial["traj"] for trial in json.loads(place.read_text(encoding="utf-8"))]


def conversations() -> list[Any]:
    """What airline customers and an agent with tools said to each other, in OpenAI's form."""
    return _read(shared("trajectories", "tau_bench", "gpt-4o-airline-even.json"))


def test_every_recorded_conversation_comes_back_as_it_was():
    changed = [i for i, said in enumerate(conversations()) if openai_chat.dump(openai_chat.load(said))["messages"] != said]
    assert changed == []


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_every_recorded_conversation_goes_to_every_provider_without_faults(provider: str):
    dump = {"openai": openai_chat.dump, "openai-responses": openai_responses.dump, "anthropic": anthropic.dump}[provider]
    found = {i: bad for i, said in enumerate(conversations()) if (bad := faults(provider, dump(openai_chat.load(said))))}
    assert found == {}


def test_every_recorded_conversation_says_the_same_after_a_journey_through_all_formats():
    for said in conversations():
        messages = openai_chat.load(said)
        there = openai_responses.load(openai_responses.dump(messages))
        back = anthropic.load(anthropic.dump(there))
        assert [told(m) for m in back] == [told(m) for m in messages]


def told(message: Message) -> tuple[Any, ...]:
    """What a message says, without the ids and spellings that formats change."""
    return message.role, message.text.rstrip(), [(c.name, c.arguments) for c in message.calls]


def turns(place: Path) -> list[dict[str, Any]]:
    """The messages of a Claude Code session, one for each line that has one."""
    lines = (json.loads(line) for line in place.read_text(encoding="utf-8").splitlines())
    return [line["message"] for line in lines if line.get("type") in ("user", "assistant")]


@pytest.mark.parametrize("session", ["spotter_258c7280.jsonl", "spotter_tool_heavy.jsonl"])
def test_the_thinking_of_a_claude_session_goes_back_to_its_model_word_for_word(session: str):
    said = [m for m in turns(shared("trajectories", "claude_code", session)) if m["role"] == "assistant" and isinstance(m["content"], list)]
    thought = [b for m in said for b in m["content"] if b["type"] == "thinking"]
    sent = [b for m in said for b in as_sent(m) if b["type"] == "thinking"]
    assert len(thought) > 0
    assert sent == thought


def as_sent(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a turn as they are sent to its model, with something said behind it."""
    (turn,) = anthropic.load(message)
    answers = [tool_result_message(c.id) for c in turn.calls]
    body = anthropic.dump([user("go"), turn, *([] if answers else [assistant("so")]), *answers], model=message["model"])
    content = body["messages"][1]["content"]
    return content if isinstance(content, list) else []
