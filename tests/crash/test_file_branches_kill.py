"""A process is killed while it forks, merges, resets what branches show, collects and renames: each was done whole or not at all."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import anyio
import pytest

from playhead.errors import BranchNotFound
from playhead.store.change import MERGED
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Durability
from tests.crash.file_stage import Ear
from tests.crash.processes import started

KILLS = 60 if os.environ.get("PLAYHEAD_SOAK") else 8
TAPE = "t"
STEPS = {"forked", "written", "merged", "kept", "collected"}

RUNS = """
import sys, anyio
from datetime import UTC, datetime
from playhead.entry.entry import TapeEntry
from playhead.store.change import MERGED, Append, Close, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.store import FileTapeStore

def note(text):
    return TapeEntry(0, "note", {"text": text}, {})

def told(*words):
    print(*words, flush=True)

async def run(store, label):
    branch = branch_name("t", label)
    await store.apply([Fork(tape=branch, parent="t", owner=label)])
    told("forked", label)
    delta, beside = [note(f"{label} {i}") for i in range(3)], [note(label)]
    for entry in delta:
        await store.append(branch, entry)
    await store.append_many(sidecar_name(branch, "s"), beside)
    told("written", label)
    merge = TapeEntry(0, "merge", {"of": label}, {"idempotency_key": label})
    changes = [Append(tape="t", entries=[*delta, merge]), Append(tape=sidecar_name("t", "s"), entries=beside, marks=[3]), Close(tape=branch, outcome=MERGED)]
    await store.apply(changes, unless=("t", label))
    told("merged", label)

async def go(path, durability, life):
    async with FileTapeStore(path, durability=durability, on_finding=lambda finding: None) as store:
        for n in range(1_000_000):
            label = f"{life}.{n}"
            await run(store, label)
            if n % 3 == 1:
                await store.reset("r", entries=[note(label)] * 3)
                await store.apply([Fork(tape=branch_name("r", label), parent="r", at=2)])
                told("kept", label)
            if n % 5 == 2:
                for gone in await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)):
                    told("collected", gone)
            if n % 4 == 3:
                old = sorted(name for name in await store.list_tapes() if name.startswith("moved"))
                if not old:
                    old = ["moved 0"]
                    await store.append_many("moved 0", [note("a"), note("b")])
                    await store.apply([Fork(tape=branch_name("moved 0", "b"), parent="moved 0", at=1)])
                    await store.append(branch_name("moved 0", "b"), note("own"))
                await store.rename(old[0], f"moved {label}")

anyio.run(go, *sys.argv[1:4])
"""


async def texts(store: FileTapeStore, tape: str) -> list[str]:
    return [entry.payload.get("text", "merge") for entry in await store.fetch_all(TapeQuery(tape=tape))]


async def check_run(store: FileTapeStore, label: str, did: set[str]) -> None:
    """A run is at one of its steps, at least at the one that was acknowledged."""
    branch = branch_name(TAPE, label)
    merged = [text for text in await texts(store, TAPE) if text.startswith(f"{label} ")]
    record = await store.branch(branch)
    if record is None:
        with pytest.raises(BranchNotFound):
            await store.head(branch)
        assert "forked" not in did or len(merged) == 3, "only what was merged is collected"
        return
    own = (await texts(store, branch))[record.base.id :]
    beside = (await texts(store, sidecar_name(branch, "s"))).count(label)
    assert own == [f"{label} {i}" for i in range(len(own))]
    assert "written" not in did or (len(own), beside) == (3, 1)
    assert (len(merged), (await texts(store, sidecar_name(TAPE, "s"))).count(label), record.state == MERGED) in {(0, 0, False), (3, 1, True)}
    assert "merged" not in did or record.state == MERGED


async def check(path: Path, done: dict[str, set[str]]) -> None:
    async with FileTapeStore(path, durability="process", on_finding=Ear()) as store:
        entries = await store.fetch_all(TapeQuery(tape=TAPE))
        assert [e.id for e in entries] == list(range(1, len(entries) + 1))
        merges = [e for e in entries if e.kind == "merge"]
        assert [e.id for e in merges] == list(range(4, len(entries) + 1, 4)), "a merge is cut, repeated or interleaved"
        assert await store.marks(sidecar_name(TAPE, "s")) == [Head(0, e.id - 1) for e in merges]
        assert {label for label, did in done.items() if "merged" in did} <= {e.payload["of"] for e in merges}
        for label, did in [item for item in done.items() if "forked" in item[1]][-20:]:
            await check_run(store, label, did)
        for label in [label for label, did in done.items() if "kept" in did][-20:]:
            assert await texts(store, branch_name("r", label)) == [label] * 2, "an earlier generation is shown as it was"
        moved = [name for name in await store.list_tapes() if name.startswith("moved")]
        assert len(moved) <= 1
        for name in moved:
            assert await texts(store, name) == ["a", "b"]
            for record in await store.branches(name):
                assert (await texts(store, record.name))[:1] == ["a"]


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_kill_leaves_every_fork_merge_reset_and_removal_done_or_undone(tmp_path: Path, durability: Durability):
    chance = random.Random(11)
    done: dict[str, set[str]] = {}
    seen: set[str] = set()
    for life in range(10 * KILLS):
        if life >= KILLS and seen == STEPS:
            break
        process = started(RUNS, tmp_path, durability, life)
        first = process.stdout.readline()
        time.sleep(chance.uniform(0.005, 0.4))
        process.kill()
        rest, _ = process.communicate()
        for line in (first + rest).decode().splitlines(keepends=True):
            if line.endswith("\n"):
                step, label = line.split()
                done.setdefault(label, set()).add(step)
                seen.add(step)
        anyio.run(check, tmp_path, done)
    assert seen == STEPS
