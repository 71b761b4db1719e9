"""Searching stores in memory and stores of a user's own."""

import anyio
import pytest

from playhead.entry.entry import TapeEntry, placed
from playhead.errors import InvalidInput
from playhead.store.adapt import adapt
from playhead.store.memory.store import SLICE, InMemoryTapeStore
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.testing.stores import ListStore

QUERY = TapeQuery(tape="t")


def said(text):
    return TapeEntry.message({"role": "user", "content": text})


async def ids(store, text, query=QUERY, **how):
    return [hit.entry.id for hit in await store.search(query, text, **how)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_others_run_while_a_long_tape_is_taken_in_and_what_they_write_is_found(backend):
    async def go():
        store, steps = InMemoryTapeStore(), []
        await store.append_many("t", [said(f"gate {n}") for n in range(20 * SLICE)])

        async def write():
            for n in range(10):
                await store.append_many("t", [said(f"rare {n}")])
                steps.append(n)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.lowlevel.checkpoint()
            found = await ids(store, "gate", QUERY.limit(2))
        assert len(steps) == 10 and found == [20 * SLICE, 20 * SLICE - 1]
        assert await ids(store, "rare") == [20 * SLICE + n for n in range(10, 0, -1)]

    anyio.run(go, backend=backend)


def test_a_store_in_memory_is_searched_without_an_event_loop():
    store = InMemoryTapeStore()

    def done(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("it waits")

    done(store.append_many("t", [said(f"gate {n}") for n in range(3 * SLICE)]))
    assert len(done(store.search(QUERY, "gate"))) == 20


def test_an_append_that_was_undone_leaves_no_words():
    async def go():
        store = InMemoryTapeStore()
        await store.append_many("t", [said("gate one")])
        assert await ids(store, "gate") == [1]
        with pytest.raises(InvalidInput):
            await store.append_many("t", [said("gate two"), TapeEntry(0, "message", {"content": float("nan")}, {})])
        await store.append_many("t", [said("gate three")])
        assert await ids(store, "gate two three") == [2, 1]

    anyio.run(go)


class Tens(ListStore):
    """Numbers entries by tens."""

    def append(self, tape, entry):
        entries = self.tapes.setdefault(tape, [])
        entries.append(placed(entry, id=10 * len(entries) + 10))


def test_ids_with_gaps_are_searched_by_how_entries_follow_each_other():
    async def go():
        store = adapt(Tens())
        for text in ("a gate", "blue", "red", "a gate again"):
            await store.append_many("t", [said(text)])
        assert await ids(store, "gate") == [10, 40]
        assert await ids(store, "gate", smoothed=True) == [10, 40, 20, 30]
        assert await ids(store, "gate", QUERY.after(10)) == await ids(store, "gate", QUERY.after(11)) == [40]
        assert await ids(store, "gate", QUERY.up_to(35)) == [10] and await ids(store, "gate", QUERY.before(10)) == []

    anyio.run(go)


class Finder(ListStore):
    """Searches by itself."""

    def search(self, query, text, *, smoothed):
        return [Hit(entry=entry, score=float(smoothed)) for entry in self.tapes[query.tape] if text in str(entry.payload)][: query.count]


class OtherFinder(ListStore):
    """Has a method of that name that is another one."""

    def search(self, pattern):
        raise AssertionError(pattern)


def test_a_store_that_searches_by_itself_is_asked_and_a_method_of_another_kind_is_not():
    async def go():
        finder, other = adapt(Finder()), adapt(OtherFinder())
        for store in (finder, other):
            await store.append_many("t", [said("gates"), said("a gate"), said("gate")])
        assert [(hit.entry.id, hit.score) for hit in await finder.search(QUERY.limit(2), "gate", smoothed=True)] == [(1, 1.0), (2, 1.0)]
        assert await ids(other, "gate") == [3, 1, 2]

    anyio.run(go)
