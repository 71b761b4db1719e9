"""The page of the options of AutobiographicalStrategy is complete: each with its default, and every name of other systems with what to write instead."""

import re
from dataclasses import fields

import pytest

import playhead as ph
from playhead.fold.config import FOLDING_STRATEGIES, INSTEAD, RUNGS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "autobiographical.md").read_text(encoding="utf-8")
OPTIONS = dict(re.findall(r"^### `(\w+)`\n\n(Default `.+?`\. .*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
GONE = {name for row in re.findall(r"^\| (`.+?) \| \S", PAGE.partition("## Options that other systems know")[2], re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)}


def test_every_option_is_described_and_none_that_does_not_exist():
    assert sorted(OPTIONS) == sorted(option.name for option in fields(ph.AutobiographicalConfig))


@pytest.mark.parametrize("name", [option.name for option in fields(ph.AutobiographicalConfig)])
def test_an_option_is_described_with_its_default(name: str):
    default = repr(getattr(ph.AutobiographicalConfig(), name))
    assert OPTIONS[name].startswith(f"Default `{default}`. ".replace("'", '"'))


@pytest.mark.parametrize("name", [option.name for option in fields(ph.AutobiographicalConfig)])
def test_an_option_says_in_a_line_what_it_means(name: str):
    assert ph.AutobiographicalConfig.meanings()[name]


@pytest.mark.parametrize("name", [*FOLDING_STRATEGIES, *RUNGS])
def test_every_choice_of_an_option_is_named(name: str):
    assert f'"{name}"' in PAGE or f"`{name}`" in PAGE


def test_every_option_that_others_know_is_there_with_what_to_write_instead():
    assert set(INSTEAD) == GONE


@pytest.mark.parametrize("name", sorted(set(INSTEAD) - {"kv-stable", "kv-unified"}))
def test_an_option_that_is_gone_is_refused_with_what_to_write_instead(name: str):
    with pytest.raises(ph.InvalidOption) as refused:
        ph.AutobiographicalStrategy(**{name: 1})
    assert refused.value.instead == INSTEAD[name]


@pytest.mark.parametrize("name", ["compressionModel", "recentWindowTokens", "mergeThreshold", "headWindowTokens", "adaptiveResolution"])
def test_a_name_in_camel_case_is_answered_with_the_right_one(name: str):
    with pytest.raises(ph.InvalidOption) as refused:
        ph.AutobiographicalStrategy(**{name: None})
    assert re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() in refused.value.instead
