"""A model's name says who answers; what is missing is told before anything is sent."""

from __future__ import annotations

import sys

import pytest

import playhead as ph
from playhead.model import limits


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(limits, "_learned", {})


@pytest.mark.parametrize("spec", ["gpt-5-mini", "", "openai:", "anthropic:", "scripted:"])
def test_a_spec_that_names_no_model_is_a_value_error(spec: str):
    with pytest.raises(ph.InvalidModelSpec, match="PROVIDER:MODEL") as caught:
        ph.get_model(spec)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ph.InvalidInput)


@pytest.mark.parametrize("spec", ["opnai:gpt-5-mini", ":x", "OpenAI:gpt-5"])
def test_an_unknown_provider_lists_the_known_ones(spec: str):
    with pytest.raises(ph.ProviderNotFoundError, match="openai, openai-responses, anthropic, pydantic-ai, scripted, echo"):
        ph.get_model(spec)


def test_an_unknown_provider_of_pydantic_ai_lists_theirs():
    with pytest.raises(ph.ProviderNotFoundError, match="pydantic-ai:anthropic"):
        ph.get_model("pydantic-ai:nobody:model")


@pytest.mark.parametrize(("spec", "variable"), [("openai:gpt-5-mini", "OPENAI_API_KEY"), ("openai-responses:gpt-5-mini", "OPENAI_API_KEY"), ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY")])
def test_a_missing_key_is_told(spec: str, variable: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ph.InvalidInput, match=variable):
        ph.get_model(spec)
    monkeypatch.setenv(variable, "k")
    assert ph.get_model(spec).name == spec


def test_a_missing_key_is_told_for_pydantic_ai_too():
    with pytest.raises(ph.InvalidInput, match="OPENAI_API_KEY"):
        ph.get_model("pydantic-ai:openai:gpt-5-mini")


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch):
    assert ph.get_model("openai:llama", base_url="http://localhost:8000/v1").name == "openai:llama"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert ph.get_model("openai:llama").name == "openai:llama"


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("openai:m", "openai", "openai"),
        ("openai-responses:m", "openai", "openai"),
        ("anthropic:m", "anthropic", "anthropic"),
        ("pydantic-ai:openai:m", "pydantic_ai.models", "pydantic-ai"),
    ],
)
def test_a_missing_package_says_what_to_install(spec: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ph.MissingExtra, match=rf"pip install 'playhead\[{extra}\]'"):
        ph.get_model(spec, api_key="k")


@pytest.mark.parametrize(
    "options",
    [{"base_url": "localhost:8000"}, {"base_url": "ftp://x"}, {"base_url": ""}, {"timeout": 0}, {"timeout": -1.0}, {"max_retries": -1}, {"context_limit": 0}, {"colour": "red"}],
    ids=str,
)
def test_options_nobody_knows_are_refused(options: dict[str, object]):
    with pytest.raises(ph.InvalidInput):
        ph.get_model("openai:gpt-5-mini", api_key="k", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"base_url": "http://localhost"}, {"colour": "red"}], ids=str)
def test_models_that_ask_nobody_take_no_options(options: dict[str, str]):
    with pytest.raises(ph.InvalidInput, match="asks nobody"):
        ph.get_model("echo:", **options)  # type: ignore[arg-type]


def test_options_go_to_the_client_of_the_sdk():
    model = ph.get_model("openai:gpt-5-mini", api_key="k", organization="org-7", timeout=3.0)
    client = model._adapter._client  # type: ignore[attr-defined]
    assert (client.organization, client.timeout, client.max_retries) == ("org-7", 3.0, 0)


def test_a_context_limit_is_given_else_learned_else_listed():
    model = ph.get_model("openai:gpt-5-mini", api_key="k")
    assert model.context_limit == 400_000
    limits.learn("openai:gpt-5-mini@", 300_000)
    assert model.context_limit == 300_000
    assert ph.get_model("openai:gpt-5-mini", api_key="k", base_url="http://localhost/v1").context_limit == 400_000
    assert ph.get_model("openai:gpt-5-mini", api_key="k", context_limit=8_000).context_limit == 8_000
    assert ph.get_model("openai:my-own", api_key="k").context_limit is None


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("gpt-5-mini", 400_000),
        ("gpt-5-mini-2025-08-07", 400_000),
        ("gpt-5.4-mini", 400_000),
        ("gpt-5.4", 1_050_000),
        ("gpt-50", None),
        ("gpt-4", 8_192),
        ("gpt-4o", 128_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4o-realtime-preview", None),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("anthropic/claude-sonnet-5-5", 1_000_000),
        ("openrouter:anthropic/claude-haiku-4-5", 200_000),
        ("Claude-Opus-5", 1_000_000),
        ("o3-mini", 200_000),
        ("o30", None),
        ("", None),
    ],
)
def test_limits_are_listed_by_the_beginning_of_a_name(model: str, limit: int | None):
    assert limits.listed(model) == limit


def test_no_limit_is_listed_twice():
    names = [name for name, _ in limits._LISTED]
    assert len(names) == len(set(names))
