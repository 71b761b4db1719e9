"""Leases, locks, followers and reductions: several who use one tape."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel
import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.errors import InvalidInput, LeaseHeld, LeaseLost
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import Head
from playhead.tape import bell, following
from playhead.tape.reduction import Ignored, Reduction
from playhead.tape.tape import Tape
from playhead.testing import FakeClock
from playhead.view.context import TapeContext
from tests.unit.tape.opened import fresh_store, run

pytestmark = pytest.mark.usefixtures("each_store")

START = datetime(2026, 3, 1, tzinfo=UTC)


def fresh(name="t"):
    return Tape(fresh_store(), name, context=TapeContext(anchor=None))


def test_a_lease_keeps_others_out_until_it_is_given_back():
    async def go():
        tape = fresh()
        async with tape.lease(owner="a") as held:
            await held.append(user("a"))
            with pytest.raises(LeaseHeld, match="leased by a until"):
                async with tape.lease(owner="b"):
                    pass
        async with tape.lease(owner="b") as held:
            await held.append(user("b"))

    run(go)


def test_a_holder_who_slept_past_its_lease_can_append_only_while_nobody_followed():
    async def go():
        tape = fresh()
        with clock.using(FakeClock(START)) as time:
            async with tape.lease(10, owner="a") as held:
                time.advance(timedelta(seconds=11))
                await held.append(user("nobody came"))
                async with tape.lease(10, owner="b") as other:
                    await other.append(user("b"))
                    with pytest.raises(LeaseLost, match="epoch 1"):
                        await held.append(user("too late"))
        assert [e.payload["content"] for e in await tape.query().all()] == ["nobody came", "b"]

    run(go)


def test_appends_keep_a_lease_alive():
    async def go():
        tape = fresh()
        with clock.using(FakeClock(START)) as time:
            async with tape.lease(10, owner="a") as held:
                for _ in range(5):
                    time.advance(timedelta(seconds=8))
                    await held.append(user("x"))
                with pytest.raises(LeaseHeld):
                    await tape.store.lease("t", owner="b", seconds=1)

    run(go)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "3"])
def test_a_lease_without_a_length_is_refused(seconds):
    async def go():
        with pytest.raises(InvalidInput):
            async with fresh().lease(seconds):
                pass

    run(go)


def test_twenty_tasks_under_the_lock_write_twenty_whole_turns():
    async def go():
        tape = fresh()

        async def turn(n):
            async with tape.lock():
                await tape.append(user(f"{n} asks"))
                await anyio.lowlevel.checkpoint()
                await tape.append(user(f"{n} is told"))

        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(turn, n)
        texts = [e.payload["content"] for e in await tape.query().all()]
        assert len(texts) == 40 and all(texts[i].split()[0] == texts[i + 1].split()[0] for i in range(0, 40, 2))

    run(go)


async def first(count, entries):
    found = []
    async for entry in entries:
        found.append(entry)
        if len(found) == count:
            break
    await entries.aclose()
    return found


def test_a_follower_sees_every_entry_in_order_while_others_append():
    async def go():
        tape = fresh()

        async def write():
            for i in range(700):
                await tape.append(user(str(i)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            found = await first(700, tape.follow(after=0, pause=0.01))
        assert [e.id for e in found] == list(range(1, 701))

    run(go)


def test_a_consumer_goes_on_where_it_stopped_and_sees_again_only_what_it_was_cut_off_in():
    async def go():
        tape = fresh()
        await tape.append_many([user(str(i)) for i in range(10)])
        assert [e.id for e in await first(4, tape.follow("me", after=0))] == [1, 2, 3, 4]
        assert await tape.store.cursor("t", "me") == Head(0, 3)
        assert [e.id for e in await first(2, tape.follow("me"))] == [4, 5]
        assert [e.id for e in await first(1, tape.follow("another", after=8))] == [9]

    run(go)


def test_a_follower_goes_on_with_the_new_generation_after_a_reset():
    async def go():
        tape = fresh()
        await tape.append_many([user("old"), user("old too")])
        await first(2, tape.follow("me", after=0))
        await tape.reset()
        assert [(e.id, e.kind) for e in await first(2, tape.follow("me"))] == [(1, "anchor"), (2, "event")]

    run(go)


@pytest.mark.parametrize("how", ["append", "merge", "reset"])
def test_a_follower_is_woken_by_what_is_done_in_its_process(how, monkeypatch):
    """However long it would wait between two looks."""
    monkeypatch.setattr(following, "_FIRST_PAUSE", 3600)

    async def go():
        tape = fresh()
        await tape.append(user("one"))
        branch = await tape.fork()
        await branch.append(user("two"))
        entries, heard = tape.follow(after=1, pause=3600), []

        async def listen():
            heard.append(await anext(entries))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                await anyio.wait_all_tasks_blocked()
                await {"append": lambda: Tape(tape.store, "t").append(user("two")), "merge": branch.merge, "reset": tape.reset}[how]()
        await entries.aclose()
        assert len(heard) == 1

    run(go)


def test_a_follower_is_woken_from_another_loop(monkeypatch):
    monkeypatch.setattr(following, "_FIRST_PAUSE", 3600)
    store = InMemoryTapeStore()
    tape, begun = Tape(store, "t"), threading.Event()

    async def listen():
        entries = tape.follow(after=0, pause=3600)
        with anyio.fail_after(30):
            begun.set()
            found = [(await anext(entries)).id for _ in range(50)]
        await entries.aclose()
        return found

    async def write():
        for i in range(50):
            await tape.append(user(str(i)))
            await anyio.sleep(0.002)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(anyio.run, listen)
        assert begun.wait(10)
        anyio.run(write)
        assert found.result(30) == list(range(1, 51))


def test_who_follows_no_more_leaves_nothing_behind():
    async def go():
        tape = fresh()
        for _ in range(3):
            entries = tape.follow(pause=3600)
            with anyio.move_on_after(0.01):
                await anext(entries)
            await entries.aclose()
        assert not bell._jobs(tape.store)

    run(go)


def test_a_pause_that_is_none_is_refused():
    async def go():
        with pytest.raises(InvalidInput, match="pause"):
            await anext(fresh().follow(pause=0))

    run(go)


def claim(state, entry):
    """One owner per span: what claims a span that is taken is left out."""
    span, owner = entry.payload["data"]
    if span in state:
        raise Ignored("the span is taken")
    return {**state, span: owner}


def test_a_reduction_starts_anew_after_a_reset():
    async def go():
        tape = fresh()
        kept = Reduction(tape.store, "t", claim, dict)
        await tape.append_event("claim", [1, "a"])
        assert (await kept.look()).state == {1: "a"}
        await tape.store.reset("t", entries=[TapeEntry.event("claim", [1, "b"])])
        assert (await kept.look()).state == {1: "b"}

    run(go)
