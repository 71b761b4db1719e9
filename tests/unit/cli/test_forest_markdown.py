"""A summary's words in a document: word for word, and never part of its structure."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.cli.forest_markdown import quoted
from playhead.cli.markdown import coded


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# A heading", "> \\# A heading"),
        ("   ## indented", ">    \\## indented"),
        ("```python", "> \\```python"),
        ("~~~", "> \\~~~"),
        ("===", "> \\==="),
        ("> a quotation", "> \\> a quotation"),
        ("a <details> tag, and 1 < 2", "> a \\<details> tag, and 1 < 2"),
        ("#5 is no heading here but could be", "> \\#5 is no heading here but could be"),
        ("plain words", "> plain words"),
    ],
)
def test_what_would_be_markup_is_written_out(text: str, line: str):
    assert quoted(text) == line


def test_lines_stay_lines_and_blank_ones_part_them():
    assert quoted("User: a\nAssistant: b\n\nlast") == "> User: a  \n> Assistant: b\n>\n> last"


@given(st.text())
def test_all_of_a_text_stays_inside_its_quotation(text: str):
    assert all(line == ">" or line.startswith("> ") for line in quoted(text).splitlines()) or not text.strip()


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_a_name_is_one_piece_of_code(name: str):
    made = coded(name)
    ticks = re.match("`+", made)
    assert ticks
    assert made.endswith(ticks[0])
    assert ticks[0] not in made[len(ticks[0]) : -len(ticks[0])].strip("`") or len(made) < 3
