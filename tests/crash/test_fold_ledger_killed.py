"""A process that is killed while it folds leaves a sound forest, which is what it had written so far; who goes on comes to the same end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import anyio
import pytest

from playhead.entry.message import user
from playhead.fold.ledger.memory import FoldMemory
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.crash.processes import finished, started
from tests.unit.fold.telling import check

ROUNDS = 40 if os.environ.get("PLAYHEAD_SOAK") else 6
URLS = ("sqlite:///{}/tapes.db", "file:{}/tapes")
ROOT = Path(__file__).resolve().parents[2]
PAIRS = 60

FOLD = """
import json, sys, anyio
sys.path.insert(0, sys.argv[2])
from playhead.entry.message import user
from playhead.fold.ledger.entries import cut_entry, forgotten_entry, node_entry
from playhead.fold.forest import Cut
from playhead.fold.ledger.memory import FoldMemory
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.unit.fold.telling import leaf, over

PAIRS, FAN_IN = int(sys.argv[3]), 3

async def next_entries(memory, forest):
    '''Decide what is written next from the forest alone: a merge where one is due, else the next pair; now and then what is shown.'''
    roots = forest.roots
    for end in range(len(roots), FAN_IN - 1, -1):
        run = roots[end - FAN_IN : end]
        if len({node.level for node in run}) == 1:
            merged = node_entry(over(run, "merged"), id=f"L{run[0].level + 1}-{forest.counter + 1}")
            return [merged]
    if roots and forest.counter % 5 == 0 and (forest.cut is None or forest.cut.nodes != tuple(root.uid for root in roots)):
        return [cut_entry(Cut(nodes=tuple(root.uid for root in roots), room=forest.counter, resolver="all"))]
    if forest.told_to == 2 * PAIRS:
        return []
    told = await memory.tape.query().after(forest.told_to).limit(2).all()
    return [node_entry(leaf(told, "told"), id=f"L1-{forest.counter + 1}")]

async def main():
    store = open_store(sys.argv[1])
    tape = Tape(store, "t", context=TapeContext(anchor=None))
    memory = FoldMemory(tape)
    missing = 2 * PAIRS - (await tape.head()).id
    if missing:
        await tape.append_many([user("said") for _ in range(missing)])
    print("ready", flush=True)
    while written := await next_entries(memory, forest := await memory.look()):
        for entry in await memory.append(written, since=forest):
            print(entry.uid, flush=True)
        await memory.checkpoint(every=4)
    print("end", flush=True)
    await store.aclose()

anyio.run(main)
"""


def killed_after(lines: int, url: str, *, pause: float) -> tuple[list[str], bool]:
    """Fold until so many lines were printed and a moment more; return what was acknowledged and whether it came to its end."""
    process: subprocess.Popen[bytes] = started(FOLD, url, ROOT, PAIRS)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    time.sleep(pause)
    process.kill()
    with process:  # not communicate(), which does not see what was read ahead of the lines
        assert process.stderr is not None
        rest, err = process.stdout.read(), process.stderr.read()
    words = [line.decode().strip() for line in told] + rest.decode().split()
    assert b"Traceback" not in err, err.decode()
    return [word for word in words if word not in ("", "ready", "end")], "end" in words


async def looked_at(url: str) -> tuple[list[str], object]:
    """Return the uids of what was written besides checkpoints, in order, and the shape of the forest, which is sound."""
    store = open_store(url)
    try:
        memory = FoldMemory(Tape(store, "t", context=TapeContext(anchor=None)))
        await check(memory)
        uids = [entry.uid for entry in await memory.sidecar.query().all() if entry.kind != "forest.checkpoint"]
        shape = [(node.id, node.span, len(node.children)) async for node in memory.nodes()]
        return uids, shape
    finally:
        await store.aclose()


@pytest.mark.parametrize("url", URLS)
def test_a_forest_whose_writer_is_killed_again_and_again_is_that_of_one_that_was_not(url: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole = url.format(tmp_path / "whole")
    finished(FOLD, whole, ROOT, PAIRS)
    _, wanted = anyio.run(looked_at, whole)
    url, chance, known, is_done = url.format(tmp_path / "killed"), random.Random(21), [], False
    rounds = 0
    while not is_done:
        acknowledged, is_done = killed_after(1 + chance.randint(0, 2 * PAIRS // ROUNDS), url, pause=chance.random() / 50)
        uids, _ = anyio.run(looked_at, url)
        assert uids[: len(known)] == known
        behind = uids[len(known) :]
        assert behind[: len(acknowledged)] == acknowledged and len(behind) <= len(acknowledged) + 1
        known, rounds = uids, rounds + 1
    assert rounds > 3
    assert anyio.run(looked_at, url)[1] == wanted
    assert json.dumps(wanted).count("L1-") == PAIRS


TOGETHER = """
import sys, anyio
sys.path.insert(0, sys.argv[2])
from playhead.errors import Conflict
from playhead.fold.ledger.entries import node_entry
from playhead.fold.ledger.memory import FoldMemory
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.unit.fold.telling import leaf, over

async def main():
    tape = Tape(open_store(sys.argv[1]), "t", context=TapeContext(anchor=None))
    told = await tape.query().all()
    print("ready", flush=True)
    async with tape.fork_tape() as branch:
        memory = FoldMemory(branch)
        for start in range(int(sys.argv[3]), len(told) - 2, 3):
            forest = await memory.look()
            await memory.append([node_entry(leaf(told[start : start + 3], sys.argv[3]), id=f"L1-{forest.counter + 1}")], since=forest)
            forest = await memory.look()
            last = forest.roots[-2:]
            if len(last) == 2 and start % 2 and last[0].level == last[1].level:
                await memory.append([node_entry(over(last, "merged"), id=f"L2-{forest.counter + 1}")], since=forest)
            await memory.checkpoint(every=3)
            print(start, flush=True)
    await tape.store.aclose()

anyio.run(main)
"""


async def begun(url: str) -> None:
    store = open_store(url)
    try:
        await Tape(store, "t").append_many([user(f"said {number}") for number in range(60)])
    finally:
        await store.aclose()


async def recovered(url: str) -> object:
    store = open_store(url)
    try:
        tape = Tape(store, "t", context=TapeContext(anchor=None))
        await tape.recover()
        return await check(FoldMemory(tape))
    finally:
        await store.aclose()


@pytest.mark.parametrize("url", URLS)
def test_runs_that_fold_the_same_span_and_are_killed_merge_to_a_sound_forest(url: str, tmp_path: Path) -> None:
    url, chance = url.format(tmp_path), random.Random(22)
    anyio.run(begun, url)
    for _ in range(max(2, ROUNDS // 3)):
        running = [started(TOGETHER, url, ROOT, start) for start in (0, 1)]
        for process in running:
            assert process.stdout is not None
            for _ in range(chance.randint(2, 12)):
                process.stdout.readline()
        for process in running:
            process.kill()
            _, err = process.communicate()
            assert b"Traceback" not in err, err.decode()
        forest = anyio.run(recovered, url)
        assert forest.roots
