"""compile: cold (a fresh handle) and warm (one entry more each time), on tapes of 1,000 to 100,000 entries.

The same budget everywhere: the time should not grow with the tape.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.real import table
from playhead.entry.message import Message, ToolCall, assistant, tool_result_message, user
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape

BATCH = 3_000
ROUNDS = 30


def conversation(count: int) -> list[Message]:
    """Return about `count` messages: questions, tool rounds, answers."""
    messages: list[Message] = []
    for i in range(count // 4):
        call = ToolCall(id=f"c{i}", name="read_file", arguments={"path": f"src/module_{i % 97}.py", "lines": [i, i + 40]})
        messages += [
            user(f"Question {i}: why does the check in module {i % 97} fail when the queue is full?"),
            assistant(f"Let me look at module {i % 97}.", calls=[call]),
            tool_result_message(f"c{i}", "".join(f"    value_{n} = queue.get(timeout={n})  # waits\n" for n in range(12))),
            assistant(f"It waits for a slot that nobody frees; see value_{i % 12}."),
        ]
    return messages


async def measure(count: int, place: Path) -> list[dict[str, object]]:
    """Return a row for each budget and strategy at one length of tape."""
    store = SQLiteTapeStore(place / f"{count}.db", durability="process")
    tape, messages = Tape(store, "t"), conversation(count)
    for start in range(0, len(messages), BATCH):
        await tape.append_many(messages[start : start + BATCH])
    rows: list[dict[str, object]] = []
    for tokens in (8_000, 128_000):
        for strategy in (PassthroughStrategy(), WindowedPassthroughStrategy()):
            budget, cold, warm = Budget(max_tokens=tokens, reserve_for_response=0), [], []
            cold += [await _timed(Tape(store, "t"), budget, strategy) for _ in range(5)]
            await compile(tape, budget, strategy=strategy)
            for _ in range(ROUNDS):
                await tape.append(user("And what else waits for that slot?"))
                warm.append(await _timed(tape, budget, strategy))
            warm.sort()
            rows.append(
                {
                    "entries": count,
                    "budget": tokens,
                    "strategy": strategy.name,
                    "cold ms": 1e3 * statistics.median(cold),
                    "warm ms": 1e3 * statistics.median(warm),
                    "warm p95 ms": 1e3 * warm[int(0.95 * len(warm))],
                }
            )
    await store.aclose()
    return rows


async def _timed(tape: Tape, budget: Budget, strategy: PassthroughStrategy | WindowedPassthroughStrategy) -> float:
    start = time.perf_counter()
    await compile(tape, budget, strategy=strategy)
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also a tape of 1,000,000 entries")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as place:
        for count in (1_000, 10_000, 100_000, *((1_000_000,) if options.long else ())):
            rows += asyncio.run(measure(count, Path(place)))
    columns = list(rows[0])
    print(table(columns, [[f"{r[c]:.2f}" if isinstance(r[c], float) else r[c] for c in columns] for r in rows]))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
