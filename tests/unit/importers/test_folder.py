import os
from pathlib import Path

import pytest

from playhead.errors import FileMissing
from playhead.importers.folder import files_below, places_of


def names(folder: Path) -> list[str]:
    return [f.name for f in files_below(folder)]


def make(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")


def test_files_are_named_by_their_path_below_the_folder(tmp_path: Path) -> None:
    make(tmp_path, "b.jsonl", "a/c.json", "a/b/d.traj", "e")
    assert names(tmp_path) == ["a/b/d", "a/c", "b", "e"]


def test_files_that_differ_in_their_suffix_alone_keep_it(tmp_path: Path) -> None:
    make(tmp_path, "a.json", "a.jsonl", "a.txt")
    assert names(tmp_path) == ["a.json", "a.jsonl", "a.txt"]
    make(tmp_path, "a.json.txt", "b.json", "b.json.txt")
    assert names(tmp_path) == ["a.json", "a.json.txt", "a.jsonl", "a.txt", "b", "b.json.txt"]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, ".git/config", ".env", "a.jsonl", "b/.c.jsonl")
    assert names(tmp_path) == ["a"]


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "a/b.jsonl")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert names(tmp_path) == ["a/b"]


def test_a_name_that_is_no_text_becomes_one(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.jsonl")).write_text("x")
    assert names(tmp_path) == ["caf\\xe9"]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="absent"):
        files_below(tmp_path / "absent")


def test_sessions_are_looked_for_where_the_tools_keep_them(tmp_path: Path) -> None:
    for place in (".claude/projects", ".config/claude/projects", ".codex/sessions", "other/projects", "third/archived_sessions"):
        (tmp_path / place).mkdir(parents=True)
    assert places_of("claude-code", environment={}, home=tmp_path) == (tmp_path / ".claude/projects", tmp_path / ".config/claude/projects")
    assert places_of("codex", environment={}, home=tmp_path) == (tmp_path / ".codex/sessions",)
    assert places_of("claude-code", environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}, home=tmp_path) == (tmp_path / "other/projects",)
    assert places_of("codex", environment={"CODEX_HOME": str(tmp_path / "third")}, home=tmp_path) == (tmp_path / "third/archived_sessions",)


@pytest.mark.parametrize(("tool", "variable"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")])
def test_where_there_are_no_sessions_the_error_says_how_to_name_another_place(tool: str, variable: str, tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=variable):
        places_of(tool, environment={}, home=tmp_path)
