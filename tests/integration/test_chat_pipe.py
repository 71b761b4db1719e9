"""A chat through a pipe, and one question of a script: lines are turns, the answers are on standard output, and all of it on the tape."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import playhead as ph
from tests.integration.model.server import Answer, ProviderServer
from tests.integration.model.wires import CHAT, Turn
from tests.integration.program import ANSI, Program

CHAT_T = ("chat", "--tape", "t")
ECHO = ("--model", "echo:")
TOOLS = '''
import playhead as ph


@ph.tool(needs_approval=True)
def cut(host: str) -> str:
    """Cut a host off."""
    return f"{host} is cut off"


def ping(host: str) -> str:
    """Send a packet."""
    return f"{host} answers"


BOTH = [cut, ping]
NUMBER = 7
'''

HOLD = '''
def hold(name: str) -> str:
    """Wait until somebody lets go of a pipe."""
    with open(name) as pipe:
        return pipe.read()
'''


def scripted(program: Program, *turns: Any) -> tuple[str, str]:
    (program.place / "script.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    (program.place / "mytools.py").write_text(TOOLS)
    return "--model", "scripted:script.jsonl"


def view(program: Program, tape: str = "t") -> list[tuple[str, Any]]:
    """Return what a model is shown of a tape: who says what."""
    with ph.sync.open_tape(f"sqlite:///{program.store}", tape) as handle:
        return [(message.role, message.text) for message in ph.sync.compile(handle).messages]


def written(program: Program, *kinds: str) -> list[ph.TapeEntry]:
    """Return the entries of the tape."""
    with ph.sync.open_tape(f"sqlite:///{program.store}", "t") as handle:
        found: list[ph.TapeEntry] = handle.query().kinds(*kinds).all()
        return found


def test_each_line_is_a_turn_and_a_tape_goes_on(playhead: Program):
    ran = playhead.run(*CHAT_T, *ECHO, stdin="One **bold** word.\n\nTwo.\n")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "\n› One **bold** word.\nOne **bold** word.\n\n› Two.\nTwo.\n"
    assert not ANSI.search(ran.out)
    playhead.run(*CHAT_T, *ECHO, stdin="Three.")
    assert view(playhead) == [(role, text) for text in ("One **bold** word.", "Two.", "Three.") for role in ("user", "assistant")]


def test_json_has_a_record_for_each_line(playhead: Program):
    model = scripted(playhead, ["Let me see.", {"call": "ping", "arguments": {"host": "gw1"}}], "It is up.", {"error": "refused", "message": "No."})
    told = playhead.run(*CHAT_T, *model, "--tools", "mytools:ping", "--json", stdin="Up?\n/anchors\nAnd?\n")
    assert told.code == 1
    first, looked, failed = told.json["turns"]
    assert (first["said"], first["text"], first["error"]) == ("Up?", "Let me see.\nIt is up.", None)
    assert first["calls"] == [{"name": "ping", "arguments": {"host": "gw1"}, "result": "gw1 answers", "is_error": False}]
    assert "session/start" in looked["text"]
    assert failed["error"] == "No."


@pytest.mark.parametrize("first", ["Line", "/help"])
def test_a_chat_whose_reader_has_gone_takes_no_more_lines(playhead: Program, first: str):
    ours, theirs = os.pipe()
    os.close(ours)
    lines = "\n".join([first, *(f"Line {number}" for number in range(20))])
    command = playhead.command(*CHAT_T, *ECHO)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.PIPE, env=playhead.environment({}), cwd=playhead.place) as child:
        os.close(theirs)
        _, said = child.communicate(lines.encode(), timeout=60)
    assert (child.returncode, said) == (141, b"")
    with ph.sync.open_tape(f"sqlite:///{playhead.store}", "t__sidecar__inbox") as inbox:
        kept = [entry.payload["content"] for entry in inbox.query().kinds("message").all()]
    assert kept == [first][: first == "Line"]


def test_an_undone_turn_is_out_of_view_and_stands_on_the_tape(playhead: Program):
    ran = playhead.run(*CHAT_T, *ECHO, stdin="Keep this.\nNot this.\n/undo\n/undo\n/undo\nAnd this.\n")
    assert (ran.code, ran.err) == (1, "error: Nothing was said behind the newest anchor, so there is nothing to take back.\n")
    assert view(playhead) == [("user", "And this."), ("assistant", "And this.")]
    said = [entry.payload["content"] for entry in written(playhead, "message")]
    assert said == [text for text in ("Keep this.", "Not this.", "And this.") for _ in range(2)]


def test_an_answer_is_given_once_more_and_the_question_is_asked_once(playhead: Program):
    model = scripted(playhead, "It is gw1.", {"error": "unavailable", "message": "It is busy."}, "It is gw2.")
    ran = playhead.run(*CHAT_T, *model, stdin="Which?\n/retry\n/retry\n")
    assert (ran.code, ran.err) == (1, "error: It is busy. /retry asks again.\n")
    assert view(playhead) == [("user", "Which?"), ("assistant", "It is gw2.")]


def test_branches_are_made_gone_to_compared_and_merged(playhead: Program):
    lines = ["Base.", "/fork trial", "On the branch.", "/diff main", "/switch main", "On the tape.", "/branches", "/switch trial", "/merge", "/switch nowhere"]
    ran = playhead.run(*CHAT_T, *ECHO, stdin="\n".join(lines))
    assert "only on trial" in ran.out
    assert "└─ trial" in ran.out
    assert [text for role, text in view(playhead) if role == "user"] == ["Base.", "On the tape.", "On the branch."]
    assert ran.err == "error: There is no branch 'nowhere' of tape 't'; /branches lists those there are.\n"
    assert "__branch__trial" not in ran.out


def test_a_branch_begins_at_an_entry_of_the_past(playhead: Program):
    playhead.run(*CHAT_T, *ECHO, stdin="One.\nTwo.\n")
    first = next(entry.id for entry in written(playhead, "message") if entry.payload["content"] == "Two.")
    playhead.run(*CHAT_T, *ECHO, stdin=f"/fork early {first - 1}\nOther.\n/fork later 9999\n")
    assert [text for role, text in view(playhead, "t__branch__early") if role == "user"] == ["One.", "Other."]


def test_a_new_phase_reads_the_note_and_not_what_came_before(playhead: Program):
    playhead.run(*CHAT_T, *ECHO, stdin="The key is blue.\n/handoff moved we go on with the red one\nWhich?\n")
    (_, note), *rest = view(playhead)
    assert "we go on with the red one" in note
    assert [text for _, text in rest] == ["Which?", "Which?"]


def test_the_commands_that_look_write_nothing_and_the_others_are_told(playhead: Program):
    playhead.run(*CHAT_T, *ECHO, "--max-tokens", "9000", stdin="Up?\nStill?\n")
    before = written(playhead)
    lines = [
        "/help",
        "/info",
        "/search still",
        "/search nothing-of-it",
        "/explain",
        "/explain 6",
        "/explain x",
        "/diff",
        "/anchors",
        "/branches",
        "/model",
        "/pin",
        "/explan",
        "/info now",
        "/etc/hosts",
    ]
    ran = playhead.run(*CHAT_T, *ECHO, "--max-tokens", "9000", stdin="\n".join(lines[:-1]))
    assert written(playhead) == before
    for told in (
        "/handoff NAME [NOTE]",
        f"entries     {len(before)}",
        "Still?",
        "No entry is about 'nothing-of-it'",
        "free",
        "entry 6: raw",
        "no turn before",
        "session/start",
        "There is no branch",
        "echo: answers.",
    ):
        assert told in ran.out
    for told in ("not 'x'", "--strategy autobiographical", "There is no /explan; perhaps you mean /explain", "/info takes no words"):
        assert told in ran.err
    assert "› /etc/hosts" in playhead.run(*CHAT_T, *ECHO, stdin=lines[-1]).out
    playhead.run(*CHAT_T, *ECHO, stdin="//help me")
    assert ("user", "/help me") in view(playhead)


def test_the_tape_remembers_the_model_and_the_system_prompt(playhead: Program):
    model = scripted(playhead, "I follow a script.")
    playhead.run(*CHAT_T, *ECHO, "--system", "Be brief.", stdin=f"/model {model[1]}\n")
    playhead.run(*CHAT_T, *ECHO, "--system", "Be brief.", stdin="Hi.\n")
    assert "I follow a script." in playhead.run(*CHAT_T, stdin="Who?\n", PLAYHEAD_MODEL="echo:").out
    assert len(written(playhead, "system")) == 1
    assert "Who?\nWho?" in playhead.run(*CHAT_T, *ECHO, stdin="Who?\n").out


def test_pins_are_kept_where_something_folds(playhead: Program):
    playhead.run(*CHAT_T, *ECHO, stdin="The key is blue.\n")
    folding = ("--strategy", "autobiographical", "--summarizer", "extractive", "--max-tokens", "9000")
    ran = playhead.run(*CHAT_T, *ECHO, *folding, stdin="/pin 6\n/pin\n/unpin pin-1\n/pin\n/unpin pin-1\n")
    assert "pin-1 keeps entry 6 raw." in ran.out
    assert "pin-1 is gone" in ran.out
    assert "Nothing is pinned" in ran.out
    assert ran.err == "error: There is no pin 'pin-1'; /pin lists those there are.\n"


def test_a_long_chat_folds_and_stays_in_its_budget(playhead: Program):
    folding = ("--strategy", "autobiographical", "--summarizer", "extractive", "--recent", "200", "--set", "target_chunk_tokens=200", "--max-tokens", "2600", "--bare")
    lines = "\n".join(f"Host gw{n} answered in {n} ms, and its configuration is in hosts/gw{n}.yaml; nothing else was amiss on that day." for n in range(40))
    ran = playhead.run(*CHAT_T, *ECHO, *folding, stdin=lines)
    assert (ran.code, ran.err) == (0, "")
    assert playhead.json("tree", "--tape", "t", "--namespace", "agents/chat")["summaries"]


def test_calls_that_need_approval_are_refused_where_nobody_is_and_run_with_yes(playhead: Program):
    calls = ([{"call": "cut", "arguments": {"host": "gw1"}}], "Done.", "")
    assert "nobody is at a terminal to approve it" in playhead.run(*CHAT_T, *scripted(playhead, *calls), "--tools", "mytools:BOTH", stdin="Cut it off.\n").out
    assert "gw1 is cut off" in playhead.run(*CHAT_T, *scripted(playhead, *calls), "--tools", "mytools:BOTH", "--yes", stdin="Cut it off.\n").out


@pytest.mark.parametrize("named", ["mytools:NUMBER", "mytools:absent", "nomodule:x"])
def test_what_is_no_tool_is_refused_before_anything_is_written(playhead: Program, named: str):
    ran = playhead.run(*CHAT_T, *scripted(playhead, "Hi."), "--tools", named, stdin="Hi.\n")
    assert (ran.code, named in ran.error) == (1, True)
    assert playhead.run("info", "--tape", "t").code == 1


def test_who_answers_is_asked_for_with_what_works_offline(playhead: Program):
    ran = playhead.run(*CHAT_T, stdin="Hi.\n", PLAYHEAD_MODEL=None)
    assert (ran.code, all(word in ran.error for word in ("--model", "$PLAYHEAD_MODEL", "echo:", "scripted:FILE"))) == (1, True)
    assert "no provider 'nobody'" in playhead.run(*CHAT_T, "--model", "nobody:1", stdin="Hi.\n").error


@pytest.mark.parametrize("words", [("--reserve", "5"), ("--recent", "5"), ("--strategy", "autobiographical"), ("--tools", "x")])
def test_options_that_do_not_go_together_are_refused(playhead: Program, words: tuple[str, ...]):
    assert playhead.run(*CHAT_T, *ECHO, *words).code == 2


def test_a_folder_has_a_tape_of_its_own(playhead: Program):
    playhead.run("chat", *ECHO, stdin="Hi.\n")
    playhead.run("run", "And?", *ECHO)
    (tape,) = playhead.json("ls")["tapes"]
    assert tape["tape"] == f"chat/{os.path.realpath(playhead.place).lstrip('/')}"
    assert [text for role, text in view(playhead, tape["tape"]) if role == "user"] == ["Hi.", "And?"]


def test_a_script_asks_once_and_gets_the_words_alone(playhead: Program):
    model = scripted(playhead, ["Let me see.", {"call": "ping", "arguments": {"host": "gw1"}}], "It is up.")
    ran = playhead.run("run", "Up?", "--tape", "t", *model, "--tools", "mytools:ping")
    assert (ran.code, ran.out, ran.err) == (0, "Let me see.\nIt is up.\n", "")
    told = playhead.run("run", "-", "--tape", "t", *ECHO, "--json", stdin="And now?\n").json
    assert (told["text"], told["stop"], told["tape"], told["model"]) == ("And now?", "end", "t", "echo:")
    assert {e["meta"]["run_id"] for e in told["entries"]} == {told["run_id"]}


@pytest.mark.parametrize("words", [("run", "Is it up?", "--tape", "t"), CHAT_T], ids=["run", "chat"])
def test_what_was_appended_before_is_seen(playhead: Program, words: tuple[str, ...]):
    playhead.run("append", "--tape", "t", stdin="My VPN drops every hour.\n")
    assert playhead.run(*words, *ECHO, stdin="Is it up?\n").code == 0
    assert [text for role, text in view(playhead) if role == "user"] == ["My VPN drops every hour.", "Is it up?"]
    rows = playhead.json("explain", "--tape", "t")["rows"]
    assert not [row for row in rows if "before anchor" in row["reason"]]
    exported = playhead.run("export", "--tape", "t", "--as", "jsonl", "--anchor", "last").out
    assert "My VPN drops every hour." in exported


def test_a_script_that_gets_no_answer_is_told_why(playhead: Program):
    ran = playhead.run("run", "Up?", "--tape", "t", *scripted(playhead, {"error": "unavailable", "message": "It is busy."}, ""))
    assert (ran.code, ran.err) == (1, "error: It is busy.\n")
    assert view(playhead) == [("user", "Up?")]
    assert playhead.run("run", " ", "--tape", "t", *ECHO).code == 1


def test_the_line_of_a_script_is_ended_where_the_answer_breaks_off(playhead: Program):
    model = scripted(playhead, ["Half an answer", {"error": "unavailable", "message": "It is busy."}], "It is up.")
    ran = playhead.run("run", "Up?", "--tape", "t", *model)
    assert (ran.code, ran.out, ran.err) == (1, "Half an answer\n", "error: It is busy.\n")


def test_a_script_is_told_which_calls_nobody_approved(playhead: Program):
    model = scripted(playhead, ["Let me ", {"call": "cut", "arguments": {"host": "gw1"}}], "I could not.")
    ran = playhead.run("run", "Cut it.", "--tape", "t", *model, "--tools", "mytools:cut")
    assert (ran.code, ran.out) == (0, "Let me \nI could not.\n")
    assert ran.err == "warning: cut was not run: nobody is at a terminal to approve it; with --yes every call is approved.\n"
    told = playhead.run("run", "Cut it.", "--tape", "u", *model, "--tools", "mytools:cut", "--json")
    assert (told.json["refused"], told.err) == ([{"name": "cut", "arguments": {"host": "gw1"}, "why": "nobody is at a terminal to approve it; with --yes every call is approved"}], "")
    ran = playhead.run("run", "Cut it.", "--tape", "v", *model, "--tools", "mytools:cut", "--yes", "--json")
    assert (ran.json["refused"], ran.err) == ([], "")


@pytest.mark.parametrize("words", [("run", "Up?", "--tape", "t"), CHAT_T], ids=["run", "chat"])
def test_a_turn_that_took_all_its_steps_says_how_to_go_on(playhead: Program, words: tuple[str, ...]):
    model = scripted(playhead, ["Let me see.", {"call": "ping", "arguments": {"host": "gw1"}}], "It is up.")
    ran = playhead.run(*words, *model, "--tools", "mytools:ping", "--max-steps", "1", stdin="Up?\n")
    assert (ran.code, ran.error) == (1, "error: The turn took as many steps as it may, and what it did stands on the tape: ask again to go on from there, or give it more than --max-steps 1")


def test_what_keeps_the_record_takes_one_row_and_is_told_from_what_was_said(playhead: Program):
    playhead.run("run", "Hello.", "--tape", "t", *ECHO)
    rows = playhead.run("explain", "--tape", "t").out.split("\n\n")[1].splitlines()
    assert [" ".join(row.split()) for row in rows] == [
        "form entries count tokens reason",
        "raw 6-7 2 12 fits the budget",
        "not shown in 1-10 8 - kept for the record: 6 events, 1 anchor, 1 system",
    ]
    assert "left out" not in playhead.run("explain", "--tape", "t").out
    assert "10 (2 said or done, 8 kept for the record)" in playhead.run("info", "--tape", "t").out
    assert playhead.json("info", "--tape", "t")["said"] == 2


@contextmanager
def started(program: Program, server: ProviderServer, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program with a model that a server plays, and end it behind the block."""
    environment = program.environment({"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"})
    with subprocess.Popen(program.command(*words, "--model", CHAT.spec), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=program.place) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize("command", ["run", "chat"])
def test_an_interrupt_keeps_what_was_said(playhead: Program, command: str):
    gate = threading.Event()
    answer = CHAT.answer(Turn(words=("First block.\n\nSecond ", "and third.")))
    pieces = (b"".join(answer.pieces[:2]), *answer.pieces[2:])
    words = ("run", "Up?", "--tape", "t") if command == "run" else CHAT_T
    with ProviderServer([Answer(pieces=pieces, waits=gate)]) as server, started(playhead, server, *words) as child:
        assert child.stdin is not None and child.stdout is not None
        if command == "chat":
            child.stdin.write(b"Up?\nAnd now?\nAnd then?\n")
            child.stdin.flush()
        while b"First block." not in (line := child.stdout.readline()):
            assert line
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
        assert child.stderr is not None and child.stderr.read() == b""
    assert view(playhead) == [("user", "Up?"), ("assistant", "First block.\n\nSecond ")]


def test_a_script_that_is_interrupted_is_told_what_was_said_until_then(playhead: Program):
    os.mkfifo(pipe := playhead.place / "pipe")
    model = scripted(playhead, ["Let me see.", {"call": "hold", "arguments": {"name": str(pipe)}}], "It is up.")
    (playhead.place / "mytools.py").write_text(HOLD)
    words = playhead.command("run", "Up?", "--tape", "t", *model, "--tools", "mytools:hold", "--json")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=playhead.environment({}), cwd=playhead.place) as child:
        with pipe.open("w"):  # opens once the tool reads
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        assert child.returncode == 130
    told = json.loads(out)
    assert (told["text"], told["stop"]) == ("Let me see.", "cancelled")


def test_the_extra_is_named_where_it_is_missing(playhead: Program, tmp_path: Path):
    (playhead.place / "prompt_toolkit.py").write_text("raise ImportError('not installed')\n")
    ran = playhead.on_terminal("chat", *ECHO, columns=200, PYTHONPATH=f"{playhead.place}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert (ran.code, "playhead[chat]" in ran.out) == (1, True)
