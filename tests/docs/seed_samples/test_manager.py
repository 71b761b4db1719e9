"""The text on the context manager: what is printed there in another language, ported line by line, and every default that it names."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import anyio
import pytest

import playhead as ph
from tests.data import shared
from tests.docs.seed_samples.texts import MANAGER

BUDGET = ph.Budget(max_tokens=200_000, reserve_for_response=8_000)

SMALL = {"recent_window_tokens": 100, "target_chunk_tokens": 100, "l1_holdback_chunks": 0}
"""Windows so small that a short conversation is long."""

METHODS = (
    "addMessage compile tick pinRange markDocument listPins unpin lockChunk holdCompression releaseCompression searchSummaries getSummary getSummariesInRange "
    "setToolDefinitions setSystemPrompt getRenderStats setStrategy branchAt switchBranch fork"
)
"""What the text calls on a manager, up to the windows of several agents."""

OPTIONS = (
    "recentWindowTokens targetChunkTokens autoTickOnNewMessage compressionModel summaryParticipant summaryContextLabel mergeThreshold hierarchical headWindowTokens adaptiveResolution foldingStrategy"
)
"""The options that the text names."""


def printed() -> str:
    return shared("..", "seeds", MANAGER).read_text(encoding="utf-8")


def snake(camel: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", camel).lower()


async def talk(manager: ph.ContextManager, turns: int = 8) -> None:
    for n in range(turns):
        await manager.add_message("User", f"The gateway gw{n} drops its tunnel every hour since the update on Saturday, and nobody knows why. Please look.")
        await manager.add_message("Claude", f"I looked at /var/log/gw{n}.log: the peer answers the rekeying late, so the tunnel goes down. I set the lifetime to {n} hours.")


def test_a_first_conversation_is_kept_and_compiled(tmp_path: Path):
    async def go() -> None:
        manager = await ph.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.PassthroughStrategy())
        await manager.add_message("User", [{"type": "text", "text": "Hello!"}])
        await manager.add_message("Claude", [{"type": "text", "text": "Hi. What are we working on?"}])
        system = ph.Injection(namespace="house", content="Speak plainly.", position="system")
        prompt = await manager.compile(ph.Budget(max_tokens=100_000, reserve_for_response=4_000), [system])
        await manager.aclose()
        assert [(m.role, m.text) for m in prompt.messages] == [("user", "Hello!"), ("assistant", "Hi. What are we working on?")]
        assert prompt.system_injections == (ph.Text(text="Speak plainly."),)
        async with ph.ContextManager.open(path=tmp_path / "agent-store") as again:
            assert [(m.participant, m.text) async for m in again.messages()] == [("User", "Hello!"), ("Claude", "Hi. What are we working on?")]

    anyio.run(go)


def test_the_first_conversation_reads_the_same_without_await(tmp_path: Path):
    manager = ph.sync.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.PassthroughStrategy())
    manager.add_message("User", [{"type": "text", "text": "Hello!"}])
    manager.add_message("Claude", [{"type": "text", "text": "Hi. What are we working on?"}])
    assert [m.text for m in manager.compile(ph.Budget(max_tokens=100_000, reserve_for_response=4_000)).messages] == ["Hello!", "Hi. What are we working on?"]
    manager.aclose()


def test_a_store_of_ones_own_stays_open_and_is_shared_by_managers(tmp_path: Path):
    async def go() -> None:
        store = ph.SQLiteTapeStore(tmp_path / "shared.db")
        strategy = ph.AutobiographicalStrategy(compression_model="extractive", **SMALL)
        one = await ph.ContextManager.open(store=store, strategy=strategy, namespace="agents/one")
        two = await ph.ContextManager.open(store=store, strategy=strategy, namespace="agents/two")
        alone = await ph.ContextManager.open(store=store, strategy=strategy, namespace="agents/alone", isolate=True)
        await talk(one)
        assert await one.drain() > 0
        assert (await two.message_count(), await alone.message_count()) == (16, 0)
        assert (await one.max_summary_level(), await two.max_summary_level()) == (1, 0)
        for manager in (one, two, alone):
            await manager.aclose()
        assert await store.list_tapes() == ["messages"]
        await store.aclose()

    anyio.run(go)


def test_isolate_without_a_namespace_is_refused():
    with pytest.raises(ph.InvalidInput, match="namespace"):
        ph.ContextManager.open(path="never-made", isolate=True)


def test_the_model_that_is_named_writes_a_summary_in_its_own_voice(tmp_path: Path):
    async def go() -> None:
        membrane = ph.testing.ScriptedModel(["I looked after two gateways; their peers answer late."])
        strategy = ph.AutobiographicalStrategy(compression_model="claude-sonnet-4-5", **SMALL)
        manager = await ph.ContextManager.open(path=tmp_path / "agent-store", model=membrane, strategy=strategy)
        await talk(manager)
        ticked = await manager.tick()
        assert (ticked.did, ticked.node.id, ticked.node.level) == ("summary", "L1-1", 1)
        prompt = await manager.compile(ph.Budget(max_tokens=600, reserve_for_response=50))
        asked, told = next((a, b) for a, b in zip(prompt.messages, prompt.messages[1:], strict=False) if a.name == "Context Manager")
        await manager.aclose()
        assert (asked.role, asked.text) == ("user", "[Recall L1-1]")
        assert (told.role, told.text.startswith("I looked after two gateways")) == ("assistant", True)

    anyio.run(go)


def test_a_provider_is_asked_for_only_when_a_summary_is_due(tmp_path: Path):
    async def go() -> None:
        async with ph.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.AutobiographicalStrategy(compression_model="anthropic:claude-sonnet-4-5")) as manager:
            await manager.add_message("User", "Hello!")
            assert (await manager.tick()).did == "nothing"
            assert [m.text for m in (await manager.compile(BUDGET)).messages] == ["Hello!"]

    anyio.run(go)


def test_without_a_named_model_none_is_written_and_the_tick_says_so(tmp_path: Path):
    async def go() -> None:
        async with ph.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.AutobiographicalStrategy(**SMALL)) as manager:
            await talk(manager)
            with pytest.raises(ph.NoCompressionModel):
                await manager.tick()
            assert [m.text for m in (await manager.compile(BUDGET)).messages] == [m.text async for m in manager.messages()]

    anyio.run(go)


def test_without_a_client_a_tick_warns_and_does_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def go() -> None:
        async with ph.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.AutobiographicalStrategy(compression_model="claude-sonnet-4-5", **SMALL)) as manager:
            await talk(manager)
            assert not await manager.tick()

    with caplog.at_level(logging.WARNING, logger="playhead"):
        anyio.run(go)
    assert "bare id" in caplog.text


def test_a_compile_without_room_for_the_recent_window_is_refused(tmp_path: Path):
    async def go() -> None:
        async with ph.ContextManager.open(path=tmp_path / "agent-store", strategy=ph.AutobiographicalStrategy(compression_model="extractive", recent_window_tokens=30_000)) as manager:
            await talk(manager)
            with pytest.raises(ph.OverBudgetError) as refused:
                await manager.compile(ph.Budget(max_tokens=400, reserve_for_response=100))
            assert refused.value.diagnostics["tail_tokens"] > refused.value.room

    anyio.run(go)


def test_a_chunk_with_calls_waits_for_the_tools_and_its_recall_may_name_them(tmp_path: Path):
    async def go() -> None:
        strategy = ph.AutobiographicalStrategy(compression_model=ph.testing.ScriptedModel(["I pinged gw1."] * 9), recall_header_template="[Recall {id}, by {tools}]", **SMALL)
        async with ph.ContextManager.open(path=tmp_path / "agent-store", strategy=strategy) as manager:
            await manager.add_message("User", "Is gw1 up?")
            await manager.add_message("Claude", [{"type": "tool_use", "id": "c1", "name": "ping", "input": {"host": "gw1"}}])
            await manager.add_message("User", [{"type": "tool_result", "tool_use_id": "c1", "content": "6 packets sent, 0 received"}])
            await talk(manager)
            assert (await manager.tick()).did == "deferred"
            manager.set_tool_definitions([ph.ToolSpec(name="ping", description="Send six packets.", parameters={"type": "object"})])
            manager.set_system_prompt("You look after VPN gateways.")
            await manager.drain()
            prompt = await manager.compile(ph.Budget(max_tokens=400, reserve_for_response=50))
            assert "[Recall L1-1, by ping]" in [m.text for m in prompt.messages]

    anyio.run(go)


def test_every_default_that_the_text_names_is_the_default():
    numbers = {snake(name): int(re.sub(r"\D", "", number)) for name, number in re.findall(r"(\w+Tokens|mergeThreshold) \(([\d, ]+)", printed())}
    flags = {snake(name) for name in re.findall(r"(\w+): true \((?:false|假)\)", printed())}
    config = ph.AutobiographicalConfig()
    assert numbers == {"recent_window_tokens": 30_000, "target_chunk_tokens": 3_000, "merge_threshold": 6, "head_window_tokens": 0}
    assert {name: getattr(config, name) for name in numbers} == numbers
    assert flags >= {"auto_tick_on_new_message", "adaptive_resolution"}
    assert {name: getattr(config, name) for name in flags} == dict.fromkeys(flags, False)
    assert (config.compression_model, config.hierarchical, config.folding_strategy, config.summary_participant) == (None, True, "flat-profile", "Claude")


def test_every_option_that_the_text_names_is_one():
    assert all(name in printed() for name in OPTIONS.split())
    assert {snake(name) for name in OPTIONS.split()} <= ph.AutobiographicalConfig.meanings().keys()


def test_every_method_that_the_text_names_is_there():
    assert all(name in printed() for name in METHODS.split())
    assert [name for name in map(snake, METHODS.split()) if not hasattr(ph.ContextManager, name)] == []


@pytest.mark.parametrize("name", ["kv-stable", "kv-unified"])
def test_a_resolver_of_the_text_that_is_not_built_is_refused_with_those_that_are(name: str):
    assert name in printed()
    with pytest.raises(ph.InvalidOption, match="flat-profile or oldest-first"):
        ph.AutobiographicalStrategy(adaptive_resolution=True, folding_strategy=name)
