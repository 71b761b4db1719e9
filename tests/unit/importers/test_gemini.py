"""Gemini CLI sessions: messages written again, rewinds, compressed histories, and contents of the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from playhead.importers.report import Notes
from tests.unit.importers.sample import Sample
from tests.unit.importers.sessions import read, shown, told

HEAD = {"sessionId": "s", "projectHash": "p", "startTime": "2026-03-01T10:00:00.000Z"}


def asked(id_: str, text: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": "2026-03-01T10:00:01.000Z", "type": "user", "content": text}


def answered(id_: str, text: Any, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": "2026-03-01T10:00:02.000Z", "type": "gemini", "content": text, "model": "gemini-2.5-pro", **fields}


def session(*records: dict[str, Any], tmp_path: Path) -> tuple[list[TapeEntry], Notes]:
    entries, notes = read(Sample(format="gemini-cli", records=[HEAD, *records]).write(tmp_path / "session.jsonl"))
    assert notes.unreadable == []
    return entries, notes


def events(entries: list[TapeEntry]) -> list[str]:
    return [e.payload["name"] for e in entries if e.kind == "event"]


def test_a_message_that_is_written_again_is_read_where_it_says_all(tmp_path: Path) -> None:
    entries, notes = session(asked("u", "Up?"), answered("g", "Yes."), answered("g", "Yes.", tokens={"input": 3}, thoughts=[{"subject": "Ping"}]), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Up?", "message **Ping** Yes."]
    assert shown(entries)[1].meta["usage"] == {"input": 3}
    assert notes.told() == ("1 lines were written again further on, with all they say, and were read there",)


def test_an_earlier_form_that_says_something_else_is_kept_as_an_event(tmp_path: Path) -> None:
    entries, notes = session(asked("u", "Up?"), answered("g", "Yes, with details."), answered("g", "[masked]"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Up?", "message [masked]"]
    (event,) = [e for e in entries if e.payload.get("name") == "gemini_cli.rewritten"]
    assert event.payload["data"]["content"] == "Yes, with details."
    assert notes.rewritten == 0


def test_what_was_rewound_is_kept_and_not_shown(tmp_path: Path) -> None:
    entries, _ = session(asked("u1", "1"), answered("g1", "one"), asked("u2", "2"), answered("g2", "two"), {"$rewindTo": "u2"}, asked("u3", "3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one", "message 3"]
    assert [told([e]) for e in entries if e.meta.get("context") is False] == [["message 2"], ["message two"]]
    assert "gemini_cli.rewind" in events(entries)


def test_a_rewind_to_an_unknown_message_takes_all_back(tmp_path: Path) -> None:
    entries, _ = session(asked("u1", "1"), {"$rewindTo": "lost"}, asked("u2", "2"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 2"]


def test_a_compressed_history_is_an_anchor_and_stands_behind_it(tmp_path: Path) -> None:
    replaced = {"$set": {"messages": [asked("x", [{"text": "All in short."}]), answered("g2", [{"text": "two"}])], "lastUpdated": "t"}}
    entries, _ = session(asked("u1", "1"), answered("g1", "one"), answered("g2", "two"), replaced, asked("u3", "3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one", "message two", "anchor compaction", "message All in short.", "message two", "message 3"]
    (anchor,) = [e for e in entries if e.kind == "anchor"]
    assert anchor.meta["import"]["fields"] == {"lastUpdated": "t"}


def test_what_is_rewound_in_a_compressed_history_is_not_shown(tmp_path: Path) -> None:
    replaced = {"$set": {"messages": [asked("x", "short"), asked("y", "kept")]}}
    entries, _ = session(asked("u1", "1"), replaced, asked("u2", "2"), {"$rewindTo": "y"}, asked("u3", "3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "anchor compaction", "message short", "message 3"]


def test_a_history_whose_results_were_masked_is_no_compaction(tmp_path: Path) -> None:
    masked = {"$set": {"messages": [asked("u1", "1"), answered("g1", "[masked]")]}}
    entries, _ = session(asked("u1", "1"), answered("g1", "one"), masked, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one"]
    assert events(entries) == ["gemini_cli.session", "gemini_cli.session"]


@pytest.mark.parametrize(
    ("call", "kind", "answer"),
    [
        ({"status": "success", "result": [{"functionResponse": {"id": "c", "name": "f", "response": {"output": "ok"}}}]}, "tool_result", ["ok"]),
        ({"status": "success", "result": [{"functionResponse": {"id": "c", "name": "f", "response": {"a": 1, "b": 2}}}]}, "tool_result", ['{"a":1,"b":2}']),
        ({"status": "error", "result": None, "resultDisplay": "denied"}, "tool_result", ["denied"]),
        ({"status": "cancelled"}, "tool_result", [""]),
        ({"status": "success"}, "tool_result", [""]),
        ({"status": "executing"}, "tool_call", None),
    ],
)
def test_a_call_is_answered_once_it_has_ended(call: dict[str, Any], kind: str, answer: list[str] | None, tmp_path: Path) -> None:
    entries, _ = session(asked("u", "Go."), answered("g", "", toolCalls=[{"id": "c", "name": "f", "args": {}, **call}]), tmp_path=tmp_path)
    last = shown(entries)[-1]
    assert last.kind == kind
    assert answer is None or last.payload["results"] == answer
    assert answer is None or last.payload.get("is_error", [False]) == [call["status"] in ("error", "cancelled")]


def test_pictures_beside_an_answer_are_part_of_it(tmp_path: Path) -> None:
    result = [{"functionResponse": {"id": "c", "name": "f", "response": {"output": "see"}}}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]
    entries, _ = session(asked("u", "Go."), answered("g", "", toolCalls=[{"id": "c", "name": "f", "args": {}, "status": "success", "result": result}]), tmp_path=tmp_path)
    assert [p["type"] for p in shown(entries)[-1].payload["results"][0]] == ["text", "image"]


def test_calls_without_ids_are_named_by_their_place(tmp_path: Path) -> None:
    calls = [{"name": "f", "args": {}, "status": "success"}, {"name": "f", "args": {}, "status": "executing"}, {"name": "f", "args": {}, "status": "success"}]
    entries, _ = session(asked("u", "Go."), answered("g", "", toolCalls=calls), tmp_path=tmp_path)
    assert told(shown(entries))[1:] == ["tool_call g-0,g-1,g-2", "tool_result g-0,g-2"]


def test_calls_that_stand_in_the_content_too_are_told_once(tmp_path: Path) -> None:
    content = [{"text": "I look."}, {"functionCall": {"id": "c", "name": "f", "args": {}}}]
    entries, _ = session(asked("u", "Go."), answered("g", content, toolCalls=[{"id": "c", "name": "f", "args": {}, "status": "success"}]), tmp_path=tmp_path)
    assert [c["id"] for c in shown(entries)[1].payload["calls"]] == ["c"]


def test_the_log_of_prompts_is_read_as_what_users_said(tmp_path: Path) -> None:
    records = [{"sessionId": "s", "messageId": n, "type": "user", "message": text, "timestamp": f"2026-03-01T10:00:0{n}.000Z"} for n, text in enumerate(["/model", "Up?"])]
    entries, _ = read(Sample(format="gemini-cli", document="", records=records).write(tmp_path / "logs.json"))
    assert told(shown(entries)) == ["message /model", "message Up?"]
    assert {e.meta["import"]["format"] for e in entries} == {"gemini-cli"}


def test_a_checkpoint_of_the_client_is_read(tmp_path: Path) -> None:
    history = [{"role": "user", "parts": [{"text": "Up?"}]}, {"role": "model", "parts": [{"text": "Yes."}]}]
    fields = {"history": [{"type": "user", "text": "Up?", "id": 1}], "toolCall": {"name": "f", "args": {}}}
    entries, _ = read(Sample(format="gemini-contents", document="clientHistory", fields=fields, records=history).write(tmp_path / "checkpoint.json"))
    assert told(shown(entries)) == ["message Up?", "message Yes."]


def test_answers_without_ids_go_to_the_first_call_of_their_name(tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}, {"functionCall": {"name": "b", "args": {}}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "b", "response": {"output": "2"}}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "a", "response": {"error": "1"}}}]},
    ]
    entries, _ = read(Sample(format="gemini-contents", document="", records=contents).write(tmp_path / "c.json"))
    assert told(shown(entries))[1:] == ["tool_call a-1,b-2", "tool_result b-2", "tool_result a-1"]
    assert shown(entries)[-1].payload["is_error"] == [True]
