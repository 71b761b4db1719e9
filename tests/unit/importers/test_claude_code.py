import base64
import json
from pathlib import Path

import pytest

from playhead.errors import UnreadableFile
from tests.data import shared
from tests.unit.importers.sessions import SESSION, Session, call, read, shown, text, thinking, told


def test_records_of_one_turn_become_one_entry_and_its_results_stand_behind_it(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.turn(thinking("hm"), id="m1")
    session.turn(text("I look."), id="m1")
    first = session.turn(call("c1", command="ls"), id="m1")
    session.result("c1")
    session.turn(call("c2", command="pwd"), id="m1", parent=first)
    session.result("c2", is_error=True)
    session.turn(text("Done."), id="m2")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "tool_call c1,c2", "tool_result c1", "tool_result c2", "message Done."]
    turn = shown(entries)[1]
    assert [p["type"] for p in turn.payload["content"]] == ["thinking", "text", "tool_call", "tool_call"]
    assert turn.payload["content"][0] == {"type": "thinking", "text": "hm", "signature": "sig", "provider": "anthropic", "model": "claude-opus-4-6"}
    assert turn.meta["model"] == "claude-opus-4-6"
    assert turn.meta["usage"] == {"input_tokens": 3, "output_tokens": 5}
    assert shown(entries)[3].payload["is_error"] == [True]


def test_an_entry_tells_where_it_comes_from_and_when_it_was(tmp_path: Path) -> None:
    session = Session()
    uuid = session.prompt("hello")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    (entry,) = shown(entries)
    assert entry.date == "2026-02-11T20:00:01.000000+00:00"
    assert entry.meta["idempotency_key"] == f"import:claude-code:{uuid}"
    origin = entry.meta["import"]
    assert (origin["format"], origin["source"], origin["line"], origin["uuid"]) == ("claude-code", "s.jsonl", 1, uuid)


def test_the_folder_of_a_file_is_no_part_of_what_it_becomes(tmp_path: Path) -> None:
    session = Session()
    session.prompt("hello")
    one, _ = read(session.write(tmp_path / "s.jsonl"))
    (tmp_path / "elsewhere").mkdir()
    other, _ = read(session.write(tmp_path / "elsewhere" / "s.jsonl"))
    assert one == other


def test_what_records_repeat_about_their_session_is_told_once_and_when_it_changes(tmp_path: Path) -> None:
    session = Session()
    session.prompt("a")
    session.turn(text("b"), id="m1")
    session.prompt("c", cwd="/elsewhere")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    told_by = [e.payload["data"]["cwd"] for e in entries if e.payload.get("name") == "claude_code.session"]
    assert told_by == ["/home/user/project", "/elsewhere"]
    assert entries[0].payload["data"]["sessionId"] == SESSION


def test_words_beside_a_result_stand_behind_it(tmp_path: Path) -> None:
    session = Session()
    session.turn(call("c1"), id="m1")
    session.result("c1", words=[text("[Request interrupted by user]")])
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["tool_call c1", "tool_result c1", "message [Request interrupted by user]"]
    keys = [e.meta["idempotency_key"] for e in entries]
    assert len(set(keys)) == len(keys)


def test_a_result_that_stands_before_its_call_comes_behind_it(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.result("c1")
    session.turn(call("c1"), id="m1")
    session.turn(text("Done."), id="m2")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "tool_call c1", "tool_result c1", "message Done."]


def test_a_rewound_branch_is_kept_and_not_shown(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    fork = session.turn(text("Which way?"), id="m1")
    session.prompt("left")
    session.turn(call("c1"), id="m2")
    session.result("c1")
    session.prompt("right", parent=fork)
    session.turn(text("Right it is."), id="m3")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "message Which way?", "message right", "message Right it is."]
    kept = [e for e in entries if e.meta.get("context") is False]
    assert told(kept) == ["message left", "tool_call c1", "tool_result c1"]
    assert {e.meta["import"]["branch"] for e in kept} == {"abandoned"}


def test_a_sidechain_in_a_main_file_is_kept_and_not_shown(tmp_path: Path) -> None:
    session, agent = Session(), Session(side=True, agent="a1")
    agent.count = 100
    session.prompt("go")
    session.turn(call("c1", "Task"), id="m1")
    agent.prompt("find it")
    agent.turn(call("s1"), id="n1")
    agent.result("s1")
    session.records += agent.records
    session.result("c1")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "tool_call c1", "tool_result c1"]
    kept = [e for e in entries if e.meta["import"].get("branch") == "sidechain"]
    assert told(kept) == ["message find it", "tool_call s1", "tool_result s1"]
    assert kept[0].meta["import"]["fields"] == {"agentId": "a1"}


def test_turns_of_several_sidechains_that_interleave_stay_whole(tmp_path: Path) -> None:
    one, two = Session(side=True, agent="a1"), Session(side=True, agent="a2")
    main = Session()
    main.count, two.count = 200, 100
    main.prompt("go")
    for agent, name in ((one, "p"), (two, "q")):
        agent.prompt("look")
        agent.turn(call(f"{name}1"), id=name)
        agent.result(f"{name}1")
        agent.turn(call(f"{name}2"), id=name)
        agent.result(f"{name}2")
    mixed = [r for pair in zip(one.records, two.records, strict=True) for r in pair]
    main.records += mixed
    entries, _ = read(main.write(tmp_path / "s.jsonl"))
    turns = [told([e])[0] for e in entries if e.kind != "event"]
    assert turns == ["message go", "message look", "message look", "tool_call p1,p2", "tool_result p1", "tool_call q1,q2", "tool_result q1", "tool_result p2", "tool_result q2"]


def test_a_subagents_own_file_is_shown(tmp_path: Path) -> None:
    session = Session(side=True, agent="a1")
    session.prompt("look")
    session.turn(text("Found."), id="m1")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message look", "message Found."]


def test_a_compaction_becomes_one_anchor_with_the_summary_as_state(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.turn(text("Much work."), id="m1")
    session.compaction("We did much work.", trigger="manual")
    session.prompt("on")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "message Much work.", "anchor compaction", "message on"]
    (anchor,) = (e for e in entries if e.kind == "anchor")
    assert anchor.payload == {"name": "compaction", "state": {"summary": "We did much work.", "trigger": "manual", "pre_tokens": 160_000}}


def test_a_boundary_without_a_summary_is_an_anchor_too(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.compaction("lost")
    session.last = session.records.pop()["parentUuid"]
    session.prompt("on")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "anchor compaction", "message on"]


def test_a_summary_without_a_boundary_is_an_anchor_too(tmp_path: Path) -> None:
    session = Session()
    session.prompt("This session is being continued.", isCompactSummary=True)
    session.prompt("on")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert shown(entries)[0].payload == {"name": "compaction", "state": {"summary": "This session is being continued."}}


def test_a_compaction_on_an_abandoned_branch_is_no_anchor(tmp_path: Path) -> None:
    session = Session()
    first = session.prompt("go")
    session.compaction("old")
    session.prompt("on")
    session.prompt("again", parent=first)
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert [e for e in entries if e.kind == "anchor"] == []
    assert told(shown(entries)) == ["message go", "message again"]
    assert any("old" in json.dumps(e.payload) for e in entries)


def test_a_failed_call_is_an_error_and_no_turn(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.turn(text("API Error: 529 overloaded"), id="e1", isApiErrorMessage=True, error="server_error")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    (error,) = (e for e in entries if e.kind == "error")
    assert error.payload == {"kind": "api_error", "message": "API Error: 529 overloaded", "details": {"error": "server_error", "request": "req_e1"}}


def test_reminders_are_part_of_the_conversation_and_marked(tmp_path: Path) -> None:
    session = Session()
    session.prompt("Caveat: local commands follow.", isMeta=True)
    session.prompt("hello")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message Caveat: local commands follow.", "message hello"]
    assert [e.meta["import"].get("note") for e in shown(entries)] == [True, None]


def test_attachments_that_the_model_read_are_messages_and_the_others_events(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.add("attachment", attachment={"type": "hook_additional_context", "hookName": "PostToolUse:Edit", "content": ["one", "two"]})
    session.add("attachment", attachment={"type": "queued_command", "prompt": "and hurry"})
    session.add("attachment", attachment={"type": "file", "filename": "a.py", "content": {"type": "text", "file": {"content": "print()"}}})
    session.add("attachment", attachment={"type": "token_usage", "used": 5})
    session.turn(text("ok"), id="m1")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == [
        "message go",
        "message <system-reminder>\nPostToolUse:Edit hook additional context:\none\ntwo\n</system-reminder>",
        "message and hurry",
        "message <system-reminder>\na.py:\nprint()\n</system-reminder>",
        "message ok",
    ]
    assert [e.payload["data"] for e in entries if e.payload.get("name") == "claude_code.attachment"] == [{"attachment": {"type": "token_usage", "used": 5}}]


def test_other_records_are_events_with_what_they_say(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.add("progress", data={"type": "bash_progress", "output": "..."}, toolUseID="t")
    session.bare(type="queue-operation", operation="enqueue", content="x", sessionId=SESSION)
    session.bare(type="file-history-snapshot", messageId="m", snapshot={"trackedFileBackups": {}})
    session.bare(type="summary", summary="A title", leafUuid="l")
    session.bare(type="something-new", sessionId=SESSION, value=[1, {"a": None}])
    session.bare(silly="this")
    entries, notes = read(session.write(tmp_path / "s.jsonl"))
    events = {e.payload["name"]: e.payload["data"] for e in entries if e.kind == "event"}
    assert events["claude_code.progress"] == {"data": {"type": "bash_progress", "output": "..."}, "toolUseID": "t"}
    assert events["claude_code.queue-operation"] == {"operation": "enqueue", "content": "x"}
    assert events["claude_code.something-new"] == {"value": [1, {"a": None}]}
    assert events["claude_code.unknown"] == {"silly": "this"}
    assert notes.unreadable == []


def test_a_session_that_begins_with_a_snapshot_begins_when_that_was_taken(tmp_path: Path) -> None:
    session = Session()
    session.bare(type="file-history-snapshot", messageId="m", snapshot={"trackedFileBackups": {}, "timestamp": "2024-05-06T07:08:09.000Z"})
    session.prompt("go")
    session.bare(type="file-history-snapshot", messageId="n", snapshot={"trackedFileBackups": {}, "timestamp": "2023-01-01T00:00:00.000Z"})
    first, *_, prompt, last = read(session.write(tmp_path / "s.jsonl"))[0]
    assert first.date == "2024-05-06T07:08:09.000000+00:00"
    assert last.date == prompt.date > first.date


def test_pictures_keep_their_bytes(tmp_path: Path) -> None:
    session = Session()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    session.prompt([text("see"), picture])
    session.turn(call("c1"), id="m1")
    session.result("c1", [picture])
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert shown(entries)[0].payload["content"][1] == {"type": "image", "mime": "image/png", "data": "aGVsbG8="}
    assert shown(entries)[2].payload["results"][0][0]["data"] == "aGVsbG8="


def test_white_space_alone_is_kept(tmp_path: Path) -> None:
    session = Session()
    session.turn(text("\n\n"), id="m1")
    session.turn(text("Hello."), id="m1")
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert [p["text"] for p in shown(entries)[0].payload["content"]] == ["\n\n", "Hello."]


def test_the_structured_twin_of_a_result_keeps_what_the_result_does_not_say(tmp_path: Path) -> None:
    session = Session()
    output = "a long line of output " * 20
    session.turn(call("c1"), id="m1")
    session.result("c1", output, toolUseResult={"stdout": output, "exitCode": 3, "originalFile": "x" * 50_000})
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    assert shown(entries)[1].meta["import"]["result"] == {"stdout": {"omitted": len(output)}, "exitCode": 3, "originalFile": {"omitted": 50_000}}


def test_records_without_a_readable_message_are_events_and_told(tmp_path: Path) -> None:
    session = Session()
    session.prompt("go")
    session.add("user", message="error")
    session.add("assistant", message={"id": "m", "content": [{"type": "tool_use", "name": 5}]})
    session.prompt("on")
    entries, notes = read(session.write(tmp_path / "s.jsonl"))
    assert told(shown(entries)) == ["message go", "message on"]
    assert [e.payload["data"]["message"] for e in entries if e.payload.get("name") == "claude_code.user"] == ["error"]
    assert len(notes.warnings) == 2


def test_unreadable_lines_are_kept_byte_for_byte_and_their_neighbours_unaffected(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two")
    first, second = session.lines()
    bad = [b'{"type": "user", "mess', b'{"a": "\0"}', b'{"a": "\xff\xfe"}', b'{"a": NaN}', b"[" * 300 + b"]" * 300, b"42", b'"text"', b"[1]"]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([first, *bad, second]))
    entries, notes = read(path)
    assert told(shown(entries)) == ["message one", "message two"]
    assert [line for line, _ in notes.unreadable] == list(range(2, 10))
    kept = [e.payload["data"] for e in entries if e.payload.get("name") == "import.unreadable"]
    assert [base64.b64decode(d["base64"]) if "base64" in d else d["text"].encode() for d in kept] == bad
    assert [d["line"] for d in kept] == list(range(2, 10))


def test_strict_raises_at_the_first_line_that_cannot_be_read(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.lines()[0] + b'\n{"a": 1e999}\n{')
    with pytest.raises(UnreadableFile, match=r"line 2: .*inf is no JSON number"):
        read(path, strict=True)


def test_an_equal_line_is_read_once_and_a_changed_one_with_the_same_uuid_kept(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    session.prompt("two", uuid="u2")
    session.records.append(session.records[-1])
    session.prompt("two, better", uuid="u2", parent=session.records[0]["uuid"])
    entries, notes = read(session.write(tmp_path / "s.jsonl"))
    assert told([e for e in entries if e.kind == "message"]) == ["message one", "message two", "message two, better"]
    assert told(shown(entries)) == ["message one", "message two, better"]
    assert notes.repeated == 1
    keys = [e.meta["idempotency_key"] for e in entries]
    assert len(set(keys)) == len(keys)


def test_equal_records_without_a_uuid_are_each_kept(tmp_path: Path) -> None:
    session = Session()
    session.prompt("one")
    for _ in range(3):
        session.bare(type="queue-operation", operation="remove", sessionId=SESSION)
    entries, _ = read(session.write(tmp_path / "s.jsonl"))
    keys = [e.meta["idempotency_key"] for e in entries if e.payload.get("name") == "claude_code.queue-operation"]
    assert len(set(keys)) == 3


def test_a_web_export_is_read_as_a_document(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    lines = [
        {"type": "user", "timestamp": "2025-12-24T10:00:00.000Z", "message": {"role": "user", "content": "add"}},
        {"type": "assistant", "timestamp": "2025-12-24T10:00:05.000Z", "message": {"role": "assistant", "content": [call("c1")]}},
        {"type": "user", "timestamp": "2025-12-24T10:00:06.000Z", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}},
    ]
    path.write_text(json.dumps({"title": "A session", "loglines": lines}, indent=1))
    entries, _ = read(path)
    assert told(shown(entries)) == ["message add", "tool_call c1", "tool_result c1"]
    assert entries[0].payload == {"name": "claude_code.document", "data": {"title": "A session"}}


def test_a_file_that_shrinks_under_the_reading_is_refused(tmp_path: Path) -> None:
    from playhead.importers.detect import Opened, source_of
    from playhead.importers.items import Marks
    from playhead.importers.report import Notes

    session = Session()
    session.prompt("one")
    session.prompt("two")
    path = session.write(tmp_path / "s.jsonl")
    with path.open("rb") as file:
        source = source_of(Opened(file=file, size=path.stat().st_size, path=str(path), name=path.name), format="auto")
        list(source.index(strict=False))
        path.write_bytes(session.lines()[0] + b"\n")
        with pytest.raises(UnreadableFile, match="import it again"):
            list(source.items(marks=Marks(), notes=Notes(), seen=lambda done: None))


@pytest.mark.parametrize("name", ["spotter_258c7280.jsonl", "spotter_ae4a77f8.jsonl", "spotter_tool_heavy.jsonl", "spotter_4d5611e5_subagent.jsonl", "spotter_fa812bfe_acompact.jsonl"])
def test_every_block_of_a_real_session_is_on_the_tape_once_and_in_order(name: str) -> None:
    path = shared("trajectories", "claude_code", name)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    asked = [b["id"] for r in records if r["type"] == "assistant" for b in r["message"]["content"] if b["type"] == "tool_use"]
    answered = [b["tool_use_id"] for r in records if r["type"] == "user" and isinstance(r["message"]["content"], list) for b in r["message"]["content"] if b["type"] == "tool_result"]
    turns = {r["message"]["id"] for r in records if r["type"] == "assistant"}
    entries, notes = read(path)
    assert notes.unreadable == []
    assert [c["id"] for e in entries if e.kind == "tool_call" for c in e.payload["calls"]] == asked
    assert sorted(c for e in entries if e.kind == "tool_result" for c in e.payload["call_ids"]) == sorted(answered)
    assert len([e for e in entries if e.kind == "tool_call" or e.payload.get("role") == "assistant"]) == len(turns)
    assert not [e for e in entries if e.meta.get("context") is False]
    place = {c["id"]: i for i, e in enumerate(entries) if e.kind == "tool_call" for c in e.payload["calls"]}
    assert all(place[c] < i for i, e in enumerate(entries) if e.kind == "tool_result" for c in e.payload["call_ids"])
    events = [r for r in records if r["type"] not in ("user", "assistant") and r.get("subtype") != "compact_boundary"]
    assert len([e for e in entries if e.kind == "event" and e.payload["name"] != "claude_code.session"]) == len(events)
