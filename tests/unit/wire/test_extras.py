from __future__ import annotations

from playhead.entry.message import NOTHING, Text, user
from playhead.wire.extras import kept, own, rest, with_rest
from playhead.wire.providers import FORMATS


def test_what_a_field_says_now_wins_over_what_was_kept():
    assert with_rest({"type": "text", "text": "new"}, {"text": "old", "x": 1, "mark": 2}, "mark") == {"type": "text", "text": "new", "x": 1}


def test_fields_are_kept_by_provider():
    extra = kept("openai", rest({"type": "text", "text": "hi", "x": 1}, "type", "text"))
    assert extra == {"openai": {"x": 1}}
    assert own(extra, "openai") == {"x": 1}
    assert own(extra, "anthropic") == {}
    assert own({"openai": 7}, "openai") == {}


def test_nothing_is_kept_of_nothing():
    assert kept("openai", {}) is NOTHING


def test_an_edited_text_never_sends_its_old_words():
    stale = {name: {"text": "secret", "type": "secret"} for name in FORMATS}
    message = user((Text(text="***", extra=stale),))  # type: ignore[arg-type]
    assert all("secret" not in str(wire.dump([message])) for wire in FORMATS.values())
