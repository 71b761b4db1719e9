import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.entry import codec
from playhead.entry.frozen import freeze, thaw

characters = st.characters(exclude_categories=()) | st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF)
texts = st.text(characters, max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20)


@given(json_values)
def test_every_storable_value_reads_back_as_it_was_written(value):
    frozen = freeze(value)
    assert codec.decode(codec.encode(frozen)) == thaw(frozen)


@given(json_values)
def test_every_encoding_is_one_line_of_valid_utf8_json(value):
    body = codec.encode(freeze(value))
    assert b"\n" not in body
    assert json.loads(body.decode()) == thaw(freeze(value))


@given(st.dictionaries(texts, scalars, max_size=5))
def test_sorted_encoding_does_not_depend_on_the_order_of_keys(value):
    frozen = freeze(value)
    assert codec.encode_sorted(frozen) == codec.encode_sorted(dict(reversed(frozen.items())))


def test_non_ascii_text_stays_readable_and_lone_surrogates_are_escaped():
    assert codec.encode({"a": "你好"}) == '{"a":"你好"}'.encode()
    assert codec.encode({"a": "你\udc97"}) == '{"a":"你\\udc97"}'.encode()


@pytest.mark.parametrize("body", [b"", b"{", b'{"a":NaN}', b"\xff", b'{"a":Infinity}', b"nul"])
def test_what_is_no_json_raises_value_error(body):
    with pytest.raises(ValueError):
        codec.decode(body)
