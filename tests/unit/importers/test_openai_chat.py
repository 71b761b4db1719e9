import json
from pathlib import Path
from typing import Any

import pytest

from playhead.entry.payload import message_from_payload, results_from_payload, turn_from_payload
from playhead.errors import UnreadableFile
from playhead.wire import openai_chat
from tests.data import shared
from tests.unit.importers.sessions import read, shown, told

CALL = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": '{"host": "gw"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it up?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "yes"},
    {"role": "assistant", "content": "It is."},
]
TOLD = ["message Be brief.", "message Is it up?", "tool_call c1", "tool_result c1", "message It is."]


def forms(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        "list": json.dumps(messages),
        "indented list": json.dumps(messages, indent=2),
        "object": json.dumps({"messages": messages}),
        "indented object": json.dumps({"messages": messages}, indent=2),
        "lines": "\n".join(map(json.dumps, messages)),
        "list of objects": json.dumps([{"messages": messages}]),
    }


@pytest.mark.parametrize("form", forms(MESSAGES))
def test_every_form_of_a_conversation_is_read_alike(form: str, tmp_path: Path) -> None:
    path = tmp_path / "chat"
    path.write_text(forms(MESSAGES)[form])
    entries, notes = read(path)
    assert told(shown(entries)) == TOLD
    assert notes.unreadable == []


def test_a_conversation_has_the_same_keys_in_every_form(tmp_path: Path) -> None:
    keys = []
    for name, body in forms(MESSAGES).items():
        (tmp_path / name).write_text(body)
        keys.append([e.meta["idempotency_key"] for e in read(tmp_path / name)[0]])
    assert all(found == keys[0] for found in keys)


def test_each_of_several_conversations_begins_with_an_anchor_without_state(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({"messages": MESSAGES, "task_id": n, "reward": 0.5}) for n in range(2)))
    entries, _ = read(path)
    assert told(shown(entries)) == ["anchor conversation/1", *TOLD, "anchor conversation/2", *TOLD]
    anchors = [e for e in entries if e.kind == "anchor"]
    assert [a.payload["state"] for a in anchors] == [{}, {}]
    assert anchors[1].meta["import"]["fields"] == {"task_id": 1}
    assert [e.payload["data"] for e in entries if e.kind == "event"] == [{"task_id": 0, "reward": 0.5}, {"task_id": 1, "reward": 0.5}]


def test_equal_messages_and_equal_conversations_are_each_kept(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "yes"}, {"role": "assistant", "content": "no"}] * 3
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({"messages": chat}) for _ in range(2)))
    entries, _ = read(path)
    assert len({e.meta["idempotency_key"] for e in entries}) == len(entries) == 14


def test_a_growing_conversation_keeps_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    messages = [*MESSAGES, *MESSAGES[1:]]
    path.write_text("\n".join(map(json.dumps, messages)))
    whole = [e.meta["idempotency_key"] for e in read(path)[0]]
    for n in range(1, len(messages)):
        path.write_text("\n".join(map(json.dumps, messages[:n])))
        assert [e.meta["idempotency_key"] for e in read(path)[0]] == whole[:n]


def test_an_edited_message_changes_no_other_key(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, MESSAGES)))
    before = [e.meta["idempotency_key"] for e in read(path)[0]]
    path.write_text("\n".join(map(json.dumps, [*MESSAGES[:4], {"role": "assistant", "content": "It was."}])))
    after = [e.meta["idempotency_key"] for e in read(path)[0]]
    assert after[:4] == before[:4]
    assert after[4] != before[4]


def test_dates_of_messages_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "a", "timestamp": 1_700_000_000}, {"role": "user", "content": "b", "created_at": "2026-01-01T00:00:00Z"}]))
    assert [e.date for e in read(path)[0]] == ["2023-11-14T22:13:20.000000+00:00", "2026-01-01T00:00:00.000000+00:00"]


def test_a_broken_line_and_a_message_of_no_known_form_are_kept_and_told(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"role"\n{"role": "user", "content": [5]}\n{"other": 1}\n{"role": "user", "content": "b"}')
    entries, notes = read(path)
    assert told(shown(entries)) == ["message a", "message b"]
    assert [line for line, _ in notes.unreadable] == [2]
    assert len(notes.warnings) == 1
    assert [e.payload["name"] for e in entries if e.kind == "event"] == ["import.unreadable", "openai_chat.message", "openai_chat.unknown"]


def test_a_document_that_is_cut_off_keeps_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(MESSAGES)[:-20])
    entries, notes = read(path)
    assert told(shown(entries)) == TOLD[:-1]
    assert len(notes.unreadable) == 2


def test_strict_raises_at_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"role"')
    with pytest.raises(UnreadableFile, match="line 2"):
        read(path, strict=True)


def test_a_real_file_of_conversations_is_read_back_word_for_word() -> None:
    path = shared("trajectories", "tau_bench", "gpt-4o-airline-even.json")
    entries, notes = read(path)
    assert notes.unreadable == []
    source = json.loads(path.read_bytes())
    place = iter(e for e in entries if e.kind not in ("event", "anchor"))
    for conversation in source:
        for value in conversation["traj"]:
            entry = next(place)
            if entry.kind == "message":
                message = message_from_payload(entry.payload)
            elif entry.kind == "tool_call":
                message = turn_from_payload(entry.payload)
            else:
                (result,) = results_from_payload(entry.payload)
                message = openai_chat.load([value])[0]
                assert message.results == (result,)
            assert (message,) == openai_chat.load([value])
    assert next(place, None) is None
