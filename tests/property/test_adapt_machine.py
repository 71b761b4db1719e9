"""Whatever is done to a family, a store of four methods that was made whole shows what our own store in memory shows."""

import os
from datetime import UTC, datetime

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import PlayheadError
from playhead.store.adapt import adapt
from playhead.store.change import DISCARDED, MERGED, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import Head
from playhead.testing.families import shown
from playhead.testing.stage import keyed, note
from playhead.testing.stores import AsyncListStore

EXAMPLES = 1_000 if os.environ.get("PLAYHEAD_SOAK") else 40
LABELS = "abcd"
LATE = datetime(9000, 1, 1, tzinfo=UTC)

places = st.tuples(st.integers(0, 9), st.booleans())
"""A tape or branch by its number among those that are there, and whether its sidecar is meant."""
entries = st.lists(st.tuples(st.sampled_from("xyz"), st.none() | st.sampled_from("kl")), min_size=1, max_size=2)
shifts = st.sampled_from([None, None, 0, 0, 1])
"""How far behind the head that the tape had at the last look an expected head is; none is expected for None."""
changes = st.one_of(
    st.tuples(st.just(Append), places, entries, shifts, st.booleans()),
    st.tuples(st.just(Append), places, entries, shifts, st.booleans()),
    st.tuples(st.just(Reset), places, st.just([]) | entries, shifts, st.booleans()),
    st.tuples(st.just(Fork), places, st.sampled_from(LABELS), st.none() | st.integers(0, 4)),
    st.tuples(st.just(Close), places, st.sampled_from([MERGED, SQUASHED, DISCARDED]), shifts),
)
steps = st.one_of(
    st.tuples(st.just("apply"), st.lists(changes, min_size=1, max_size=4), st.none() | st.tuples(places, st.sampled_from("kl"))),
    st.tuples(st.just("apply"), st.lists(changes, min_size=1, max_size=1), st.none()),
    st.tuples(st.just("append"), places, entries, shifts),
    st.tuples(st.just("reset"), places, st.just([]) | entries, shifts),
    st.tuples(st.just("collect"), places),
    st.tuples(st.just("rename"), places, st.sampled_from([*LABELS, "t", "u"])),
)

BEGINNING = [
    ("append", (0, False), [("x", None), ("y", "k")], None),
    ("append", (0, True), [("x", "k")], None),
    ("apply", [(Fork, (0, False), "a", None)], None),
    ("append", (1, False), [("z", None)], None),
]


def made(rows):
    return [note(text) if key is None else keyed(text, key) for text, key in rows]


class Look:
    """What is there before a step: where numbers point to."""

    def __init__(self, mains, heads):
        self.mains = mains
        self.heads = heads

    def tape(self, place):
        number, is_sidecar = place
        main = self.mains[number % len(self.mains)]
        return sidecar_name(main, "s") if is_sidecar else main

    def head(self, tape, shift):
        found = self.heads.get(tape, Head(0, 0))
        return None if shift is None else found._replace(id=found.id + shift)

    def change(self, kind, place, *rest):
        tape = self.tape(place)
        if kind is Fork:
            return Fork(tape=branch_name("t" if self.mains[0] == "t" else "u", rest[0]), parent=tape, at=rest[1])
        if kind is Close:
            branch = self.mains[1:][place[0] % (len(self.mains) - 1)] if self.mains[1:] else branch_name("t", "none")
            return Close(tape=branch, outcome=rest[0], expected_head=self.head(branch, rest[1]))
        rows, shift, with_marks = rest
        marks = list(range(len(rows))) if with_marks and place[1] else None
        return kind(tape=tape, entries=made(rows), expected_head=self.head(tape, shift), marks=marks)


async def looked(store):
    root = "u" if "u" in await store.list_tapes() and "t" not in await store.list_tapes() else "t"
    mains = [root, *(record.name for record in await store.branches(root))]
    tapes = [*mains, *(sidecar_name(main, "s") for main in mains)]
    return Look(mains, {tape: await store.head(tape) for tape in tapes})


async def done(store, look, step):
    """Do a step and return what came of it: ids, names, or the kind of the error."""
    try:
        match step:
            case "apply", rows, unless:
                stored = await store.apply([look.change(*row) for row in rows], unless=unless and (look.tape(unless[0]), unless[1]))
                return stored and [[entry.id for entry in each] for each in stored]
            case "append", place, rows, shift:
                return [entry.id for entry in await store.append_many(look.tape(place), made(rows), expected_head=look.head(look.tape(place), shift))]
            case "reset", place, rows, shift:
                return [entry.id for entry in await store.reset(look.tape(place), entries=made(rows), expected_head=look.head(look.tape(place), shift))]
            case "collect", place:
                return sorted(await store.collect(look.tape(place), before=LATE))
            case "rename", place, name:
                return await store.rename(look.tape(place), name if name in "tu" else branch_name(look.mains[0], name))
    except PlayheadError as error:
        return type(error)


async def seen(store):
    found = [await store.list_tapes()]
    for root in "tu":
        records = await store.branches(root)
        found.append([(r.name, r.parent, r.base, r.state, r.owner) for r in records])
        for main in (root, *(r.name for r in records)):
            found.append((main, await store.head(main), await shown(store, main)))
            for name in await store.sidecars(main):
                side = sidecar_name(main, name)
                record = await store.branch(side)
                found.append((side, await store.head(side), await shown(store, side), await store.marks(side), record and (record.parent, record.base, record.state)))
    return found


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(steps, max_size=30))
def test_an_adapted_store_shows_what_the_store_in_memory_shows(plan):
    async def go():
        ours, adapted = InMemoryTapeStore(), adapt(AsyncListStore())
        for step in [*BEGINNING, *plan]:
            look = await looked(ours)
            assert await done(adapted, look, step) == await done(ours, look, step), step
            assert await seen(adapted) == await seen(ours), step

    anyio.run(go)
