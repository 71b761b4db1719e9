"""What is shown for good keeps its order, and keeps no key waiting."""

import threading

import anyio
import pytest

from playhead.cli.chat.printing import LONG, Printing

pytestmark = pytest.mark.anyio


async def test_a_long_text_is_rendered_beside_what_else_runs_and_all_behind_it_waits_for_it():
    written, here, may_go_on, done = [], threading.get_ident(), threading.Event(), anyio.Event()
    printing = Printing(written.append)

    def render() -> str:
        assert may_go_on.wait(20)
        return "elsewhere" if threading.get_ident() != here else "here"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(printing.run)
        await anyio.wait_all_tasks_blocked()
        printing.print(lambda: "first", characters=5)
        printing.print(render, characters=LONG)
        printing.print(lambda: "last", characters=4)
        printing.then(done.set)
        assert (written, done.is_set()) == (["first"], False)
        may_go_on.set()
        await done.wait()
        assert written == ["first", "elsewhere", "last"]
        tasks.cancel_scope.cancel()


async def test_what_is_not_written_when_the_prompt_ends_is_written_then_each_once():
    written: list[str] = []
    printing = Printing(written.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(printing.run)
        await anyio.wait_all_tasks_blocked()
        for number in range(4):
            printing.print(lambda number=number: str(number), characters=LONG)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    printing.finish()
    printing.print(lambda: "4", characters=LONG)
    assert written == ["0", "1", "2", "3", "4"]
