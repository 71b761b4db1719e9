"""An inbox whose takers are killed loses no message and lets none be taken up twice."""

import os
import random

import anyio
import pytest

from playhead.agent.inbox import TapeInbox
from playhead.entry.message import user
from playhead.store.urls import open_store
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from tests.crash.processes import started

ROUNDS = 30 if os.environ.get("PLAYHEAD_SOAK") else 4
URLS = ("sqlite:///{}/tapes.db", "file:{}/tapes")
MESSAGES = 24

TAKES = """
import sys, anyio
from playhead.agent.inbox import TapeInbox
from playhead.store.urls import open_store
from playhead.tape.tape import Tape

async def main():
    tape = Tape(open_store(sys.argv[1]), "t")
    inbox = TapeInbox(tape)
    while leased := await inbox.take_pending(2):
        print("taken", flush=True)
        for one in leased:
            await tape.append(one.message, key=f"inbox:{one.id}")
            print("kept", flush=True)
            await inbox.ack(one)
            print("acked", flush=True)

anyio.run(main)
"""


def killed_after(lines, *arguments):
    """Let two processes take messages at the same time, and kill each once it has told so many lines."""
    processes = [started(TAKES, *arguments) for _ in lines]
    for process, told in zip(processes, lines, strict=True):
        for _ in range(told):
            process.stdout.readline()
        process.kill()
    for process in processes:
        process.communicate()


@pytest.mark.parametrize("url", URLS)
def test_messages_whose_taker_was_killed_are_taken_up_once(url, tmp_path):
    place = url.format(tmp_path)

    async def fill():
        store = open_store(place)
        inbox = TapeInbox(Tape(store, "t"))
        for n in range(MESSAGES):
            await inbox.store(user(str(n)))
        await store.aclose()

    async def finish():
        store = open_store(place)
        tape = Tape(store, "t", context=TapeContext(anchor=None))
        inbox = TapeInbox(tape)
        while leased := await inbox.take_pending():
            for one in leased:
                await tape.append(one.message, key=f"inbox:{one.id}")
                await inbox.ack(one)
        said = [m.text for m in await tape.read_messages()]
        await store.aclose()
        return said

    anyio.run(fill)
    chance = random.Random(7)
    for _ in range(ROUNDS):
        killed_after([chance.randrange(1, 6), chance.randrange(1, 6)], place)
    assert sorted(anyio.run(finish), key=int) == [str(n) for n in range(MESSAGES)]
