"""The last resort: in a request no tool's result is longer than a limit, whatever the tape holds."""

from __future__ import annotations

import pytest

from playhead.agent.cap import MOST, capped
from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult, assistant, user


def answered(content: object, **more: object) -> Message:
    return Message(role="tool", content=(ToolResult(call_id="c", content=content, **more),))  # type: ignore[arg-type]


@pytest.mark.parametrize("message", [user("x" * 900_000), answered("x" * MOST), answered((Text(text="x" * 1_000), Media(kind="image", data="A" * 900_000))), answered("")])
def test_what_is_short_enough_is_the_same_message(message: Message):
    assert capped(message) is message


def test_of_a_longer_result_the_beginning_and_the_end_stay():
    text = "a" * 150_000 + "b" * 400_000 + "c" * 150_000
    (result,) = capped(answered(text, is_error=True, name="shell")).results
    head, note, tail = str(result.content).split("\n")
    assert head == text[: MOST // 2] and tail == text[-MOST // 2 :]
    assert note == f"[tool output truncated: {700_000 - MOST:,} of 700,000 bytes left out here]"
    assert (result.call_id, result.is_error, result.name) == ("c", True, "shell")
    assert capped(answered(text)) == capped(answered(text))


@pytest.mark.parametrize("letter", ["漢", "😀", "\ud800"])
def test_the_limit_is_in_bytes_and_no_character_is_cut(letter: str):
    (result,) = capped(answered(letter * 1_000), most=1_001).results
    head, _, tail = str(result.content).split("\n")
    assert set(head + tail) == {letter}
    assert len((head + tail).encode("utf-8", "surrogatepass")) <= 1_004


def test_parts_share_the_limit_and_media_stays():
    picture = Media(kind="image", data="A" * 5_000)
    (result,) = capped(answered((Text(text="a" * 900), picture, Text(text="b" * 900), Text(text="short"))), most=1_000).results
    first, kept, second, short = result.content
    assert kept == picture and short == Text(text="short")
    assert "truncated" in first.text and "truncated" in second.text and len(first.text) + len(second.text) < 1_000


def test_other_parts_and_results_are_left_alone():
    small = ToolResult(call_id="a", content="x")
    message = Message(role="tool", content=(small, ToolResult(call_id="b", content="y" * 9_000)))
    first, second = capped(message, most=1_000).results
    assert first is small and len(str(second.content)) < 1_100


def test_of_the_arguments_of_a_call_only_a_text_that_is_too_long_is_cut():
    short, long = {"path": "a.txt", "modes": [1, None, "w"]}, "a" * 200_000 + "b" * 200_000
    whole = assistant([Text(text="I write it."), ToolCall(id="1", name="write", arguments=short)])
    assert capped(whole) is whole
    words, call = capped(assistant([Text(text="I write it."), ToolCall(id="1", name="write", arguments={**short, "files": [{"text": long}]})])).parts
    assert words == Text(text="I write it.") and isinstance(call, ToolCall)
    assert (call.id, call.name, {name: call.arguments[name] for name in short}) == ("1", "write", short)
    head, note, tail = call.arguments["files"][0]["text"].split("\n")
    assert (head, tail) == (long[: MOST // 2], long[-MOST // 2 :]) and note == f"[arguments truncated: {400_000 - MOST:,} of 400,000 bytes left out here]"
