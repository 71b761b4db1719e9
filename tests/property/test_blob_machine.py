"""Whatever is put, appended, forked, closed, reset, renamed and collected, in whatever order: no blob goes that something shows, and only what nothing shows goes."""

from __future__ import annotations

import os
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import playhead as ph
from playhead import clock
from playhead.errors import PlayheadError
from playhead.store.blobs import digest_of, names_in
from playhead.store.change import DISCARDED, MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.testing.clock import FakeClock
from playhead.testing.stage import note, whole
from tests.postgres import Databases

EXAMPLES = 200 if os.environ.get("PLAYHEAD_SOAK") else 20
DAY = timedelta(days=1)
LIMIT = 1_024

numbers = st.integers(0, 2)
roots = st.sampled_from(["a", "b"])
labels = st.sampled_from([None, None, "x", "x", "y"])
sides = st.sampled_from([None, None, "s"])
places = st.tuples(roots, labels, sides)
steps = st.one_of(
    st.tuples(st.just("put"), numbers),
    st.tuples(st.just("put"), numbers),
    st.tuples(st.just("append"), places, numbers),
    st.tuples(st.just("large"), places, numbers),
    st.tuples(st.just("fork"), places, st.sampled_from("xy"), st.none() | st.integers(0, 4)),
    st.tuples(st.just("close"), places, st.sampled_from([MERGED, DISCARDED])),
    st.tuples(st.just("reset"), places, st.none() | numbers),
    st.tuples(st.just("collect"), roots),
    st.tuples(st.just("rename"), places, st.sampled_from("axy")),
    st.tuples(st.just("gc"), st.booleans()),
)
STORES = {
    "memory": lambda _: ph.InMemoryTapeStore(),
    "sqlite": lambda place: ph.SQLiteTapeStore(place / "tapes.db", durability="process", inline_limit=LIMIT),
    "file": lambda place: ph.FileTapeStore(place / "tapes", durability="process", inline_limit=LIMIT, on_finding=lambda _: None),
}


def small(number: int) -> bytes:
    return b"blob %d" % number


def named(place: tuple[str, str | None, str | None]) -> str:
    root, label, side = place
    name = root if label is None else branch_name(root, label)
    return name if side is None else sidecar_name(name, side)


POSTGRES = {"postgres": lambda url: ph.PostgresTapeStore(url, durability="process", connections=1, inline_limit=LIMIT)}


async def shown(store: Any) -> set[str]:
    """Return the digests that any tape, branch or sidecar shows, after looking at all that they say."""
    found: set[str] = set()
    for root in ("a", "b", "x", "y"):
        for main in (root, *(record.name for record in await store.branches(root))):
            for tape in (main, *(sidecar_name(main, side) for side in await store.sidecars(main))):
                for entry in await whole(store, tape):
                    found |= names_in(repr((entry.payload, entry.meta)).encode())
                    found |= {digest_of(text.encode())} if len(text := entry.payload["text"]) > LIMIT else set()
    return found


async def made(store: Any, step: tuple[Any, ...]) -> None:
    """Make a step; one that cannot be made, as there is no such branch or it is closed, changes nothing."""
    match step:
        case "put", number:
            await store.put_blob(small(number))
        case "append", place, number:
            await store.append_many(named(place), [note(f"see {digest_of(small(number))}")])
        case "large", place, number:
            await store.append_many(named(place), [note(f"{number} " * LIMIT, ref=digest_of(small(number)))])
        case "fork", place, label, at:
            await store.apply([Fork(tape=branch_name(place[0], label), parent=named((place[0], place[1], None)), at=at)])
        case "close", place, outcome:
            branch = named((place[0], place[1], None))
            own = (await whole(store, branch))[-2:] if outcome == MERGED else []
            await store.apply([Append(tape=place[0], entries=own), Close(tape=branch, outcome=outcome)])
        case "reset", place, number:
            await store.apply([Reset(tape=named(place), entries=[] if number is None else [note(digest_of(small(number)))])])
        case "collect", root:
            await store.collect(root, before=clock.now() + DAY)
        case "rename", place, name:
            await store.rename(named((place[0], place[1], None)), name if place[1] is None else branch_name(place[0], name))


async def lived(kind: str, place: Any, history: list[tuple[Any, ...]]) -> None:
    time = FakeClock()
    with clock.using(time):
        async with (STORES | POSTGRES)[kind](place) as one, (STORES | POSTGRES)[kind](place) as other:
            handles = [one, one if kind == "memory" else other]
            for number, step in enumerate(history):
                store = handles[number % 2]
                time.advance(DAY)
                if step[0] != "gc":
                    try:
                        await made(store, step)
                    except PlayheadError:
                        continue
                    continue
                before = {blob.digest for blob in await store.blobs()}
                report = await ph.gc_blobs(store, grace=timedelta(hours=1) if step[1] else 3 * DAY)
                after, needed = {blob.digest for blob in await store.blobs()}, await shown(store)
                assert before & needed <= after <= before
                assert {blob.digest for blob in report.unused} == before - after
                for digest in after:
                    assert digest_of(await store.get_blob(digest)) == digest


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("kind", STORES)
@given(st.lists(steps, min_size=15, max_size=40))
def test_only_what_nothing_shows_is_collected(kind: str, history: list[tuple[Any, ...]]):
    with tempfile.TemporaryDirectory(prefix="playhead-") as place:
        anyio.run(partial(lived, kind, Path(place), [*history, ("gc", True)]))


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(history=st.lists(steps, min_size=15, max_size=30))
def test_only_what_nothing_shows_is_collected_from_a_server(postgres: Databases, history: list[tuple[Any, ...]]):
    with postgres.database() as url:
        anyio.run(partial(lived, "postgres", url, [*history, ("gc", True)]))
