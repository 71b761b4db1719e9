import threading
from functools import partial

import anyio
import pytest

from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import Tool, ToolContext, tool
from playhead.errors import AnchorNotFound, InvalidInput, InvalidTool, NotFound, ToolFailed
from tests.unit.agent.tools_lab import context_on, fresh_tape, run


@tool(context=True)
async def add_order_note(note: str, *, context: ToolContext) -> str:
    """Add a note to the current order."""
    await context.tape.append_event("order.note", {"text": note, "request_id": context.state.get("request_id")})
    return "Noted."


def test_a_tool_writes_business_facts_to_the_tape_it_is_given():
    async def go():
        tape = fresh_tape()
        assert await add_order_note.run({"note": "fragile"}, context=context_on(tape, request_id="r-7")) == "Noted."
        (event,) = await tape.query().kinds("event").all()
        assert event.payload == {"name": "order.note", "data": {"text": "fragile", "request_id": "r-7"}}

    run(go)


def test_the_context_is_no_argument_of_the_model():
    assert add_order_note.parameters["properties"] == {"note": {"type": "string"}}
    assert add_order_note.needs_context and add_order_note.description == "Add a note to the current order."


def test_a_parameter_annotated_as_the_context_suffices():
    @tool
    def where(*, here: ToolContext) -> str:
        return here.tape.name

    async def go():
        assert await where.run({}, context=context_on()) == "t"

    run(go)


def test_a_parameter_called_context_suffices_where_the_tool_says_so():
    @tool(context=True)
    def where(context):
        return context.tape.name

    async def go():
        assert await where.run({}, context=context_on()) == "t"

    run(go)
    assert where.parameters["properties"] == {}


def test_a_tool_that_says_it_has_a_context_and_has_none_is_a_type_error():
    def plain(note: str):
        pass

    with pytest.raises(TypeError, match="'plain' cannot be a tool: it is declared with context=True but has no parameter for it"):
        tool(plain, context=True)


def test_a_context_tool_run_without_one_is_refused():
    async def go():
        with pytest.raises(InvalidInput, match=r"Tool 'add_order_note' requires context but none was provided\."):
            await add_order_note.run({"note": "x"})

    run(go)


def test_a_context_with_a_default_may_be_missing():
    @tool
    def where(*, context: ToolContext | None = None):
        return context

    async def go():
        assert not where.needs_context and await where.run({}) is None

    run(go)


def test_a_tool_is_still_the_function_it_was():
    @tool
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8
    assert tool(double.function, name="times.two").model_name == "times_two"


def test_a_tool_of_a_method_a_partial_and_an_object_that_is_called():
    class Adder:
        """Not what the tool is for."""

        def __init__(self, by):
            self.by = by

        def add(self, n: int) -> int:
            """Add a number."""
            return n + self.by

        async def __call__(self, n: int) -> int:
            return n + self.by

    def add(n: int, by: int = 1) -> int:
        """Add two."""
        return n + by

    async def go():
        for made in (tool(Adder(2).add), tool(Adder(2)), tool(partial(add, by=2))):
            assert await made.run({"n": 1}) == 3
        assert [t.name for t in (tool(Adder(2).add), tool(Adder(2)), tool(partial(add, by=2)))] == ["add", "Adder", "add"]
        assert [t.description for t in (tool(Adder(2).add), tool(Adder(2)), tool(partial(add, by=2)))] == ["Add a number.", "", "Add two."]

    run(go)


@pytest.mark.parametrize("name", ["", "two words", "9lives", "x" * 65, "a/b"])
def test_a_name_that_providers_do_not_take_is_refused(name):
    with pytest.raises(InvalidTool, match="pass name="):
        Tool(name=name, description="", function=print, signature=add_order_note.signature)
    with pytest.raises(InvalidTool, match="pass name="):
        tool(lambda: None)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout):
    with pytest.raises(InvalidTool, match="seconds above 0"):
        tool(add_order_note.function, timeout=timeout)


def test_a_function_that_yields_is_refused():
    def rows():
        yield 1

    async def more():
        yield 1

    for function in (rows, more):
        with pytest.raises(InvalidTool, match="it yields"):
            tool(function)


def test_a_function_that_is_not_async_runs_in_a_thread():
    @tool
    def thread() -> int:
        return threading.get_ident()

    async def go():
        assert await thread.run({}) != threading.get_ident()

    run(go)


def test_what_a_tool_raises_is_a_tool_error_with_its_repr():
    @tool
    def sync():
        raise ValueError("bad host")

    @tool
    async def asynchronous():
        raise ValueError("bad host")

    @tool
    def stops():
        raise StopIteration

    @tool
    def leaves():
        raise SystemExit(3)

    async def go():
        for made, shown in [(sync, "ValueError('bad host')"), (asynchronous, "ValueError('bad host')"), (stops, "StopIteration()"), (leaves, "SystemExit(3)")]:
            with pytest.raises(ToolFailed, match=f"Tool '{made.name}' execution failed") as caught:
                await made.run({})
            assert shown in str(caught.value.details["error"]) and caught.value.kind == "tool"

    run(go)


def test_errors_of_playhead_pass_as_they_are():
    @tool
    async def look(*, context: ToolContext):
        return await context.tape.query().after_anchor("nowhere").all()

    async def go():
        with pytest.raises(AnchorNotFound):
            await look.run({}, context=context_on())

    run(go)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_tool_that_hangs_is_stopped_in_time_in_a_thread_or_not(backend):
    release = threading.Event()

    @tool(timeout=0.05)
    def hangs():
        release.wait(20)

    @tool(timeout=0.05)
    async def waits():
        await anyio.sleep_forever()

    @tool(timeout=5)
    async def raises():
        raise TimeoutError("its own")

    async def go():
        for made in (hangs, waits):
            with pytest.raises(ToolFailed, match=r"took longer than 0\.05 seconds") as caught:
                await made.run({})
            assert caught.value.details["timeout"] == 0.05
        release.set()
        with pytest.raises(ToolFailed, match="execution failed"):
            await raises.run({})

    anyio.run(go, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_run_cancels_its_tools(backend):
    release, seen = threading.Event(), []

    @tool
    def hangs():
        release.wait(20)

    @tool
    async def waits():
        try:
            await anyio.sleep_forever()
        finally:
            seen.append("stopped")

    async def go():
        for made in (hangs, waits):
            with anyio.move_on_after(0.05) as scope:
                await made.run({})
            assert scope.cancelled_caught
        release.set()
        assert seen == ["stopped"]

    anyio.run(go, backend=backend)


def test_a_cancellation_that_a_tool_raises_itself_is_its_failure():
    import asyncio

    @tool
    async def waits_for_what_was_cancelled():
        task = asyncio.get_running_loop().create_task(asyncio.sleep(60))
        task.cancel()
        await task

    async def go():
        with pytest.raises(ToolFailed, match="execution failed"):
            await waits_for_what_was_cancelled.run({})

    run(go)


def test_a_cancelled_task_of_asyncio_stays_cancelled():
    import asyncio

    @tool
    async def waits():
        await asyncio.sleep(60)

    async def go():
        task = asyncio.ensure_future(waits.run({}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())


def test_threads_that_hang_leave_those_of_the_host_alone():
    release = threading.Event()

    @tool(timeout=0.2)
    def hangs():
        release.wait(20)

    async def fails():
        with pytest.raises(ToolFailed):
            await hangs.run({})

    async def go():
        async with anyio.create_task_group() as tasks:
            for _ in range(70):
                tasks.start_soon(fails)
        assert await anyio.to_thread.run_sync(lambda: "free") == "free"
        release.set()

    run(go)


def test_a_toolbox_finds_tools_by_both_names_and_keeps_their_order():
    def ping():
        """Ping."""

    box = Toolbox([tool(ping, name="net.ping"), add_order_note, ping])
    assert list(box) == ["net.ping", "add_order_note", "ping"] and len(box) == 3
    assert box.find("net_ping") is box.find("net.ping") is box["net.ping"]
    assert [spec.name for spec in box.specs] == ["net_ping", "add_order_note", "ping"]
    assert box.specs[0].description == "Ping."


def test_an_unknown_name_suggests_up_to_three_that_are_like_it():
    def made(name):
        return tool(lambda: None, name=name)

    box = Toolbox(map(made, ["tape.search", "tape.searches", "tape.research", "tape.seared", "unlike"]))
    with pytest.raises(NotFound, match=r"Unknown tool name: Tape_serch\. Similar names: tape_search, ") as caught:
        box.find("Tape_serch")
    assert len(caught.value.details["similar"]) == 3 and "unlike" not in caught.value.details["similar"]
    with pytest.raises(NotFound) as caught:
        box.find("xyz")
    assert caught.value.message == "Unknown tool name: xyz."


def test_two_tools_that_a_model_could_not_tell_apart_are_refused():
    def made(name):
        return tool(lambda: None, name=name)

    with pytest.raises(InvalidTool, match=r"'a_b' cannot be a tool: a model would see it under the name of 'a\.b'"):
        Toolbox([made("a.b"), made("a_b")])
    with pytest.raises(InvalidTool, match=r"'a\.b' cannot be a tool: another tool has that name"):
        Toolbox([made("a.b"), made("a.b")])
    with pytest.raises(InvalidTool, match=r"\] 'ping' cannot be a tool: it is not a function"):
        Toolbox(["ping"])  # type: ignore[list-item]
