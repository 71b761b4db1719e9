"""Markdown while it is said: what was shown for good is what the whole text shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.cli.chat.blocks import settled
from playhead.cli.chat.rendering import Renderer

PIECES = (
    "# Heading\n",
    "Some words that go on.\n",
    "and on\n",
    "\n",
    "- one\n- two\n",
    "  deeper\n",
    "1. first\n\n2. second\n",
    "```python\nprint(1)\n\nprint(2)\n```\n",
    "```\nnever closed\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "> quoted\n",
    "    indented code\n",
    "---\n",
    "===\n",
    "<b>html</b>\n",
    "tail without an end",
)


def shown(text: str) -> list[str]:
    return [line for line in Renderer(width=60).answer(text).split("\n") if line.strip()]


def streamed(text: str, cuts: list[int]) -> list[str]:
    """Return the lines that are shown where a text comes in pieces."""
    lines, tail, start = [], "", 0
    for cut in [*sorted(cuts), len(text)]:
        tail, start = tail + text[start:cut], max(start, cut)
        end = settled(tail)
        lines += shown(tail[:end]) if end else []
        tail = tail[end:]
    return [*lines, *shown(tail)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.data())
def test_what_comes_in_pieces_is_shown_as_if_it_had_come_at_once(pieces, data):
    text = "".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    assert streamed(text, cuts) == shown(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_what_has_ended_is_settled(end):
    for text in (f"One.{end}{end}Two.", f"One.{end}{end}Two.{end}", f"One.{end}{end}- Two.{end}{end}", f"One.{end}{end}```{end}Two.{end}{end}"):
        assert text[: settled(text)] == f"One.{end}{end}"
    assert settled(f"One.{end}```{end}Two.{end}```{end}{end}Th") == len(f"One.{end}```{end}Two.{end}```{end}{end}")


@pytest.mark.parametrize("text", ["", "One.", "One.\n", "- a\n- b\n\n- c", "- a\n\n", "```\n# a\n\n# b\n\n", "> a\n\n", "    a\n\n", "<b>\n\n"])
def test_what_may_go_on_is_not_settled(text):
    assert settled(text) == 0
