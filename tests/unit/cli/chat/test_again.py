"""How a chat is gone on with, and what is said of lines that wait."""

from __future__ import annotations

import pytest

from playhead.cli.chat.again import given, still_waiting
from playhead.cli.chat.session import Session
from playhead.cli.parser import parse


@pytest.mark.parametrize(
    "words",
    [
        "--model echo:",
        "--model echo: --max-tokens 8000 --reserve 500",
        "--model echo: --strategy autobiographical --summarizer extractive --recent 500 --head 0 --set merge_threshold=3 --set low_water_ratio=0.5",
        "--model echo: --system Brief. --max-steps 3 --tools a:b --tools c:d --bare --yes --store sqlite:///x.db",
    ],
)
def test_the_command_that_goes_on_with_a_chat_says_all_that_this_one_was_given(words: str):
    args = parse(["chat", "--tape", "t", *words.split()])
    again = parse(["chat", *given(args, tape="t", model="echo:")])
    assert again == args


def test_what_the_tape_or_the_folder_says_is_not_repeated():
    args = parse(["chat", "--tape", "t", "--model", "echo:"])
    assert given(args, tape=None, model="openai:gpt-5-mini") == []


def test_lines_that_wait_are_told_when_a_chat_is_left():
    session = Session(tape="t", model="echo:")
    assert still_waiting(session) == ""
    assert still_waiting(session.waits("1", "a")).startswith("1 line waits to be answered")
    assert still_waiting(session.waits("1", "a").waits("2", "b")).startswith("2 lines wait to be answered")
