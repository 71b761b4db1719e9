"""Branches, sidecars and leases of a store that has four methods: what stands in it, and what is shown of it."""

from datetime import UTC, datetime

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.errors import BranchNotFound, Conflict, InvalidInput, LeaseHeld, NameTaken, StoreError
from playhead.store.adapt import adapt
from playhead.store.change import DISCARDED, MERGED, Append, Close, Fork, Lease
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import EMPTY, Head
from playhead.tape.tape import Tape
from playhead.testing.families import closed, everything, forked, texts, written
from playhead.testing.stage import note, whole
from playhead.testing.stores import AsyncListStore, ListStore
from playhead.view.context import TapeContext
from tests.unit.store.failing import opened, told

TRY, SIDE = branch_name("t", "try"), sidecar_name("t", "s")


def test_a_fork_is_a_tape_of_the_branchs_name_and_what_is_known_of_it_one_more():
    async def go():
        raw = ListStore()
        store = adapt(raw)
        await written(store, "t", "a", "b")
        await written(store, SIDE, "1")
        await forked(store, "t", "try", at=1)
        await written(store, TRY, "c")
        assert set(raw.tapes) == {"t", TRY, SIDE, "t__family__"}
        assert [told(raw, "t"), told(raw, TRY)] == [["a", "b"], ["a", "c"]]
        assert raw.tapes[TRY][0] == raw.tapes["t"][0]
        assert await store.list_tapes() == ["t"]

    anyio.run(go)


def test_a_store_that_is_adapted_again_shows_what_it_showed():
    async def go():
        raw = ListStore()
        store = adapt(raw)
        await written(store, "t", "a", "b")
        await store.reset("t", entries=[note("anew")])
        await written(store, SIDE, "1")
        outer = await forked(store, "t", "outer", owner="run 1")
        await written(store, outer, "c")
        await store.reset(outer, entries=[note("d")])
        await store.reset("t", entries=[note("x"), note("y")])
        await forked(store, outer, "inner", at=1)
        await closed(store, await forked(store, "t", "ended"), DISCARDED)
        held = await store.lease("t", owner="one", seconds=600)
        await store.move_cursor("t", "mail", Head(2, 1))
        seen = await everything(store, "t")
        again = adapt(raw)
        assert await everything(again, "t") == seen
        assert await again.head("t") == Head(2, 2)
        with pytest.raises(LeaseHeld):
            await again.lease("t", owner="other", seconds=1)
        await again.release(held)
        assert (await again.lease("t", owner="other", seconds=1)).epoch == 2
        assert await again.cursor("t", "mail") == Head(2, 1)

    anyio.run(go)


def test_marks_rise_over_resets_also_when_the_store_is_adapted_again():
    async def go():
        raw = ListStore()
        store = adapt(raw)
        await written(store, "t", "a")
        await store.reset("t", entries=[note("b")])
        await written(store, SIDE, "1")
        await store.reset("t", entries=[note("c"), note("d")])
        again = adapt(raw)
        await written(again, SIDE, "2")
        assert await again.marks(SIDE) == [Head(1, 1), Head(2, 2)]

    anyio.run(go)


def test_a_mark_is_seen_by_no_reader_and_takes_no_meta_key():
    async def go():
        raw = ListStore()
        store = adapt(raw)
        (stored,) = await store.append_many(SIDE, [note("x", uid="u", mark="mine")])
        assert stored.meta == {"uid": "u", "mark": "mine"}
        assert await whole(store, SIDE) == [stored]
        assert await store.find(SIDE, uids=["u"]) == {"u": stored}
        assert raw.tapes[SIDE][0].meta["__mark__"] == [0, 0]

    anyio.run(go)


@pytest.mark.parametrize("name", ["t__family__", "t__family____branch__b", "t__family____sidecar__s"])
def test_a_name_that_is_kept_for_what_is_known_of_a_family_is_no_tape(name):
    async def go():
        store = adapt(ListStore())
        for call in (store.append_many(name, [note("x")]), store.head(name), store.reset(name), store.branches(name), store.rename("t", name)):
            with pytest.raises(InvalidInput, match="call the tape otherwise"):
                await call

    anyio.run(go)


def test_what_is_refused_leaves_the_store_as_it_was():
    async def go():
        raw = ListStore()
        store = adapt(raw)
        await written(store, "t", "a")
        await written(store, SIDE, "1")
        await forked(store, "t", "try")
        before = {name: list(entries) for name, entries in raw.tapes.items()}
        good = [Append(tape="t", entries=[note("b")]), Append(tape=SIDE, entries=[note("2")], marks=[1]), Fork(tape=branch_name("t", "new"), parent="t")]
        for bad in (
            Append(tape="t", entries=[note("x")], expected_head=Head(0, 1)),
            Append(tape="t", entries=[note("x")], marks=[0]),
            Append(tape=SIDE, entries=[note("x")], marks=[0, 1]),
            Append(tape=SIDE, entries=[note("x")], marks=[-1]),
            Append(tape="t", entries=[{"role": "user"}]),
            Append(tape="other", entries=[note("x")]),
            Fork(tape=TRY, parent="t"),
            Close(tape="t", outcome=MERGED),
            Close(tape=TRY, outcome="open"),
        ):
            with pytest.raises((Conflict, InvalidInput)):
                await store.apply([*good, bad])
            assert raw.tapes == before
        assert await store.apply([]) == ()

    anyio.run(go)


def test_a_tape_that_no_fork_has_made_is_neither_a_branch_nor_written_over():
    async def go():
        raw = ListStore()
        raw.append(TRY, note("of the user's own", uid="u"))
        store = adapt(raw)
        await written(store, "t", "a")
        with pytest.raises(BranchNotFound):
            await whole(store, TRY)
        with pytest.raises(NameTaken):
            await forked(store, "t", "try")
        branch = await forked(store, "t", "other")
        with pytest.raises(NameTaken):
            await store.rename(branch, TRY)
        await closed(store, branch)
        assert await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)) == [branch]
        assert told(raw, TRY) == ["of the user's own"]

    anyio.run(go)


class Shared(ListStore):
    """Numbers the entries of all tapes together, by tens."""

    step = 10

    def __init__(self):
        super().__init__()
        self.last = 0

    def append(self, tape, entry):
        self.last += self.step
        stored = TapeEntry(self.last, entry.kind, entry.payload, entry.meta, entry.date)
        self.tapes.setdefault(tape, []).append(stored)
        return stored


class Tens(ListStore):
    def append(self, tape, entry):
        entries = self.tapes.setdefault(tape, [])
        entries.append(TapeEntry(10 * len(entries) + 10, entry.kind, entry.payload, entry.meta, entry.date))
        return entries[-1]


def test_a_store_that_numbers_copies_otherwise_has_no_branches():
    async def go():
        raw = Shared()
        store = adapt(raw)
        await written(store, "t", "a", "b")
        with pytest.raises(StoreError, match="Shared numbers the entries of a copy otherwise"):
            await forked(store, "t", "try")
        assert [await store.branches("t"), told(raw, TRY), await written(store, "t", "c")] == [[], [], [raw.last]]

    anyio.run(go)


def test_ids_with_gaps_go_on_over_a_fork_point():
    async def go():
        store = adapt(Tens())
        await written(store, "t", "a", "b", "c")
        await forked(store, "t", "try", at=20)
        assert [await store.head(TRY), await written(store, TRY, "d"), (await store.branch(TRY)).base] == [Head(0, 20), [30], Head(0, 20)]

    anyio.run(go)


class Counts(AsyncListStore):
    """Counts resets itself, also those of tapes that hold nothing."""

    def __init__(self):
        super().__init__()
        self.resets = {}

    async def reset(self, tape):
        self.resets[tape] = self.resets.get(tape, 0) + 1
        await super().reset(tape)

    async def head(self, tape):
        return self.resets.get(tape, 0), len(self.kept.tapes.get(tape, ()))

    async def append_many(self, tape, entries, *, expected_head=None):
        if expected_head not in (None, await self.head(tape)):
            raise Conflict(expected=expected_head, found=await self.head(tape))
        return [self.kept.append(tape, entry) for entry in entries]


def test_a_branch_of_a_store_that_counts_resets_carries_the_generation_of_its_parent():
    async def go():
        store = adapt(Counts())
        for at in (1, 2):
            await store.reset("t", entries=[note("a"), note("b")])
            await forked(store, "t", "try", at=1)
            assert [await store.head(TRY), (await store.branch(TRY)).base] == [Head(at, 1)] * 2
            await store.append_many(TRY, [note("c")], expected_head=Head(at, 1))
            with pytest.raises(Conflict):
                await store.append_many(TRY, [note("c")], expected_head=Head(0, 2))
            await store.reset(TRY, entries=[note("d")], expected_head=Head(at, 2))
            await store.rename(TRY, branch_name("t", "named"))
            named = branch_name("t", "named")
            assert await store.head(named) == Head(at + 1, 1)
            await closed(store, named)
            await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC))
        await store.rename("t", "new")
        assert [await store.head("new"), (await store.append_many("new", [note("c")], expected_head=Head(2, 2)))[0].id] == [Head(2, 2), 3]

    anyio.run(go)


class Able(AsyncListStore):
    """Does itself what it says it was asked for."""

    def __init__(self):
        super().__init__()
        self.calls = []

    async def append_many(self, tape, entries, *, expected_head=None, fence=None):
        self.calls.append(("append_many", fence))
        return [self.kept.append(tape, entry) for entry in entries]

    async def apply(self, changes, *, unless=None):
        self.calls.append(("apply", len(changes), unless))
        return ((),)

    async def branch(self, name):
        self.calls.append(("branch", name))

    async def branches(self, tape):
        return []

    def sidecars(self, tape):
        return ["s"]

    async def marks(self, tape, *, after=0):
        return [Head(0, after)]

    async def collect(self, tape, *, before):
        return [TRY]

    async def rename(self, tape, name):
        self.calls.append(("rename", tape, name))

    async def lease(self, tape, *, owner, seconds):
        return Lease(tape=tape, owner=owner, epoch=7, until=0)

    async def release(self, lease):
        self.calls.append(("release", lease.epoch))

    async def cursor(self, tape, consumer):
        return 0, 3

    async def move_cursor(self, tape, consumer, head):
        self.calls.append(("move_cursor", head))

    def lock(self, tape):
        self.calls.append(("lock", tape))
        return anyio.CancelScope()


def test_what_a_store_does_itself_is_left_to_it():
    async def go():
        raw = Able()
        store = adapt(raw)
        assert await store.apply([Fork(tape=TRY, parent="t")], unless=("t", "k")) == ((),)
        assert [await store.branch(TRY), await store.branches("t"), await store.sidecars("t"), await store.marks(SIDE, after=2)] == [None, [], ["s"], [Head(0, 2)]]
        assert await store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)) == [TRY]
        await store.rename("t", "new")
        lease = await store.lease("t", owner="one", seconds=1)
        await store.append_many(TRY, [note("a")], fence=lease.epoch)
        await store.release(lease)
        assert await store.cursor("t", "mail") == Head(0, 3)
        await store.move_cursor("t", "mail", EMPTY)
        assert callable(store.lock("t").cancel)
        expected = [("apply", 1, ("t", "k")), ("branch", TRY), ("rename", "t", "new"), ("append_many", 7), ("release", 7), ("move_cursor", EMPTY), ("lock", "t")]
        assert raw.calls == expected
        assert set(raw.kept.tapes) == {TRY}

    anyio.run(go)


def test_a_part_of_what_belongs_together_is_not_taken_for_the_whole():
    """A method called `lease`, `branch` or `lock` may be about something else."""

    class Odd(ListStore):
        branch = lease = cursor = 3

        def lock(self):
            raise AssertionError

        def rename(self, tape, name):
            raise AssertionError

    async def go():
        store = adapt(Odd())
        await written(store, "t", "a")
        async with store.lock("t"):
            await store.rename("t", "new")
        assert [(await store.lease("new", owner="one", seconds=1)).epoch, await texts(store, "new")] == [1, ["a"]]

    anyio.run(go)


def test_an_event_that_does_not_fit_changes_nothing():
    async def go():
        raw = ListStore()
        store = opened(raw)
        await written(store, "t", "a")
        await forked(store, "t", "try")
        await store.release(await store.lease("t", owner="one", seconds=1))
        events = list(raw.tapes["t__family__"])
        before = await everything(store, "t")
        for event in (*events, TapeEntry.event("of a later version", {"x": 1}), note("no event")):
            raw.append("t__family__", event)
        assert await everything(store, "t") == before
        assert (await store.lease("t", owner="two", seconds=1)).epoch == 2

    anyio.run(go)


def test_a_name_that_a_family_once_came_to_is_free_again():
    async def go():
        store = opened(raw := ListStore())
        await written(store, "t", "old")
        await store.rename("t", "new")
        await store.reset("new")
        await written(store, "t", "a")
        await store.rename("t", "new")
        assert [await texts(store, "new"), await store.list_tapes(), told(raw, "t")] == [["a"], ["new"], []]
        await store.rename("new", "t")
        await store.rename("t", "new")
        assert [await texts(store, "new"), await store.list_tapes()] == [["a"], ["new"]]

    anyio.run(go)


def test_handles_fork_merge_and_discard_over_a_store_of_four_methods():
    async def go():
        tape = Tape(ListStore(), "t", context=TapeContext(anchor=None))
        await tape.append(user("one"))
        trial, other = await tape.fork(), await tape.fork()
        await trial.append(user("two"))
        await other.append(user("dropped"))
        await tape.append(user("meanwhile"))
        report = await trial.merge()
        await other.discard()
        assert [report.moved, [e.id for e in report.entries]] == [True, [3]]
        assert [m.text for m in await tape.read_messages()] == ["one", "meanwhile", "two"]
        assert (await trial.merge()).event == report.event
        assert await tape.store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)) == [other.name, trial.name]

    anyio.run(go)
