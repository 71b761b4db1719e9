"""For any tape and any query, every store returns what `TapeQuery.apply` keeps of the whole tape."""

import os
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry, format_date, stamped
from playhead.errors import NotFound
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.rules.work import Work, Writing
from playhead.store.sqlite import reader
from playhead.store.sqlite.tapes import Tapes
from tests.stores import kept, opened, place
from tests.unit.store.test_sql import fresh

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))

START = datetime(2026, 3, 1, tzinfo=UTC)
FAR_AHEAD = 50_000_000
minutes = st.integers(0, 12) | st.integers(0, 3).map(lambda m: m + FAR_AHEAD)
kinds = st.sampled_from(["note", "event", "anchor", "tick"])
names = st.sampled_from(["A", "B", ""])
texts = st.sampled_from(["vpn down", "VPN \ud800", "ß", "12"])


@st.composite
def entries(draw):
    kind = draw(kinds)
    payload = {"name": draw(names)} if kind == "anchor" else {"text": draw(texts)}
    return stamped(TapeEntry(0, kind, payload, {}, format_date(START + timedelta(minutes=draw(minutes)))))


@st.composite
def tapes(draw):
    """A tape of up to 150 entries, made of a few that repeat, in runs, so that blocks fill up."""
    some = draw(st.lists(entries(), min_size=1, max_size=6))
    picks = draw(st.lists(st.tuples(st.integers(0, len(some) - 1), st.integers(1, 40)), max_size=8))
    return [some[i] for i, times in picks for _ in range(times)][:150]


ids = st.integers(-1, 160)
instants = st.none() | minutes.map(lambda m: START + timedelta(minutes=m))
queries = st.builds(
    TapeQuery,
    tape=st.just("t"),
    window=st.none() | st.builds(AfterAnchor, st.none() | names) | st.builds(BetweenAnchors, names, names),
    since=instants,
    until=instants,
    text=st.none() | st.sampled_from(["vpn", "SS", "1", "text", "\ud800", ""]),
    only=st.none() | st.lists(kinds, min_size=1, max_size=3).map(tuple),
    cursor=ids,
    stop=st.none() | ids,
    ceiling=st.none() | ids,
    count=st.none() | st.integers(1, 8),
    descending=st.booleans(),
)


def written(tapes, step):
    (stored,) = tapes.do(Work([step]))
    return stored


def done(coroutine):
    """Return the result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def outcome(call):
    try:
        return call()
    except NotFound as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(tapes(), st.integers(1, 70), st.lists(queries, min_size=1, max_size=12))
def test_rows_and_memory_return_what_apply_keeps(tape, batch, asked):
    memory = InMemoryTapeStore()
    with closing(fresh()) as connection:
        writer = Tapes(connection)
        for start in range(0, len(tape), batch):
            work = Writing("t", tape[start : start + batch], [e.meta for e in tape[start : start + batch]], None)
            work.prepare()
            assert list(written(writer, work)) == list(done(memory.append_many("t", work.entries)))
        whole = reader.fetch(connection, TapeQuery(tape="t"))
        assert [replace(e, id=0) for e in whole] == tape
        for query in asked:
            wanted = outcome(lambda query=query: query.apply(whole))
            assert outcome(lambda query=query: reader.fetch(connection, query)) == wanted
            assert outcome(lambda query=query: done(memory.fetch_all(query))) == wanted
            counted = wanted if isinstance(wanted, str) else len(wanted)
            assert outcome(lambda query=query: reader.count(connection, query)) == counted
            assert outcome(lambda query=query: done(memory.count(query))) == counted


@settings(max_examples=60, deadline=None)
@given(tapes(), st.lists(st.integers(0, 160), max_size=6))
def test_rows_and_memory_find_the_first_entry_of_a_uid(tape, picks):
    memory = InMemoryTapeStore()
    with closing(fresh()) as connection:
        work = Writing("t", tape, [e.meta for e in tape], None)
        work.prepare()
        stored = written(Tapes(connection), work)
        done(memory.append_many("t", tape))
        uids = [tape[i % len(tape)].uid for i in picks if tape] + ["unknown"]
        first = {e.uid: e for e in reversed(stored)}
        wanted = {uid: first[uid] for uid in uids if uid in first}
        assert reader.find(connection, "t", keys=(), uids=uids) == wanted
        assert done(memory.find("t", uids=uids)) == wanted


async def said(store, tape, asked):
    """Return what a store answers to queries, and how many entries it says there are; where a window has no edge, what it says of that."""
    found = []
    for query in asked:
        for ask in (store.fetch_all, store.count):
            try:
                answer = await ask(query)
                found.append(answer if isinstance(answer, int) else list(answer))
            except NotFound as error:
                found.append(str(error))
    return found


@settings(max_examples=300 if SOAK else 40, deadline=None)
@given(tapes(), st.integers(1, 70), st.lists(queries, min_size=1, max_size=12))
def test_every_store_that_is_opened_again_returns_what_apply_keeps(tape, batch, asked):
    """Nothing of what it answers was in its memory yet."""

    async def play(at):
        for kind in kept():
            async with opened(kind, at, durability="process") as store:
                for start in range(0, len(tape), batch):
                    await store.append_many("t", tape[start : start + batch])
            async with opened(kind, at, durability="process") as store:
                answers = await said(store, "t", asked)
                whole = list(await store.fetch_all(TapeQuery(tape="t")))
                assert [replace(e, id=0) for e in whole] == tape, kind
                wanted = [outcome(partial(query.apply, whole)) for query in asked]
                assert answers == [each for found in wanted for each in (found, found if isinstance(found, str) else len(found))], kind
                uids = [*{e.uid for e in tape}, "unknown"]
                assert await store.find("t", uids=uids) == {e.uid: e for e in reversed(whole)}, kind

    with place() as at:
        anyio.run(play, at)
