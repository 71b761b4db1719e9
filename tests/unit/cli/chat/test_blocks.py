"""Markdown while it is said: what was shown for good is what the whole text shows."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.agent.events import TextEvent
from playhead.cli.chat.blocks import Reading, read_on, settled
from playhead.cli.chat.live import Live
from playhead.cli.chat.pieces import Words
from playhead.cli.chat.rendering import Renderer
from playhead.cli.chat.session import Session
from tests.integration.program import uncoloured

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
    "~~~\n# no heading\n~~~\n",
    "- list with code:\n\n  ```\n  inside\n\n  ```\n",
    "9) nine\n10) ten\n",
    "* starred\n",
    " indented by one\n",
    "return\r\n",
    "\r\n",
)
WHOLE = (
    "# Heading\n",
    "Some words\nthat go on.\n",
    "- one\n- two\n\n  ```\n  inside\n\n  ```\n",
    "1. first\n\n2. second\n",
    "```python\nprint(1)\n\n\nprint(2)\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "> quoted\n",
    "---\n",
)
ENDLESS = {
    "items": [f"- item {n}, a *few* words\n" for n in range(2_000)],
    "numbers": [f"{n}. item, a *few* words\n" for n in range(1, 2_001)],
    "ones": ["1. item, a *few* words\n"] * 2_000,
    "loose items": ["- item\n", "\n"] * 1_000,
    "lazy items": ["- item\n", "that goes on\n"] * 500,
    "code": ["```python\n", *(f"x{n} = call({n})\n" for n in range(2_000))],
    "code in a list": ["1. Do:\n", "\n", "   ```python\n", *(f"   x{n} = call({n})\n" for n in range(2_000))],
    "rows": ["| n | words |\n", "|---|---|\n", *(f"| {n:05} | a few |\n" for n in range(2_000))],
    "quotes": [f"> line {n}\n" for n in range(2_000)],
    "words": [f"line {n}\n" for n in range(2_000)],
    "indented": [f"    line {n}\n" for n in range(2_000)],
    "tags": ["<div>\n", *(f"<p>line {n}\n" for n in range(2_000))],
    "one line": ["word "] * 4_000,
}


def shown(text: str) -> list[str]:
    return shown_at(text, width=60)


def shown_at(text: str, *, width: int) -> list[str]:
    return [line for line in Renderer(width=width).answer(text).split("\n") if line.strip()]


def streamed(text: str, cuts: list[int]) -> list[str]:
    """Return the lines that are shown where a text comes in pieces."""
    lines, tail, start, reading = [], "", 0, Reading()
    for cut in [*sorted(cuts), len(text)]:
        tail, start = tail + text[start:cut], max(start, cut)
        end, reading = read_on(tail, reading)
        lines += shown(tail[:end]) if end else []
        tail = tail[end:]
    return [*lines, *shown(tail)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([1, 1, 2, 150])), max_size=12), st.data())
def test_what_comes_in_pieces_is_shown_as_if_it_had_come_at_once(pieces, data):
    text = "".join(piece * times for piece, times in pieces)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    every = data.draw(st.sampled_from([len(text) + 1, 997, 61]))
    assert streamed(text, [*cuts, *range(0, len(text), every)]) == shown(text)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=10))
def test_the_empty_lines_between_whole_blocks_are_the_same_however_they_come(blocks):
    text, renderer, session, pieces = "\n".join(blocks), Renderer(width=60), Session(tape="t", model="m").begun(), []
    for line in text.splitlines(keepends=True):
        session, more = session.told(TextEvent(delta=line))
        pieces += more
    assert "".join(map(renderer.of, (*pieces, *session.flushed()[1]))) == renderer.of(Words(text=text))


def test_a_text_that_comes_line_by_line_is_shown_for_good_block_by_block():
    text = "# Tunnels\n\nTwo dropped:\n- gw1\n- gw2\n\nThe rest:\n```\ngw3\n\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all.\n\n"
    session, pieces = Session(tape="t", model="m").begun(), []
    for line in text.splitlines(keepends=True):
        session, more = session.told(TextEvent(delta=line))
        pieces += more
    assert (session.tail, "".join(piece.text for piece in pieces)) == ("", text)
    assert len(pieces) == 7 and all(isinstance(piece, Words) for piece in pieces)


def live_rows(session: Session) -> list[str]:
    return [row for row in uncoloured(Live().of(session, width=70, rows=24)).split("\n")[:-2] if row.strip()]


def words_of(rows: list[str]) -> list[str]:
    return " ".join(rows).replace("▌", "").split()


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_block_without_end_costs_what_is_new_and_what_is_seen(kind):
    session, began = Session(tape="t", model="m").begun(), time.process_time()
    for number, line in enumerate(ENDLESS[kind]):
        session, pieces = session.told(TextEvent(delta=line))
        assert pieces == ()
        if number % 50 == 0:
            live_rows(session)
    assert time.process_time() - began < 6, "reading it anew at each line takes minutes"


@pytest.mark.parametrize("kind", [kind for kind in ENDLESS if kind != "code in a list"])
@pytest.mark.parametrize("count", [1, 7, 40, 333])
def test_what_is_seen_of_a_long_block_is_its_end(kind, count):
    lines = ENDLESS[kind][:count]
    session = Session(tape="t", model="m").begun()
    for line in lines:
        session, _ = session.told(TextEvent(delta=line))
    rows = live_rows(session)
    whole = [uncoloured(row) for row in shown_at("".join(lines), width=70)]
    assert len(rows) >= min(len(whole), 6)
    # Words that are wrapped may be wrapped elsewhere: they are the same words.
    assert words_of(rows)[-12:] == words_of(whole)[-12:]


def test_code_in_a_list_is_seen_as_code():
    session = Session(tape="t", model="m").begun()
    for line in ENDLESS["code in a list"][:333]:
        session, _ = session.told(TextEvent(delta=line))
    assert [row.strip() for row in live_rows(session)][-2:] == ["x328 = call(328)", "x329 = call(329)"]
    session, _ = session.told(TextEvent(delta="   ```\n"))
    assert session.reading.fence is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_what_has_ended_is_settled(end):
    for text in (f"One.{end}{end}Two.", f"One.{end}{end}Two.{end}", f"One.{end}{end}- Two.{end}{end}", f"One.{end}{end}```{end}Two.{end}{end}"):
        assert text[: settled(text)] == f"One.{end}{end}"
    assert settled(f"One.{end}```{end}Two.{end}```{end}{end}Th") == len(f"One.{end}```{end}Two.{end}```{end}{end}")


def test_a_newline_of_which_half_has_come_is_none_yet():
    assert [streamed("# One\n\r\nTwo.\r\n\r\n", [cut]) for cut in range(18)] == [shown("# One\n\nTwo.\n\n")] * 18


@pytest.mark.parametrize("text", ["", "One.", "One.\n", "- a\n- b\n\n- c", "- a\n\n", "```\n# a\n\n# b\n\n", "> a\n\n", "    a\n\n", "<b>\n\n"])
def test_what_may_go_on_is_not_settled(text):
    assert settled(text) == 0
