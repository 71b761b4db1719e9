"""Who writes summaries, by what the settings name."""

from __future__ import annotations

import logging

import anyio
import pytest

from playhead.errors import NoCompressionModel, PlayheadError
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.extracting.extractive import ExtractiveSummarizer
from playhead.fold.writing.model_summarizer import ModelSummarizer
from playhead.fold.writing.naming import Writers
from playhead.model.scripted import ScriptedModel


def named(wanted, *, client=None):
    async def go():
        writers = Writers(AutobiographicalConfig(compression_model=wanted), client=client)
        try:
            found = await writers.named()
            assert await writers.named() is found
            return found
        finally:
            await writers.aclose()

    return anyio.run(go)


def test_nobody_named_is_an_error_when_somebody_is_asked_for():
    with pytest.raises(NoCompressionModel, match="compression_model"):
        named(None)


def test_extractive_is_an_explicit_choice():
    assert isinstance(named("extractive"), ExtractiveSummarizer)


def test_a_model_writes_itself():
    model = ScriptedModel([], name="scripted:mine")
    found = named(model, client=ScriptedModel([]))
    assert isinstance(found, ModelSummarizer) and found.name == "scripted:mine"


def test_a_spec_names_the_provider():
    assert named("echo:").name.startswith("echo")


def test_a_bare_id_is_served_by_the_client_itself_or_by_its_provider():
    assert named("some-id", client=ScriptedModel([], name="scripted:client")).name == "scripted:client"
    assert named("some-id", client="echo:other").name.startswith("echo")


def test_a_bare_id_that_nobody_serves_warns_once_and_is_nobody(caplog):
    async def go():
        writers = Writers(AutobiographicalConfig(compression_model="some-id"))
        assert [await writers.named() for _ in range(3)] == [None, None, None]

    with caplog.at_level(logging.WARNING, "playhead"):
        anyio.run(go)
    assert len(caplog.records) == 1 and "some-id" in caplog.text


def test_a_provider_that_there_is_none_of_is_a_typed_error():
    with pytest.raises(PlayheadError):
        named("nowhere:some-id")


def test_the_model_is_let_go_of_and_opened_anew_when_it_is_asked_for_again():
    async def go():
        writers = Writers(AutobiographicalConfig(compression_model="echo:"))
        first = await writers.named()
        await writers.aclose()
        second = await writers.named()
        await writers.aclose()
        assert first is not second

    anyio.run(go)
