"""What a compile, a tick and a message read of a tape does not grow with it, however much of it is told."""

from __future__ import annotations

import anyio

from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.prompt.folding.managed import managed, memory, room, talk
from tests.unit.prompt.folding.shown import check_told_once


class Counting(InMemoryTapeStore):
    """A store that counts the entries it gives."""

    def __init__(self):
        super().__init__()
        self.read = 0

    async def fetch_all(self, query):
        found = await super().fetch_all(query)
        self.read += len(found)
        return found

    async def find(self, tape, **keys):
        found = await super().find(tape, **keys)
        self.read += len(found)
        return found


async def counted(store, ask):
    store.read = 0
    await ask()
    return store.read


def test_a_compile_a_tick_and_a_message_read_as_much_of_a_long_tape_as_of_a_short_one():
    async def go():
        reads = {}
        async with managed(store := Counting(), merge_threshold=3) as manager:
            for number in range(0, 1_200, 4):
                await talk(manager, 4, start=number)
                if number in (296, 1_196):
                    reads[number] = [
                        await counted(store, lambda: manager.compile(room(900))),
                        await counted(store, lambda: manager.compile(room(900))),
                        await counted(store, manager.tick),
                        await counted(store, lambda: talk(manager, 1, start=5_000)),
                    ]
                await manager.drain()
        short, long = reads.values()
        assert all(later <= earlier + 40 for earlier, later in zip(short, long, strict=True)), reads

    anyio.run(go)


def test_an_opening_and_its_first_compile_read_as_much_of_a_long_tape_as_of_a_short_one():
    async def go():
        reads = []
        store = Counting()
        for start, end in ((0, 480), (480, 1_200)):
            async with managed(store, merge_threshold=3) as manager:
                for number in range(start, end, 4):
                    await talk(manager, 4, start=number)
                    await manager.drain()
                    await manager.compile(room(900))
            store.read = 0
            async with managed(store, merge_threshold=3) as manager:
                await manager.compile(room(900))
                reads.append(store.read)
        assert reads[1] <= reads[0] + 100, reads

    anyio.run(go)


def test_what_is_held_of_a_past_that_was_told_for_long_without_being_shown_does_not_grow_with_it():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 100)
            await manager.drain()
            await manager.compile(room(900))
            held = []
            for number in (300, 900):
                await talk(manager, number, start=number)
                await manager.drain()
                held.append(len((await memory(manager).look()).nodes))
            assert held[1] <= held[0] + 15, held
            await check_told_once(manager, await manager.compile(room(900)))

    anyio.run(go)
