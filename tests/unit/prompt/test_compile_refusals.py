from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.message import assistant, system, user
from playhead.errors import AnchorNotFound, InvalidInput, InvalidPlan, OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.prompt import Prompt
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.prompt.strategy import Need
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import default_tape_context

WIDE = Budget(max_tokens=100_000)


def run(function):
    return anyio.run(function)


def texts(prompt):
    return [m.text for m in prompt.messages]


async def talk(count, *, words=30):
    tape = Tape(InMemoryTapeStore(), "t")
    for i in range(count):
        await tape.append(user(f"question {i} " + "word " * words) if i % 2 == 0 else assistant(f"answer {i} " + "word " * words))
    return tape


def test_a_message_larger_than_the_budget_is_refused_with_the_numbers():
    async def go():
        tape = await talk(2)
        await tape.append(user("word " * 5_000))
        with pytest.raises(OverBudgetError, match=r"newest user message \(entry 3\).*budget") as caught:
            await compile(tape, Budget(max_tokens=1_000, reserve_for_response=100))
        assert caught.value.needed > caught.value.room
        dry = await compile(tape, Budget(max_tokens=1_000, reserve_for_response=100), dry_run=True)
        assert dry.messages == () and dry.over_budget is not None and dry.over_budget.what == caught.value.what

    run(go)


def test_injections_that_fill_the_budget_are_refused():
    async def go():
        tape = await talk(1)
        with pytest.raises(OverBudgetError, match="The injections"):
            await compile(tape, Budget(max_tokens=100, reserve_for_response=0), injections=[Injection(namespace="x", content="word " * 500)])
        with pytest.raises(InvalidInput, match="position"):
            Injection(namespace="x", content="y", position="nowhere")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            await compile(tape, WIDE, injections=["text"])  # type: ignore[list-item]

    run(go)


def test_a_strategy_of_ones_own_only_plans():
    class LastTen:
        def plan(self, units, *, budget, state):
            return units.keep(units[-10:], reason="older than the last ten")

    async def go():
        prompt = await compile(await talk(30), WIDE, strategy=LastTen())
        assert len(prompt.messages) == 10
        assert [(s.form, s.count, s.reason) for s in prompt.plan.spans] == [("omitted", 20, "older than the last ten"), ("raw", 10, "fits")]
        assert prompt.provenance.strategy == "LastTen"

    run(go)


def test_a_strategy_says_what_it_needs_loaded():
    @dataclass
    class Ends:
        def need(self, *, budget, state):
            return Need(head_tokens=100, tail_tokens=100)

        def plan(self, units, *, budget, state):
            return units.keep(units, reason="the middle")

    async def go():
        prompt = await compile(await talk(2_000), WIDE, strategy=Ends())
        assert texts(prompt)[0].split()[1] == "0"
        assert [(s.form, s.reason) for s in prompt.plan.spans] == [("raw", "fits"), ("omitted", "the middle"), ("raw", "fits")]
        assert sum(s.count for s in prompt.plan.spans) == 2_000

    run(go)


@pytest.mark.parametrize("returned", [None, "plan", 3])
def test_a_strategy_that_returns_no_plan_is_refused(returned):
    class Odd:
        def plan(self, units, *, budget, state):
            return returned

    async def go():
        with pytest.raises(InvalidPlan, match="Odd returned"):
            await compile(await talk(2), WIDE, strategy=Odd())

    run(go)


def test_a_strategy_that_loses_a_message_is_refused():
    class Loser:
        def plan(self, units, *, budget, state):
            plan = units.keep(units, reason="x")
            return replace(plan, spans=plan.spans[:-1])

    async def go():
        with pytest.raises(InvalidPlan, match="loses"):
            await compile(await talk(2), WIDE, strategy=Loser())

    run(go)


def test_an_unknown_anchor_is_named():
    async def go():
        tape = await talk(2)
        with pytest.raises(AnchorNotFound, match="'nope'"):
            await compile(tape.with_context(replace(default_tape_context(), anchor="nope")), WIDE)

    run(go)


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1])
def test_a_windows_jump_is_a_share_of_the_budget(share):
    with pytest.raises(InvalidInput):
        WindowedPassthroughStrategy(jump_to=share)


def test_concurrent_compiles_on_one_handle_show_every_message_once():
    async def go():
        tape = await talk(50)
        await compile(tape, WIDE)
        other = Tape(tape.store, "t")
        await other.append_many([user(f"late {i}") for i in range(500)])
        found: list[Prompt] = []

        async def one() -> None:
            found.append(await compile(tape, WIDE))

        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(one)
        for prompt in found:
            uids = [u for s in prompt.provenance.sources for u in s.uids]
            assert len(uids) == len(set(uids)) == 550

    run(go)


def test_compiles_that_race_a_reset_never_mix_two_lives_of_a_tape():
    async def go():
        store = InMemoryTapeStore()
        tape, other = Tape(store, "t"), Tape(store, "t")
        stop = False

        async def reset() -> None:
            nonlocal stop
            for life in range(30):
                await other.reset()
                await other.append_many([user(f"life {life}") for _ in range(5)])
                await anyio.lowlevel.checkpoint()
            stop = True

        async with anyio.create_task_group() as group:
            group.start_soon(reset)
            while not stop:
                prompt = await compile(tape, WIDE)
                assert len({m.text for m in prompt.messages}) <= 1
                await anyio.lowlevel.checkpoint()

    run(go)


def test_system_messages_that_do_not_fit_are_refused_not_dropped():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append_many([system("word " * 2_000), user("hi")])
        with pytest.raises(OverBudgetError, match="with the system messages before it"):
            await compile(tape, Budget(max_tokens=1_000, reserve_for_response=0))

    run(go)


def test_a_refusal_says_what_takes_the_budget():
    async def go():
        tape = await talk(1, words=3_000)
        with pytest.raises(OverBudgetError) as caught:
            await compile(tape, Budget(max_tokens=1_200, reserve_for_response=200), injections=[Injection(namespace="x", content="brief")])
        error = caught.value
        assert error.budget == 1_200 and error.taken["response"] == 200 and error.taken["injections"] > 0
        assert error.room == 1_200 - sum(error.taken.values())
        assert "200 for the response" in error.message and error.details["taken"] == error.taken

    run(go)


def test_a_strategy_is_told_what_it_wanted_to_remember():
    class Counting:
        def __init__(self):
            self.seen = []

        def plan(self, units, *, budget, state):
            self.seen.append(state)
            return units.keep(units, reason="x", state=(state or 0) + 1)

    async def go():
        tape, strategy = await talk(2), Counting()
        for dry in (False, True, False):
            await compile(tape, WIDE, strategy=strategy, dry_run=dry)
        assert strategy.seen == [None, 1, 1]
        await compile(Tape(tape.store, "t"), WIDE, strategy=strategy)
        assert strategy.seen[-1] is None

    run(go)


def test_a_strategy_that_hides_the_newest_message_is_refused_unless_it_says_that_it_may():
    class Blind:
        def plan(self, units, *, budget, state):
            return units.keep(units[:-1], reason="x")

    class Knowing(Blind):
        may_hide_newest = True

    async def go():
        tape = await talk(3)
        with pytest.raises(InvalidPlan, match="newest unit"):
            await compile(tape, WIDE, strategy=Blind())
        assert len((await compile(tape, WIDE, strategy=Knowing())).messages) == 2

    run(go)


@pytest.mark.parametrize(("budget", "strategy"), [(5_000, None), (None, object()), (None, WindowedPassthroughStrategy), ("big", None)])
def test_a_budget_and_a_strategy_of_another_type_are_refused_by_name(budget, strategy):
    async def go():
        with pytest.raises(InvalidInput, match=r"Budget\(|plan\("):
            await compile(await talk(1), budget, strategy=strategy)

    run(go)


def test_a_strategy_that_fails_is_named_and_keeps_its_cause():
    class Broken:
        def plan(self, units, *, budget, state):
            return 1 / 0

    async def go():
        with pytest.raises(InvalidPlan, match="Broken failed with ZeroDivisionError") as caught:
            await compile(await talk(1), WIDE, strategy=Broken())
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    run(go)


def test_keep_takes_units_of_the_view_alone():
    class Confused:
        def plan(self, units, *, budget, state):
            return units.keep([m for u in units for m in u.messages], reason="x")

    async def go():
        with pytest.raises(InvalidPlan, match="keep takes units"):
            await compile(await talk(2), WIDE, strategy=Confused())

    run(go)


def test_a_view_of_a_note_alone_that_does_not_fit_is_refused():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "word " * 2_000})
        with pytest.raises(OverBudgetError, match="opens with"):
            await compile(tape, Budget(max_tokens=500, reserve_for_response=0))

    run(go)


def test_compilers_that_share_a_handle_never_keep_text_of_an_earlier_life():
    async def go():
        store = InMemoryTapeStore()
        tape, other, stop = Tape(store, "t"), Tape(store, "t"), False

        async def compiler() -> None:
            while not stop:
                await compile(tape, WIDE)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(compiler)
            for life in range(40):
                await other.reset()
                await other.append_many([user(f"life {life}") for _ in range(5)])
                await anyio.lowlevel.checkpoint()
            stop = True
        assert {m.text for m in (await compile(tape, WIDE)).messages} == {"life 39"}

    run(go)
