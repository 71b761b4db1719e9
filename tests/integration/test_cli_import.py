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


def test_the_counts_agree_with_the_list_of_tapes(playhead: Program, chat: str):
    assert "2 entries added to tape 't' (openai-chat), behind the anchor it starts with (2 entries); it has 4 now" in playhead.run("import", chat, "--tape", "t").out
    assert playhead.json("ls")["tapes"][0]["entries"] == 4
    again = playhead.json("import", chat, "--tape", "t")
    assert (again["files"][0]["entries"], playhead.run("import", chat, "--tape", "t").out) == (4, f"{chat}: 0 entries added to tape 't', 2 known already (openai-chat); it has 4 now\n")


def test_a_file_of_several_conversations_says_which_is_in_view(playhead: Program):
    talks = [{"messages": [{"role": "user", "content": word}]} for word in ("one", "two", "three")]
    (playhead.place / "chats.json").write_text(json.dumps(talks))
    said = playhead.run("import", "chats.json", "--tape", "t").error
    assert "3 conversations" in said and "in view is the last, conversation/3" in said
    assert [m["content"] for m in playhead.json("compile", "--tape", "t")["payload"]["messages"]] == ["three"]
    second = playhead.json("compile", "--tape", "t", "--anchor", "conversation/2", "--until", "conversation/3")
    assert [m["content"] for m in second["payload"]["messages"]] == ["two"]
    assert "--anchor conversation/2 --until conversation/3" in said


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


def sessions_below(folder: Path) -> None:
    """Write two sessions and a file that is none below a folder."""
    (folder / "march").mkdir(parents=True)
    (folder / "march" / "first.jsonl").write_text("\n".join(SESSION[::2]) + "\n")
    (folder / "chat.json").write_text(json.dumps(CHAT))
    (folder / "README.md").write_text("# no conversation\n")


def test_every_file_of_a_folder_goes_onto_a_tape_of_its_own(playhead: Program):
    sessions_below(playhead.place / "all")
    ran = playhead.run("import", "all", "--tape", "team", "--json")
    assert [(f["tape"], f["format"], f["added"]) for f in ran.json["files"]] == [("team/chat", "openai-chat", 2), ("team/march/first", "claude-code", 3)]
    assert [(Path(s["file"]).name, "none of the formats" in s["why"]) for s in ran.json["skipped"]] == [("README.md", True)]
    assert [t["tape"] for t in playhead.json("ls")["tapes"]] == ["team/chat", "team/march/first"]
    again = playhead.run("import", "all", "--tape", "team")
    assert (again.code, again.error) == (0, again.error)
    assert again.error.startswith("warning: 1 file skipped") and "README.md" in again.error
    assert "name one with --format if it is" in again.error


def test_the_tapes_of_a_folder_begin_with_its_own_name_unless_told(playhead: Program):
    sessions_below(playhead.place / "all")
    assert [f["tape"] for f in playhead.run("import", "all/", "all/march/..", "--json").json["files"]] == ["all/chat", "all/march/first"] * 2
    assert playhead.run("import", "all", "all/chat.json").code == 2


def test_files_and_folders_are_imported_in_one_go(playhead: Program, chat: str):
    sessions_below(playhead.place / "all")
    done = playhead.run("import", chat, "all", "--tape", "t", "--json").json
    assert [f["tape"] for f in done["files"]] == ["t", "t/chat", "t/march/first"]


def test_a_line_that_cannot_be_read_ends_a_strict_import_of_a_folder(playhead: Program):
    sessions_below(playhead.place / "all")
    (playhead.place / "all" / "march" / "first.jsonl").write_text("\n".join(SESSION) + "\n")
    ran = playhead.run("import", "all", "--tape", "t", "--strict", "--json")
    assert (ran.code, [f["tape"] for f in ran.json["files"]]) == (1, ["t/chat"])
    assert json.loads(ran.error)["error"]["details"]["line"] == 2


def test_a_folder_without_a_conversation_is_an_error(playhead: Program):
    (playhead.place / "empty").mkdir()
    ran = playhead.run("import", "empty", "--tape", "t")
    assert (ran.code, "empty" in ran.error and "no file in it" in ran.error) == (1, True)


@pytest.mark.parametrize(("flag", "place", "tape"), [("--claude-code", ".claude/projects", "claude-code"), ("--codex", ".codex/sessions/2026/03/01", "codex/2026/03/01")])
def test_the_sessions_of_a_tool_are_found_where_it_keeps_them(playhead: Program, flag: str, place: str, tape: str):
    sessions_below(playhead.place / place)
    names = [f["tape"] for f in playhead.run("import", flag, "--json").json["files"]]
    assert names == [f"{tape}/chat", f"{tape}/march/first"]
    assert [f["tape"] for f in playhead.run("import", flag, "--tape", "mine", "--json").json["files"]] == [n.replace(n.split("/")[0], "mine", 1) for n in names]


def test_a_tool_that_keeps_nothing_is_an_error_that_says_where_it_was_looked_for(playhead: Program):
    ran = playhead.run("import", "--codex", CODEX_HOME=str(playhead.place / "nowhere"))
    assert (ran.code, "nowhere" in ran.error, "$CODEX_HOME" in ran.error) == (1, True, True)


@pytest.mark.parametrize(("words", "why"), [((), "--claude-code or --codex"), (("chat.json",), "--tape"), (("", "--tape", "t"), "path")])
def test_an_import_of_nothing_is_not_understood(playhead: Program, chat: str, words: tuple[str, ...], why: str):
    ran = playhead.run("import", *words)
    assert (ran.code, why in ran.error) == (2, True)


def test_an_export_is_imported_as_it_was(playhead: Program, session: str):
    playhead.run("import", session, "--tape", "t")
    playhead.json("export", "--tape", "t", "--as", "jsonl", "--output", "t.jsonl")
    imported = playhead.json("import", "t.jsonl", "--tape", "copy")
    entries = playhead.json("show", "--tape", "t")["entries"]
    assert (imported["files"][0]["format"], playhead.json("show", "--tape", "copy")["entries"]) == ("playhead", entries)
    assert playhead.json("import", "t.jsonl", "--tape", "copy")["added"] == 0
