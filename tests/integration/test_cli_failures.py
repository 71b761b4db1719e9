"""What goes wrong is one line that says what to do, an exit code, and never a traceback; nothing stored is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.program import Program

DEEP = "[" * 500 + "]" * 500
FAILURES = {
    "a tape that does not exist": (("show", "--tape", "suport/42"), 1, "perhaps you mean 'support/42'"),
    "a name like none there is": (("info", "--tape", "zzz"), 1, "playhead ls` lists"),
    "an empty name": (("append", "--tape", "", "x"), 1, "non-empty"),
    "an anchor that does not exist": (("compile", "--tape", "support/42", "--anchor", "nowhere"), 1, "playhead anchors --tape support/42` lists"),
    "an entry behind the end": (("compile", "--tape", "support/42", "--at", "99"), 1, "ends at entry 1"),
    "an entry to ask about behind the end": (("explain", "--tape", "support/42", "--why", "99"), 1, "ends at entry 1"),
    "a file that is missing": (("import", "absent.jsonl", "--tape", "t"), 1, "no such file"),
    "an anchor to read up to that does not exist": (("show", "--tape", "support/42", "--until", "nowhere"), 1, "playhead anchors --tape support/42` lists"),
    "a file of no known format": (("import", "notes.txt", "--tape", "t"), 1, "name one with --format"),
    "a binary file": (("import", "tapes.db", "--tape", "t"), 1, "SQLite database"),
    "an empty file": (("import", "empty", "--tape", "t"), 1, "empty"),
    "a document that nests too deep": (("import", "deep.json", "--tape", "t"), 1, "nested deeper than"),
    "a file of no known format, called one": (("import", "notes.txt", "--tape", "t", "--format", "openai-chat"), 1, "--format"),
    "a format that does not exist": (("import", "notes.txt", "--tape", "t", "--format", "word"), 1, "claude-code"),
    "no room for a prompt": (("compile", "--tape", "support/42", "--max-tokens", "10", "--reserve", "20"), 1, "--max-tokens 10 less --reserve 20"),
    "a budget too small": (("compile", "--tape", "support/42", "--max-tokens", "21", "--reserve", "20"), 1, "raise --max-tokens, lower --reserve"),
    "data that is no JSON": (("append", "--tape", "t", "--event", "e", "--data", "{a: 1}"), 1, "--data is no JSON"),
    "not a number": (("append", "--tape", "t", "--event", "e", "--data", "NaN"), 1, "no JSON"),
    "an infinity": (("append", "--tape", "t", "--event", "e", "--data", "[1e999]"), 1, "no JSON number"),
    "deep nesting": (("append", "--tape", "t", "--event", "e", "--data", DEEP), 1, "nest"),
    "an entry that is none": (("append", "--tape", "t", "--entry", "[]"), 1, "kind"),
    "a message without words": (("append", "--tape", "t", "--entry", '{"kind": "message", "payload": {"role": "user"}}'), 1, "content"),
    "a message of nobody": (("append", "--tape", "t", "--entry", '{"kind": "message", "payload": {"content": "x"}}'), 1, "role"),
    "a message of a role that does not exist": (("append", "--tape", "t", "--entry", '{"kind": "message", "payload": {"role": "wizard", "content": "x"}}'), 1, "role"),
    "a state that is no object": (("handoff", "a", "--tape", "t", "--state", "1"), 1, "JSON object"),
    "nothing to say": (("append", "--tape", "t", ""), 1, "empty"),
    "a store that is none": (("ls", "--store", "notes.txt"), 1, "sqlite:///"),
    "a store with too few slashes": (("ls", "--store", "sqlite:/tmp/x.db"), 1, "sqlite:////absolute.db"),
    "a store that ends with the command": (("append", "--tape", "t", "x", "--store", "memory:"), 1, "ends with the command"),
    "a store that ended with the command before": (("ls", "--store", "memory:"), 1, "name a file"),
    "a store that is no database": (("ls", "--store", "broken.db"), 1, "database"),
    "a store in a place that is no folder": (("append", "--tape", "t", "x", "--store", "notes.txt/tapes.db"), 1, "path"),
    "an export into a folder that is missing": (("export", "--tape", "support/42", "--as", "jsonl", "--output", "no/such/file"), 1, "Cannot write"),
    "a command that does not exist": (("exlain",), 2, "did you mean 'explain'?"),
    "an option that does not exist": (("show", "--tape=t", "--colour"), 2, "see playhead show --help"),
    "an option that is missing": (("show",), 2, "--tape"),
    "a number that is none": (("show", "--tape", "t", "--last", "few"), 2, "whole number"),
    "a number too large for any tape": (("show", "--tape", "t", "--after", "9" * 30), 2, "whole number"),
    "two things at once": (("append", "--tape", "t", "x", "--event", "e"), 2, "without --event"),
    "data without an event": (("append", "--tape", "t", "--data", "{}"), 2, "--event NAME"),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A program whose store holds one entry, among files that are no conversations."""
    program = Program(tmp_path_factory.mktemp("failures"))
    program.json("append", "--tape", "support/42", "My VPN drops every hour, and I have no idea why it does that.")
    for name, body in {"notes.txt": b"just notes\n", "empty": b"", "deep.json": DEEP.encode(), "broken.db": b"no database at all\n" * 100}.items():
        (program.place / name).write_bytes(body)
    return program


@pytest.mark.parametrize(("words", "code", "advice"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_one_line_that_says_what_to_do(filled: Program, words: tuple[str, ...], code: int, advice: str):
    ran = filled.run(*words)
    assert (ran.code, ran.out) == (code, ""), ran
    assert ran.error.startswith("error: ")
    assert advice in ran.error


def test_a_folder_without_conversations_is_a_failure_that_says_so(filled: Program):
    ran = filled.run("import", ".", "--tape", "t")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1].startswith("error: ")


def test_a_store_that_is_refused_leaves_no_file(playhead: Program):
    for url in ("sqlite:/tmp/x.db", "sqlite:x.db", "sqlite://x.db", "memory:"):
        assert playhead.run("append", "--tape", "t", "x", "--store", url).code == 1
    assert list(playhead.place.iterdir()) == []


def test_the_place_of_a_failure_is_shown_where_that_is_asked_for(filled: Program):
    words = ("show", "--tape", "nothing")
    plain, traced = filled.run(*words), filled.run(*words, PLAYHEAD_TRACEBACK="1")
    assert "Traceback" not in plain.err
    assert traced.err.startswith("Traceback")
    assert traced.err.splitlines()[-1] == plain.error


def test_nothing_that_failed_was_written(filled: Program):
    for words, _, _ in list(FAILURES.values())[2:20:6]:
        filled.run(*words)
    assert [(t["tape"], t["entries"]) for t in filled.json("ls")["tapes"]] == [("support/42", 1)]


@pytest.mark.parametrize(("words", "kind"), [(("show", "--tape", "nothing"), "not_found"), (("show",), "usage"), (("import", "notes.txt", "--tape", "t"), "unreadable")])
def test_with_json_an_error_is_json_too(filled: Program, words: tuple[str, ...], kind: str):
    ran = filled.run(*words, "--json")
    error = json.loads(ran.error)
    assert (ran.out, list(error), sorted(error["error"])) == ("", ["error"], ["details", "kind", "message"])
    assert error["error"]["kind"] == kind


def test_text_that_is_no_utf8_is_refused(playhead: Program):
    ran = playhead.run("append", "--tape", "t", "-", stdin=b"caf\xe9")
    assert (ran.code, "no UTF-8" in ran.error) == (1, True)
    assert playhead.shell(r"""playhead append --tape t $'caf\xe9'""").code == 2
    assert not playhead.store.exists()


def test_what_is_on_a_tape_never_speaks_to_the_terminal(playhead: Program):
    spoken = "\x1b]0;title\x07 \x1b[31mred\x9b32m\x7f \u202eevil\r"
    playhead.json("append", "--tape", spoken, spoken)
    playhead.json("handoff", spoken, "--tape", spoken, "--state", json.dumps({spoken: spoken}))
    playhead.json("append", "--tape", spoken, "--entry", json.dumps({"kind": "tool_call", "payload": {"calls": [{"id": "c", "name": "x\x1b[1m", "arguments": {"a": spoken}}]}}))
    shown = [
        playhead.run(*words)
        for words in (
            ("ls",),
            *((command, "--tape", spoken) for command in ("show", "info", "anchors", "compile", "explain")),
            ("show", "--tape", spoken, "--raw"),
            ("search", "red", "--tape", spoken),
            ("compile", "--tape", spoken, "--json"),
            ("export", "--tape", spoken, "--as", "jsonl"),
            ("show", "--tape", "\x1b[31m"),
        )
    ]
    printed = "".join(ran.out + ran.err for ran in shown)
    assert "red" in printed
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", printed) == []


def test_text_survives_a_terminal_that_cannot_show_it(playhead: Program):
    playhead.json("append", "--tape", "t", "日本語 and → and é")
    ran = playhead.run("show", "--tape", "t", PYTHONIOENCODING="latin-1")
    assert ran.code == 0
    assert ran.out.encode(errors="surrogateescape").decode("latin-1").endswith("\\u65e5\\u672c\\u8a9e and -> and é\n")
    assert "日本語" in playhead.run("show", "--tape", "t", "--json", PYTHONIOENCODING="ascii").out
    assert playhead.run("explain", "--tape", "t", PYTHONIOENCODING="ascii").code == 0


def test_lone_surrogates_come_through_as_escapes(playhead: Program):
    playhead.json("append", "--tape", "t", "--entry", r'{"kind": "message", "payload": {"role": "user", "content": "half \ud83d"}}')
    assert playhead.json("show", "--tape", "t")["entries"][0]["payload"]["content"] == "half \ud83d"
    for words in (("show",), ("compile",), ("export", "--as", "markdown")):
        ran = playhead.run(*words, "--tape", "t")
        assert (ran.code, "half" in ran.out) == (0, True)


def test_a_reader_who_has_gone_is_no_failure_worth_a_word(playhead: Program):
    for part in range(3):
        playhead.json("append", "--tape", "t", "-", stdin=f"line {part}\n" * 100_000)
    for words in ("show --full", "show --json", "export --as jsonl"):
        ran = playhead.shell(f'playhead {words} --tape t | head -c 20; echo " ${{PIPESTATUS[0]}}"')
        assert (ran.out.split()[-1], ran.err) == ("141", "")


def test_output_that_cannot_be_written_is_a_failure(playhead: Program):
    playhead.json("append", "--tape", "t", "x")
    closed = playhead.shell("playhead show --tape t >&-")
    assert (closed.code, "Standard output is closed" in closed.error) == (1, True)
    if Path("/dev/full").exists():
        full = playhead.shell("playhead show --tape t >/dev/full")
        assert (full.code, "No space left" in full.error) == (1, True)


def test_a_closed_standard_error_changes_no_exit_code(playhead: Program):
    assert playhead.shell("playhead show --tape nothing 2>&-").code == 1
    assert playhead.shell("playhead ls 2>&-").code == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_an_interrupt_ends_it_at_once_and_keeps_what_was_written(playhead: Program):
    playhead.json("append", "--tape", "t", "kept")
    child = subprocess.Popen(playhead.command("append", "--tape", "t"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=playhead.environment({}), cwd=playhead.place)
    assert child.stdin is not None
    child.stdin.write(b"half a sentence")
    child.stdin.flush()
    _wait_until_it_is_read(child.stdin.fileno())
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, b"error: Interrupted; what was written so far is kept.\n")
    assert playhead.json("info", "--tape", "t")["entries"] == 1


def _wait_until_it_is_read(pipe: int) -> None:
    """Wait, at most a minute, until the other end of a pipe has read what was written to it."""
    import fcntl
    import termios

    end = time.monotonic() + 60
    while int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder):
        assert time.monotonic() < end
        os.sched_yield()
