"""Who reads a run's events: slowly, never, twice, from elsewhere, or not to the end."""

import gc
import warnings

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.agent import Agent
from playhead.agent.events import ErrorEvent, TextEvent
from playhead.agent.stream import BUFFER
from playhead.agent.tools import tool
from playhead.entry.entry import event_name
from playhead.errors import InvalidInput, ModelUnavailable, PlayheadError, StoreError, StoreUnavailable
from playhead.model.scripted import ScriptedModel, call
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape import background
from tests.unit.agent.runs_lab import ping, shape, turn
from tests.unit.agent.trouble import Points, TroubledStore

pytestmark = pytest.mark.parametrize("backend", ["asyncio", "trio"])
WORDS = 3 * BUFFER


def run(function, backend):
    async def within_time():
        with anyio.fail_after(20):
            await function()
        await anyio.lowlevel.checkpoint()
        assert background._running == set()

    anyio.run(within_time, backend=backend)


def wordy(spoken):
    async def words(request):
        for n in range(WORDS):
            spoken.append(n)
            yield f"{n} "
            await anyio.lowlevel.checkpoint()

    return ScriptedModel([words, "Next."])


async def settled(spoken):
    """Wait until the model says no more."""
    before = -1
    while before != len(spoken):
        before = len(spoken)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()


async def is_mended(agent, tape="t"):
    """Return whether the tape has no open branch and the next run goes on with it."""
    await turn(agent, "And now?", ScriptedModel(["Now."]), tape=tape)
    return not any(record.is_open for record in await agent.tape(tape).branches())


def test_a_reader_that_stops_holds_the_run_back_and_gets_the_rest_when_it_goes_on(backend):
    async def go():
        agent, spoken = Agent(), []
        async with agent.run("Talk", model=wordy(spoken), tape="t") as stream:
            first = await anext(stream)
            await settled(spoken)
            assert len(spoken) < BUFFER + 10
            rest = [event.delta async for event in stream if isinstance(event, TextEvent)]
        assert "".join([first.delta, *rest]) == "".join(f"{n} " for n in range(WORDS))

    run(go, backend)


@pytest.mark.parametrize("read", [0, 1, 5, BUFFER + 1])
def test_a_reader_that_leaves_ends_the_run_however_full_its_buffer_is(backend, read):
    async def go():
        agent, spoken = Agent(), []
        async with agent.run("Talk", model=wordy(spoken), tape="t") as stream:
            for _ in range(read):
                await anext(stream)
            await settled(spoken)
        entries = await agent.tape("t").query().all()
        kept = "".join(e.payload["content"] for e in entries if e.meta.get("partial"))
        assert kept == "".join(f"{n} " for n in spoken) and await is_mended(agent)
        assert [event async for event in stream] == []

    run(go, backend)


def test_a_run_that_fails_while_nobody_reads_is_left_without_a_wait(backend):
    async def go():
        agent, spoken = Agent(), []

        async def fails(request):
            for n in range(BUFFER):
                spoken.append(n)
                yield f"{n} "
            raise ModelUnavailable("gone", model="m")

        async with agent.run("Talk", model=ScriptedModel([fails]), tape="t") as stream:
            await anext(stream)
            await settled(spoken)
        assert "error" in shape(await agent.tape("t").query().all()) and await is_mended(agent)

    run(go, backend)


def test_a_stream_that_is_closed_elsewhere_ends_for_its_reader_and_every_closer_waits_for_the_merge(backend):
    async def go():
        agent = Agent()
        has_begun = anyio.Event()

        async def hang(request):
            yield "I begin"
            await anyio.sleep_forever()

        stream = await agent.start("Talk", model=ScriptedModel([hang]), tape="t")
        seen, merged = [], []

        async def read():
            async for event in stream:
                seen.append(event.kind)
                has_begun.set()

        async def close():
            await stream.aclose()
            merged.append(stream.report is not None)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await has_begun.wait()
            tasks.start_soon(close)
            tasks.start_soon(close)
        assert seen == ["text"] and merged == [True, True] and await is_mended(agent)

    run(go, backend)


def test_a_run_that_is_closed_while_it_waits_for_the_tape_does_not_open(backend):
    async def go():
        agent = Agent(lock=True)
        first = await agent.start("Hi", model=ScriptedModel(["Hello."]), tape="t")
        second = agent.run("Hi", model=ScriptedModel(["Hello."]), tape="t")
        failed = []

        async def read():
            try:
                await second.text()
            except InvalidInput as exc:
                failed.append(exc.message)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await second.aclose()
            await first.aclose()
        assert "has ended" in failed[0] and await is_mended(agent)

    run(go, backend)


def test_a_tool_may_close_the_stream_of_its_own_run(backend):
    async def go():
        @tool
        async def stop() -> str:
            """Stop the run."""
            await stream.aclose()
            await anyio.lowlevel.checkpoint()
            return "never"

        agent = Agent(tools=[stop])
        async with agent.run("Stop", model=ScriptedModel([call("stop")]), tape="t") as stream:
            kinds = [event.kind async for event in stream]
        assert kinds[-1] == "tool_call" and await is_mended(agent)
        assert [e.payload["data"]["status"] for e in await agent.tape("t").query().kinds("event").all() if event_name(e) == "loop.step"] == ["cancelled", "ok"]

    run(go, backend)


def test_a_stream_that_is_over_has_no_more_events_and_still_knows_its_answer(backend):
    async def go():
        async with Agent().run("Hi", model=ScriptedModel(["Hello."]), tape="t") as stream:
            assert await stream.text() == "Hello."
            assert [event async for event in stream] == [] and await stream.text() == "Hello."
        assert await stream.text() == "Hello."
        async with Agent(tools=[ping]).run("Hi", model=ScriptedModel([["I look.", call("ping", host="a")], ModelUnavailable("Down.")]), tape="t") as failing:
            with pytest.raises(ModelUnavailable):
                await failing.text()
            assert await failing.text() == ""

    run(go, backend)


def test_two_readers_of_one_stream_share_its_events(backend):
    async def go():
        agent, spoken, heard = Agent(), [], []

        async def read():
            heard.extend([int(event.delta) async for event in stream if isinstance(event, TextEvent)])

        async with agent.run("Talk", model=wordy(spoken), tape="t") as stream, anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(read)
        assert sorted(heard) == list(range(WORDS)) and await is_mended(agent)

    run(go, backend)


def test_a_stream_that_nobody_entered_is_merged_when_its_events_are_over(backend):
    async def go():
        agent = Agent(lock=True)
        assert await agent.run("Hi", model=ScriptedModel(["Hello."]), tape="t").text() == "Hello."
        with pytest.raises(ModelUnavailable):
            await agent.run("Hi", model=ScriptedModel([ModelUnavailable("busy", model="m")]), tape="t").text()
        assert await is_mended(agent)

    run(go, backend)


def test_a_stream_that_is_forgotten_is_warned_of_and_merged_by_the_next_run(backend):
    async def go():
        agent = Agent()
        stream = await agent.start("Hi", model=ScriptedModel(["Hello."]), tape="t")
        assert await stream.text() == "Hello."
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            del stream
            gc.collect()
        assert any("never closed" in str(warning.message) for warning in seen)
        assert await is_mended(agent)
        assert [m.text for m in await agent.tape("t").read_messages()] == ["Hi", "Hello.", "And now?", "Now."]

    run(go, backend)


def test_an_exception_in_the_block_passes_and_the_run_is_merged(backend):
    async def go():
        agent = Agent()

        async def leave():
            async with agent.run("Talk", model=wordy([]), tape="t") as stream:
                await anext(stream)
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            await leave()
        assert await is_mended(agent) and "message user" in shape(await agent.tape("t").query().all())

    run(go, backend)


def test_an_error_is_known_to_the_stream_also_where_nobody_read_it(backend):
    async def go():
        agent = Agent()
        async with agent.run("Hi", model=ScriptedModel([["One.", ModelUnavailable("busy", model="m")]]), tape="t") as stream:
            await anext(stream)
            await anyio.wait_all_tasks_blocked()
        assert isinstance(stream.error, ModelUnavailable)

    run(go, backend)


def test_two_runs_of_one_agent_are_two_streams(backend):
    async def go():
        agent, texts = Agent(), {}

        async def one(n):
            async with agent.run(f"q{n}", model=ScriptedModel([f"a{n}"]), tape=f"t{n}") as stream:
                texts[n] = await stream.text()

        async with anyio.create_task_group() as tasks:
            for n in range(5):
                tasks.start_soon(one, n)
        assert texts == {n: f"a{n}" for n in range(5)}

    run(go, backend)


def test_a_store_that_fails_from_some_call_on_is_a_typed_error_and_nothing_hangs(backend):
    async def go():
        def gone():
            raise StoreUnavailable("the disk is gone")

        for at in range(1, 40, 3):
            points = Points(at, trouble=gone, stays=True)
            agent = Agent(store=TroubledStore(InMemoryTapeStore(), points), tools=[ping])
            points.is_on = True
            try:
                await turn(agent, "Up?", ScriptedModel([call("ping", host="gw"), "It is up."]))
            except PlayheadError as exc:
                assert isinstance(exc, StoreError)
            points.is_on = False
            assert await is_mended(agent)

    run(go, backend)


def test_the_error_event_comes_behind_the_words_and_the_error_is_raised_where_they_are_read(backend):
    async def go():
        seen = []

        async def read():
            async with Agent().run("Hi", model=ScriptedModel([["One ", "two", ModelUnavailable("busy", model="m")]]), tape="t") as stream:
                while True:
                    seen.append(await anext(stream))

        with pytest.raises(ModelUnavailable):
            await read()
        assert [type(event) for event in seen] == [TextEvent, TextEvent, ErrorEvent]

    run(go, backend)
