"""Ctrl-C while a blocking call waits: the call has ended when the interruption goes on, with all of its work done or none."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from random import Random

import anyio
import anyio.lowlevel
import pytest

import playhead as ph
from playhead import sync
from playhead.sync.portal import taken
from playhead.testing import ScriptedModel

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system sends no signals to a thread")
SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))


@pytest.fixture(autouse=True)
def _interruptible():
    """Have SIGINT raise KeyboardInterrupt, as it does in a program."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]


async def tasks_there() -> int:
    return len(asyncio.all_tasks())


class Interrupting(ph.InMemoryTapeStore):
    """Presses Ctrl-C before it appends, and waits `until` then; or behind it."""

    def __init__(self, *, until: str) -> None:
        super().__init__()
        self.until = until
        self.ends: list[str] = []
        self.is_on = True

    async def append_many(self, tape, entries, **options):
        if not self.is_on:
            return await super().append_many(tape, entries, **options)
        self.is_on = False
        try:
            if self.until == "cancelled":
                press_ctrl_c()
                await anyio.sleep_forever()
            with anyio.CancelScope(shield=True):
                press_ctrl_c()
                stored = await super().append_many(tape, entries, **options)
        except anyio.get_cancelled_exc_class():
            self.ends.append("cancelled")
            raise
        self.ends.append("appended")
        return stored


@pytest.mark.parametrize(("until", "left"), [("cancelled", 0), ("appended", 1)])
def test_an_append_that_is_interrupted_leaves_the_tape_as_it_was_or_as_it_should_be(until: str, left: int):
    store = Interrupting(until=until)
    tape = sync.Tape(store, "t")
    with pytest.raises(KeyboardInterrupt):
        tape.append(ph.user("one"))
    assert store.ends == [until]
    assert tape.head().id == left
    tape.append(ph.user("two"))
    assert tape.head().id == left + 1


def test_a_block_that_was_entered_while_its_wait_was_interrupted_is_left_again():
    store = ph.InMemoryTapeStore()

    class Entered:
        """The lock of a tape; Ctrl-C is pressed while it is taken, and that cannot be cancelled."""

        def __init__(self) -> None:
            self.lock = store.lock("t")

        async def __aenter__(self) -> None:
            with anyio.CancelScope(shield=True):
                await self.lock.__aenter__()
                press_ctrl_c()

        async def __aexit__(self, *facts: object) -> None:
            await self.lock.__aexit__(*facts)

    with pytest.raises(KeyboardInterrupt), sync.Scope(Entered()):  # type: ignore[arg-type]
        raise AssertionError
    with sync.Tape(store, "t").lock():
        assert sync.Tape(store, "t").head().id == 0


def test_what_was_given_while_the_wait_was_interrupted_is_undone():
    undone: list[int] = []

    async def give() -> int:
        with anyio.CancelScope(shield=True):
            press_ctrl_c()
            await anyio.lowlevel.checkpoint()
        return 3

    async def undo(number: int) -> None:
        undone.append(number)

    with pytest.raises(KeyboardInterrupt):
        taken(give, undo=undo)
    assert undone == [3]


def test_a_run_that_is_interrupted_ends_and_keeps_what_was_said():
    def waiting(request: ph.ModelRequest):
        async def pieces():
            yield "half an "
            press_ctrl_c()
            await anyio.sleep_forever()

        return pieces()

    agent = sync.Agent()
    with pytest.raises(KeyboardInterrupt), agent.run("Ask.", model=ScriptedModel([waiting]), tape="t") as stream:
        list(stream)
    assert [(e.payload["content"], e.meta.get("partial")) for e in agent.tape("t").query().kinds("message")] == [("Ask.", None), ("half an ", True)]
    with agent.run("Again.", model=ScriptedModel(["whole"]), tape="t") as stream:
        assert stream.text() == "whole"


def test_an_interruption_in_the_loop_over_a_query_leaves_the_tape_usable():
    tape = sync.open_tape("memory:", "t")
    tape.append_many([ph.user(str(n)) for n in range(5)])

    def looked() -> None:
        for entry in tape.query():
            if entry.id == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        looked()
    assert len(tape.query().all()) == 5
    assert sum(thread.name == "playhead-sync" for thread in threading.enumerate()) == 1


def test_interruptions_at_any_place_lose_nothing_and_leave_no_task_behind():
    tape, told, is_inside = sync.open_tape("memory:", "t"), [], False

    def interrupt(*_: object) -> None:
        if is_inside:
            raise KeyboardInterrupt

    def press_after(turns: int) -> None:
        for _ in range(turns):
            continue
        press_ctrl_c()

    signal.signal(signal.SIGINT, interrupt)
    random, cut, before = Random(7), 0, sync.wait(tasks_there)
    for n in range(600 if SOAK else 150):
        presser = threading.Thread(target=press_after, args=(random.randrange(8_000),))
        try:
            is_inside = True
            presser.start()
            told.append(tape.append(ph.user(str(n))).payload["content"])
            is_inside = False
        except KeyboardInterrupt:
            is_inside, cut = False, cut + 1
        presser.join()
    kept = [e.payload["content"] for e in tape.query()]
    assert set(told) <= set(kept)
    assert kept == sorted(kept, key=int)
    assert cut > 0
    assert sync.wait(tasks_there) <= before


PROGRAM = """
import sys, playhead as ph
with ph.sync.open_tape(sys.argv[1], "t") as tape:
    with tape.fork_tape() as branch:
        branch.append(ph.user("kept"))
        for entry in tape.follow(after=0):
            print(entry.kind, flush=True)
"""


def test_a_program_that_is_interrupted_leaves_its_blocks_and_ends(tmp_path):
    url = f"sqlite:///{tmp_path / 'tapes.db'}"
    with sync.open_tape(url, "t") as tape:
        tape.append(ph.user("there"))
    program = subprocess.Popen([sys.executable, "-W", "error", "-c", PROGRAM, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "message\n"
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=60)
    assert (program.returncode, told.strip().splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert "Exception ignored" not in told
    with sync.open_tape(url, "t") as tape:
        assert [e.payload["content"] for e in tape.query().kinds("message")] == ["there", "kept"]
        assert [record.state for record in tape.branches()] == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_the_work_itself_raises_reaches_the_caller_and_the_loop_goes_on(error: type[BaseException]):
    async def fail() -> None:
        raise error

    with pytest.raises(error):
        sync.wait(fail)
    assert sync.open_tape("memory:", "t").head().id == 0
