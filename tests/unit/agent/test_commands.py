from datetime import UTC, datetime, timedelta

import pytest

from playhead import clock
from playhead.agent.answers import content_result
from playhead.agent.commands import command, is_command
from playhead.agent.tape_tools import tape_tools
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import ToolContext, tool
from playhead.entry.message import Media, ToolResult, user
from playhead.testing import FakeClock
from tests.unit.agent.tools_lab import context_on, fresh_tape, run


@tool(name="net.ping")
def ping(host: str, count: int = 1, quiet: bool = False, tags: list[str] | None = None):
    return f"{host} {count} {quiet} {tags}"


async def facts(raw, *tools, context=None):
    entry = await command(raw, toolbox=Toolbox(tools or [ping]), context=context or context_on())
    assert entry.kind == "event" and entry.payload["name"] == "command" and entry.meta["run_id"] == "run-1"
    return entry.payload["data"]


@pytest.mark.parametrize(("prompt", "is_one"), [(",tape.info", True), ("  ,x", True), ("hello, you", False), ("", False)])
def test_a_command_starts_with_a_comma(prompt, is_one):
    assert is_command(prompt) is is_one


def test_a_command_is_recorded_with_all_that_is_known_of_it():
    async def go():
        with clock.using(FakeClock(datetime(2026, 3, 1, tzinfo=UTC))) as time:

            @tool
            async def slow():
                time.advance(timedelta(seconds=2))
                return "done"

            assert await facts(",slow", slow) == {"raw": ",slow", "name": "slow", "status": "ok", "elapsed_ms": 2000, "output": "done", "date": "2026-03-01T00:00:02.000000+00:00"}

    run(go)


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        (",net.ping host=gw", "gw 1 False None"),
        (",net_ping gw", "gw 1 False None"),
        (", net.ping gw count=3 quiet=true", "gw 3 True None"),
        (",net.ping 'the gateway' count=3", "the gateway 3 False None"),
        (",net.ping the gateway", "the gateway 1 False None"),
        (",net.ping host=gw 3", "gw 3 False None"),
        (""",net.ping host="a=b c" tags='["x", "y"]' """, "a=b c 1 False ['x', 'y']"),
        (",net.ping\thost=gw", "gw 1 False None"),
    ],
)
def test_arguments_are_given_by_name_or_in_order(raw, output):
    async def go():
        done = await facts(raw)
        assert (done["status"], done["output"], done["name"], done["raw"]) == ("ok", output, "net.ping", raw)

    run(go)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (",net.ping gw count=many", "[invalid_input] Tool 'net.ping' argument validation failed."),
        (",net.ping gw size=1", "size"),
        (",net.ping", "is missing"),
        (",net.ping 'gw", "close the quotes"),
        (",net.ping host=a count=1 quiet=true tags=[] more", "no argument left for 'more'"),
        (",net.pong", "[not_found] Unknown tool name: net.pong."),
        (",", "there are net.ping"),
    ],
)
def test_a_command_that_cannot_run_is_recorded_as_an_error(raw, said):
    async def go():
        done = await facts(raw)
        assert done["status"] == "error" and said in done["output"]

    run(go)


def test_a_tool_that_fails_is_recorded_as_an_error():
    @tool
    def breaks():
        raise ValueError("bad")

    @tool
    def answers():
        return ToolResult(call_id="", content="no such file", is_error=True)

    async def go():
        done = await facts(",breaks", breaks)
        assert done["status"] == "error" and "Tool 'breaks' execution failed." in done["output"] and "ValueError('bad')" in done["output"]
        assert (await facts(",answers", answers))["output"] == "no such file"
        assert (await facts(",answers", answers))["status"] == "error"

    run(go)


def test_a_line_that_names_no_tool_goes_to_the_shell_tool_where_there_is_one():
    @tool
    def bash(cmd: str, timeout_seconds: int = 10):
        return f"ran {cmd}"

    async def go():
        done = await facts(", git log --oneline 'x", ping, bash)
        assert (done["name"], done["status"], done["output"]) == ("bash", "ok", "ran git log --oneline 'x")
        assert (await facts(",git log", ping))["status"] == "error"

    run(go)


def test_a_command_has_the_context_of_its_run():
    @tool
    async def where(*, context: ToolContext):
        return [context.name, context.run_id, context.state, (await context.tape.info()).entries]

    async def go():
        tape = fresh_tape()
        await tape.append(user("hello"))
        assert (await facts(",where", where, context=context_on(tape, a=1)))["output"] == '["where","run-1",{"a":1},1]'
        assert "1 matches" in (await facts(",tape.search hello limit=5", *tape_tools(), context=context_on(tape)))["output"]

    run(go)


def test_no_media_lands_in_the_record_of_a_command():
    @tool
    def look():
        return content_result("seen", Media(kind="image", mime="image/png", data="aGVsbG8="), Media(kind="video", url="https://example.org/v.mp4"))

    async def go():
        output = (await facts(",look", look))["output"]
        assert output.startswith("seen\n[image not kept: image/png, 5 bytes, ") and "aGVsbG8=" not in output and "https://example.org/v.mp4" in output

    run(go)
