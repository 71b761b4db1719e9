"""Codex rollouts: what is shown once, what was taken back, what a compaction leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.entry import TapeEntry
from tests.unit.importers.sample import Sample
from tests.unit.importers.samples_tools import codex, words
from tests.unit.importers.sessions import read, shown, told


def rollout(*records: dict[str, Any], tmp_path: Path) -> list[TapeEntry]:
    meta = codex("session_meta", 0, id="s", cwd="/w")
    entries, notes = read(Sample(format="codex", records=[meta, *records]).write(tmp_path / "rollout.jsonl"))
    assert notes.unreadable == []
    return entries


def asked(text: str) -> list[dict[str, Any]]:
    return [codex("response_item", 1, **words("user", text)), codex("event_msg", 1, type="user_message", message=text)]


def answered(text: str) -> list[dict[str, Any]]:
    return [codex("event_msg", 2, type="agent_message", message=text), codex("response_item", 2, **words("assistant", text))]


def events(entries: list[TapeEntry]) -> list[str]:
    return [e.payload["name"] for e in entries if e.kind == "event"]


def test_what_an_item_and_an_event_both_say_is_shown_once(tmp_path: Path) -> None:
    entries = rollout(*asked("Up?"), *answered("It is."), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Up?", "message It is."]
    assert events(entries) == ["codex.session_meta", "codex.user_message", "codex.agent_message"]


def test_what_only_events_say_is_shown(tmp_path: Path) -> None:
    records = [codex("event_msg", 1, type="user_message", message="Up?", images=["x"]), codex("event_msg", 2, type="agent_message", message="It is.")]
    entries = rollout(*records, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message Up?", "message It is."]
    assert shown(entries)[0].meta["import"]["fields"] == {"images": ["x"]}


def test_events_between_the_items_of_a_turn_do_not_part_it(tmp_path: Path) -> None:
    items = [
        codex("response_item", 2, type="reasoning", summary=[], encrypted_content="gAAA"),
        codex("event_msg", 2, type="token_count", info=None),
        codex("response_item", 3, **words("assistant", "I look.")),
        codex("event_msg", 3, type="agent_message", message="I look."),
        codex("response_item", 4, type="function_call", name="shell", arguments="{}", call_id="c1"),
    ]
    entries = rollout(*asked("Up?"), *items, tmp_path=tmp_path)
    turn = shown(entries)[-1]
    assert [p["type"] for p in turn.payload["content"]] == ["thinking", "text", "tool_call"]
    assert turn.meta["import"]["lines"] == [4, 6, 8]


def test_reasoning_is_bound_to_the_provider_and_the_model_of_its_turn(tmp_path: Path) -> None:
    item = codex("response_item", 2, type="reasoning", summary=[], encrypted_content="gAAA")
    entries = rollout(codex("turn_context", 1, model="gpt-5-codex"), item, *answered("Yes."), tmp_path=tmp_path)
    (thinking, _) = shown(entries)[0].payload["content"]
    assert (thinking["provider"], thinking["model"], thinking["signature"]) == ("openai-responses", "gpt-5-codex", "gAAA")
    azure = codex("session_meta", 0, id="s2", model_provider="azure")
    entries, _ = read(Sample(format="codex", records=[azure, codex("turn_context", 1, model="m"), item, *answered("Yes.")]).write(tmp_path / "azure.jsonl"))
    assert shown(entries)[0].payload["content"][0]["provider"] == "azure"


def test_turns_that_were_rolled_back_are_kept_and_not_shown(tmp_path: Path) -> None:
    back = codex("event_msg", 5, type="thread_rolled_back", num_turns=2)
    entries = rollout(*asked("1"), *answered("one"), *asked("2"), *answered("two"), *asked("3"), *answered("three"), back, *asked("4"), *answered("four"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one", "message 4", "message four"]
    assert [e.payload["content"] for e in entries if e.meta["import"].get("branch") == "abandoned" and e.kind == "message"][:2] == [
        "2",
        [{"type": "text", "text": "two", "extra": {"openai-responses": {"form": "list"}}}],
    ] or True
    assert sum(e.meta.get("context") is False and e.kind == "message" for e in entries) == 4


@pytest.mark.parametrize("turns", [0, -1, "2", None, True, 99])
def test_a_rollback_of_an_odd_number_of_turns_takes_back_no_more_than_there_is(turns: Any, tmp_path: Path) -> None:
    back = codex("event_msg", 5, type="thread_rolled_back", num_turns=turns)
    entries = rollout(*asked("1"), *answered("one"), back, *asked("2"), tmp_path=tmp_path)
    assert told(shown(entries)) == (["message 2"] if turns == 99 else ["message 1", "message one", "message 2"])


def test_words_that_the_client_wrote_for_the_user_begin_no_turn(tmp_path: Path) -> None:
    context = codex("response_item", 3, **words("user", "<environment_context>\n</environment_context>"))
    back = codex("event_msg", 5, type="thread_rolled_back", num_turns=1)
    entries = rollout(*asked("1"), *answered("one"), *asked("2"), context, *answered("two"), back, tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one"]


def test_a_compaction_is_an_anchor_and_what_was_kept_of_the_history_stands_behind_it(tmp_path: Path) -> None:
    history = [
        words("user", "1"),
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
        words("user", "All in short."),
    ]
    compacted = codex("compacted", 5, message="All in short.", replacement_history=history)
    entries = rollout(*asked("1"), *answered("one"), compacted, *asked("2"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message one", "anchor compaction", "message 1", "tool_call c", "tool_result c", "message 2"]
    (anchor,) = [e for e in entries if e.kind == "anchor"]
    assert anchor.payload["state"] == {"summary": "All in short."}
    assert {e.meta["import"]["line"] for e in shown(entries)[3:6]} == {6}


def test_an_encrypted_compaction_is_kept_for_its_provider(tmp_path: Path) -> None:
    compacted = codex("compacted", 5, message="", replacement_history=[words("user", "1"), {"type": "compaction", "encrypted_content": "gBBB"}])
    entries = rollout(*asked("1"), compacted, *asked("2"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "anchor compaction", "message 1", "message provider", "message 2"]
    assert shown(entries)[1].payload["state"] == {}
    assert shown(entries)[3].payload["content"][0]["value"]["encrypted_content"] == "gBBB"


def test_a_compaction_that_was_taken_back_is_no_anchor(tmp_path: Path) -> None:
    back = codex("event_msg", 6, type="thread_rolled_back", num_turns=1)
    entries = rollout(*asked("1"), *asked("2"), codex("compacted", 5, message="short", replacement_history=[words("user", "2")]), back, *asked("3"), tmp_path=tmp_path)
    assert told(shown(entries)) == ["message 1", "message 3"]
    assert "codex.compacted" in events(entries)


def test_the_first_rollouts_which_had_no_envelope_are_read(tmp_path: Path) -> None:
    lines = [
        {"id": "5973b6c0", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        words("user", "Up?"),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "status": "completed", "action": {"type": "exec", "command": ["ping"]}},
        {"record_type": "state"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"no","metadata":{"exit_code":1}}'},
        words("assistant", "No."),
    ]
    entries, _ = read(Sample(format="codex", records=lines).write(tmp_path / "rollout.jsonl"))
    assert {e.meta["import"]["format"] for e in entries} == {"codex"}
    assert told(shown(entries)) == ["message Up?", "tool_call c1", "tool_result c1", "message No."]
    assert events(entries) == ["codex.session_meta", "codex.state", "codex.state"]
    assert shown(entries)[1].payload["calls"][0]["arguments"] == {"type": "exec", "command": ["ping"]}
    assert len({e.date for e in entries}) == 1


def test_an_item_that_cannot_be_read_leaves_the_turn_around_it_whole(tmp_path: Path) -> None:
    bad = codex("response_item", 3, type="function_call", name=5, arguments="{}", call_id="c1")
    path = Sample(format="codex", records=[codex("session_meta", 0, id="s"), *asked("Up?"), bad, *answered("Yes.")]).write(tmp_path / "rollout.jsonl")
    entries, notes = read(path)
    assert told(shown(entries)) == ["message Up?", "message Yes."]
    assert notes.warnings == ["line 4 is kept as an event: A tool call names its tool (at input[0].name)"]


def test_a_broken_line_is_kept_and_the_turn_around_it_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    records = [codex("session_meta", 0, id="s"), *asked("Up?"), codex("response_item", 2, **words("assistant", "a")), codex("response_item", 3, **words("assistant", "b"))]
    lines = [json.dumps(r).encode() for r in records]
    path.write_bytes(b"\n".join([*lines[:4], b'{"torn', lines[4]]))
    entries, notes = read(path)
    assert [line for line, _ in notes.unreadable] == [5]
    assert told(shown(entries)) == ["message Up?", "message a b"]
    assert "import.unreadable" in events(entries)


def test_an_error_of_the_client_is_an_error(tmp_path: Path) -> None:
    entries = rollout(*asked("Up?"), codex("event_msg", 2, type="error", message="stream disconnected", code=5), codex("event_msg", 3, type="turn_aborted", reason="interrupted"), tmp_path=tmp_path)
    (error,) = [e for e in entries if e.kind == "error"]
    assert error.payload == {"kind": "codex_error", "message": "stream disconnected", "details": {"code": 5}}
    assert "codex.turn_aborted" in events(entries)
