"""Real sessions at a sample of their prefixes and at three budgets: every prompt is valid, within its budget, and cacheable."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import anyio
import pytest

from playhead.entry import codec
from playhead.errors import NothingToSend, OverBudgetError
from playhead.importers.driver import import_file
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from tests.data import shared

SESSIONS = ("claude_code/spotter_258c7280.jsonl", "claude_code/spotter_ae4a77f8.jsonl")
FILES = (*SESSIONS, "claude_code/spotter_tool_heavy.jsonl", "claude_code/ccl_edge_cases.jsonl", "tau_bench/gpt-4o-airline-even.json")
SAMPLES = 24


def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("protocols", shared("protocols.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def tape_of(file: str) -> Tape:
    tape = Tape(InMemoryTapeStore(), file)
    await import_file(shared("trajectories", *file.split("/")), into=tape)
    return tape


def sendable(prompt, provider, faults):
    """Return the faults of a body; none where nothing is said that the provider could answer."""
    try:
        body = prompt.to(provider, model="claude-opus-4-6" if provider == "anthropic" else None)
    except NothingToSend:
        assert all(m.role == "system" for m in prompt.messages)
        return []
    return faults(body["messages"]) if faults else []


@pytest.mark.parametrize("file", FILES)
def test_every_sampled_prefix_compiles_to_valid_bodies_within_the_budget_or_is_refused(file):
    protocols = judge()

    async def go():
        tape = await tape_of(file)
        end = (await tape.head()).id
        for id in sorted({*range(end, 0, -max(1, end // SAMPLES)), 1, 2, 3}):
            for tokens in (4_000, 32_000, 200_000):
                for strategy in (PassthroughStrategy(), WindowedPassthroughStrategy()):
                    try:
                        prompt = await compile(tape.at(min(id, end)), Budget(max_tokens=tokens, reserve_for_response=0), strategy=strategy)
                    except OverBudgetError:
                        continue
                    where = f"{file} at entry {id} with {tokens} tokens, {strategy.name}"
                    assert prompt.stats.total <= tokens, where
                    assert sendable(prompt, "openai", protocols.openai_faults) == [], where
                    assert sendable(prompt, "anthropic", protocols.anthropic_faults) == [], where
                    sendable(prompt, "openai-responses", None)

    anyio.run(go)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_window_keeps_nine_tenths_of_a_real_session_in_the_providers_cache(session):
    cache = judge().PrefixCache()

    async def go():
        tape = await tape_of(session)
        for entry in await tape.query().kinds("tool_call", "message").all():
            if entry.kind == "message" and entry.payload.get("role") != "assistant":
                continue
            prompt = await compile(tape.at(entry.id - 1), Budget(max_tokens=50_000, reserve_for_response=0), strategy=WindowedPassthroughStrategy())
            blocks = [codec.encode(m) for m in prompt.to("anthropic")["messages"]] if prompt.messages else []
            cache.request([(b, tape.counter.count(b.decode())) for b in blocks])

    anyio.run(go)
    assert cache.report()["cached"] >= 0.9


def test_a_compaction_is_where_the_default_reading_starts():
    async def go():
        tape = await tape_of(SESSIONS[0])
        assert [a.name for a in await tape.anchors()] == ["session/start", "compaction"]
        prompt = await compile(tape, Budget(max_tokens=200_000))
        assert prompt.provenance.anchor == "compaction" and prompt.provenance.sources[0].kind == "note"
        assert prompt.messages[0].text.startswith("[Note left at compaction") and len(prompt.messages[0].text) > 2_000

    anyio.run(go)
