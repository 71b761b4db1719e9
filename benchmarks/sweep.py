"""Structural validity: prefixes of real sessions compiled at several budgets for every provider, judged by protocols.py.

The bar is no fault and no prompt over its budget; a budget that cannot hold what must be shown is refused, which counts apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter as Tally
from contextlib import suppress
from typing import Any

from benchmarks.real import data_folder, judge, table, tape_of
from playhead.errors import NothingToSend, OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy

BUDGETS = (4_000, 32_000, 200_000)
MODEL = "claude-opus-4-6"
"""Whose signed reasoning the sessions hold."""

STRATEGIES = (PassthroughStrategy(), WindowedPassthroughStrategy())


def trajectories() -> list[str]:
    """Return every recorded conversation, by its place in the shared data."""
    folder = data_folder()
    found = (p for p in (folder / "trajectories").rglob("*") if p.suffix in {".jsonl", ".json", ".traj"})
    return sorted(str(p.relative_to(folder)) for p in found)


async def sweep(path: str, *, every: int) -> tuple[Tally[str], list[str]]:
    """Compile every n-th prefix of a file's tape; return what happened, counted, and the faults found."""
    tape, protocols = await tape_of(path), judge()
    counts: Tally[str] = Tally()
    faults: list[str] = []
    end = (await tape.head()).id
    for id in range(1, end + 1, every):
        for tokens in BUDGETS:
            for strategy in STRATEGIES:
                counts["compiled"] += 1
                try:
                    prompt = await compile(tape.at(id), Budget(max_tokens=tokens, reserve_for_response=0), strategy=strategy)
                except OverBudgetError:
                    counts["refused"] += 1
                    continue
                counts["over budget"] += prompt.stats.total > tokens
                found = faults_of(prompt, protocols)
                counts["faults"] += len(found)
                faults += [f"{path} entry {id} at {tokens} {strategy.name}: {fault}" for fault in found]
    return counts, faults


def faults_of(prompt: Prompt, protocols: Any) -> list[str]:
    """Return what is wrong with a prompt's bodies; where nothing is said yet there is none for a provider that needs a turn."""
    found: list[str] = []
    for provider, judged in (("openai", protocols.openai_faults), ("anthropic", protocols.anthropic_faults), ("openai-responses", None)):
        with suppress(NothingToSend):
            body = prompt.to(provider, model=MODEL if provider == "anthropic" else None)
            found += judged(body["messages"]) if judged else []
    return found


def main() -> None:
    """Print a row for each file, and the first faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="compile every n-th prefix")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows, faults = [], []
    for path in trajectories():
        counts, found = asyncio.run(sweep(path, every=options.every))
        rows.append([path.rsplit("/", 1)[-1], counts["compiled"], counts["refused"], counts["over budget"], counts["faults"]])
        faults += found
    print(table(["file", "compiled", "refused", "over budget", "faults"], rows))
    print("\n".join(faults[:20]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "faults": faults}, file, indent=1)


if __name__ == "__main__":
    main()
