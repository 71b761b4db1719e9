"""Every recorded session, request by request through a window it outgrows: nothing lost, nothing over, and a prefix that only folds change."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from itertools import takewhile

import anyio
import pytest

from benchmarks.folding import Replay, sessions
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from tests.data import shared

WINDOW = 50_000
SHARE = {} if os.environ.get("PLAYHEAD_SOAK") else {"tau_bench": 3}
"""Of which kinds only every so manieth session is replayed, unless there is time for all."""

KINDS = ("claude_code", "codex", "gemini", "mini_swe_agent", "pi", "swe_agent", "tau_bench")
SIZES = ("requests", "tokens", "hit", "folds", "breaks")
WRONG = ("refused", "faults", "over", "untold", "unexplained")


class Watched(Replay):
    """A replay that looks at each break of the prefix: `unexplained` ones are neither of a fold nor of the last message alone.

    Messages of one role that follow each other are joined in a provider's body, so the last one may grow.
    """

    unexplained = 0

    async def request(self, manager: ContextManager) -> None:
        before, breaks, folds = list(self.cache.last), self.cache.breaks, self.folds
        await super().request(manager)
        if self.cache.breaks > breaks and self.folds == folds:
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, self.cache.last, strict=False)))
            self.unexplained += alike < len(before) - 1


@cache
def recorded() -> dict[str, list[tuple[str, list[object]]]]:
    """Return the entries of every session by the kind of file that it is in."""
    found = anyio.run(sessions, shared("protocols.py").parent)
    return {kind: [(name, entries) for name, entries in found if name.startswith(f"{kind}/")] for kind in KINDS}


@cache
def replayed(kind: str) -> tuple[dict[str, object], ...]:
    """Return a row for each session of one kind of file."""
    found = recorded()[kind][:: SHARE.get(kind, 1)]

    async def go():
        rows = []
        for name, entries in found:
            replay = Watched(window=WINDOW, provider="anthropic", strategy=AutobiographicalStrategy(compression_model="extractive", recent_window_tokens=8_000))
            rows.append({"session": name, **await replay.run(entries), "unexplained": replay.unexplained})
        return tuple(rows)

    return anyio.run(go)


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_of_a_real_session_is_sent_whole_within_its_window_and_breaks_the_prefix_only_where_it_folds(kind):
    rows = replayed(kind)
    assert rows
    assert [{name: row[name] for name in ("session", *WRONG)} for row in rows if any(row[name] for name in WRONG)] == []


def test_of_all_tokens_that_are_sent_97_of_100_are_read_from_the_cache():
    rows = [row for kind in KINDS for row in replayed(kind)]
    total = {name: sum(row[name] for row in rows) for name in SIZES}
    assert total["folds"] > 20
    assert total["hit"] / total["tokens"] >= 0.97


PROGRAM = """
import anyio, hashlib, json, sys
import playhead as ph
from playhead.model.scripted import ScriptedModel
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy

def told(request):
    return "I remember " + request.messages[-2].text[:80]

async def main():
    for writer, adaptive in (("extractive", True), (ScriptedModel([told] * 1000), False)):
        store = ph.InMemoryTapeStore()
        await ph.import_file(sys.argv[1], into=ph.Tape(store, "t"))
        strategy = AutobiographicalStrategy(compression_model=writer, adaptive_resolution=adaptive, recent_window_tokens=4_000, merge_threshold=3)
        async with ContextManager.open(store=store, strategy=strategy, tape="t") as manager:
            manager.set_tool_definitions([ph.ToolSpec(name="any", description="", parameters={"type": "object"})])
            await manager.drain()
            for tokens in (60_000, 30_000, 12_000):
                prompt = await manager.compile(ph.Budget(tokens, reserve_for_response=0))
                bodies = [json.dumps(prompt.to(p, model="claude-opus-4-6")) for p in ("openai", "openai-responses", "anthropic")]
                print(prompt.digest, hashlib.sha256("".join(bodies).encode()).hexdigest(), prompt.stats, prompt.explain())
            print([(node.id, node.first, node.last, node.text, node.index, node.tools) async for node in manager._memories.all()])

anyio.run(main)
"""


def test_every_process_writes_the_same_summaries_and_compiles_the_same_bytes():
    session = shared("trajectories", "pi", "large-session.jsonl")
    said = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(session)],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed, zone, locale in (("1", "UTC", "C.UTF-8"), ("2", "Asia/Tokyo", "C"))
    }
    assert len(said) == 1
