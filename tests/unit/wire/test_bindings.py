from __future__ import annotations

import pytest

from playhead.entry.message import Thinking
from playhead.wire.bindings import is_bound_to, is_same_model


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("claude-opus-4-1-latest", "claude-opus-4-1"),
        ("claude-opus-4@20250514", "claude-opus-4"),
    ],
)
def test_a_dated_name_is_the_model_its_alias_names(one: str, other: str):
    assert is_same_model(one, other)


@pytest.mark.parametrize(("one", "other"), [("gpt-5", "gpt-5-mini"), ("gpt-5-2025-08-07", "gpt-5-2025-12-11"), ("claude-opus-4-1", "claude-opus-4"), ("", "gpt-5")])
def test_other_names_are_other_models(one: str, other: str):
    assert not is_same_model(one, other)


def test_thinking_is_bound_to_its_provider_and_its_model():
    thinking = Thinking(text="hm", signature="s", provider="anthropic", model="m")
    assert is_bound_to(thinking, provider="anthropic", model="m")
    assert not is_bound_to(thinking, provider="openai", model="m")
    assert not is_bound_to(thinking, provider="anthropic", model="n")
    assert not is_bound_to(thinking, provider="anthropic", model=None)


@pytest.mark.parametrize("thinking", [Thinking(text="hm", provider="anthropic"), Thinking(text="hm", model="m"), Thinking(text="\ud800", provider="anthropic", model="m")])
def test_thinking_of_unknown_origin_or_that_would_change_goes_nowhere(thinking: Thinking):
    assert not is_bound_to(thinking, provider="anthropic", model="m")
