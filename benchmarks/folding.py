"""Memory that folds, on every recorded session: each request compiled within a window, summaries extracted behind each turn; judged by protocols.py.

Every model turn of a session is one request. Counted are: requests that fitted only once the summaries they lacked were written (late) or not at
all (refused), faults of the provider's bodies, budgets passed, units
told not once, breaks of the prefix beside the compiles that folded, and the share of tokens that a prompt cache would have held.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.cache import is_model_turn
from benchmarks.real import data_folder, judge, table
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import OverBudgetError, PlayheadError
from playhead.importers.driver import import_file
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.tokens import default_counter

COLUMNS = ("session", "requests", "late", "refused", "faults", "over", "untold", "folds", "breaks", "tokens", "cached", "p95 ms")


async def sessions(folder: Path) -> list[tuple[str, list[TapeEntry]]]:
    """Return the entries of every tape that the files of a folder hold."""
    found = []
    for path in sorted(p for p in (folder / "trajectories").rglob("*") if p.is_file()):
        store = InMemoryTapeStore()
        try:
            await import_file(path, into=Tape(store, path.stem))
        except PlayheadError:
            continue
        for name in await store.list_tapes():
            entries = await Tape(store, name).query().all()
            if any(is_model_turn(entry) for entry in entries):
                found.append((f"{path.parent.name}/{name}"[:44], entries))
    return found


class Replay:
    """Sends the requests of one session, and keeps count of what goes wrong."""

    def __init__(self, *, window: int, provider: str, strategy: AutobiographicalStrategy) -> None:
        self.judge, self.counter = judge(), default_counter()
        self.cache = self.judge.PrefixCache()
        self.window, self.provider, self.strategy = window, provider, strategy
        self.late = self.refused = self.faults = self.over = self.untold = self.folds = 0
        self.times: list[float] = []

    async def run(self, entries: Sequence[TapeEntry]) -> dict[str, Any]:
        """Replay a session from an empty tape on, and return the counts."""
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=self.strategy, tape="replay") as manager:
            waiting: list[TapeEntry] = []
            for entry in entries:
                if is_model_turn(entry) and waiting:
                    await manager.tape.append_many(waiting)
                    waiting = []
                    await self.request(manager)
                    await manager.drain()
                waiting.append(entry)
        report = self.cache.report()
        times = sorted(self.times) or [0.0]
        return {
            "requests": report["requests"],
            "late": self.late,
            "refused": self.refused,
            "faults": self.faults,
            "over": self.over,
            "untold": self.untold,
            "folds": self.folds,
            "breaks": self.cache.breaks,
            "tokens": report["tokens"],
            "cached": report["cached"],
            "hit": self.cache.hit,
            "p95 ms": times[int(0.95 * (len(times) - 1))] * 1e3,
        }

    async def request(self, manager: ContextManager) -> None:
        """Compile and send one request."""
        prompt = await self.compiled(manager)
        if prompt is None:
            return
        if not any(m.role != "system" for m in prompt.messages):
            return
        body = prompt.to(self.provider)
        faults = self.judge.anthropic_faults if self.provider == "anthropic" else self.judge.openai_faults
        self.faults += len(faults(body["messages"]))
        blocks = [codec.encode(m) for m in [*([body["system"]] if "system" in body else []), *body["messages"]]]
        priced = [(block, self.counter.count(block.decode())) for block in blocks]
        self.over += prompt.stats.total > prompt.budget.room
        self.untold += untold(prompt)
        self.folds += prompt.render_stats is not None and prompt.render_stats.folds > 0
        self.cache.request(priced)

    async def compiled(self, manager: ContextManager) -> Prompt | None:
        """Return the prompt; where it did not fit, after the summaries that it lacked were written; None where it still does not."""
        budget = Budget(max_tokens=self.window, reserve_for_response=0)
        for _ in range(2):
            began = perf_counter()
            try:
                prompt = await manager.compile(budget)
            except OverBudgetError:
                self.late += 1
                await manager.drain()
                continue
            self.times.append(perf_counter() - began)
            return prompt
        self.refused += 1
        return None


def untold(prompt: Prompt) -> int:
    """Return how many entries of the view are left out of a prompt, or not told at all."""
    return sum(span.count for span in prompt.plan.spans if not span.is_shown)


async def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each session, and one for all."""
    rows = []
    for name, entries in await sessions(data_folder()):
        strategy = AutobiographicalStrategy(compression_model="extractive", recent_window_tokens=options.recent, **json.loads(options.set))
        row = await Replay(window=options.window, provider=options.provider, strategy=strategy).run(entries)
        rows.append({"session": name, **row})
    long = [row for row in rows if row["tokens"] > options.window * 20]
    for what, some in (("all", rows), ("those longer than the window", long)):
        total = {key: sum(row[key] for row in some) for key in ("requests", "late", "refused", "faults", "over", "untold", "folds", "breaks", "tokens", "hit")}
        rows.append({"session": what, **total, "cached": total["hit"] / max(1, total["tokens"]), "p95 ms": max((row["p95 ms"] for row in some), default=0)})
    return rows


def main() -> None:
    """Print the table: the sessions with most tokens, then all together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", type=int, default=50_000)
    parser.add_argument("--recent", type=int, default=8_000, help="recent_window_tokens")
    parser.add_argument("--provider", default="anthropic", choices=["anthropic", "openai"])
    parser.add_argument("--set", default="{}", help="other options of the strategy, as a JSON object")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows = asyncio.run(measure(options))
    shown = sorted(rows[:-2], key=lambda row: -row["tokens"])[:12] + rows[-2:]
    print(table(COLUMNS, [[f"{row[c]:.3f}" if isinstance(row[c], float) else row[c] for c in COLUMNS] for row in shown]))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
