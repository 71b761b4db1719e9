"""Settings on the command line: each is read as what its kind is, and what an option does not take the settings refuse."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields

import pytest

from playhead.cli.strategy_choice import folding_of, settings_of, strategy_of
from playhead.errors import InvalidInput, InvalidOption, ProviderNotFoundError
from playhead.fold.config import AutobiographicalConfig
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.knowledge import KnowledgeStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy


def args(*settings: str, **given: object) -> Namespace:
    return Namespace(**{"strategy": "autobiographical", "namespace": None, "summarizer": None, "recent": None, "head": None, "settings": list(settings), **given})


@pytest.mark.parametrize(
    ("setting", "name", "meant"),
    [
        ("merge_threshold=4", "merge_threshold", 4),
        ("merge-threshold=4", "merge_threshold", 4),
        ("recent_window_tokens=12,000", "recent_window_tokens", 12_000),
        ("low_water_ratio=0.5", "low_water_ratio", 0.5),
        ("low_water_ratio=1", "low_water_ratio", 1.0),
        ("hierarchical=no", "hierarchical", False),
        ("adaptive_resolution=True", "adaptive_resolution", True),
        ("ladder=no_tools_line, plain_prose", "ladder", ("no_tools_line", "plain_prose")),
        ("ladder=", "ladder", ()),
        ("identity_reminder=42", "identity_reminder", "42"),
        ("identity_reminder=You are = Claude.", "identity_reminder", "You are = Claude."),
        ("compression_max_tokens=9000", "compression_max_tokens", 9_000),
        ("folding_strategy=oldest-first", "folding_strategy", "oldest-first"),
    ],
)
def test_a_setting_is_read_as_what_its_option_is(setting: str, name: str, meant: object):
    found = getattr(folding_of(args(setting)).config, name)
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize("option", [option.name for option in fields(AutobiographicalConfig) if option.name != "compression_model"])
def test_every_option_can_be_set_to_what_it_is_by_default(option: str):
    value = getattr(AutobiographicalConfig(), option)
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    assert getattr(folding_of(args(f"{option}={text}")).config, option) == value


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("merge_threshold=many", "merge_threshold is a whole number from 2, not 'many'"),
        ("merge_threshold=none", "merge_threshold is a whole number from 2, not 'none'"),
        ("hierarchical=maybe", "hierarchical is True or False, not 'maybe'"),
        ("low_water_ratio=half", "low_water_ratio is a share"),
        ("ladder=jump", "any of no_tools_line"),
        ("compression_model=extractive", "with --summarizer"),
        ("l1_budget_tokens=3", "There is no option l1_budget_tokens"),
        ("namespace=x", "There is no option namespace"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_can(setting: str, told: str):
    with pytest.raises(InvalidInput, match=told):
        folding_of(args(setting))


def test_an_option_that_was_renamed_elsewhere_is_named():
    with pytest.raises(InvalidOption) as refused:
        folding_of(args("merge_treshold=3"))
    assert refused.value.instead == "merge_threshold"


def test_settings_win_over_the_options_that_mean_the_same():
    found = settings_of(args("recent_window_tokens=5", recent=7, head=9))
    assert found == {"recent_window_tokens": 5, "head_window_tokens": 9}


@pytest.mark.parametrize(("named", "kind"), [("extractive", InvalidInput), ("gpt-5", InvalidInput), ("nobody:x", ProviderNotFoundError), ("scripted:file", InvalidInput)])
def test_who_writes_is_checked_before_anything_is_read(named: str, kind: type[Exception]):
    if named in {"extractive", "scripted:file"}:
        assert settings_of(args(summarizer=named)) == {"compression_model": named}
        return
    with pytest.raises(kind, match="PROVIDER:MODEL"):
        settings_of(args(summarizer=named))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("passthrough", PassthroughStrategy), ("windowed", WindowedPassthroughStrategy), ("autobiographical", AutobiographicalStrategy), ("knowledge", KnowledgeStrategy)],
)
def test_every_strategy_has_a_name(name: str, kind: type):
    assert type(strategy_of(args(strategy=name))) is kind
    assert strategy_of(args(strategy=name)).name == name  # type: ignore[attr-defined]


def test_the_namespace_is_whose_memory_it_is():
    assert folding_of(args(namespace="agents/bot")).namespace == "agents/bot"
