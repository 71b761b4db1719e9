import threading
from datetime import timedelta

import anyio
import anyio.lowlevel
import pytest

from playhead import clock
from playhead.agent.answers import content_result
from playhead.agent.calling import answered
from playhead.agent.decisions import Deny, Proceed, Replace
from playhead.agent.hooks import Hooks
from playhead.agent.toolbox import Toolbox
from playhead.agent.tools import ToolContext, tool
from playhead.entry.message import Media, Text, ToolCall, ToolResult
from playhead.errors import InvalidInput, NotFound, ToolFailed
from playhead.testing import FakeClock
from tests.unit.agent.tools_lab import answer, context_on, run, told

PICTURE = Media(kind="image", mime="image/png", data="aGk=")


@tool
def double(n: int) -> int:
    return 2 * n


class Plugin:
    """A plug-in with the two hooks of tools, as given."""

    def __init__(self, before=None, after=None):
        self._before, self._after = before, after

    def before_tool_call(self, call, context):
        return self._before(call, context) if self._before else None

    def after_tool_call(self, outcome, context):
        if self._after:
            self._after(outcome, context)


def test_a_call_becomes_a_result_under_its_id():
    async def go():
        done = await answer(double, "double", {"n": 4})
        assert done.result == ToolResult(call_id="c1", content="8", name="double")
        assert (done.value, done.error, done.call.name) == (8, None, "double")

    run(go)


def test_a_tool_knows_which_call_it_answers():
    seen = []

    @tool(name="net.ping")
    def ping(*, context: ToolContext):
        seen.append((context.run_id, context.call_id, context.name, context.state))

    async def go():
        context = context_on(request="r-7")
        await answer(ping, "net_ping", context=context)
        assert seen == [("run-1", "c1", "net.ping", {"request": "r-7"})]
        assert seen[0][3] is context.state

    run(go)


def test_arguments_that_cannot_be_read_are_told_to_the_model():
    async def go():
        done = await answer(double, "double", problem="The arguments are no JSON object: unexpected end.")
        assert told(done) == {"kind": "invalid_input", "message": "The arguments are no JSON object: unexpected end.", "details": {"tool": "double"}}
        assert isinstance(done.error, InvalidInput) and done.value is None

    run(go)


def test_wrong_arguments_are_told_one_by_one():
    async def go():
        said = told(await answer(double, "double", {"n": "four", "m": 1}))
        assert said["kind"] == "invalid_input" and said["message"] == "Tool 'double' argument validation failed."
        assert set(said["details"]) == {"n", "m"}

    run(go)


def test_an_unknown_tool_is_told_with_names_that_are_like_it():
    async def go():
        done = await answer(double, "doubel")
        assert told(done)["message"] == "Unknown tool name: doubel. Similar names: double." and isinstance(done.error, NotFound)

    run(go)


def test_a_tool_that_raises_is_told_and_the_turn_goes_on():
    @tool
    def breaks():
        raise KeyError("host")

    async def go():
        done = await answer(breaks, "breaks")
        assert told(done) == {"kind": "tool", "message": "Tool 'breaks' execution failed.", "details": {"tool": "breaks", "error": "KeyError('host')"}}
        assert isinstance(done.error.__cause__, KeyError)

    run(go)


def test_a_tool_that_hangs_is_told_as_one():
    release = threading.Event()

    @tool(timeout=0.05)
    def hangs():
        release.wait(20)

    async def go():
        said = told(await answer(hangs, "hangs"))
        assert "took longer than 0.05 seconds" in said["message"] and said["details"]["timeout"] == 0.05
        release.set()

    run(go)


def test_a_cancelled_call_leaves_no_answer():
    @tool
    async def waits():
        await anyio.sleep_forever()

    async def go():
        with anyio.move_on_after(0.02) as scope:
            await answer(waits, "waits")
        assert scope.cancelled_caught

    run(go)


def test_how_long_a_call_took_is_told():
    async def go():
        with clock.using(FakeClock()) as time:

            @tool
            async def slow():
                time.advance(timedelta(seconds=2))

            assert (await answer(slow, "slow")).elapsed_ms == 2000

    run(go)


def test_an_error_that_a_tool_answers_with_stays_one():
    @tool
    def read():
        return ToolResult(call_id="", content="no such file", is_error=True)

    async def go():
        done = await answer(read, "read")
        assert done.result == ToolResult(call_id="c1", content="no such file", is_error=True, name="read") and done.error is None

    run(go)


# -- hooks


def test_a_hook_changes_the_arguments_before_they_are_checked():
    async def go():
        done = await answer(double, "double", {"n": "?"}, plugins=[Plugin(before=lambda call, _: Proceed({"n": 5}))])
        assert done.result.content == "10" and done.call.arguments == {"n": "?"}

    run(go)


def test_a_hook_answers_for_the_tool_even_for_one_that_is_unknown():
    async def go():
        for name in ("double", "nowhere"):
            done = await answer(double, name, plugins=[Plugin(before=lambda call, _: Replace(content_result("cached", PICTURE)))])
            assert done.result == ToolResult(call_id="c1", content=(Text(text="cached"), PICTURE), name=name)

    run(go)


def test_a_hook_denies_a_call_and_the_model_is_told_why():
    ran = []

    @tool
    def charge():
        ran.append(1)

    async def go():
        said = told(await answer(charge, "charge", plugins=[Plugin(before=lambda call, _: Deny("not on Sundays"))]))
        assert said == {"kind": "tool", "message": "Tool 'charge' was denied: not on Sundays", "details": {"tool": "charge", "denied": True}}
        assert ran == []

    run(go)


def test_a_hook_sees_every_outcome_and_may_change_it():
    seen = []

    def after(outcome, context):
        seen.append((outcome.call.name, outcome.result.is_error, outcome.value, type(outcome.error)))

    async def go():
        await answer(double, "double", {"n": 1}, plugins=[Plugin(after=after)])
        await answer(double, "double", {}, plugins=[Plugin(after=after)])
        await answer(double, "nowhere", plugins=[Plugin(after=after)])
        await answer(double, "double", problem="broken", plugins=[Plugin(after=after)])
        assert seen == [("double", False, 2, type(None)), ("double", True, None, InvalidInput), ("nowhere", True, None, NotFound), ("double", True, None, InvalidInput)]

    run(go)


@pytest.mark.parametrize(
    ("assigned", "content"),
    [
        ("shorter", "shorter"),
        ({"a": 1}, '{"a":1}'),
        (ToolResult(call_id="", content="whole"), "whole"),
        (content_result("seen", PICTURE), (Text(text="seen"), PICTURE)),
    ],
)
def test_what_a_hook_assigns_is_what_the_model_sees(assigned, content):
    def after(outcome, context):
        outcome.result = assigned

    async def go():
        done = await answer(double, "double", {"n": 1}, plugins=[Plugin(after=after)])
        assert done.result == ToolResult(call_id="c1", content=content, name="double")

    run(go)


def test_a_hook_makes_an_error_good_and_cannot_break_the_tape():
    def mended(outcome, context):
        outcome.result = ToolResult(call_id="", content="fine")

    def broken(outcome, context):
        outcome.result = ToolResult(call_id="", content=(Media(kind="image", data=b"png"),))

    async def go():
        done = await answer(double, "double", {}, plugins=[Plugin(after=mended)])
        assert (done.result.content, done.result.is_error, done.error) == ("fine", False, None)
        said = told(await answer(double, "double", {"n": 1}, plugins=[Plugin(after=broken)]))
        assert "a part that cannot be kept" in said["message"]

    run(go)


# -- approval


async def yes(call, context):
    return True


async def no(call, context):
    return False


async def why(call, context):
    return "too expensive"


@pytest.mark.parametrize(
    ("approve", "denied"), [(None, "it needs an approval, which it did not get"), (no, "it needs an approval, which it did not get"), (why, "too expensive")], ids=["nobody", "no", "reason"]
)
def test_a_call_that_needs_an_approval_runs_only_with_one(approve, denied):
    ran = []

    @tool(needs_approval=True)
    def charge(euros: int):
        ran.append(euros)

    async def go():
        done = await answer(charge, "charge", {"euros": 5}, approve=approve)
        assert told(done)["message"] == f"Tool 'charge' was denied: {denied}" and isinstance(done.error, ToolFailed)
        assert ran == []
        await answer(charge, "charge", {"euros": 5}, approve=yes)
        assert ran == [5]

    run(go)


def test_whoever_approves_is_asked_only_where_it_is_needed_and_with_the_arguments_that_run():
    asked = []

    async def approve(call, context):
        asked.append((call.arguments["euros"], context.name))
        return True

    async def expensive(call, context):
        return call.arguments["euros"] > 100

    @tool(needs_approval=expensive)
    def charge(euros: int):
        return "paid"

    @tool(needs_approval=lambda call, context: context.state.get("strict", False))
    def look():
        return "seen"

    async def go():
        for euros in (5, 500):
            assert (await answer(charge, "charge", {"euros": euros}, approve=approve)).result.content == "paid"
        await answer(charge, "charge", {"euros": 5}, approve=approve, plugins=[Plugin(before=lambda call, _: Proceed({"euros": 101}))])
        assert asked == [(500, "charge"), (101, "charge")]
        assert (await answer(look, "look")).result.content == "seen"
        assert (await answer(look, "look", context=context_on(strict=True))).result.is_error

    run(go)


def test_wrong_arguments_are_put_before_nobody():
    async def approve(call, context):
        raise AssertionError

    @tool(needs_approval=True)
    def charge(euros: int):
        pass

    async def go():
        assert told(await answer(charge, "charge", {"euros": "x"}, approve=approve))["kind"] == "invalid_input"

    run(go)


def test_where_nobody_can_decide_the_call_does_not_run(caplog):
    async def breaks(call, context):
        raise OSError("no line")

    def unsure(call, context):
        raise ValueError("unsure")

    async def go():
        assert "could not be decided (OSError('no line'))" in told(await answer(tool(lambda: 1, name="a", needs_approval=True), "a", approve=breaks))["message"]
        assert "could not be decided (ValueError('unsure'))" in told(await answer(tool(lambda: 1, name="a", needs_approval=unsure), "a", approve=yes))["message"]

    run(go)
    assert len(caplog.records) == 2


# -- size


def test_a_result_is_made_to_fit_last_and_errors_too():
    async def shrink(result, context):
        return ToolResult(call_id=result.call_id, content=f"{len(result.content)} characters of {context.name}", is_error=result.is_error, name=result.name)

    def after(outcome, context):
        outcome.result = "four"

    async def go():
        done = await answer(double, "double", {"n": 1}, plugins=[Plugin(after=after)], shrink=shrink)
        assert (done.result.content, done.value) == ("4 characters of double", "four")
        failed = await answer(double, "double", {}, shrink=shrink)
        assert failed.result.is_error and failed.result.content.endswith("characters of double")

    run(go)


def test_a_result_that_could_not_be_made_to_fit_is_never_sent_whole(caplog):
    async def shrink(result, context):
        raise OSError("disk full")

    async def go():
        said = told(await answer(double, "double", {"n": 1}, shrink=shrink))
        assert said["message"] == "Tool 'double' ran, but its result could not be made to fit." and said["details"]["error"] == "OSError('disk full')"

    run(go)
    assert len(caplog.records) == 1


def test_calls_of_one_step_run_at_the_same_time():
    met = []

    @tool
    async def meets(name: str, *, context: ToolContext):
        met.append(name)
        while len(met) < 3:
            await anyio.lowlevel.checkpoint()
        return name

    async def go():
        box, answers = Toolbox([meets]), {}

        async def one(id):
            answers[id] = await answered(ToolCall(id=id, name="meets", arguments={"name": id}), toolbox=box, context=context_on(), hooks=Hooks())

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for id in "abc":
                    tasks.start_soon(one, id)
        assert {id: a.result.content for id, a in answers.items()} == {"a": "a", "b": "b", "c": "c"}

    run(go)
