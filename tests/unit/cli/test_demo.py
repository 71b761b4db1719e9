"""The demo's conversation: long, varied, the same every time."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from playhead.cli.demo import demo_messages
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message
from playhead.entry.payload import message_to_entries
from playhead.view.tokens import default_counter


@pytest.fixture(scope="module")
def entries() -> tuple[TapeEntry, ...]:
    return tuple(entry for item in demo_messages() for entry in (message_to_entries(item) if isinstance(item, Message) else (item,)))


def test_it_holds_hundreds_of_entries_and_more_tokens_than_a_small_window(entries):
    assert len(entries) > 300
    counter = default_counter()
    assert sum(counter.count(codec.encode(e.payload).decode()) for e in entries) > 60_000


def test_it_holds_what_real_sessions_hold(entries):
    calls = [e.payload["calls"] for e in entries if e.kind == "tool_call"]
    called = [call["id"] for turn in calls for call in turn]
    answered = [id for e in entries if e.kind == "tool_result" for id in e.payload["call_ids"]]
    assert max(len(turn) for turn in calls) >= 4
    assert len(called) == len(set(called))
    assert len(set(called) - set(answered)) == 2
    assert not set(answered) - set(called)
    assert sum(any(e.payload.get("is_error", ())) for e in entries if e.kind == "tool_result") >= 5
    assert {"anchor", "event", "error", "message"} <= {e.kind for e in entries}
    assert any(ord(c) > 0x3000 for e in entries for c in codec.encode(e.payload).decode())


def test_its_answers_differ_from_one_another(entries):
    answers = Counter(str(r) for e in entries if e.kind == "tool_result" for r in e.payload["results"])
    assert sum(count - 1 for count in answers.values()) <= 3


PRINT = """
from playhead.cli.demo import demo_messages
for item in demo_messages():
    print(ascii(getattr(item, "payload", None) or item))
"""


def test_it_is_the_same_conversation_in_every_process():
    first, second = (subprocess.run([sys.executable, "-c", PRINT], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout for seed in ("1", "2"))
    assert len(first) > 100_000
    assert first == second
