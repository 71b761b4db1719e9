"""Two processes with different hash seeds compile the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.data import shared

PROGRAM = """
import anyio, hashlib, json, sys
import playhead as ph

async def main():
    tape = ph.Tape(ph.InMemoryTapeStore(), "t")
    await ph.import_file(sys.argv[1], into=tape)
    for tokens in (4_000, 50_000):
        for strategy in (ph.PassthroughStrategy(), ph.WindowedPassthroughStrategy()):
            prompt = await ph.compile(tape, ph.Budget(tokens, reserve_for_response=0), strategy=strategy)
            bodies = [json.dumps(prompt.to(p, model="claude-opus-4-6")) for p in ("openai", "openai-responses", "anthropic")]
            print(prompt.digest, hashlib.sha256("".join(bodies).encode()).hexdigest(), prompt.stats.total, str(prompt.explain()))

anyio.run(main)
"""


def test_every_process_compiles_the_same_bytes_of_a_real_session():
    session = shared("trajectories", "claude_code", "spotter_258c7280.jsonl")
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
