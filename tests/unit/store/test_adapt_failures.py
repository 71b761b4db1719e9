"""What becomes of a family in a store of four methods when the store fails, or the task is cancelled, in the middle."""

from datetime import UTC, datetime

import anyio
import pytest

from playhead.errors import BranchClosed, BranchNotFound, Conflict, NameTaken, StoreError, TapeNotFound
from playhead.store.adapt import adapt
from playhead.store.change import DISCARDED, MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import Head
from playhead.testing.families import closed, forked, shown, texts, written
from playhead.testing.stage import keyed, note, whole
from playhead.testing.stores import AsyncListStore, ListStore
from tests.unit.store.failing import Fails, opened, told

TRY, SIDE = branch_name("t", "try"), sidecar_name("t", "s")


async def prepared():
    raw = ListStore()
    store = opened(raw)
    await store.append_many("t", [note("a"), keyed("b", "k")])
    await written(store, SIDE, "1")
    await forked(store, "t", "try")
    await written(store, TRY, "c")
    await written(store, sidecar_name(TRY, "s"), "2", "3")
    await closed(store, await forked(store, "t", "old"), DISCARDED)
    return raw


async def seen(raw, *roots):
    """Return all that can be seen of families but uids and dates, and which tapes are left once nothing is half removed."""
    store = opened(raw)
    found = [await store.list_tapes()]
    for root in roots:
        records = await store.branches(root)
        found.append([(r.name, r.parent, r.base, r.state, r.owner) for r in records])
        for main in (root, *(r.name for r in records)):
            found.append((main, await store.head(main), await shown(store, main)))
            for name in await store.sidecars(main):
                side = sidecar_name(main, name)
                found.append((side, await store.head(side), await shown(store, side), await store.marks(side)))
        await store.collect(root, before=datetime(1970, 1, 1, tzinfo=UTC))
    return [*found, sorted(raw.tapes)]


def merge():
    """Changes with all that there is, entries with a uid and new ones with a key."""
    return [
        Append(tape="t", entries=[note("c", uid="c"), keyed("d", "d"), note("same", uid="s1"), note("same", uid="s2")], expected_head=Head(0, 2)),
        Append(tape=SIDE, entries=[note("2", uid="2"), note("3", uid="3")], marks=[1, 2]),
        Fork(tape=branch_name("t", "next"), parent="t", owner="run"),
        Append(tape=branch_name("t", "next"), entries=[note("e", uid="e"), note("f", uid="f")]),
        Reset(tape=TRY, entries=[note("g", uid="g"), note("h", uid="h")], expected_head=Head(0, 3)),
        Append(tape=sidecar_name(TRY, "s"), entries=[note("4", uid="4")], marks=[1]),
        Close(tape=TRY, outcome=MERGED, expected_head=Head(1, 2)),
        Append(tape="t", entries=[keyed("merged", "merge")]),
    ]


WORKS = {
    "changes": lambda store: store.apply(merge(), unless=("t", "merge")),
    "one append": lambda store: store.apply([Append(tape=SIDE, entries=[note(str(i), uid=f"uid {i}") for i in range(3)], expected_head=Head(0, 1))]),
    "one reset": lambda store: store.apply([Reset(tape=SIDE, entries=[note("x", uid="x"), note("y", uid="y")], expected_head=Head(0, 1))]),
    "fork": lambda store: store.apply([Fork(tape=branch_name("t", "next"), parent=TRY, at=2)]),
    "close": lambda store: store.apply([Close(tape=TRY, outcome=MERGED)]),
    "batch": lambda store: store.append_many(TRY, [note(str(i), uid=f"uid {i}") for i in range(3)], expected_head=Head(0, 3)),
    "collect": lambda store: store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)),
    "rename a tape": lambda store: store.rename("t", "new"),
    "rename a branch": lambda store: store.rename(TRY, branch_name("t", "named")),
}
DONE = {"one append": Conflict, "one reset": Conflict, "fork": NameTaken, "close": BranchClosed, "rename a tape": TapeNotFound, "rename a branch": BranchNotFound}
"""How a second try is refused where the failure came behind all that it is about."""


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("work", WORKS)
def test_what_a_failure_cut_off_is_gone_on_with_from_there(work, behind):
    """At every write of the store: tried again, the work ends as if nothing had happened."""

    async def go():
        do = WORKS[work]
        raw = await prepared()
        await do(opened(raw))
        wanted = await seen(raw, "t", "new")
        for at in range(200):
            raw = await prepared()
            failing = Fails(raw, at=at, behind=behind)
            store = adapt(failing)
            try:
                await do(store)
            except StoreError:
                pass
            else:
                assert failing.left >= 0
                break
            try:
                await do(opened(raw) if at % 2 else store)
            except DONE.get(work, ()):
                pass
            assert await seen(raw, "t", "new") == wanted, f"after a failure at write {at}"
        assert at > 0

    anyio.run(go)


def test_changes_that_were_begun_are_made_to_the_end_when_the_task_is_cancelled():
    async def go():
        reached, go_on = anyio.Event(), anyio.Event()

        class Slow(AsyncListStore):
            async def append(self, tape, entry):
                if entry.payload.get("text") == "b":
                    reached.set()
                    await go_on.wait()
                return await super().append(tape, entry)

        raw = Slow()
        store = adapt(raw)
        changes = [Append(tape="t", entries=[note("a"), note("b")]), Append(tape=SIDE, entries=[note("c")])]
        read = []

        async def look():
            read.append([await texts(store, "t"), await texts(store, SIDE)])

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(store.apply, changes)
                    await reached.wait()
                    tasks.start_soon(look)
                    scope.cancel()
                    go_on.set()
        assert [told(raw.kept, "t"), told(raw.kept, SIDE)] == [["a", "b"], ["c"]]
        assert read == [[["a", "b"], ["c"]]], "a reader waits until the changes are made"

    for backend in ("asyncio", "trio"):
        anyio.run(go, backend=backend)


def test_what_a_fork_that_failed_has_left_is_not_shown_by_another():
    async def go():
        raw = ListStore()
        await written(opened(raw), "t", "a", "b", "c")
        await written(opened(raw), SIDE, "1")
        with pytest.raises(StoreError):
            await forked(adapt(Fails(raw, at=5, behind=False)), "t", "try")
        assert [told(raw, TRY), told(raw, sidecar_name(TRY, "s"))] == [["a", "b", "c"], ["1"]]
        store = opened(raw)
        with pytest.raises(BranchNotFound):
            await whole(store, TRY)
        await store.reset(SIDE)
        await forked(store, "t", "try", at=1)
        assert [await texts(store, TRY), await store.sidecars(TRY), await written(store, TRY, "x")] == [["a"], [], [2]]

    anyio.run(go)


def test_a_renaming_that_failed_does_not_take_what_was_written_there_since():
    async def go():
        raw = ListStore()
        await written(opened(raw), "t", "a", "b")
        with pytest.raises(StoreError):
            await adapt(Fails(raw, at=2, behind=False)).rename("t", "new")
        assert told(raw, "new") == ["a"]
        await written(opened(raw), "new", "mine")
        with pytest.raises(NameTaken):
            await opened(raw).rename("t", "new")
        assert [told(raw, "new"), told(raw, "t")] == [["a", "mine"], ["a", "b"]]

    anyio.run(go)


def test_a_batch_that_was_cut_off_expects_the_head_that_was_before_it():
    async def go():
        raw = ListStore()
        await written(opened(raw), "t", "a")
        batch = [note(str(i), uid=f"uid {i}") for i in range(3)]
        with pytest.raises(StoreError):
            await adapt(Fails(raw, at=2, behind=False)).append_many("t", batch, expected_head=Head(0, 1))
        with pytest.raises(Conflict):
            await opened(raw).append_many("t", batch, expected_head=Head(0, 3))
        assert [e.id for e in await opened(raw).append_many("t", batch, expected_head=Head(0, 1))] == [2, 3, 4]

    anyio.run(go)


def test_an_entry_without_a_uid_is_never_taken_for_one_that_stands():
    """What says the same may be another fact; it is written again rather than lost."""

    async def go():
        raw = ListStore()
        changes = [Append(tape="t", entries=[note("tick")]), Append(tape=SIDE, entries=[note("tick")])]
        with pytest.raises(StoreError):
            await adapt(Fails(raw, at=1, behind=False)).apply(changes)
        await opened(raw).apply(changes)
        assert [told(raw, "t"), told(raw, SIDE)] == [["tick", "tick"], ["tick"]]

    anyio.run(go)
