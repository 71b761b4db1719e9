"""Every store answers every search alike: the same entries in the same order with the same scores (R-051)."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry, stamped
from playhead.errors import NotFound
from playhead.store.adapt import adapt
from playhead.store.change import Fork
from playhead.store.family import branch_name
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.query import AfterAnchor, TapeQuery
from playhead.store.ranked.unindexed import search
from playhead.testing.stores import ListStore
from tests.stores import kept, opened
from tests.stores import place as place_of_all

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
FREQUENT = ("the", "gate", "vpn", "drop", "你好")
RARE = tuple(f"{one}{two}{three}on" for one in "btk" for two in "aeiou" for three in "lmr")
MIDDLE, INNER = branch_name("t", "middle"), branch_name("t", "inner")
TAPES = ("t", MIDDLE, INNER)

words = st.sampled_from(FREQUENT) | st.sampled_from(RARE) | st.sampled_from(["Gates", "dropped", "世界 你好", "getUserName", "x" * 70, "\ud800", "42", "Привет", "καλημέρα שלום"])
texts = st.lists(words, max_size=12).map(" ".join)
kinds = st.sampled_from(["message", "message", "tool_result", "event", "anchor", "note"])


@st.composite
def batches(draw: st.DrawFn) -> list[TapeEntry]:
    """Entries of a few texts that come again and again."""
    some = draw(st.lists(st.tuples(kinds, texts), min_size=1, max_size=5))
    picked = draw(st.lists(st.sampled_from(some), min_size=1, max_size=60))
    day = draw(st.integers(1, 28))
    return [stamped(TapeEntry(0, kind, {"name": "A", "state": {"said": text}} if kind == "anchor" else {"content": text}, {}, f"2026-03-{day:02}T00:00:00+00:00")) for kind, text in picked]


writes = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(TAPES), batches()),
    st.tuples(st.just("fork"), st.sampled_from([MIDDLE, INNER]), st.integers(0, 80)),
    st.tuples(st.just("reset"), st.sampled_from(TAPES), st.just(0)),
)
queries = st.builds(
    TapeQuery,
    tape=st.sampled_from(TAPES),
    window=st.none() | st.none() | st.just(AfterAnchor("A")),
    since=st.none() | st.none() | st.just(TapeQuery(tape="t").between_dates("2026-03-10", "2026-03-20").since),
    only=st.none() | st.lists(kinds, min_size=1, max_size=3).map(tuple),
    cursor=st.integers(0, 60),
    stop=st.none() | st.integers(0, 120),
    ceiling=st.none() | st.integers(0, 120),
    count=st.none() | st.integers(1, 9),
)
asked = st.tuples(queries, st.lists(words | st.sampled_from(["gaet", "balom", "xalon", "тривет", "αλημέρα", "xyלום"]), min_size=1, max_size=4).map(" ".join), st.booleans())
steps = st.lists(writes | st.lists(asked, min_size=1, max_size=4), min_size=2, max_size=14)


async def written(store: WholeStore, what: str, tape: str, detail: Any) -> None:
    """Make one change, where it can be made."""
    if tape != "t" and (await store.branch(tape) is None) != (what == "fork"):
        return
    match what:
        case "append":
            await store.append_many(tape, detail)
        case "reset":
            await store.reset(tape)
        case "fork":
            parent = "t" if tape == MIDDLE or await store.branch(MIDDLE) is None else MIDDLE
            await store.apply([Fork(tape=tape, parent=parent, at=min(detail, (await store.head(parent)).id))])


async def answers(store: WholeStore, query: TapeQuery, text: str, *, smoothed: bool) -> object:
    """Return what a store finds, as far as it is the same in all: where no anchor or branch is, what it says of that."""
    try:
        return [(replace(hit.entry, meta={}), hit.score) for hit in await store.search(query, text, smoothed=smoothed)]
    except NotFound as error:
        return str(error)


async def reference(store: WholeStore, query: TapeQuery, text: str, *, smoothed: bool) -> object:
    """Return what is found by reading all entries of the tape."""
    try:
        whole = await store.fetch_all(TapeQuery(tape=query.tape))
        return [(replace(hit.entry, meta={}), hit.score) for hit in search(whole, query, text, smoothed=smoothed)]
    except NotFound as error:
        return str(error)


@settings(max_examples=400 if SOAK else 25, deadline=None)
@given(steps)
def test_every_store_answers_every_search_alike(done: list[Any]):
    async def play(place: Path) -> None:
        async with AsyncExitStack() as stack:
            stores = [adapt(InMemoryTapeStore()), adapt(ListStore()), *(opened(kind, place, durability="process") for kind in kept())]
            for store in stores:
                stack.push_async_callback(store.aclose)
            for step in done:
                if isinstance(step, tuple):
                    for store in stores:
                        await written(store, *step)
                    continue
                for query, text, smoothed in step:
                    wanted = await reference(stores[0], query, text, smoothed=smoothed)
                    for store in stores:
                        assert await answers(store, query, text, smoothed=smoothed) == wanted, (store, query, text)

    with place_of_all() as place:
        anyio.run(play, place)
