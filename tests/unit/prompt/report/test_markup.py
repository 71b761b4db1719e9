import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.prompt.report.markup import clean, element, markup
from tests.unit.prompt.report.reading import read

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200) | st.text("<>&\"'=/-! abonscript\x00\ud800\u202e", max_size=60)


@given(ANY_TEXT, ANY_TEXT)
def test_a_text_stays_a_text_wherever_it_stands(text, other):
    page = read(markup(element("p", text, element("b", other), text, title=other)))
    (paragraph,) = page.children
    assert [n.tag for n in page.all()] == ["p", "b"]
    assert paragraph.text == clean(text) + clean(other) + clean(text)
    assert paragraph.attributes == {"title": clean(other)}


@given(ANY_TEXT)
def test_every_text_can_be_written_as_utf_8(text):
    assert clean(text).encode().decode() == clean(text)
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\rc", "a\nb\u240dc"),
        ("\x00\x1b[31m\x7f", "\u2400\u241b[31m\u2421"),
        ("\x9b", "\ufffd"),
        ("\ud83d lone", "\ufffd lone"),
        ("admin\u202egnp.exe", "admin[U+202E]gnp.exe"),
        ("😀 schön 日本", "😀 schön 日本"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text, shown):
    assert clean(text) == shown


def test_attributes_that_are_none_are_left_out():
    assert markup(element("details", class_="unit", open=None, data_tip="why")) == '<details class="unit" data-tip="why"></details>'


def test_a_text_that_begins_with_a_newline_keeps_it():
    assert read(markup(element("div", "\nfirst"))).text == "\nfirst"
