"""Branches of a manager: each has its own messages, summaries, pins and levels, and nothing of one is seen on another."""

from __future__ import annotations

import anyio
import pytest

from playhead.errors import BranchNotFound, MessageNotFound, NameTaken
from playhead.model.scripted import ScriptedModel
from playhead.prompt.manager.manager import MAIN
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.fold.telling import check
from tests.unit.prompt.folding.managed import WIDE, managed, memory, room, shown, spans, talk, told
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


def test_a_branch_ends_with_the_message_it_was_made_at():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 5)
            await manager.edit_message(ids[0], "Other.")
            more = await talk(manager, 5, start=5)
            assert await manager.branch_at(more[1], "trial") == "trial"
            assert manager.current_branch() == MAIN and await manager.list_branches() == [MAIN, "trial"]
            await manager.switch_branch("trial")
            assert [m.id async for m in manager.messages()] == [*ids, *more[:2]]
            with pytest.raises(MessageNotFound):
                await manager.branch_at("nobody")
            with pytest.raises(BranchNotFound):
                await manager.switch_branch("nowhere")
            with pytest.raises(NameTaken):
                await manager.fork("trial")
            assert await manager.fork() == manager.current_branch() != "trial"

    run(go)


def test_messages_are_found_by_their_ids_on_the_branch_they_are_on():
    async def go():
        async with managed() as manager:
            (first,) = await talk(manager, 1)
            await manager.fork("trial")
            (second,) = await talk(manager, 1, start=1)
            assert (await manager.get_message(second)).text.startswith("Message 1")
            await manager.switch_branch(MAIN)
            with pytest.raises(MessageNotFound):
                await manager.get_message(second)
            assert (await manager.get_message(first)).text.startswith("Message 0")

    run(go)


def test_summaries_pins_locks_and_cuts_follow_the_branch():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await manager.drain()
            on_main = await spans(manager), shown(await manager.compile(room(500)))
            await manager.fork("trial")
            assert (await spans(manager), shown(await manager.compile(room(500)))) == on_main
            await manager.mark_document(ids[0])
            await manager.lock_chunk(ids[1])
            await talk(manager, 40, start=40)
            await manager.drain()
            await manager.compile(room(1_000))
            await manager.switch_branch(MAIN)
            assert await manager.list_pins() == () and (await memory(manager).look()).locks == ()
            assert (await spans(manager), shown(await manager.compile(room(500)))) == on_main

    run(go)


def test_a_branch_that_was_cut_in_the_past_has_the_summaries_of_then():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 30)
            await manager.drain()
            then = await spans(manager)
            (last,) = await talk(manager, 1, start=30)
            await talk(manager, 30, start=31)
            await manager.drain()
            await manager.branch_at(last, "past")
            await manager.switch_branch("past")
            assert await spans(manager) == then
            await manager.branch_at(ids[5], "older")
            await manager.switch_branch("older")
            assert await spans(manager) == []
            await check_told_once(manager, await manager.compile(WIDE))

    run(go)


@pytest.mark.parametrize("way", [["trial"], ["trial", MAIN]])
def test_what_is_being_written_when_the_branch_is_switched_is_thrown_away(way):
    async def go():
        asked, may_answer = anyio.Event(), anyio.Event()

        async def answer(request):
            asked.set()
            await may_answer.wait()
            return "I remember that."

        store = InMemoryTapeStore()
        async with managed(store, writer=ScriptedModel([answer])) as manager:
            await talk(manager, 40)
            await manager.tape.fork(name="trial")
            came = []

            async def tick():
                came.append(await manager.tick())

            async with anyio.create_task_group() as group:
                group.start_soon(tick)
                await asked.wait()
                for branch in way:
                    await manager.switch_branch(branch)
                may_answer.set()
            assert came[0].did == "lost" and "switched" in came[0].why
            for branch in ("trial", MAIN):
                await manager.switch_branch(branch)
                assert await spans(manager) == []

    run(go)


def test_a_branch_that_takes_the_name_of_one_that_is_gone_shows_nothing_of_it():
    async def go():
        async with managed() as manager:
            await talk(manager, 2)
            await manager.fork("trial")
            await talk(manager, 40, start=2)
            await manager.drain()
            await manager.compile(room(500))
            gone = manager.tape
            await manager.switch_branch(MAIN)
            await gone.discard()
            await manager.tape.gc()
            await manager.fork("trial")
            prompt = await manager.compile(WIDE)
            assert len(prompt.messages) == 2 and await spans(manager) == []

    run(go)


def test_branches_that_both_folded_merge_to_a_sound_forest():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, writer=told("On the one.")) as one, managed(store, writer=told("On the other.")) as other:
            await talk(one, 40)
            await one.fork("one")
            await other.fork("other")
            await one.drain()
            await other.drain()
            await one.tape.merge()
            await other.tape.merge()
            await one.switch_branch(MAIN)
            forest = await check(memory(one))
            assert sum(forest.ignored.values()) > 0
            assert {root.text for root in forest.roots} == {"On the one."}
            await check_told_once(one, await one.compile(room(500)))

    run(go)


def test_switching_to_the_branch_one_is_on_changes_nothing():
    async def go():
        async with managed() as manager:
            await talk(manager, 40)
            await manager.drain()
            before = await manager.compile(room(500))
            await manager.switch_branch(MAIN)
            assert (await manager.compile(room(500))).digest == before.digest

    run(go)


def test_holds_stay_with_their_messages_on_every_branch_that_has_them():
    async def go():
        async with managed() as manager:
            ids = await talk(manager, 40)
            await manager.hold_compression(ids[4])
            await manager.fork("trial")
            await manager.drain()
            assert max((last for _, last in await spans(manager)), default=0) <= 4

    run(go)
