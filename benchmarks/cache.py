"""The bill of a provider's prompt cache: real sessions replayed request by request, judged by protocols.py.

Every model turn of a session is one request: the prompt compiled from the tape as it was right before the turn.
Blocks are the bytes of the provider's messages. Prices as shares of the input price: read 0.1, write 1.25.
"""

from __future__ import annotations

import argparse
import asyncio
import json

from benchmarks.real import SESSIONS, judge, table, tape_of
from playhead.entry import codec
from playhead.entry.entry import TapeEntry
from playhead.errors import OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.prompt.strategy import Strategy
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context
from playhead.view.tokens import default_counter

STRATEGIES: dict[str, Strategy] = {"passthrough": PassthroughStrategy(), "windowed": WindowedPassthroughStrategy()}


def is_model_turn(entry: TapeEntry) -> bool:
    """Return whether an entry is a turn of the model."""
    return entry.kind == "tool_call" or entry.kind == "message" and entry.payload.get("role") == "assistant"


async def replay(tape: Tape, *, window: int, strategy: Strategy, provider: str) -> dict[str, float]:
    """Send every request of a tape through the cache and return its report."""
    cache, counter = judge().PrefixCache(), default_counter()
    refused = 0
    for entry in await tape.query().all():
        if not is_model_turn(entry) or entry.id == 1:
            continue
        try:
            prompt = await compile(tape.at(entry.id - 1), Budget(max_tokens=window, reserve_for_response=0), strategy=strategy)
        except OverBudgetError:
            refused += 1
            continue
        if not any(m.role != "system" for m in prompt.messages):
            continue
        body = prompt.to(provider)
        blocks = [codec.encode(m) for m in [*([body["system"]] if "system" in body else []), *body["messages"]]]
        cache.request([(b, counter.count(b.decode())) for b in blocks])
    return {**cache.report(), "refused": refused}


async def measure(window: int, provider: str) -> list[dict[str, object]]:
    """Return a row for each session, reading and strategy."""
    rows: list[dict[str, object]] = []
    for session in SESSIONS:
        tape = await tape_of(session)
        for reading, context in (("from the newest anchor", default_tape_context()), ("whole", None)):
            view = tape.with_context(context or default_tape_context())
            if context is None:
                view.context.anchor = None
            for name, strategy in STRATEGIES.items():
                report = await replay(view, window=window, strategy=strategy, provider=provider)
                rows.append({"session": session.rsplit("_", 1)[-1], "reading": reading, "strategy": name, **report})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", type=int, default=50_000)
    parser.add_argument("--provider", default="anthropic", choices=["anthropic", "openai"])
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.window, options.provider))
    columns = ["session", "reading", "strategy", "requests", "refused", "tokens", "cached", "saving", "breaks_per_100"]
    print(table(columns, [[f"{r[c]:.3f}" if isinstance(r[c], float) else r[c] for c in columns] for r in rows]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
