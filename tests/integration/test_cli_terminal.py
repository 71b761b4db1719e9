"""On a terminal: what is shown fits its width, in colours unless they are not wanted; and the demo."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

from tests.integration.program import ANSI, Program, uncoloured

WIDTHS = (80, 160)
COMMAND = re.compile(r"[`$] ?(python -m )?playhead ")
"""A command to type: it stays on a line of its own length, so that it can be copied."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A store with a conversation of wide characters, long lines and long names; only read by the tests."""
    program = Program(tmp_path_factory.mktemp("terminal"))
    said = ["まず設定を確認します。" * 30, "word " * 200, "x" * 400, "| a | table |\n|---|---|\n" + "| b | c |\n" * 40]
    (program.place / "chat.json").write_text(json.dumps([{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said * 5)]), encoding="utf-8")
    name = "a tape with a rather long name, as a program gives it: 0123456789abcdef"
    program.json("import", "chat.json", "--tape", name)
    program.json("append", "--tape", name, "--event", "an event with a long name too", "--data", '{"why": "because"}')
    program.json("handoff", "an-anchor-with-a-long-name-that-goes-on-and-on", "--tape", "t", "--state", json.dumps({"summary": "long " * 100}))
    program.json("import", "chat.json", "--tape", "t")
    return program


COMMANDS = {
    "ls": (),
    "info": ("--tape", "t"),
    "anchors": ("--tape", "t"),
    "show": ("--tape", "t"),
    "show --full": ("--tape", "t"),
    "search": ("word", "--tape", "t"),
    "compile": ("--tape", "t", "--max-tokens", "9000"),
    "explain": ("--tape", "t", "--max-tokens", "6000", "--strategy", "windowed"),
    "demo": (),
}


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(filled: Program, command: str, columns: int):
    ran = filled.on_terminal(*command.split(), *COMMANDS[command], columns=columns, PLAYHEAD_STORE="sqlite:///tapes.db")
    assert ran.code == 0, ran.out
    wide = [line for line in uncoloured(ran.out).split("\n") if cell_len(line) > columns and not COMMAND.search(line)]
    assert wide == []


def test_colours_are_used_on_a_terminal_and_nowhere_else(filled: Program):
    words = ("explain", "--tape", "t", "--max-tokens", "6000")
    assert ANSI.search(filled.on_terminal(*words, columns=80).out)
    assert not ANSI.search(filled.run(*words).out)
    assert not ANSI.search(filled.on_terminal(*words, columns=80, NO_COLOR="1").out)
    assert not ANSI.search(filled.on_terminal(*words, columns=80, TERM="dumb").out)


def test_forms_are_told_apart_also_without_colours(filled: Program):
    bar = next(line for line in filled.run("explain", "--tape", "t", "--max-tokens", "6000").out.splitlines() if "█" in line)
    assert set(bar) == {"█", "·"}
    assert len(bar) == 80


def test_columns_are_those_the_environment_says(filled: Program):
    bars = [line for line in filled.run("explain", "--tape", "t", "--max-tokens", "6000", COLUMNS="60").out.splitlines() if "█" in line]
    assert len(bars[0]) == 60


def test_a_pipe_gets_whole_reasons(filled: Program):
    reason = "event: kind not shown by the default projection"
    assert reason in filled.run("explain", "--tape", "t").out
    assert reason not in filled.run("explain", "--tape", "t", COLUMNS="60").out


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_demo_fits_on_one_screen_and_loses_nothing(playhead: Program, columns: int):
    ran = playhead.on_terminal("demo", columns=columns)
    assert (ran.code, len(ran.out.splitlines()) <= 60) == (0, True)
    assert "each as it was written" in uncoloured(ran.out)
    assert list(playhead.place.iterdir()) == []


def test_the_demo_tells_the_same_in_json(playhead: Program):
    told = playhead.json("demo")
    assert (told["is_whole"], told["written"], len(told["compiles"])) == (True, told["kept"], 6)
    assert all(c["tokens"] <= c["room"] for c in told["compiles"])
    assert told["asked"]["why"].startswith("omitted: ")
    assert told["asked"]["told_by"]
    assert {row["form"] for row in told["rows"]} == {"raw", "summary"}
    shares = {r["strategy"]: r["share"] for r in told["replays"]}
    assert shares["autobiographical"] > shares["windowed"] > shares["passthrough"]


def test_the_demo_is_kept_once_in_a_store_that_is_named(playhead: Program):
    first = playhead.json("demo", "--store", "demo.db")
    assert playhead.json("demo", "--store", "demo.db") == first
    assert playhead.json("info", "--tape", "demo", "--store", "demo.db")["entries"] == first["written"]


def test_a_long_import_shows_its_progress_on_a_terminal_only(playhead: Program):
    body = "\n".join(json.dumps({"role": "user", "content": f"message {n} " + "x" * 2_000}) for n in range(5_000))
    (playhead.place / "long.jsonl").write_text(body)
    assert playhead.run("import", "long.jsonl", "--tape", "piped").err == ""
    shown = playhead.on_terminal("import", "long.jsonl", "--tape", "shown", columns=80).out
    assert "reading" in shown
    assert uncoloured(shown).splitlines()[-1].startswith("long.jsonl: 5,000 entries added")
