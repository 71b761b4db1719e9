"""A run that is killed at each of the places where it waits: the next one recovers the tape and goes on with it."""

import os

import pytest

from tests.crash.processes import started

STRIDE = 1 if os.environ.get("PLAYHEAD_SOAK") else 13

KILLS = """
import logging, os, signal, sys
import anyio
from pathlib import Path
from playhead.agent.inbox import TapeInbox
from playhead.model.scripted import ScriptedModel
from playhead.store.file.store import FileTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from tests.unit.agent.trouble import Points, TroubledModel, agent_in, checked, script, seeded

kind, place, first, stride, recover = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]

def opened(at):
    return SQLiteTapeStore(place / f"{at}.db", durability="process") if kind == "sqlite" else FileTapeStore(place / str(at), durability="process")

def charged_in(at):
    ledger = place / f"{at}.ledger"
    return ledger.read_text().split() if ledger.exists() else []

def write(at, card):
    with open(place / f"{at}.ledger", "a") as ledger:
        print(card, file=ledger, flush=True)

async def run(at):
    points = Points(at, trouble=lambda: os.kill(os.getpid(), signal.SIGKILL))
    store = opened(at)
    agent = agent_in(store, points, lambda card: write(at, card), inbox=TapeInbox, recover=recover)
    await seeded(agent)
    points.is_on = True
    async with agent.run("Charge all cards", model=TroubledModel(ScriptedModel(script()), points), tape="t") as stream:
        async for event in stream:
            pass
    await store.aclose()

async def go_on(at):
    store = opened(at)
    agent = agent_in(store, Points(), None, inbox=TapeInbox, recover=recover)
    await (checked(agent, charged=charged_in(at)) if recover == "merge" else checked(agent, charged=[], steering=()))
    await store.aclose()

def in_child(function, at):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            anyio.run(function, at)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

at = first
while (code := in_child(run, at)) == -signal.SIGKILL:
    if in_child(go_on, at) != 0:
        sys.exit(f"killed at point {at}")
    at += stride
assert code == 0, code
print(at, flush=True)
"""


@pytest.mark.parametrize("recover", ["merge", "discard"])
@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_a_run_killed_at_any_point_leaves_a_tape_that_the_next_one_continues(store, recover, tmp_path):
    first = 1 + (store == "file") + 3 * (recover == "merge")
    process = started(KILLS, store, tmp_path, first, STRIDE, recover, cwd=os.getcwd())
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err.decode()[-3000:]
    assert int(out) > 100
