"""A run that is killed inside its fork leaves a branch that the next one brings back: once, whole, and in one block."""

import os
import random
import time

import anyio
import pytest

from playhead.entry.message import user
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from tests.crash.processes import started

ROUNDS = 40 if os.environ.get("PLAYHEAD_SOAK") else 5
URLS = ("sqlite:///{}/tapes.db", "file:{}/tapes")

RUN = """
import sys, anyio
from playhead.entry.message import user
from playhead.store.urls import open_store
from playhead.tape.tape import Tape

async def main():
    tape = Tape(open_store(sys.argv[1]), "t")
    async with tape.fork_tape() as branch:
        for n in range(int(sys.argv[3])):
            entry = await branch.append(user(f"{sys.argv[2]}.{n}"))
            await branch.sidecar("notes").append_event("noted", [sys.argv[2], n])
            print(n, flush=True)
        print("end", flush=True)

anyio.run(main)
"""

RECOVERY = """
import sys, anyio
from playhead.store.urls import open_store
from playhead.tape.tape import Tape

async def main():
    tape = Tape(open_store(sys.argv[1]), "t")
    print("ready", flush=True)
    await tape.recover()

anyio.run(main)
"""


def killed_after(lines, script, *arguments, pause=0.0):
    """Start a script, kill it once it has printed so many lines, and return what it had printed."""
    process = started(script, *arguments)
    told = [line for line in (process.stdout.readline() for _ in range(lines)) if line]
    time.sleep(pause)
    process.kill()
    rest, _ = process.communicate()
    return [line.decode().strip() for line in told] + rest.decode().split()


async def said(tape):
    return [e.payload["content"] for e in await tape.query().kinds("message").all()]


async def noted(tape):
    return [tuple(e.payload["data"]) for e in await tape.sidecar("notes").query().all()]


async def checked(url, acknowledged, rest):
    """Recover what is left, and compare the tape with what was acknowledged: run by run one block, none lost, none twice."""
    store = open_store(url)
    try:
        tape = Tape(store, "t")
        await tape.recover()
        assert await tape.recover() == []
        assert [record for record in await tape.branches() if record.is_open] == []
        texts = (await said(tape))[1:]
        assert len(texts) == len(set(texts))
        runs = [text.split(".")[0] for text in texts]
        assert [run for place, run in enumerate(runs) if place == 0 or runs[place - 1] != run] == list(dict.fromkeys(runs))
        for run, last in acknowledged.items():
            own = [text for text in texts if text.startswith(f"{run}.")]
            assert own == [f"{run}.{n}" for n in range(len(own))] and len(own) >= last + 1
            beside = [n for name, n in await noted(tape) if name == run]
            assert beside == list(range(len(beside))) and len(beside) >= last + 1
        assert rest is None or set(rest) <= set(texts)
    finally:
        await store.aclose()


async def begun(url):
    store = open_store(url)
    try:
        await Tape(store, "t").append(user("start"))
    finally:
        await store.aclose()


@pytest.mark.parametrize("url", URLS)
def test_what_a_killed_run_had_acknowledged_comes_back_in_one_block(url, tmp_path):
    url, chance, acknowledged = url.format(tmp_path), random.Random(11), {}
    anyio.run(begun, url)
    for number in range(ROUNDS):
        told = killed_after(chance.randint(1, 30), RUN, url, f"run{number}", 1000, pause=chance.random() / 100)
        acknowledged[f"run{number}"] = max((int(line) for line in told if line.isdigit()), default=-1)
    anyio.run(checked, url, acknowledged, None)


@pytest.mark.parametrize("url", URLS)
def test_a_run_killed_while_it_merges_comes_back_once(url, tmp_path):
    url, chance, acknowledged = url.format(tmp_path), random.Random(12), {}
    anyio.run(begun, url)
    for number in range(ROUNDS):
        told = killed_after(9, RUN, url, f"run{number}", 8, pause=chance.random() / 50)
        acknowledged[f"run{number}"] = max((int(line) for line in told if line.isdigit()), default=-1)
    anyio.run(checked, url, acknowledged, None)


@pytest.mark.parametrize("url", URLS)
def test_a_recovery_that_is_killed_is_completed_by_the_next(url, tmp_path):
    url, chance = url.format(tmp_path), random.Random(13)
    anyio.run(begun, url)
    for number in range(3):
        killed_after(40, RUN, url, f"run{number}", 1000)
    for _ in range(ROUNDS):
        killed_after(1, RECOVERY, url, pause=chance.random() / 30)
    anyio.run(checked, url, {f"run{number}": 39 for number in range(3)}, [f"run{number}.{n}" for number in range(3) for n in range(40)])
