"""A chat at a terminal: what is shown stands on the tape, whatever key is pressed when."""

from __future__ import annotations

import json
import os
import queue
import random
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import playhead as ph
from tests.integration.model.server import Answer, ProviderServer
from tests.integration.model.wires import CHAT, Turn
from tests.integration.program import Program

pytest.importorskip("pty", reason="terminals are tested where the system has pseudo-terminals")

from tests.integration.terminal import Terminal

PROMPT = "› "
TOOLS = '''
"""Tools that wait until they are told to go on."""


def hold(name: str) -> str:
    """Wait until somebody writes into a pipe."""
    with open(name) as pipe:
        return pipe.read()
'''


def scripted(program: Program, *turns: Any, name: str = "script.jsonl") -> str:
    """Return the spec of a model that follows a script."""
    (program.place / name).write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    return f"scripted:{name}"


def holding(program: Program) -> Path:
    """Write the tool that waits, and return the pipe it waits for."""
    (program.place / "holding.py").write_text(TOOLS)
    os.mkfifo(pipe := program.place / "pipe")
    return pipe


def on_tape(program: Program, tape: str = "t") -> list[ph.TapeEntry]:
    with ph.sync.open_tape(f"sqlite:///{program.store}", tape) as handle:
        found: list[ph.TapeEntry] = handle.query().all()
        return found


def spoken(entries: list[ph.TapeEntry], role: str) -> list[str]:
    """Return what one side said, as text."""
    turns = [entry for entry in entries if entry.payload.get("role", "assistant" if entry.kind == "tool_call" else "") == role]
    contents = [entry.payload.get("content") or "" for entry in turns]
    return [content if isinstance(content, str) else "".join(part.get("text", "") for part in content) for content in contents]


def in_view(program: Program) -> list[tuple[str, str]]:
    """Return what a model is shown of the tape: who says what."""
    with ph.sync.open_tape(f"sqlite:///{program.store}", "t") as handle:
        return [(message.role, message.text) for message in ph.sync.compile(handle).messages]


@pytest.mark.parametrize("columns", [80, 160])
def test_a_chat_answers_fits_its_terminal_and_goes_on_by_the_tapes_name(playhead: Program, columns: int):
    answer = "# Tunnels\n\nTwo *dropped*:\n\n| gateway | drops |\n|---|---|\n| gw1 | 12 |\n\n```python\nprint('x' * 200)  # " + "long " * 60 + "\n```\n\n" + "word " * 60
    model = scripted(playhead, answer, "It is gw1.")
    with Terminal(playhead, "chat", "--tape", "t", "--model", model, columns=columns) as terminal:
        terminal.enter("Which tunnels dropped?")
        shown = terminal.wait("word word")
        assert "Tunnels" in shown and "# Tunnels" not in shown
        terminal.enter("Which one most?")
        terminal.wait("It is gw1.")
        terminal.type("\x04")
        assert terminal.ended() == 0
        shown = terminal.wait("--tape t")
        assert [row for row in shown.split("\n") if cell_len(row) > columns] == []
    with Terminal(playhead, "chat", "--tape", "t", "--model", "echo:", columns=columns) as terminal:
        terminal.wait("It is gw1.")
        terminal.type("\x1b[A")
        terminal.wait(f"{PROMPT}Which one most?")
        terminal.type("\r")
        terminal.wait(lambda text: text.count("Which one most?") >= 3)
        terminal.enter("/quit")
        assert terminal.ended() == 0
    assert spoken(on_tape(playhead), "user") == ["Which tunnels dropped?", "Which one most?", "Which one most?"]


class Teller:
    """Answers in words that come one at a time, each when it is let through; every request gets words of its own."""

    def __init__(self) -> None:
        self.asked: queue.Queue[Telling] = queue.Queue()

    def answers(self, count: int) -> Iterator[Answer]:
        return (Answer(pieces=self._pieces(number)) for number in range(count))  # type: ignore[arg-type]

    def telling(self) -> Telling:
        """Wait for the next request, and return what is told to it."""
        return self.asked.get(timeout=40)

    def _pieces(self, number: int) -> Iterator[bytes]:
        told = Telling(first=1000 * number)
        start, *said, finish, usage, done = CHAT.events(Turn(words=tuple(f"{word} " for word in told.words)))
        yield start
        self.asked.put(told)
        for piece in said:
            if not told.passing.acquire(timeout=60):
                return
            yield piece
        yield from (finish, usage, done)


class Telling:
    """The words of one answer, and what lets them through."""

    def __init__(self, *, first: int) -> None:
        self.words = [f"w{number:05}" for number in range(first, first + 30)]
        self.passing = threading.Semaphore(0)


def networked(server: ProviderServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}


@pytest.mark.parametrize("seed", range(12) if os.environ.get("PLAYHEAD_SOAK") else range(1))
def test_ctrl_c_at_any_moment_loses_nothing_that_was_shown(playhead: Program, seed: int):
    chance, teller, lines = random.Random(seed), Teller(), [f"line{number} of mine" for number in range(6)]
    with ProviderServer(teller.answers(6)) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, **networked(server)) as terminal:
        terminal.pattern = re.compile(r"\bw\d{5}\b")
        for number, line in enumerate(lines):
            terminal.enter(line)
            if (count := chance.choice([None, 0, 1, 7, 29])) is not None:
                told = teller.telling()
                told.passing.release(count or 1)
                if count:
                    terminal.wait(told.words[chance.randrange(count)])
            if chance.random() < 0.5:
                terminal.type("half a li")
            terminal.interrupt()
            terminal.wait(lambda text, number=number: text.count("Stopped") > number)
            terminal.type("\x15")
        terminal.type("\x04")
        assert terminal.ended() == 0
        seen = terminal.seen
    entries = on_tape(playhead)
    assert seen - set(re.findall(r"w\d{5}", " ".join(spoken(entries, "assistant")))) == set()
    assert seen
    waiting = [entry.payload.get("content") for entry in on_tape(playhead, "t__sidecar__inbox")]
    assert [line for line in lines if line not in [*spoken(entries, "user"), *waiting]] == []


def test_the_second_ctrl_c_leaves_in_the_middle_of_an_answer(playhead: Program):
    teller = Teller()
    with ProviderServer(teller.answers(1)) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, **networked(server)) as terminal:
        terminal.enter("Count.")
        told = teller.telling()
        told.passing.release(10)
        terminal.wait("w00009")
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        told.passing.release(20)
        assert "w00009" in terminal.screen.text
    (said,) = spoken(on_tape(playhead), "assistant")
    assert said.split() == told.words[:10]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_is_gone_loses_nothing_that_was_shown(playhead: Program, number: signal.Signals):
    teller = Teller()
    with ProviderServer(teller.answers(1)) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, **networked(server)) as terminal:
        terminal.enter("Count.")
        told = teller.telling()
        told.passing.release(5)
        terminal.wait("w00004")
        terminal.signal(number)
        assert terminal.ended() == 0
        told.passing.release(25)
    (said,) = spoken(on_tape(playhead), "assistant")
    assert said.split() == told.words[:5]


@pytest.mark.parametrize("numbers", [(), (signal.SIGHUP,)], ids=["closed", "closed-and-told"])
def test_a_window_that_is_closed_ends_the_chat_and_keeps_the_line_that_was_begun(playhead: Program, numbers: tuple[signal.Signals, ...]):
    teller = Teller()
    with ProviderServer(teller.answers(1)) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, **networked(server)) as terminal:
        terminal.enter("Count.")
        told = teller.telling()
        told.passing.release(5)
        terminal.wait("w00004")
        terminal.type("And then")
        terminal.wait(f"{PROMPT}And then")
        terminal.hang_up()
        for number in numbers:
            terminal.signal(number)
        told.passing.release(25)
        assert terminal.ended() == 0
    (said,) = spoken(on_tape(playhead), "assistant")
    assert said.split()[:5] == told.words[:5]
    with Terminal(playhead, "chat", "--tape", "t", "--model", "echo:") as terminal:
        terminal.wait(f"{PROMPT}And then")
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        assert "Warning" not in terminal.screen.text


def test_an_answer_that_breaks_off_stays_and_is_asked_again(playhead: Program):
    start, *said = CHAT.events(Turn(words=("It is ", "gw1, ", "I think.")))
    answers = [Answer(pieces=(start, *said[:2]), drops=True), CHAT.answer(Turn(words=("It is gw2.",)))]
    with ProviderServer(answers) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, **networked(server)) as terminal:
        terminal.enter("Which gateway dropped?")
        terminal.wait(lambda text: "/retry asks again" in " ".join(text.split()))
        assert "It is gw1," in terminal.screen.text
        terminal.enter("/retry")
        terminal.wait("It is gw2.")
        assert [m["role"] for m in server.requests[-1].body["messages"]] == ["system", "user"]
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert spoken(on_tape(playhead), "assistant") == ["It is gw1, ", "It is gw2."]
    assert in_view(playhead) == [("user", "Which gateway dropped?"), ("assistant", "It is gw2.")]


def test_a_line_that_is_typed_while_a_tool_runs_waits_and_then_is_taken_up(playhead: Program):
    pipe = holding(playhead)
    model = scripted(playhead, [{"call": "hold", "arguments": {"name": "pipe"}}], "Both are up.")
    with Terminal(playhead, "chat", "--tape", "t", "--model", model, "--tools", "holding:hold") as terminal:
        terminal.enter("Is gw1 up?")
        terminal.wait("→ hold")
        terminal.enter("And gw2?")
        terminal.wait("… And gw2?")
        pipe.write_text("gw1 answers")
        shown = terminal.wait("Both are up.")
        assert shown.index("gw1 answers") < shown.index(f"{PROMPT}And gw2?") < shown.index("Both are up.")
        terminal.wait(lambda text: "… And gw2?" not in text)
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert [text for role, text in in_view(playhead) if role == "user"] == ["Is gw1 up?", "And gw2?"]


def test_ctrl_c_while_a_tool_runs_keeps_the_line_that_waits_for_the_next_chat(playhead: Program):
    holding(playhead)
    model = scripted(playhead, ["Let me look.", {"call": "hold", "arguments": {"name": "pipe"}}], "Never said.")
    with Terminal(playhead, "chat", "--tape", "t", "--model", model, "--tools", "holding:hold") as terminal:
        terminal.enter("Is gw1 up?")
        terminal.wait("→ hold")
        terminal.enter("And gw2?")
        terminal.wait("… And gw2?")
        terminal.interrupt()
        terminal.wait("A line waits")
        terminal.type("a line that was beg")
        terminal.wait("was beg")
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        terminal.wait("1 line waits to be answered")
        terminal.wait("--tools holding")
    assert spoken(on_tape(playhead), "assistant") == ["Let me look."]
    with Terminal(playhead, "chat", "--tape", "t", "--model", scripted(playhead, "Both.", name="more.jsonl")) as terminal:
        terminal.wait(lambda text: "… And gw2?" in text and "a line that was beg" in text)
        terminal.type("\x15\r")
        terminal.wait("Both.")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert spoken(on_tape(playhead), "user") == ["Is gw1 up?", "And gw2?"]


def test_a_call_is_put_before_the_user_and_what_was_being_typed_comes_back(playhead: Program):
    calls = [{"call": "hold", "arguments": {"name": "pipe"}}], [{"call": "tape.reset", "arguments": {"archive": False}}]
    model = scripted(playhead, *calls, "I did not.", calls[1], "I did.")
    pipe = holding(playhead)
    with Terminal(playhead, "chat", "--tape", "t", "--model", model, "--tools", "holding:hold") as terminal:
        terminal.enter("Begin anew.")
        terminal.wait("→ hold")
        terminal.type("and then")
        terminal.wait("and then")
        pipe.write_text("now")
        terminal.wait("Run tape.reset?")
        terminal.enter("not today")
        terminal.wait(lambda text: "I did not." in text and f"{PROMPT}and then" in text)
        terminal.type(" go on\r")
        terminal.wait(lambda text: text.count("Run tape.reset?") == 1 and "I did not." in text and "archive: false" in text)
        terminal.enter("y")
        terminal.wait("I did.")
        terminal.type("\x04")
        assert terminal.ended() == 0


@pytest.mark.parametrize(("before", "line", "count"), [("", "- item {} of many\n", 3_000), ("```python\n", "x{0} = call({0})\n", 3_000)], ids=["list", "code"])
def test_keys_are_taken_while_a_block_of_thousands_of_lines_comes_and_is_shown(playhead: Program, before: str, line: str, count: int):
    model = scripted(playhead, [before, *(line.format(number) for number in range(count))], "Never asked for.")
    with Terminal(playhead, "chat", "--tape", "t", "--model", model) as terminal:
        terminal.enter("Go on.")
        terminal.wait("Ctrl-C stops")
        terminal.type("and then")
        terminal.wait(f"{PROMPT}and then")
        terminal.wait(lambda text: text.count(line.format(count - 1).strip("-\n ")) == 1 and "Ctrl-C stops" not in "\n".join(terminal.screen.rows))
        shown = terminal.wait(f"{PROMPT}and then")
        assert [number for number in range(count) if line.format(number).strip("-\n ") not in shown] == []
        terminal.type("\x03\x03")
        assert terminal.ended() == 0


SHELL = "import fcntl, os, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])"


class InShell(Program):
    """The program as somebody runs it who has a shell: its jobs are stopped and go on."""

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-c", SHELL, *words]


def test_ctrl_z_gives_the_terminal_back_until_the_chat_is_wanted_again(playhead: Program):
    model = scripted(playhead, "It is gw1.", "It is gw2.")
    with Terminal(InShell(playhead.place), PS1="shell> ") as terminal:
        terminal.type(shlex.join([*playhead.command("chat", "--tape", "t", "--model", model)]) + "\r")
        terminal.enter("Which gateway dropped?")
        terminal.wait("It is gw1.")
        terminal.type("and th")
        terminal.wait(f"{PROMPT}and th")
        terminal.type("\x1a")
        below = terminal.wait(lambda text: "Stopped" in text and text.endswith("shell>")).split("It is gw1.")[1]
        assert PROMPT not in below and "tokens" not in below and "^Z" not in below
        terminal.type("echo $((40 + 2)); fg\r")
        terminal.wait(lambda text: "42" in text and f"{PROMPT}and th" in text)
        terminal.type("en?\r")
        assert f"{PROMPT}and then?" in terminal.wait("It is gw2.")
        terminal.type("\x04")
        terminal.wait("To go on:")
        terminal.wait(lambda text: text.endswith("shell>"))
        terminal.type("exit\r")
        assert terminal.ended() == 0
    assert spoken(on_tape(playhead), "user") == ["Which gateway dropped?", "and then?"]


def test_a_window_that_changes_its_size_goes_on(playhead: Program):
    teller = Teller()
    with ProviderServer(teller.answers(1)) as server, Terminal(playhead, "chat", "--tape", "t", "--model", CHAT.spec, columns=160, **networked(server)) as terminal:
        terminal.enter("Count.")
        told = teller.telling()
        told.passing.release(20)
        terminal.wait("w00019")
        terminal.resize(80)
        told.passing.release(10)
        terminal.wait(lambda text: "w00029" in text and "Ctrl-C stops" not in text)
        terminal.enter("/info")
        terminal.wait("sidecars")
        terminal.type("\x04")
        assert terminal.ended() == 0
        below = terminal.screen.text[terminal.screen.text.rindex("entries ") :]
        assert [row for row in below.split("\n") if cell_len(row) > 80] == []
    assert spoken(on_tape(playhead), "assistant")[0].split() == told.words
