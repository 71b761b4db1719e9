"""import and export: other programs' files become tapes, tapes become files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playhead.entry.lines import entry_from_json
from tests.data import shared
from tests.integration.program import Program

CHAT = {"messages": [{"role": "user", "content": "Up?"}, {"role": "assistant", "content": "It is up."}]}
SESSION = [
    '{"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s", "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user", "content": "Look."}}',
    '{"broken": ',
    '{"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "timestamp": "2026-03-01T10:00:01Z", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}}',
]


@pytest.fixture
def chat(tmp_path: Path) -> str:
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    return "chat.json"


@pytest.fixture
def session(tmp_path: Path) -> str:
    (tmp_path / "session.jsonl").write_text("\n".join(SESSION) + "\n")
    return "session.jsonl"


def test_a_file_is_imported_once(playhead: Program, chat: str):
    first = playhead.json("import", chat, "--tape", "t")
    assert (first["added"], first["known"], first["files"][0]["format"]) == (2, 0, "openai-chat")
    again = playhead.json("import", chat, "--tape", "t")
    assert (again["added"], again["known"]) == (0, 2)


def test_an_unreadable_line_is_a_warning_that_names_it(playhead: Program, session: str):
    ran = playhead.run("import", session, "--tape", "t")
    assert ran.code == 0
    assert ran.error.startswith("warning: ")
    assert "line 2" in ran.error
    assert [e["payload"].get("content") for e in playhead.json("show", "--tape", "t", "--kind", "message")["entries"]] == ["Look.", [{"type": "text", "text": "Done."}]]
    events = playhead.json("show", "--tape", "t", "--kind", "event")["entries"]
    assert any('{"broken":' in str(value) for e in events for value in e["payload"].get("data", {}).values())


def test_json_lists_unreadable_lines_and_still_succeeds(playhead: Program, session: str):
    ran = playhead.run("import", session, "--tape", "t", "--json")
    assert ran.code == 0
    assert [(u["file"], u["line"]) for u in ran.json["unreadable"]] == [(session, 2)]


def test_strict_writes_nothing_where_a_line_cannot_be_read(playhead: Program, session: str):
    ran = playhead.run("import", session, "--tape", "t", "--strict")
    assert (ran.code, "line 2" in ran.error) == (1, True)
    assert playhead.json("ls")["tapes"] == []


def test_several_files_go_onto_one_tape(playhead: Program, chat: str, session: str):
    done = playhead.run("import", chat, session, "--tape", "t", "--json").json
    assert [(f["file"], f["format"]) for f in done["files"]] == [(chat, "openai-chat"), (session, "claude-code")]
    assert done["added"] == sum(f["added"] for f in done["files"])


def test_what_was_imported_before_a_file_that_fails_is_told(playhead: Program, chat: str):
    ran = playhead.run("import", chat, "absent.json", "--tape", "t", "--json")
    assert ran.code == 1
    assert ran.json["added"] == 2
    assert json.loads(ran.error)["error"]["details"]["path"] == "absent.json"


@pytest.mark.parametrize("name", ["spotter_258c7280.jsonl", "spotter_ae4a77f8.jsonl"])
def test_a_whole_session_is_imported_compiled_and_explained(playhead: Program, name: str):
    file = str(shared("trajectories", "claude_code", name))
    imported = playhead.json("import", file, "--tape", "session")
    assert (imported["unreadable"], playhead.json("info", "--tape", "session")["entries"] >= imported["added"] > 1_000) == ([], True)
    for words in (("--max-tokens", "32000", "--anchor", "none", "--strategy", "windowed"), ("--max-tokens", "200000", "--for", "anthropic")):
        compiled = playhead.json("compile", "--tape", "session", *words)
        assert 0 < compiled["stats"]["total"] <= compiled["budget"]["room"]
        assert compiled["payload"]["messages"]
        rows = playhead.json("explain", "--tape", "session", *words)["rows"]
        assert sum(r["tokens"] or 0 for r in rows if r["form"] == "raw") == compiled["stats"]["raw"]


def test_every_conversation_of_a_file_is_behind_an_anchor_of_its_own(playhead: Program):
    file = str(shared("trajectories", "tau_bench", "gpt-4o-airline-even.json"))
    imported = playhead.json("import", file, "--tape", "airline")
    assert playhead.json("info", "--tape", "airline")["anchors"] >= imported["files"][0]["conversations"] == 100


def test_what_is_exported_as_jsonl_is_what_is_on_the_tape(playhead: Program, session: str):
    playhead.run("import", session, "--tape", "t")
    printed = playhead.run("export", "--tape", "t", "--as", "jsonl").out
    written = playhead.json("export", "--tape", "t", "--as", "jsonl", "--output", "t.jsonl")
    entries = playhead.json("show", "--tape", "t")["entries"]
    body = (playhead.place / "t.jsonl").read_bytes()
    assert [json.loads(line) for line in printed.splitlines()] == entries == [json.loads(line) for line in body.splitlines()] == playhead.json("export", "--tape", "t", "--as", "jsonl")["entries"]
    assert written["bytes"] == len(body)
    assert [entry_from_json(e).kind for e in entries] == [e["kind"] for e in entries]


def test_an_export_takes_its_name_only_when_it_is_whole(playhead: Program, chat: str):
    playhead.json("import", chat, "--tape", "t")
    (playhead.place / "kept.json").write_text("what stood before")
    assert playhead.run("export", "--tape", "t", "--as", "openai", "--anchor", "nowhere", "--output", "kept.json").code == 1
    assert (playhead.place / "kept.json").read_text() == "what stood before"
    assert playhead.run("export", "--tape", "t", "--as", "openai", "--output", "kept.json").code == 0
    assert json.loads((playhead.place / "kept.json").read_text())["messages"] == CHAT["messages"]
    assert list(playhead.place.glob(".*.part")) == []


def test_markdown_keeps_the_words_and_fences_what_tools_said(playhead: Program):
    playhead.json("append", "--tape", "t", "**Look** at it.")
    playhead.json(
        "append", "--tape", "t", "--entry", '{"kind": "tool_call", "payload": {"calls": [{"id": "c", "name": "run", "arguments": {"host": "gw1"}}], "content": [{"type": "tool_call", "id": "c"}]}}'
    )
    playhead.json("append", "--tape", "t", "--entry", '{"kind": "tool_result", "payload": {"results": ["```\\nok\\n```"], "call_ids": ["c"]}}')
    text = playhead.run("export", "--tape", "t", "--as", "markdown").out
    assert text.startswith("# t\n\n## 1 · user · ")
    assert "\n**Look** at it.\n" in text
    assert '**→ run**\n\n```json\n{\n  "host": "gw1"\n}\n```\n' in text
    assert "**← result**\n\n````\n```\nok\n```\n````\n" in text


@pytest.mark.parametrize(("form", "key"), [("openai", "messages"), ("openai-responses", "input"), ("anthropic", "messages")])
def test_a_provider_body_is_exported_whole(playhead: Program, chat: str, form: str, key: str):
    playhead.json("import", chat, "--tape", "t")
    payload = playhead.json("export", "--tape", "t", "--as", form)["payload"]
    assert len(payload[key]) == 2
    assert json.loads(playhead.run("export", "--tape", "t", "--as", form).out) == payload
