"""The reference page and the program agree: every command prints exactly the JSON keys that are documented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from playhead.cli.parser import COMMANDS
from tests.integration.program import Program

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
KEYS = re.compile(r"^\| JSON key \| value \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
MANY = ("import", "many.json", "--tape", "m")
CHUNKS = ("--recent", "0", "--set", "target_chunk_tokens=20")
RUNS = {
    "import": [("import", "chat.json", "--tape", "new")],
    "append": [("append", "--tape", "new", "x")],
    "handoff": [("handoff", "a", "--tape", "new")],
    "ls": [("ls",)],
    "show": [("show", "--tape", "t")],
    "info": [("info", "--tape", "t")],
    "anchors": [("anchors", "--tape", "t")],
    "search": [("search", "Up", "--tape", "t")],
    "compile": [("compile", "--tape", "t"), ("compile", "--tape", "t", "--for", "anthropic", "--model", "m")],
    "explain": [("explain", "--tape", "t")],
    "reset": [("reset", "--tape", "new", "--yes")],
    "fold": [MANY, ("fold", "--tape", "m", *CHUNKS, "--dry-run"), ("fold", "--tape", "m", *CHUNKS, "--summarizer", "extractive")],
    "tree": [MANY, ("fold", "--tape", "m", *CHUNKS, "--summarizer", "extractive"), ("tree", "--tape", "m")],
    "pin": [("pin", "--tape", "t", "3")],
    "unpin": [("pin", "--tape", "t", "3"), ("unpin", "--tape", "t", "pin-1")],
    "pins": [("pins", "--tape", "t")],
    "forget": [MANY, ("fold", "--tape", "m", *CHUNKS, "--summarizer", "extractive"), ("forget", "--tape", "m", "L1-1")],
    "branches": [("branches",)],
    "fork": [("fork", "t")],
    "merge": [("merge", "t__branch__trial")],
    "discard": [("discard", "t__branch__trial")],
    "diff": [("diff", "t", "t__branch__trial")],
    "recover": [("recover",)],
    "gc": [("gc",)],
    "rename": [("rename", "new", "newer")],
    "copy": [("copy", "t", "copied")],
    "follow": [("follow", "t", "--after", "0", "--count", "1")],
    "archive": [("archive", "--tape", "t", "--below", "3")],
    "verify": [("verify",)],
    "salvage": [("salvage",)],
    "backup": [("backup", "backup.db")],
    "chat": [("chat", "--tape", "new", "--model", "echo:")],
    "run": [("run", "Up?", "--tape", "new", "--model", "echo:")],
    "demo": [("demo",)],
}
OTHERWISE = {"gc": {"blobs", "recent", "named", "bytes", "unused"}, "tree": {"markdown", "file", "bytes"}}
"""Keys that a command prints in place of others, where an option asks for that."""

INNER = {
    "import": {"unreadable": "file line why", "files": "file tape format conversations added known entries"},
    "compile": {"budget": "max_tokens reserve_for_response room", "spans": "form first last count tokens reason node level", "provenance": "compile_id sources"},
    "explain": {"rows": "form first last count tokens reason node level"},
    "anchors": {"anchors": "id name date state"},
    "fold": {
        "wrote": "did id level first last units raw_tokens tokens",
        "due": "chunks merges",
        "estimate": "level summaries requests input_tokens output_tokens raw_tokens told_tokens",
    },
    "tree": {"summaries": "id uid level parent first last since until units raw_tokens tokens is_shown model created voice phase tools names text"},
    "pin": {"pin": "id first last kind name level max_level"},
    "unpin": {"pin": "id first last kind name level max_level"},
    "demo": {"compiles": "max_tokens room strategy count tokens digest", "replays": "strategy calls share breaks", "asked": "entry why told_by"},
    "show": {"entries": "id kind payload meta date"},
    "run": {"entries": "id kind payload meta date", "usage": "prompt_tokens completion_tokens total_tokens prompt_tokens_details reasoning_tokens"},
    "branches": {"branches": "tape branch parent generation at entries state owner is_gone created_at closed_at"},
    "diff": {"added": "id kind payload meta date"},
}


def section(command: str) -> str:
    found = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"no section for {command}"
    return found[1]


def documented_keys(command: str) -> set[str]:
    """Return the names in the first column of the table of JSON keys."""
    table = KEYS.search(section(command))
    assert table, f"no table of JSON keys for {command}"
    return {name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.fixture
def filled(playhead: Program) -> Program:
    (playhead.place / "chat.json").write_text('[{"role": "user", "content": "Up?"}]\n')
    playhead.json("import", "chat.json", "--tape", "t")
    (playhead.place / "many.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": f"Host gw{n} answered, and nothing was amiss."} for n in range(16)]))
    playhead.json("append", "--tape", "new", "x")
    playhead.json("fork", "t", "--name", "trial")
    playhead.json("append", "--tape", "t__branch__trial", "on the branch")
    return playhead


@pytest.mark.parametrize("command", RUNS)
def test_a_command_prints_the_documented_keys_and_no_others(filled: Program, command: str):
    for words in RUNS[command]:
        told = filled.json(*words)
        if words[0] != command:
            continue
        assert set(told) == documented_keys(command) - OTHERWISE.get(command, set())
        for key, names in INNER.get(command, {}).items():
            held = told[key]
            for value in held if isinstance(held, list) else [] if held is None else [held]:
                assert set(value) == set(names.split())


def test_an_export_prints_the_documented_keys(filled: Program):
    common = {"tape", "form"}
    for form, key in (("jsonl", "entries"), ("markdown", "markdown"), ("openai", "payload")):
        assert set(filled.json("export", "--tape", "t", "--as", form)) == {*common, key}
    written = filled.json("export", "--tape", "t", "--as", "jsonl", "--output", "t.jsonl")
    assert {*common, *written, "entries", "markdown", "payload"} == documented_keys("export")


def test_a_document_of_memory_is_printed_under_the_documented_keys(filled: Program):
    filled.json(*MANY)
    filled.json("fold", "--tape", "m", *CHUNKS, "--summarizer", "extractive")
    printed, written = filled.json("tree", "--tape", "m", "--markdown"), filled.json("tree", "--tape", "m", "--markdown", "m.md")
    assert {*printed, *written, "summaries"} == documented_keys("tree")
    assert {"markdown"} == {*printed} - {*written}


def test_why_prints_the_documented_keys(filled: Program):
    assert set(filled.json("explain", "--tape", "t", "--why", "1")) == {"tape", "entry", "why"}
    assert "`tape`, `entry` and `why`" in section("explain")


def test_every_command_has_its_keys_documented():
    assert [name for name in COMMANDS if not documented_keys(name)] == []
    assert set(RUNS) == set(COMMANDS) - {"export"}


def test_help_names_every_command_and_needs_none_of_the_library(playhead: Program):
    told = playhead.run("--help")
    assert (told.code, [name for name in COMMANDS if f"    {name} " not in told.out]) == (0, [])
    loaded = playhead.shell("exec python -X importtime -m playhead --help 2>&1 >/dev/null".replace("exec python", f"exec '{playhead.command()[0]}'"))
    modules = {line.rsplit("|", 1)[-1].strip() for line in loaded.out.splitlines()}
    assert "playhead.cli.parser" in modules
    assert modules & {"anyio", "asyncio", "msgspec", "rich", "sqlite3", "playhead.tape.tape", "playhead.entry.entry"} == set()


def test_the_version_is_the_packages(playhead: Program):
    from importlib.metadata import version

    assert playhead.run("--version").out == f"playhead {version('playhead')}\n"


def test_without_a_command_it_helps(playhead: Program):
    ran = playhead.run()
    assert (ran.code, ran.out) == (0, playhead.run("--help").out)
