from __future__ import annotations

import json

from playhead.entry.frozen import freeze
from playhead.wire.encodable import encodable, is_encodable


def test_halves_of_surrogate_pairs_are_replaced_wherever_they_stand():
    value = freeze({"a\ud800": ["\udfffb", {"c": "d\ud83d"}], "e": 1})
    assert encodable(value) == {"a\ufffd": ["\ufffdb", {"c": "d\ufffd"}], "e": 1}


def test_whole_characters_stay():
    value = {"grüße": ["😀", "\x00", None, True, 1.5]}
    assert encodable(value) == value
    assert json.loads(json.dumps(encodable(value), ensure_ascii=False).encode()) == value


def test_what_is_returned_is_plain_and_may_be_changed():
    value = encodable(freeze({"a": [1]}))
    value["a"].append(2)
    assert (type(value), type(value["a"]), value) == (dict, list, {"a": [1, 2]})


def test_a_text_tells_whether_it_has_a_utf8_form():
    assert is_encodable("grüße 😀")
    assert not is_encodable("a\ud800")
