"""What a branch answers is what its tape answers once the branch is merged, for any tape and any query (R-144, W-13)."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.errors import NotFound
from playhead.store.change import MERGED, Append, Close, Fork
from playhead.store.family import branch_name
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.tape.merging import merge
from tests.property.test_store_queries import outcome, queries
from tests.property.test_store_queries import tapes as histories
from tests.stores import kept, opened, place

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
MIDDLE, INNER = branch_name("t", "middle"), branch_name("t", "inner")


async def answers(store: WholeStore, tape: str, asked: list[TapeQuery]) -> list[object]:
    """Return what a tape answers to queries, and how many entries it says there are; where a window has no edge, what it says of that."""
    said: list[object] = []
    for query in asked:
        for ask in (store.fetch_all, store.count):
            try:
                said.append(await ask(replace(query, tape=tape)))
            except NotFound as error:
                said.append(str(error))
    return said


async def grown(store: WholeStore, history: list[TapeEntry], one: int, other: int, batch: int) -> None:
    """Put a history on a tape, a branch of it, and a branch of that."""
    for tape, parent, first, last in (("t", None, 0, one), (MIDDLE, "t", one, other), (INNER, MIDDLE, other, len(history))):
        if parent is not None:
            await store.apply([Fork(tape=tape, parent=parent, at=first)])
        for start in range(first, last, batch):
            await store.append_many(tape, history[start : min(start + batch, last)])


async def merged(store: WholeStore, branch: str, parent: str) -> None:
    """Append what a branch holds of its own to its parent."""
    record = await store.branch(branch)
    own = await store.fetch_all(TapeQuery(tape=branch, cursor=record.base.id))
    await store.apply([Append(tape=parent, entries=own, expected_head=record.base), Close(tape=branch, outcome=MERGED)])


async def stores(stack: AsyncExitStack, at: Path) -> list[WholeStore]:
    return [await stack.enter_async_context(store) for store in (opened("memory", at), *(opened(kind, at, durability="process") for kind in kept()))]


cuts = st.tuples(st.integers(0, 150), st.integers(0, 150)).map(sorted)


@settings(max_examples=300 if SOAK else 30, deadline=None)
@given(histories(), cuts, st.integers(1, 70), st.lists(queries, min_size=1, max_size=12))
def test_a_branch_answers_any_query_as_its_tape_does_once_it_is_merged(history: list[TapeEntry], cut: list[int], batch: int, asked: list[TapeQuery]):
    one, other = (min(place, len(history)) for place in cut)

    async def play() -> None:
        async with AsyncExitStack() as stack:
            for store in await stores(stack, at):
                await grown(store, history, one, other, batch)
                whole = await store.fetch_all(TapeQuery(tape=INNER))
                assert [replace(entry, id=0) for entry in whole] == history
                wanted = [said for query in asked for found in [outcome(partial(query.apply, whole))] for said in (found, found if isinstance(found, str) else len(found))]
                assert await answers(store, INNER, asked) == wanted
                await merged(store, INNER, MIDDLE)
                assert await answers(store, MIDDLE, asked) == wanted
                await merged(store, MIDDLE, "t")
                assert await answers(store, "t", asked) == await answers(store, INNER, asked) == wanted

    with place() as at:
        anyio.run(play)


@settings(max_examples=150 if SOAK else 15, deadline=None)
@given(histories(), cuts, st.integers(0, 150), st.lists(queries, min_size=1, max_size=8))
def test_a_branch_answers_any_query_as_if_its_tape_had_stood_still(history: list[TapeEntry], cut: list[int], back: int, asked: list[TapeQuery]):
    """Forked at any place, also before its parent's own fork point, while its parent goes on and is reset."""
    one, other = (min(place, len(history)) for place in cut)
    point = min(back, len(history))
    later = branch_name("t", "later")

    async def play() -> None:
        async with AsyncExitStack() as stack:
            for store in await stores(stack, at):
                await grown(store, history, one, other, 150)
                await store.apply([Fork(tape=later, parent=INNER, at=point)])
                wanted = await store.fetch_all(TapeQuery(tape=INNER, ceiling=point))
                for tape in ("t", MIDDLE, INNER):
                    await store.append_many(tape, [TapeEntry.anchor("A"), TapeEntry.anchor("B")])
                    await store.reset(tape, entries=history[:3])
                    said = [found for query in asked for found in [outcome(partial(query.apply, wanted))]]
                    assert (await answers(store, later, asked))[::2] == said

    with place() as at:
        anyio.run(play)


@settings(max_examples=150 if SOAK else 15, deadline=None)
@given(histories(), cuts, histories(), st.sampled_from(["append", "mine", "squash"]), st.booleans(), st.lists(queries, min_size=1, max_size=8))
def test_a_merge_behind_what_came_since_answers_as_the_whole_would(history: list[TapeEntry], cut: list[int], since: list[TapeEntry], policy: str, sealed: bool, asked: list[TapeQuery]):
    """The parent answers as plain entries in the order that the merge says; the branch answers as it did before."""
    one, other = (min(place, len(history)) for place in cut)
    history, since = ([replace(entry, meta={**entry.meta, "uid": f"{of} {n}"}) for n, entry in enumerate(found)] for of, found in (("first", history), ("since", since)))

    async def play() -> None:
        async with AsyncExitStack() as stack:
            for store in await stores(stack, at):
                await grown(store, history, one, other, 150)
                if since:
                    await store.append_many(MIDDLE, since)
                before = await answers(store, INNER, asked)
                own = await store.fetch_all(TapeQuery(tape=INNER, cursor=other))
                there = await store.fetch_all(TapeQuery(tape=MIDDLE))
                how = {"append": "append", "squash": "squash", "mine": lambda delta: delta.entries}[policy]
                report = await merge(store, INNER, policy=how, summary="all of it" if policy == "squash" else None, seal=sealed)
                whole = await store.fetch_all(TapeQuery(tape=MIDDLE))
                assert whole == [*there, *report.entries, *([report.event] if report.event else [])]
                assert [entry.id for entry in whole] == list(range(1, len(whole) + 1))
                if policy != "squash":
                    assert [(e.uid, e.kind, e.payload, e.date) for e in report.entries] == [(e.uid, e.kind, e.payload, e.date) for e in own]
                wanted = [said for query in asked for found in [outcome(partial(query.apply, whole))] for said in (found, found if isinstance(found, str) else len(found))]
                assert await answers(store, MIDDLE, asked) == wanted
                assert await answers(store, INNER, asked) == before

    with place() as at:
        anyio.run(play)
