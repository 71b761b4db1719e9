"""pi sessions: branches, compactions, what other providers signed, and the first files, which were a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples_tools import pi, pi_turn
from tests.unit.importers.sessions import read, shown, told

HEAD = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}


def session(*records: dict[str, Any], tmp_path: Path) -> list[TapeEntry]:
    entries, notes = read(Sample(format="pi", records=[HEAD, *records]).write(tmp_path / "session.jsonl"))
    assert notes.unreadable == []
    return entries


def said(id_: str, parent: str | None, text: str) -> dict[str, Any]:
    return pi("message", id_, parent, 1, message={"role": "user", "content": text})


def test_the_branch_of_the_newest_record_is_shown(tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), said("b", "a", "2"), said("c", "b", "3"), said("d", "a", "4"), said("e", "d", "5"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message 4", "message 5"]
    assert [e.payload["content"] for e in entries if e.meta["import"].get("branch") == "abandoned"] == ["2", "3"]


def test_a_note_may_be_the_newest_record(tmp_path: Path) -> None:
    change = pi("model_change", "d", "a", 2, provider="openai", modelId="gpt-5")
    entries = session(said("a", None, "1"), said("b", "a", "2"), change, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1"]


def test_a_branch_from_before_the_first_message_starts_over(tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), said("b", "a", "2"), said("c", None, "3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 3"]


def test_where_a_parent_is_lost_the_conversation_goes_on_from_the_record_before(tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), said("c", "lost", "3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message 3"]


def compaction(id_: str, parent: str, first: str) -> dict[str, Any]:
    return pi("compaction", id_, parent, 5, summary="All in short.", firstKeptEntryId=first, tokensBefore=50_000, details={"readFiles": ["a"]})


def test_the_anchor_of_a_compaction_stands_before_what_it_keeps(tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), said("b", "a", "2"), said("c", "b", "3"), compaction("x", "c", "b"), said("d", "x", "4"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "anchor compaction", "message 2", "message 3", "message 4"]
    (anchor,) = [e for e in entries if e.kind == "anchor"]
    assert anchor.payload["state"] == {"summary": "All in short.", "pre_tokens": 50_000}
    assert anchor.meta["import"]["line"] == 5
    assert anchor.meta["import"]["fields"] == {"details": {"readFiles": ["a"]}, "firstKeptEntryId": "b"}


@pytest.mark.parametrize("first", ["x", "lost", ""])
def test_a_compaction_that_names_nothing_it_keeps_is_an_anchor_where_it_stands(first: str, tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), compaction("x", "a", first), said("d", "x", "4"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "anchor compaction", "message 4"]


def test_two_compactions_may_keep_from_the_same_record(tmp_path: Path) -> None:
    records = [said("a", None, "1"), said("b", "a", "2"), compaction("x", "b", "b"), compaction("y", "x", "b"), said("d", "y", "4")]
    entries = session(*records, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "anchor compaction", "anchor compaction", "message 2", "message 4"]


def test_a_compaction_of_an_abandoned_branch_is_no_anchor(tmp_path: Path) -> None:
    entries = session(said("a", None, "1"), said("b", "a", "2"), compaction("x", "b", "b"), said("d", "a", "4"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message 4"]
    assert "pi.compaction" in [e.payload.get("name") for e in entries]


def test_the_first_files_are_read_in_the_order_of_their_lines(tmp_path: Path) -> None:
    head = {k: v for k, v in HEAD.items() if k != "version"}
    lines = [{k: v for k, v in said("", None, str(n)).items() if k not in ("id", "parentId")} for n in range(3)]
    short = {k: v for k, v in compaction("", "", "").items() if k not in ("id", "parentId", "firstKeptEntryId")}
    records = [head, *lines, {**short, "firstKeptEntryIndex": 3}, {**lines[0], "timestamp": "2026-03-01T10:00:09.000Z"}]
    entries, _ = read(Sample(format="pi", records=records).write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message 0", "message 1", "anchor compaction", "message 2", "message 0"]


def test_ids_of_calls_are_those_of_the_calls_alone(tmp_path: Path) -> None:
    turn = pi_turn({"type": "toolCall", "id": "call_1|fc_9", "name": "bash", "arguments": {}}, api="openai-responses", provider="openai", model="gpt-5")
    result = {"role": "toolResult", "toolCallId": "call_1|fc_9", "toolName": "bash", "content": [], "isError": False}
    entries = session(said("a", None, "1"), pi("message", "b", "a", 2, message=turn), pi("message", "c", "b", 3, message=result), tmp_path=tmp_path)
    assert told(shown(entries))[1:] == ["tool_call call_1", "tool_result call_1"]
    assert shown(entries)[1].payload["calls"][0]["extra"] == {"pi": {"id": "call_1|fc_9"}}


@pytest.mark.parametrize(
    ("made", "provider"),
    [
        ({}, "anthropic"),
        ({"provider": "github-copilot"}, "pi:github-copilot"),
        ({"api": "openai-responses", "provider": "openai"}, "pi:openai"),
        ({"api": "google-generative-ai", "provider": "google"}, "pi:google"),
    ],
)
def test_reasoning_is_bound_to_who_made_it(made: dict[str, str], provider: str, tmp_path: Path) -> None:
    turn = pi_turn({"type": "thinking", "thinking": "Hm.", "thinkingSignature": "sig"}, {"type": "text", "text": "Yes."}, **made)
    entries = session(said("a", None, "1"), pi("message", "b", "a", 2, message=turn), tmp_path=tmp_path)
    thinking = shown(entries)[1].payload["content"][0]
    assert (thinking["provider"], thinking["signature"]) == (provider, "sig")


def test_what_was_run_for_the_user_alone_is_not_shown(tmp_path: Path) -> None:
    run = {"role": "bashExecution", "command": "env", "output": "SECRET", "exitCode": 0, "cancelled": False, "excludeFromContext": True}
    entries = session(said("a", None, "1"), pi("message", "b", "a", 2, message=run), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1"]


def test_a_message_of_a_role_unknown_today_is_kept_and_told(tmp_path: Path) -> None:
    path = Sample(format="pi", records=[HEAD, said("a", None, "1"), pi("message", "b", "a", 2, message={"role": "oracle", "content": "?"})]).write(tmp_path / "s.jsonl")
    entries, notes = read(path)
    assert told(shown(entries)) == ["message 1"]
    assert notes.warnings == ["line 3 is kept as an event: Nobody is known by the role 'oracle' (at message.role)"]
