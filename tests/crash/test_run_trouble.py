"""A run that is cancelled, or whose store, model or tools fail, at each of the places where it waits: the tape stays one that the next run goes on with."""

import asyncio
import logging
import os
import threading
from itertools import count

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.events import TextEvent
from playhead.agent.inbox import MemoryInbox, TapeInbox
from playhead.errors import PlayheadError, StoreUnavailable
from playhead.model.scripted import ScriptedModel
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape import background
from tests.unit.agent.trouble import Points, TroubledModel, agent_in, checked, script, seeded

STRIDE = 1 if os.environ.get("PLAYHEAD_SOAK") else 5
INBOXES = {"memory": lambda tape: MemoryInbox(), "tape": TapeInbox}


def gone():
    raise StoreUnavailable("the disk is gone")


def trouble_of(kind, stream, scope):
    return {"cancel": stream.cancel, "abandon": scope.cancel}.get(kind, gone)


async def troubled(at, kind, inbox):
    """Have a run that gets into trouble at a point, go on with its tape, and return whether the point was reached."""
    charged, heard = [], []
    points = Points(at, stays=kind == "fail for good")
    agent = agent_in(InMemoryTapeStore(), points, charged.append, inbox=INBOXES[inbox])
    await seeded(agent)
    stream = agent.run("Charge all cards", model=TroubledModel(ScriptedModel(script()), points), tape="t")
    with anyio.fail_after(30):
        with anyio.CancelScope() as scope:
            points.trouble = trouble_of(kind, stream, scope)
            points.is_on = True
            try:
                async with stream:
                    async for event in stream:
                        heard += [event.delta] if isinstance(event, TextEvent) else []
            except PlayheadError:
                assert kind.startswith("fail")
        points.is_on = False
        with anyio.CancelScope(shield=True):
            await checked(agent, charged=charged, heard=[] if points.stays else heard)
    return points.where is not None


async def interrupted(at, times):
    """Have a task that reads a run cancelled by asyncio itself, at a point and again at those behind it, and go on with the tape."""
    charged, heard = [], []
    points = Points(at, stays=times > 1)
    agent = agent_in(InMemoryTapeStore(), points, charged.append, inbox=TapeInbox)
    await seeded(agent)

    async def read():
        async with agent.run("Charge all cards", model=TroubledModel(ScriptedModel(script()), points), tape="t") as stream:
            async for event in stream:
                heard.extend([event.delta] if isinstance(event, TextEvent) else [])

    reader = asyncio.ensure_future(read())
    cancellations = iter(range(times))
    points.trouble = lambda: reader.cancel() if next(cancellations, None) is not None else None
    points.is_on = True
    await asyncio.wait([reader], timeout=30)
    points.is_on = False
    await checked(agent, charged=charged, heard=heard)
    return points.where is not None


async def leaves_no_task(function, *given):
    was_reached = await function(*given)
    await anyio.lowlevel.checkpoint()
    assert background._running == set()
    if asyncio._get_running_loop() is not None:
        assert asyncio.all_tasks() == {asyncio.current_task()}
    return was_reached


def swept(function, *given, start, backend):
    """Have a run get into trouble at one point after the other, as long as there are any."""
    logging.getLogger("playhead").setLevel(logging.CRITICAL)
    threads = threading.active_count()
    try:
        for at in count(1 + start % STRIDE, STRIDE):
            if not anyio.run(leaves_no_task, function, at, *given, backend=backend):
                break
    finally:
        logging.getLogger("playhead").setLevel(logging.NOTSET)
    assert at > 100
    assert threading.active_count() <= threads


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("inbox", list(INBOXES))
@pytest.mark.parametrize("kind", ["cancel", "abandon", "fail once", "fail for good"])
def test_a_run_in_trouble_at_any_point_leaves_a_tape_that_the_next_one_continues(kind, inbox, backend):
    swept(troubled, kind, inbox, start=len(kind + inbox + backend), backend=backend)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_task_that_asyncio_cancels_at_any_point_however_often_leaves_such_a_tape(times):
    swept(interrupted, times, start=times, backend="asyncio")
