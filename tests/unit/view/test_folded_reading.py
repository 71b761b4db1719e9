"""What need not be loaded is not: runs of entries become gaps, and only what lies beside them is read, once."""

from __future__ import annotations

from random import Random

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidInput
from playhead.prompt.strategy import Need
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.pieces import read_piece
from playhead.view.pipe import Selected
from playhead.view.projection import MINIMAL
from playhead.view.runs import folded_runs, runs_between
from playhead.view.selectors import keep_last, mask
from playhead.view.tail import Tail, TailKey, Tails
from playhead.view.tokens import default_counter


def run(function):
    return anyio.run(function)


class Watched:
    """A store that notes how many entries each query returned."""

    def __init__(self, store):
        self.store = store
        self.read = []

    def __getattr__(self, name):
        return getattr(self.store, name)

    async def fetch_all(self, query):
        found = await self.store.fetch_all(query)
        self.read.append(len(found))
        return found


async def talk(count, *, context=None):
    store = Watched(InMemoryTapeStore())
    tape = Tape(store, "t", context=context or default_tape_context())
    tape._reader._known.store = store
    await tape.append_many([user(f"m{i}") if i % 2 else assistant(f"m{i}") for i in range(1, count + 1)])
    return tape, store


def gaps(units):
    return [(g.first, g.last, g.count, g.at) for g in units.gaps]


def ids(units):
    return [u.first for u in units]


def test_folded_runs_are_gaps_and_touching_ones_are_one():
    async def go():
        tape, _ = await talk(100)
        units = await tape.read(folded=[(41, 50), (11, 30), (31, 40), (61, 90)])
        assert gaps(units) == [(11, 50, 40, 10), (61, 90, 30, 20)]
        assert ids(units) == [*range(1, 11), *range(51, 61), *range(91, 101)] and units.end == 100

    run(go)


def test_runs_that_do_not_lie_in_the_view_are_loaded():
    async def go():
        tape, _ = await talk(20)
        await tape.handoff("phase", state={"summary": "S"})
        await tape.append_many(user(f"n{i}") for i in range(10))
        units = await tape.read(folded=[(1, 10), (15, 25), (24, 26), (30, 33), (31, 40)])
        assert gaps(units) == [(24, 26, 3, 2)] and ids(units) == [0, 23, *range(27, 33)]
        assert units[0].kind == "note" and units.before.id == 21

    run(go)


def test_only_what_is_beside_the_folds_is_read_and_only_once():
    async def go():
        tape, store = await talk(20_000)
        folded = [(11, 9_000), (9_011, 19_900)]
        store.read.clear()
        units = await tape.read(folded=folded)
        assert len(units) == 120 and sum(store.read) < 200
        store.read.clear()
        again = await tape.read(folded=folded)
        assert sum(store.read) <= 1 and [a is b for a, b in zip(units, again, strict=True)] == [True] * 120
        await tape.append(user("more"))
        store.read.clear()
        assert len(await tape.read(folded=folded)) == 121 and sum(store.read) <= 2

    run(go)


def test_a_fold_that_grows_reads_nothing_that_is_remembered():
    async def go():
        tape, store = await talk(2_000)
        await tape.read(folded=[(11, 1_500)])
        store.read.clear()
        units = await tape.read(folded=[(11, 1_800)])
        assert len(units) == 210 and sum(store.read) <= 1

    run(go)


def test_a_room_stops_the_reading_in_one_more_gap():
    async def go():
        tape, _ = await talk(1_000)
        folded = [(11, 400), (431, 500), (531, 990)]
        left = list(await tape.read(folded=folded))
        for count in range(1, len(left)):
            units = await tape.read(folded=folded, tail_tokens=sum(u.tokens for u in left[-count:]))
            assert ids(units) == ids(left[-count - 1 :])
            older = [(1, units[0].first - 1)] if units[0].first > 1 else []
            assert [g[:2] for g in gaps(units)] == [*older, *(fold for fold in folded if fold[0] > units[0].first)]
        units = await tape.read(folded=folded, tail_tokens=sum(u.tokens for u in left[-12:]))
        assert gaps(units) == [(1, 527, 527, 0), (531, 990, 460, 3)]

    run(go)


def test_the_head_goes_up_to_the_first_fold():
    async def go():
        tape, _ = await talk(200)
        price = (await tape.read_range(1, 1))[0].tokens
        units = await tape.read(folded=[(11, 100), (111, 190)], tail_tokens=0, head_tokens=5 * price)
        assert ids(units) == [*range(1, 6), 200] and gaps(units) == [(6, 199, 194, 5)]
        units = await tape.read(folded=[(11, 100), (111, 190)], tail_tokens=0, head_tokens=5_000)
        assert ids(units) == [*range(1, 11), 200] and gaps(units) == [(11, 199, 189, 10)]
        units = await tape.read(folded=[(1, 100)], tail_tokens=0, head_tokens=5_000)
        assert ids(units) == [200] and gaps(units) == [(1, 199, 199, 0)]

    run(go)


def test_what_the_view_opens_with_is_loaded_whatever_is_folded():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "S"})
        await tape.append_many([system("Be brief."), system("Be kind."), *(user(f"m{i}") for i in range(20))])
        ignored = await tape.read(folded=[(4, 20)])
        assert gaps(ignored) == [] and ignored.lead == 3
        units = await tape.read(folded=[(5, 20)])
        assert [u.kind for u in units[: units.lead]] == ["message", "message", "note"] and gaps(units) == [(5, 20, 16, 3)]
        short = await tape.read(folded=[(5, 20)], tail_tokens=0)
        assert [u.kind for u in short[: short.lead]] == ["message", "message", "note"] and gaps(short) == [(5, 23, 19, 3)]

    run(go)


def test_a_view_that_is_folded_to_its_end_or_whole_is_a_gap():
    async def go():
        tape, _ = await talk(50)
        assert gaps(await tape.read(folded=[(1, 50)])) == [(1, 50, 50, 0)]
        units = await tape.read(folded=[(11, 50)])
        assert gaps(units) == [(11, 50, 40, 10)] and len(units) == 10
        assert gaps(await tape.read(folded=[(11, 50)], tail_tokens=1))[0][:2] == (1, 9)

    run(go)


def test_a_late_result_of_a_round_in_another_run_is_hidden_with_its_reason():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append_many([user("go"), assistant(calls=[ToolCall(id="a", name="f")]), *(user(f"m{i}") for i in range(10)), tool_result_message("a", "A"), user("end")])
        units = await tape.read(folded=[(1, 10)])
        assert [(h.id, h.reason) for h in units.hidden] == [(13, "its call is before what was read")] and ids(units) == [11, 12, 14]
        assert units.plan([("raw", "fits")] * 3, unread="folded").check() is None

    run(go)


def test_pipes_see_the_runs_that_are_loaded():
    async def go():
        tape, _ = await talk(30)
        await tape.append(user("sk-1"))
        masked = tape.with_context(TapeContext(select=mask(r"sk-\d|m5$")))
        units = await masked.read(folded=[(11, 25)])
        assert [u.messages[0].text for u in units if u.how] == ["[masked]", "[masked]"] and gaps(units) == [(11, 25, 15, 10)]

    run(go)


def test_where_a_step_stops_early_everything_older_is_one_gap_with_that_reason():
    async def go():
        tape, _ = await talk(60)
        last = tape.with_context(TapeContext(anchor=None, select=keep_last(3)))
        units = await last.read(folded=[(11, 40), (51, 56)])
        assert gaps(units) == [(1, 40, 40, 0), (51, 56, 6, 2)] and ids(units) == [49, 50, 57, 58, 59, 60]
        assert [g.reason for g in units.gaps] == ["older than the last 3 turns", None]
        assert [(h.id, h.reason) for h in units.hidden] == [(i, "older than the last 3 turns") for i in range(41, 49)]
        near = await last.read(folded=[(11, 40)])
        assert [(g.first, g.last, g.reason) for g in near.gaps] == [(1, 40, "older than the last 3 turns")]
        far = await tape.with_context(TapeContext(anchor=None, select=keep_last(12))).read(folded=[(11, 40)])
        assert [(g.first, g.last, g.reason) for g in far.gaps] == [(11, 40, None)] and ids(far)[0] == 7

    run(go)


def test_what_showed_nothing_before_a_step_stopped_is_in_the_gap_alone():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None, select=keep_last(2)))
        await tape.append_many([TapeEntry.event("tick"), user("a"), user("b"), user("c")])
        units = await tape.read(folded=[(2, 2)])
        assert ids(units) == [3, 4] and gaps(units) == [(1, 2, 2, 0)] and units.hidden == ()

    run(go)


def test_a_step_that_leaves_nothing_leaves_one_gap_before_the_newest_run():
    class Nothing:
        name = "nothing"

        def apply(self, units, *, counter):
            return Selected(units=(), until="nobody wants it")

    async def go():
        tape, _ = await talk(30)
        units = await tape.with_context(TapeContext(select=Nothing())).read(folded=[(11, 20)])
        assert len(units) == 0 and [(g.first, g.last, g.reason) for g in units.gaps] == [(1, 20, "nobody wants it")]

    run(go)


def test_a_selector_of_ones_own_gets_the_whole_view():
    async def go():
        tape, _ = await talk(30)
        seen = []
        units = await tape.with_context(TapeContext(select=lambda entries, context: seen.append(len(entries)) or [e.payload for e in entries])).read(folded=[(2, 20)])
        assert seen == [30] and len(units) == 30 and units.gaps == ()

    run(go)


def test_two_contexts_and_cuts_on_one_handle_do_not_disturb_each_other():
    async def go():
        tape, store = await talk(3_000)
        lean = tape.with_context(TapeContext(anchor=None))
        for _ in range(3):
            for handle, folded in ((tape, [(11, 2_900)]), (lean, [(11, 2_800)]), (tape, []), (lean, [])):
                assert len(await handle.read(folded=folded)) == 3_000 - sum(last - first + 1 for first, last in folded)
        store.read.clear()
        await lean.read(folded=[(11, 2_800)])
        await tape.read(folded=[(11, 2_900)])
        assert sum(store.read) <= 2

    run(go)


class Yielding:
    """A store that lets others go on before and after every query."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        method = getattr(self.store, name)
        if name not in ("fetch_all", "head", "find"):
            return method

        async def call(*args, **named):
            await anyio.lowlevel.checkpoint()
            found = await method(*args, **named)
            await anyio.lowlevel.checkpoint()
            return found

        return call


@pytest.mark.parametrize("seed", range(5))
def test_readers_at_once_on_one_handle_see_what_each_would_see_alone(seed):
    chance, store = Random(seed), InMemoryTapeStore()
    folds = [[], [(11, 300)], [(11, 200), (221, 390)], [(2, 350)]]

    async def go():
        plain = Tape(store, "t", context=TapeContext(anchor=None))
        said = await plain.append_many(user(f"m{i}") for i in range(400))
        tape = Tape(store, "t", context=TapeContext(anchor=None))
        tape._reader.store = tape._reader._known.store = Yielding(store)
        found = []

        async def read():
            for _ in range(10):
                how = {"folded": chance.choice(folds), "tail_tokens": chance.choice([None, 30, 500]), "head_tokens": chance.choice([0, 60])}
                at = chance.choice([None, 250, 395])
                units = await (tape if at is None else tape.at(at)).read(**how)
                found.append((units, how))

        async def write():
            for _ in range(10):
                change = {"target": chance.choice(said).uid, "content": f"changed {chance.random()}"}
                await plain.append(chance.choice([user("more"), TapeEntry(0, AMEND, change)]))
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            for task in (read, read, read, write):
                group.start_soon(task)
        for units, how in found:
            alone = await Tape(store, "t", context=TapeContext(anchor=None)).at(units.end).read(**how)
            assert ([(u.ids, u.messages) for u in units], units.gaps, units.hidden) == ([(u.ids, u.messages) for u in alone], alone.gaps, alone.hidden)

    run(go)


@pytest.mark.parametrize("odd", [5, "12", [(1,)], [(0, 5)], [(5, 4)], [(1, 2.0)], [(True, 2)], [None], [("1", "2")]])
def test_folded_holds_pairs_of_entry_ids(odd):
    async def go():
        tape, _ = await talk(3)
        with pytest.raises(InvalidInput, match="pairs of entry ids"):
            await tape.read(folded=odd)

    run(go)
    with pytest.raises(InvalidInput, match="pairs of entry ids"):
        Need(folded=odd)
    assert Need(folded=[(1, 2), [4, 9]]).folded == ((1, 2), (4, 9))


def test_runs_are_joined_and_what_is_between_them_is_left():
    assert folded_runs([(30, 40), (3, 9), (10, 12), (5, 11), (1, 4), (38, 60)], start=2, end=50) == [(3, 12), (30, 40)]
    assert runs_between([(3, 12), (30, 40)], start=2, end=50) == [(2, 2), (13, 29), (41, 50)]
    assert runs_between([(2, 50)], start=2, end=50) == [] == runs_between([], start=1, end=0)


class TestRange:
    def test_a_range_is_the_units_of_its_entries_as_the_context_shows_them(self):
        async def go():
            tape, _ = await talk(50)
            whole = await tape.read()
            found = await tape.read_range(11, 20)
            assert [(u.ids, u.messages, u.tokens) for u in found] == [(u.ids, u.messages, u.tokens) for u in whole[10:20]]
            assert ids(await tape.read_range(45, 99)) == [45, 46, 47, 48, 49, 50]
            assert ids(await tape.at(47).read_range(45, 99)) == [45, 46, 47] and await tape.read_range(60, 99) == ()
            masked = tape.with_context(TapeContext(select=mask(r"m12")))
            assert [u.messages[0].text for u in await masked.read_range(11, 13)] == ["m11", "[masked]", "m13"]

        run(go)

    def test_a_range_may_lie_before_the_anchor_that_the_view_starts_behind(self):
        async def go():
            tape, _ = await talk(10)
            await tape.handoff("phase", state={"summary": "S"})
            await tape.append(user("now"))
            assert ids(await tape.read_range(3, 5)) == [3, 4, 5] and ids(await tape.read()) == [0, 13]

        run(go)

    def test_of_what_a_selector_of_ones_own_makes_a_range_holds_what_lies_in_it(self):
        async def go():
            tape, _ = await talk(10)
            own = tape.with_context(TapeContext(select=lambda entries, context: [user("made up"), *[e.payload for e in entries if e.id != 4]]))
            assert ids(await own.read_range(3, 6)) == [3, 5, 6]

        run(go)

    @pytest.mark.parametrize("odd", [(0, 3), (5, 4), ("1", 2), (1, None)])
    def test_a_range_is_two_entry_ids(self, odd):
        async def go():
            tape, _ = await talk(3)
            with pytest.raises(InvalidInput, match="pairs of entry ids"):
                await tape.read_range(*odd)

        run(go)


def test_very_many_tails_are_forgotten_oldest_first():
    counter, tails = default_counter(), Tails()

    def tail(first, count):
        key = TailKey(projection=MINIMAL, counter=counter.name, generation=0, first=first, last=first + count - 1, orphan="", amend=0)
        built = Tail(key, counter=counter, first=first, is_whole=True)
        built.add([TapeEntry(first + i, "message", {"role": "user", "content": "x"}) for i in range(count)], read=lambda e: read_piece(e, counter=counter))
        return built

    kept = [tail(1 + 6_000 * n, 5_000) for n in range(4)]
    for one in kept:
        tails.keep(one)
    assert [tails.get(t.key, end=t.last) is t for t in kept] == [False, True, True, True]
