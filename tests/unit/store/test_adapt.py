"""What `adapt` makes of stores that lack something, or do something odd."""

import re
from functools import partial

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, StoreError, StoreUnavailable
from playhead.store.adapt import adapt
from playhead.store.change import Fork
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import AsyncTapeStore, Head
from playhead.store.query import TapeQuery
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.testing.stores import AsyncListStore, ListStore


def note(text, **meta):
    return TapeEntry(0, "note", {"text": text}, meta)


def test_a_whole_store_is_taken_as_it_is(tmp_path):
    for store in (InMemoryTapeStore(), SQLiteTapeStore(tmp_path / "x.db")):
        assert adapt(store) is store
        assert isinstance(store, AsyncTapeStore)
    assert adapt(adapted := adapt(ListStore())) is adapted


class Lacking:
    """A whole store that hides one of its methods."""

    promises = InMemoryTapeStore.promises

    def __init__(self, name):
        self.name = name
        self.kept = InMemoryTapeStore()

    def __getattr__(self, name):
        if name == self.name:
            raise AttributeError(name)
        return getattr(self.kept, name)


@pytest.mark.parametrize("name", ["append_many", "apply", "branch", "marks", "rename", "lease", "release", "cursor", "move_cursor", "lock", "aclose"])
def test_what_lacks_a_method_of_a_whole_store_is_completed(name):
    async def go():
        store = adapt(raw := Lacking(name))
        assert store is not raw
        assert [e.id for e in await store.append_many("t", [note("a"), note("b")])] == [1, 2]
        assert callable(getattr(store, name))

    anyio.run(go)


def test_a_store_that_keeps_branches_and_has_no_way_to_make_them_says_so():
    async def go():
        store = adapt(Lacking("apply"))
        await store.append_many("t", [note("a")])
        with pytest.raises(StoreError, match="Lacking keeps branches itself, but lacks some of apply, branch"):
            await store.apply([Fork(tape="t__branch__b", parent="t")])

    anyio.run(go)


@pytest.mark.parametrize("store", [object(), None, {}, ListStore, type("Half", (), {"append": print, "reset": print, "fetch_all": print})()])
def test_what_lacks_a_method_is_no_store(store):
    with pytest.raises(InvalidInput, match=r"ph\.open_store\('sqlite:///notes\.db'\) opens"):
        adapt("sqlite:///notes.db")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list_tapes, reset, fetch_all, append"):
        adapt(store)


class Callable:
    def __init__(self, method):
        self.method = method

    async def __call__(self, *args):
        return self.method(*args)


class Looks:
    """Async in every way but `async def`."""

    def __init__(self):
        self.kept = ListStore()
        self.append = Callable(self.kept.append)
        self.fetch_all = partial(self._later, self.kept.fetch_all)
        self.reset = lambda tape: self._later(self.kept.reset, tape)

    async def _later(self, method, *args):
        return method(*args)

    def list_tapes(self):
        return self._later(self.kept.list_tapes)


class Streams(AsyncListStore):
    async def fetch_all(self, query):
        for entry in self.kept.fetch_all(query):
            yield entry


class Nested(ListStore):
    """A blocking method that returns an awaitable of an awaitable."""

    def append(self, tape, entry):
        async def inner():
            return ListStore.append(self, tape, entry)

        async def outer():
            return inner()

        return outer()


@pytest.mark.parametrize("make", [Looks, Streams, Nested])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_append_is_lost_however_a_method_is_async(make, backend):
    async def go():
        store = adapt(make())
        stored = await store.append_many("t", [note("a"), note("b")])
        assert [e.id for e in stored] == [1, 2]
        assert await store.fetch_all(TapeQuery(tape="t")) == list(stored)
        await store.reset("t")
        assert await store.list_tapes() == []

    anyio.run(go, backend=backend)


def test_a_blocking_store_is_called_in_a_worker_thread():
    import threading

    class Where(ListStore):
        def append(self, tape, entry):
            seen.append(threading.current_thread())
            return super().append(tape, entry)

    seen = []
    anyio.run(adapt(Where()).append_many, "t", [note("a")])
    assert seen[0] is not threading.main_thread()


class Careless(ListStore):
    """Reads, waits, then writes: without a turn each writer would use the same id."""

    def append(self, tape, entry):
        import time

        count = len(self.tapes.setdefault(tape, []))
        time.sleep(0)
        self.tapes[tape].append(TapeEntry(count + 1, entry.kind, entry.payload, entry.meta, entry.date))


def test_appends_to_one_tape_take_turns_across_loops_and_threads():
    import threading

    store = adapt(Careless())

    async def write():
        async with anyio.create_task_group() as tasks:
            for i in range(20):
                tasks.start_soon(store.append_many, "t", [note(str(i))])

    threads = [threading.Thread(target=partial(anyio.run, write, backend=backend)) for backend in ("asyncio", "trio", "asyncio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = anyio.run(store.fetch_all, TapeQuery(tape="t"))
    assert [e.id for e in entries] == list(range(1, 61))


def test_a_batch_that_was_cut_off_is_completed_without_repeats():
    class Fails(ListStore):
        left = 2

        def append(self, tape, entry):
            if self.left == 0:
                raise OSError("no space left")
            self.left -= 1
            return super().append(tape, entry)

    async def go():
        kept = Fails()
        store = adapt(kept)
        batch = [note(str(i), uid=f"uid {i}") for i in range(4)]
        with pytest.raises(StoreError, match=r"Fails.append failed: OSError: no space left") as caught:
            await store.append_many("t", batch)
        assert isinstance(caught.value.__cause__, OSError)
        assert len(kept.tapes["t"]) == 2
        kept.left = 10
        assert [e.id for e in await store.append_many("t", batch)] == [1, 2, 3, 4]
        assert [e.payload["text"] for e in kept.tapes["t"]] == ["0", "1", "2", "3"]

    anyio.run(go)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([{"id": 1}], "dict instead of TapeEntry"),
        ([TapeEntry.event("e")], "id 0"),
        ([TapeEntry(2, "k", {}), TapeEntry(1, "k", {})], "ids do not rise"),
    ],
)
def test_what_is_no_tape_is_refused_by_name(found, message):
    class Odd(ListStore):
        def fetch_all(self, query):
            return found

    with pytest.raises(StoreError, match=f"Odd.fetch_all returned.*{message}"):
        anyio.run(adapt(Odd()).fetch_all, TapeQuery(tape="t"))


def test_a_store_that_drops_an_append_is_found_out():
    class Drops(ListStore):
        def append(self, tape, entry):
            return None

    with pytest.raises(StoreError, match="did not keep 1 of 1 entries"):
        anyio.run(adapt(Drops()).append_many, "t", [note("a")])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (True, "Unnumbered.append returned an entry with id 0, and fetch_all none with its uid; number the entries of a tape from 1"),
        (False, "Unnumbered did not keep 2 of 2 entries so that fetch_all returns them; return all entries of a tape, each with an id, from 1"),
    ],
)
def test_a_store_that_gives_no_ids_is_told_so(returned, message):
    class Unnumbered(ListStore):
        def append(self, tape, entry):
            self.tapes.setdefault(tape, []).append(entry)
            return self.tapes[tape][-1] if returned else None

        def fetch_all(self, query):
            return [entry for entry in self.tapes.get(query.tape, []) if entry.id]

    with pytest.raises(StoreError, match=re.escape(message)):
        anyio.run(adapt(Unnumbered()).append_many, "t", [note("a"), note("b")])


def test_a_store_that_loses_the_meta_is_told_so():
    class Bare(ListStore):
        def append(self, tape, entry):
            return super().append(tape, TapeEntry(0, entry.kind, entry.payload))

    with pytest.raises(StoreError, match="Bare did not keep 1 of 1 entries with their meta"):
        anyio.run(adapt(Bare()).append_many, "t", [note("a")])


def test_the_store_is_only_asked_for_whole_tapes():
    class Asked(ListStore):
        def fetch_all(self, query):
            asked.append(query)
            return self.tapes.get(query.tape, [])

    async def go():
        store = adapt(Asked())
        await store.append_many("t", [note("a"), TapeEntry.anchor("x"), note("b")])
        query = TapeQuery(tape="t", store=store).last_anchor().kinds("note").limit(1).newest_first()
        assert [e.id for e in await query.all()] == [3]
        assert await store.count(query) == 1

    asked = []
    anyio.run(go)
    assert set(asked) == {TapeQuery(tape="t")}


class Rich(AsyncListStore):
    """Has all that may be had."""

    promises = frozenset({"D1", "D2"})

    def __init__(self):
        super().__init__()
        self.calls = []

    async def append_many(self, tape, entries, *, expected_head=None):
        self.calls.append(("append_many", expected_head))
        return [self.kept.append(tape, entry) for entry in entries]

    async def head(self, tape):
        return 7, len(self.kept.tapes.get(tape, []))

    def count(self, query):
        self.calls.append(("count", query.only))
        return 42

    def find(self, tape, *, keys=(), uids=()):
        return {"k": "found"}

    def aclose(self):
        self.calls.append("aclose")


def test_what_a_store_has_besides_is_used():
    async def go():
        kept = Rich()
        store = adapt(kept)
        assert store.promises == {"D1", "D2", "D5", "D6"}
        await store.append_many("t", [note("a"), note("b")], expected_head=Head(7, 0))
        assert await store.head("t") == Head(7, 2)
        with pytest.raises(Conflict):
            await store.append_many("t", [note("c")], expected_head=Head(7, 0))
        assert await store.count(TapeQuery(tape="t").kinds("note")) == 42
        assert await store.find("t", keys=["k"]) == {"k": "found"}
        await store.aclose()
        await store.aclose()
        assert kept.calls == [("append_many", Head(7, 0)), ("count", ("note",)), "aclose"]

    anyio.run(go)


def test_dense_ids_are_promised_once_they_were_seen():
    async def go():
        store = adapt(ListStore())
        assert store.promises == {"D5", "D6"}
        await store.append_many("t", [note("a"), note("b")])
        assert len(await store.fetch_all(TapeQuery(tape="t"))) == 2
        assert store.promises == {"D3", "D5", "D6"}

    anyio.run(go)


class Tens(ListStore):
    """Numbers entries 10, 20, 30 and says they are dense."""

    promises = frozenset({"D3"})

    def append(self, tape, entry):
        entries = self.tapes.setdefault(tape, [])
        entries.append(TapeEntry(10 * len(entries) + 10, entry.kind, entry.payload, entry.meta, entry.date))
        return entries[-1]


class Thinned(ListStore):
    """Forgets the second entry of every tape."""

    def fetch_all(self, query):
        return query.apply([entry for entry in self.tapes.get(query.tape, []) if entry.id != 2])


@pytest.mark.parametrize(("make", "ids"), [(Tens, [10, 20, 30]), (Thinned, [1, 3])])
def test_ids_with_gaps_are_used_and_not_promised_to_be_dense(make, ids):
    async def go():
        store = adapt(make())
        await store.append_many("t", [note("a", uid="u"), note("b"), note("c", idempotency_key="k")])
        query = TapeQuery(tape="t", store=store)
        assert [e.id for e in await query.all()] == ids
        assert await store.head("t") == Head(0, ids[-1])
        assert await store.count(query) == len(ids)
        assert [e.id for e in await query.after(ids[0]).all()] == ids[1:]
        assert (await store.append_many("t", [note("c", idempotency_key="k")]))[0].id == ids[-1]
        with pytest.raises(Conflict):
            await store.append_many("t", [note("d")], expected_head=Head(0, len(ids)))
        await store.append_many("t", [note("d")], expected_head=Head(0, ids[-1]))
        assert "D3" not in store.promises
        await store.append_many("dense so far", [note("e")])
        assert await store.count(query) == len(ids) + 1
        assert "D3" not in store.promises

    anyio.run(go)


def test_a_closed_store_is_not_asked_again():
    async def go():
        store = adapt(ListStore())
        await store.aclose()
        with pytest.raises(StoreUnavailable, match="closed"):
            await store.head("t")

    anyio.run(go)


def test_a_blocking_query_over_a_blocking_store_stays_blocking():
    store = ListStore()
    store.append("t", note("a"))
    assert [e.id for e in TapeQuery(tape="t", store=store).all()] == [1]


def test_a_wait_for_a_turn_that_is_cancelled_leaves_the_others_their_turn():
    async def go():
        started, go_on = anyio.Event(), anyio.Event()

        class Slow(AsyncListStore):
            async def append(self, tape, entry):
                started.set()
                await go_on.wait()
                return await super().append(tape, entry)

        store = adapt(Slow())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append_many, "t", [note("first")])
            await started.wait()
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(store.append_many, "t", [note("cancelled")])
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
            tasks.start_soon(store.append_many, "t", [note("second")])
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        assert [e.payload["text"] for e in await store.fetch_all(TapeQuery(tape="t"))] == ["first", "second"]

    for backend in ("asyncio", "trio"):
        anyio.run(go, backend=backend)
