"""Inboxes: what waits is given to one taker at a time, in order, and is taken up once in effect."""

import gc
from datetime import timedelta

import anyio
import pytest

from playhead import clock
from playhead.agent.inbox import Inbox, MemoryInbox, TapeInbox
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Text, ToolCall, assistant, tool_result_message, user
from playhead.errors import InvalidInput, KeyConflict
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.testing import FakeClock
from playhead.view.context import TapeContext

PICTURE = user([Text(text="Look."), Media(kind="image", mime="image/png", ref="blob:1")], name="Ann")


def in_memory(**known):
    return MemoryInbox(**known)


def on_a_tape(**known):
    return TapeInbox(Tape(InMemoryTapeStore(), "t"), **known)


each = pytest.mark.parametrize("opened", [in_memory, on_a_tape])


def texts(leased):
    return [one.message.text for one in leased]


@each
def test_messages_are_taken_in_order_up_to_a_limit_and_by_one_taker_each(opened):
    async def main():
        inbox = opened()
        assert isinstance(inbox, Inbox)
        assert await inbox.take_pending() == []
        ids = [await inbox.store(user(word)) for word in "abc"]
        first = await inbox.take_pending(2)
        assert texts(first) == ["a", "b"]
        assert [one.id for one in first] == ids[:2]
        assert texts(await inbox.take_pending()) == ["c"]
        assert await inbox.take_pending() == []
        assert await inbox.take_pending(0) == []

    anyio.run(main)


@each
def test_a_message_comes_out_as_it_went_in(opened):
    async def main():
        inbox = opened()
        await inbox.store(PICTURE)
        assert [one.message for one in await inbox.take_pending()] == [PICTURE]

    anyio.run(main)


@each
def test_what_is_released_is_given_out_again_at_its_old_place(opened):
    async def main():
        inbox = opened()
        for word in "abc":
            await inbox.store(user(word))
        first, second, _ = await inbox.take_pending()
        await inbox.release(second)
        await inbox.release(second)
        await inbox.release(first)
        assert texts(await inbox.take_pending()) == ["a", "b"]

    anyio.run(main)


@each
def test_what_is_acknowledged_is_never_given_out_again(opened):
    async def main():
        inbox = opened()
        await inbox.store(user("a"))
        (leased,) = await inbox.take_pending()
        await inbox.ack(leased)
        await inbox.ack(leased)
        await inbox.release(leased)
        assert await inbox.take_pending() == []

    anyio.run(main)


@each
def test_a_lease_ends_and_who_held_it_then_releases_nothing(opened):
    async def main():
        with clock.using(FakeClock()) as now:
            inbox = opened(lease_seconds=60)
            await inbox.store(user("a"))
            (late,) = await inbox.take_pending()
            now.advance(timedelta(seconds=59))
            assert await inbox.take_pending() == []
            now.advance(timedelta(seconds=1))
            (again,) = await inbox.take_pending()
            assert (again.id, again.message) == (late.id, late.message)
            await inbox.release(late)
            assert await inbox.take_pending() == []
            await inbox.ack(late)
            await inbox.release(again)
            assert await inbox.take_pending() == []

    anyio.run(main)


@each
def test_a_key_keeps_a_message_once(opened):
    async def main():
        inbox = opened()
        ids = {await inbox.store(user("a"), key="webhook 1") for _ in range(2)}
        assert len(ids) == 1
        with pytest.raises(KeyConflict):
            await inbox.store(user("b"), key="webhook 1")
        (leased,) = await inbox.take_pending()
        await inbox.ack(leased)
        assert await inbox.store(user("a"), key="webhook 1") == leased.id
        assert await inbox.take_pending() == []

    anyio.run(main)


@each
def test_what_nobody_says_and_what_is_no_limit_is_refused(opened):
    async def main():
        inbox = opened()
        for wrong in ("Stop.", assistant(calls=[ToolCall(id="1", name="ping")]), tool_result_message("1", "ok")):
            with pytest.raises(InvalidInput, match="what somebody says"):
                await inbox.store(wrong)
        for wrong in (-1, 1.5, True):
            with pytest.raises(InvalidInput, match="limit"):
                await inbox.take_pending(wrong)

    anyio.run(main)
    for wrong in (0, -1, "60", float("inf")):
        with pytest.raises(InvalidInput, match="lease"):
            opened(lease_seconds=wrong)


@each
def test_many_takers_at_a_time_get_each_message_once(opened):
    async def main():
        inbox, taken = opened(), []

        async def puts(n):
            for i in range(5):
                await inbox.store(user(f"{n}.{i}"))

        async def takes():
            for _ in range(30):
                for leased in await inbox.take_pending(2):
                    taken.append(leased.message.text)
                    await inbox.ack(leased)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            for n in range(4):
                tasks.start_soon(puts, n)
                tasks.start_soon(takes)
        taken += texts(await inbox.take_pending())
        assert sorted(taken) == sorted(f"{n}.{i}" for n in range(4) for i in range(5))

    anyio.run(main)


def test_an_inbox_on_a_tape_is_the_same_for_every_handle_and_stays_out_of_the_conversation(tmp_path):
    async def main():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as one, SQLiteTapeStore(tmp_path / "tapes.db") as other:
            first, second = TapeInbox(Tape(one, "t")), TapeInbox(Tape(other, "t"))
            await first.store(user("a"))
            await second.store(user("b"))
            (a,) = await first.take_pending(1)
            (b,) = await second.take_pending()
            assert texts([a, b]) == ["a", "b"]
            await second.ack(b)
            await first.release(a)
            assert texts(await second.take_pending()) == ["a"]
            tape = Tape(one, "t", context=TapeContext(anchor=None))
            assert await tape.read_messages() == []

    anyio.run(main)


def test_two_inboxes_that_take_at_the_same_time_never_take_the_same_message(tmp_path):
    async def main():
        async with SQLiteTapeStore(tmp_path / "tapes.db") as store:
            inboxes, taken = [TapeInbox(Tape(store, "t")) for _ in range(4)], []
            for n in range(12):
                await inboxes[0].store(user(str(n)))

            async def takes(inbox):
                while leased := await inbox.take_pending(1):
                    taken.extend(texts(leased))

            async with anyio.create_task_group() as tasks:
                for inbox in inboxes:
                    tasks.start_soon(takes, inbox)
            assert sorted(taken, key=int) == [str(n) for n in range(12)]

    anyio.run(main)


def test_what_an_inbox_had_taken_is_free_once_it_is_gone():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        lost, found = TapeInbox(tape), TapeInbox(tape)
        await lost.store(user("a"))
        await lost.take_pending()
        assert await found.take_pending() == []
        del lost
        gc.collect()
        assert texts(await found.take_pending()) == ["a"]

    anyio.run(main)


def test_a_message_that_is_given_out_again_is_kept_once_under_its_id():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        inbox = TapeInbox(tape)
        await inbox.store(user("a"))
        async with tape.fork_tape() as branch:
            (leased,) = await inbox.take_pending()
            await branch.append(leased.message, key=f"inbox:{leased.id}")
        await inbox.release(leased)
        async with tape.fork_tape() as branch:
            (leased,) = await inbox.take_pending()
            await branch.append(leased.message, key=f"inbox:{leased.id}")
            await inbox.ack(leased)
        assert [m.text for m in await tape.read_messages()] == ["a"]

    anyio.run(main)


def test_runs_on_branches_neither_double_nor_lose_what_waits():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        inbox = TapeInbox(tape)
        await inbox.store(user("a"))
        async with tape.fork_tape() as branch:
            await branch.append(user("Hello."))
            await inbox.store(user("b"))
            (leased,) = await inbox.take_pending(1)
            await inbox.ack(leased)
        async with tape.fork_tape(merge_back=False) as branch:
            await branch.append(user("Never mind."))
        assert texts(await TapeInbox(tape).take_pending()) == ["b"]

    anyio.run(main)


def test_a_reset_empties_the_inbox():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        inbox = TapeInbox(tape)
        await tape.append(user("Hello."))
        await inbox.store(user("a"))
        await tape.reset()
        assert await inbox.take_pending() == []
        await inbox.store(user("b"))
        assert texts(await inbox.take_pending()) == ["b"]

    anyio.run(main)


def test_entries_that_fit_no_inbox_change_nothing():
    async def main():
        tape = Tape(InMemoryTapeStore(), "t")
        inbox = TapeInbox(tape)
        id = await inbox.store(user("a"))
        odd = [
            TapeEntry.event("noted", {"id": id}),
            TapeEntry.event("inbox.acked"),
            TapeEntry.event("inbox.acked", {"id": 7}),
            TapeEntry.event("inbox.acked", {"id": "unknown"}),
            TapeEntry.event("inbox.leased", {"ids": "all"}),
            TapeEntry.event("inbox.leased", {"ids": ["unknown"], "lease": "l"}),
            TapeEntry.event("inbox.released", {"id": id, "lease": "another"}),
            TapeEntry(0, "message", {"role": 7}),
            TapeEntry(0, "note", {"data": {"id": id}}),
        ]
        await tape.sidecar("inbox").append_many(odd)
        assert texts(await inbox.take_pending()) == ["a"]

    anyio.run(main)
