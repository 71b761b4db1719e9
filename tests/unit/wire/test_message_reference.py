"""The page on messages says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.message import Message
from playhead.entry.payload import message_from_payload, message_to_entries, results_from_payload, turn_from_payload
from playhead.wire.anthropic import BEGINNING, NOTE
from playhead.wire.rounds import FAILED

PAGE = next(p for p in Path(__file__).resolve().parents if (p / "pyproject.toml").exists()) / "docs" / "reference" / "message.md"
WRITTEN, READ = PAGE.read_text(encoding="utf-8").split("## Also read, never written")


def examples(text: str) -> list[dict[str, Any]]:
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


def read(example: dict[str, Any]) -> Message | None:
    payload = example["payload"]
    if example["kind"] == "tool_call":
        return turn_from_payload(payload)
    if example["kind"] == "tool_result":
        return Message(role="tool", content=results_from_payload(payload))
    return message_from_payload(payload)


@pytest.mark.parametrize("example", examples(WRITTEN), ids=lambda e: e["kind"])
def test_every_example_is_what_is_written_for_the_message_it_holds(example: dict[str, Any]):
    message = read(example)
    assert message is not None
    (entry,) = message_to_entries(message)
    assert {"kind": entry.kind, "payload": entry.payload} == example


@pytest.mark.parametrize("example", examples(READ), ids=lambda e: e["kind"])
def test_every_other_spelling_on_the_page_is_read(example: dict[str, Any]):
    message = read(example)
    assert message is not None
    assert message.calls or message.results or message.role == "system"


def test_the_page_has_examples_of_every_kind():
    assert {e["kind"] for e in examples(WRITTEN)} == {"message", "tool_call", "tool_result"}


@pytest.mark.parametrize("words", [BEGINNING, FAILED, *NOTE.split("\n{text}\n")])
def test_the_page_tells_every_word_of_ours_that_a_dump_adds(words: str):
    assert words in READ
