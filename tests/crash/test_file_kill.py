"""A process is killed while it appends: all that it acknowledged is there, dense, and the next process goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import anyio

from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from tests.crash.file_stage import TAPE, Ear, note
from tests.crash.processes import started

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
KILLS = 40 if SOAK else 4

CHILD = """
import random, sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore

place, seed, largest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
text = "0123456789ü" * (largest // 12 + 1)

def entry():
    size = chance.choice((20, 2_000, largest))
    return TapeEntry.message({"role": "user", "content": text[:chance.randint(1, size)]}, size=size)

async def main():
    async with FileTapeStore(place, on_finding=lambda finding: None) as store:
        while True:
            stored = await store.append_many("t", [entry() for _ in range(chance.choice((1, 1, 3)))])
            for one in stored:
                print(one.id, one.uid, len(one.payload["content"]), flush=True)

anyio.run(main)
"""


RESETS = """
import sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore

async def main():
    async with FileTapeStore(sys.argv[1]) as store:
        generation = (await store.head("t")).generation
        while True:
            generation += 1
            await store.reset("t", entries=[TapeEntry.event(str(generation), "x" * 20_000) for _ in range(3)])
            print(generation, flush=True)

anyio.run(main)
"""


def acknowledged_until_killed(place: Path, *, seed: int, largest: int, seconds: float) -> list[tuple[int, str, int]]:
    """Let a process append, kill it after some seconds from its first sign of life, and return what it acknowledged: ids, uids, lengths."""
    child = started(CHILD, place, seed, largest)
    first = child.stdout.readline()
    time.sleep(seconds)
    child.kill()
    rest, _ = child.communicate()
    lines = [line.split() for line in (first + rest).decode().splitlines(keepends=True) if line.endswith("\n")]
    return [(int(id), uid, int(length)) for id, uid, length in lines]


def kept(place: Path) -> list[TapeEntry]:
    """Return the tape as a fresh store finds it, once that has appended an entry of its own."""

    async def read() -> list[TapeEntry]:
        async with FileTapeStore(place, on_finding=Ear()) as store:
            await store.append(TAPE, note("alive"))
            return await store.fetch_all(TapeQuery(tape=TAPE))

    return anyio.run(read)


def survives(place: Path, *, kills: int, largest: int, seconds: float) -> int:
    """Kill a process again and again and look at the tape each time; return how many entries were acknowledged."""
    chance = Random(kills)
    known: dict[int, tuple[str, int]] = {}
    for seed in range(kills):
        for id, uid, length in acknowledged_until_killed(place, seed=seed, largest=largest, seconds=chance.uniform(0.005, seconds)):
            known[id] = uid, length
        entries = kept(place)
        assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
        assert {id: (entries[id - 1].uid, len(entries[id - 1].payload["content"])) for id in known} == known
        known[entries[-1].id] = entries[-1].uid, len("alive")
    return len(known) - kills


def test_small_entries_survive_a_kill(tmp_path: Path):
    assert survives(tmp_path, kills=KILLS, largest=3_000, seconds=0.25) > 20


def test_entries_of_thirty_megabytes_survive_a_kill(tmp_path: Path):
    assert survives(tmp_path, kills=KILLS, largest=30_000_000, seconds=0.6) >= KILLS


def test_a_reset_that_is_killed_was_made_or_was_not(tmp_path: Path):
    chance = Random(1)
    safe = 0
    for _ in range(4 * KILLS):
        child = started(RESETS, tmp_path)
        first = child.stdout.readline()
        time.sleep(chance.uniform(0.001, 0.03))
        child.kill()
        rest, _ = child.communicate()
        safe = max([safe, *(int(line) for line in (first + rest).split())])

        async def look() -> tuple[int, list[str]]:
            async with FileTapeStore(tmp_path) as store:
                return (await store.head(TAPE)).generation, [entry.payload["name"] for entry in await store.fetch_all(TapeQuery(tape=TAPE))]

        generation, names = anyio.run(look)
        assert names == [str(generation)] * 3
        assert safe <= generation <= safe + 1
        safe = generation
