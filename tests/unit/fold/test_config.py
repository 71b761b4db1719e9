import math

import pytest

from playhead.errors import InvalidInput, InvalidOption
from playhead.fold.config import INSTEAD, AutobiographicalConfig


def test_none_means_the_default():
    assert AutobiographicalConfig(recent_window_tokens=None, ladder=None) == AutobiographicalConfig()


def test_the_recent_window_follows_the_room_where_nothing_is_said_of_it():
    unsaid, said = AutobiographicalConfig(), AutobiographicalConfig(recent_window_tokens=30_000)
    assert [unsaid.recent_tokens(room) for room in (None, 8_000, 1_000_000)] == [30_000, 2_000, 30_000]
    assert [said.recent_tokens(room) for room in (None, 8_000, 1_000_000)] == [30_000, 30_000, 30_000]
    assert unsaid.with_options({"merge_threshold": 3}).recent_tokens(8_000) == 2_000
    assert unsaid.with_options({"recent_window_tokens": 5_000}).recent_tokens(8_000) == 5_000
    assert said.with_options({"recent_window_tokens": None}) == unsaid
    assert AutobiographicalConfig(recent_window_share=0.5).recent_tokens(8_000) == 4_000


def test_every_option_says_what_it_means():
    meanings = AutobiographicalConfig.meanings()
    assert all(meanings.values())
    assert len(set(meanings.values())) == len(meanings)


def test_options_are_taken_by_name():
    config = AutobiographicalConfig.of({"recent_window_tokens": 5, "compression_model": "extractive"})
    assert (config.recent_window_tokens, config.compression_model) == (5, "extractive")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("recent_window_token", "recent_window_tokens"),
        ("max_live_images", "a selector in front"),
        ("kv_stable_reach_tokens", "flat-profile or oldest-first"),
        ("quarantine_alarm_interval_ms", "quarantine_alarm_interval, in seconds"),
        ("utterly_unknown_zzz", "one of recent_window_tokens"),
    ],
)
def test_an_option_that_is_none_is_refused_with_what_to_write_instead(name, instead):
    with pytest.raises(InvalidOption) as caught:
        AutobiographicalConfig.of({name: 1})
    assert instead in caught.value.instead


def test_no_option_is_named_as_gone():
    assert not set(INSTEAD) & set(AutobiographicalConfig.meanings())


@pytest.mark.parametrize("strategy", ["kv-stable", "kv-unified", "best-fit"])
def test_a_resolver_that_is_not_built_is_refused_with_those_that_are(strategy):
    with pytest.raises(InvalidOption, match="flat-profile"):
        AutobiographicalConfig(folding_strategy=strategy)


@pytest.mark.parametrize(
    "options",
    [
        {"recent_window_tokens": -1},
        {"recent_window_tokens": True},
        {"recent_window_tokens": 1.5},
        {"target_chunk_tokens": 0},
        {"merge_threshold": 1},
        {"compression_max_tokens": 0},
        {"hierarchical": 1},
        {"summary_participant": " "},
        {"recall_header_template": 5},
        {"identity_reminder": 5},
        {"recent_window_share": 1.5},
        {"low_water_ratio": 1.5},
        {"low_water_ratio": math.nan},
        {"compression_slack_ratio": 1.0},
        {"quarantine_alarm_interval": -1},
        {"quarantine_alarm_interval": math.inf},
        {"compression_model": ""},
        {"compression_model": 5},
        {"recall_envelope": "json"},
        {"ladder": "split"},
        {"ladder": ("no_such_rung",)},
        {"ladder": ("split", "split")},
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused(options):
    with pytest.raises(InvalidInput, match=next(iter(options)).split("_", maxsplit=1)[0]):
        AutobiographicalConfig(**options)


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({"recall_header_template": "[Recall {name}]"}, "{id} and {level} and {first} and {last} and {tools}"),
        ({"summary_context_label": "Before {id}?"}, "{tools}"),
        ({"witnessed_instruction": "In {target_tokens} tokens."}, "{targetTokens}"),
    ],
)
def test_a_template_with_a_placeholder_that_nothing_fills_is_refused(options, known):
    with pytest.raises(InvalidInput) as caught:
        AutobiographicalConfig(**options)
    assert f"may hold {known}, not {{" in caught.value.message


def test_templates_may_hold_their_placeholders_and_other_braces():
    config = AutobiographicalConfig(recall_header_template="{ {id} {level} {first} {last} {tools} }", summary_context_label="{} {tools} {a b}?")
    assert config.summary_context_label == "{} {tools} {a b}?"
