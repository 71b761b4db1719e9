"""Lines fit the columns they have, whatever characters they hold."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from playhead.cli.layout import Column, cut, table, wrapped
from playhead.cli.plain import one_line, plain, plain_json, short_name

TEXTS = st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t日本語é")), max_size=200)
WORDS = st.text(alphabet="abc 日本 \n", max_size=200)


@given(WORDS, st.integers(min_value=2, max_value=40))
def test_wrapping_keeps_every_word_and_every_row_fits(text: str, width: int):
    rows = list(wrapped(text, width=width))
    assert max(map(cell_len, rows), default=0) <= width
    assert "".join(text.split()) == "".join("".join(rows).split())


def test_words_stay_whole_where_they_fit():
    assert list(wrapped("one two three", width=7)) == ["one two", "three"]
    assert list(wrapped("  indented words stay so", width=14)) == ["  indented", "words stay so"]
    assert list(wrapped("unbroken", width=3)) == ["unb", "rok", "en"]


def test_without_a_width_only_newlines_break():
    assert list(wrapped("a" * 500 + "\nb", width=None)) == ["a" * 500, "b"]


@given(TEXTS, st.integers(min_value=4, max_value=60))
def test_a_cut_is_one_line_that_fits(text: str, width: int):
    line = cut(text, width=width)
    assert cell_len(line) <= width
    assert "\n" not in line


def test_a_cut_says_that_something_is_missing():
    assert cut("short", width=10) == "short"
    assert cut("much too long a text", width=10) == "much too…"


@given(TEXTS)
def test_plain_text_holds_no_control_character(text: str):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", plain(text))
    assert plain(plain(text)) == plain(text)
    assert "\n" not in one_line(text)


def test_control_characters_are_shown_as_escapes():
    assert plain("\x1b[31m\x07\x9b\u202e\r") == "\\x1b[31m\\x07\\x9b\\u202e\\x0d"
    assert plain("a\r\nb\tc") == "a\nb\tc"
    assert plain_json('"\x7f\x9b日"'.encode()) == '"\\u007f\\u009b日"'.encode()
    assert plain_json('"\u202e\u2066\u2069\u2028\u2030€"'.encode()) == '"\\u202e\\u2066\\u2069\\u2028\u2030€"'.encode()


def test_a_very_long_name_is_told_by_its_beginning():
    assert short_name("user Ann\nLee\x1b") == "user Ann Lee\\x1b"
    assert short_name("n" * 120) == "n" * 120
    assert short_name("n" * 5_120) == "n" * 120 + "… (5,000 more characters)"


def test_a_table_aligns_its_columns_and_wraps_the_last():
    columns = (Column(heading="form"), Column(heading="count", is_number=True), Column(heading="reason"))
    lines = [line.plain for line in table(columns, [("raw", "7", "fits"), ("日本", "1,234", "a reason that is longer than the rest of the line")], width=40)]
    assert lines == [
        "form  count  reason",
        "raw       7  fits",
        "日本  1,234  a reason that is longer",
        "             than the rest of the line",
    ]


def test_a_table_may_cut_its_last_column_instead():
    columns = (Column(heading="id", is_number=True), Column(heading="state", is_cut=True))
    lines = [line.plain for line in table(columns, [("1", "words " * 20)], width=30)]
    assert lines == ["id  state", " 1  words words words words w…"]


def test_a_tree_keeps_the_spaces_that_indent_it():
    columns = (Column(heading="branch", is_tree=True), Column(heading="state"))
    lines = [line.plain for line in table(columns, [("root", ""), ("└─ a\x1b", "open"), ("   └─ b", "merged")], width=40)]
    assert lines == ["branch    state", "root", "└─ a\\x1b  open", "   └─ b   merged"]
