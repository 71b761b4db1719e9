"""Hooks: who is asked first, what a plug-in may change, and what becomes of its failures."""

import logging
from contextlib import asynccontextmanager, contextmanager

import anyio
import anyio.lowlevel
import pytest

from playhead.agent.decisions import Deny, Finish, Proceed, Replace, RunFacts, ToolOutcome
from playhead.agent.hooks import Hooks
from playhead.agent.plugins import HOOKS
from playhead.entry.message import Text, ToolCall, ToolResult, assistant, user
from playhead.errors import BadPlugin, ModelUnavailable, PlayheadError, StoreUnavailable, ToolFailed
from playhead.model.protocol import ModelRequest, Reply
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.sidecar import TapeSidecar
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext

ASKED = ModelRequest(messages=(user("Hello."),))
CALL = ToolCall(id="c1", name="ping", arguments={"host": "gw"})
NO_CONTEXT = None


class Plugin:
    """A plug-in out of functions: `Plugin(before_llm_call=lambda request: ...)`."""

    def __init__(self, **methods):
        self.__dict__.update(methods)


def facts(**known):
    known = {"run_id": "r", "tape": Tape(InMemoryTapeStore(), "t"), "model": "scripted:a", "prompt": user("Hello."), "state": {}, **known}
    return RunFacts(**known)


def answer(function, *arguments, **named):
    async def go():
        return await function(*arguments, **named)

    return anyio.run(go)


def raising(error):
    def hook():
        raise error

    return hook


def test_without_plugins_every_hook_does_nothing():
    async def main():
        hooks = Hooks()
        assert hooks.context() is None
        assert hooks.store() is None
        assert await hooks.open_store() is None
        assert hooks.sidecars() == ()
        await hooks.task_start(facts())
        await hooks.step_start(facts())
        assert await hooks.continue_prompt({}) is None
        assert await hooks.admit(user("Hi."), {}) == "process"
        assert await hooks.before_llm_call(ASKED, {}) is ASKED
        await hooks.after_llm_call(ASKED, None, ValueError("no"), {})
        assert await hooks.before_tool_call(CALL, NO_CONTEXT) == Proceed(CALL.arguments)
        outcome = ToolOutcome(call=CALL, result=ToolResult(call_id="c1", content="ok"))
        await hooks.after_tool_call(outcome, NO_CONTEXT)
        assert outcome.result.content == "ok"
        await hooks.aclose()
        assert hooks.store() is None

    anyio.run(main)


def test_every_hook_may_be_sync_or_async_and_asks_by_name_for_what_it_needs():
    seen = []

    class Everything:
        def build_tape_context(self):
            return TapeContext()

        async def provide_tape_store(self):
            return InMemoryTapeStore()

        def provide_tape_sidecar(self):
            return TapeSidecar("notes")

        async def admit(self, state):
            seen.append(("admit", state))
            return "steer"

        async def task_start(self, run):
            seen.append(("task_start", run.step))

        def step_start(self, run):
            seen.append(("step_start", run.step))

        def before_llm_call(self, state, request):
            seen.append(("before_llm_call", request is ASKED))

        async def after_llm_call(self, **told):
            seen.append(("after_llm_call", sorted(told)))

        async def before_tool_call(self, call):
            return Proceed({**call.arguments, "count": 1})

        def after_tool_call(self, outcome, context=None):
            outcome.result = "pong"

        async def continue_prompt(self):
            return "Go on."

    async def main():
        hooks, run = Hooks([Everything()]), facts()
        assert isinstance(hooks.context(), TapeContext)
        assert isinstance(await hooks.open_store(), InMemoryTapeStore)
        assert [s.name for s in hooks.sidecars()] == ["notes"]
        assert await hooks.admit(user("Hi."), {"a": 1}) == "steer"
        await hooks.task_start(run)
        await hooks.step_start(run)
        assert await hooks.before_llm_call(ASKED, {}, run=run) is ASKED
        await hooks.after_llm_call(ASKED, Reply(message=assistant("Hi.")), None, {}, run=run)
        assert await hooks.before_tool_call(CALL, NO_CONTEXT) == Proceed({"host": "gw", "count": 1})
        outcome = ToolOutcome(call=CALL, result=ToolResult(call_id="c1", content="ok"))
        await hooks.after_tool_call(outcome, NO_CONTEXT)
        assert outcome.result == ToolResult(call_id="c1", content="pong")
        assert await hooks.continue_prompt({}) == "Go on."

    anyio.run(main)
    assert [name for name, _ in seen] == ["admit", "task_start", "step_start", "before_llm_call", "after_llm_call"]
    assert seen[0][1] == {"a": 1}
    assert seen[-1][1] == sorted(HOOKS["after_llm_call"])


def test_the_last_registered_is_asked_first_and_each_gets_what_the_one_before_it_made():
    def adding(word):
        return Plugin(before_llm_call=lambda request: ModelRequest(messages=(*request.messages, user(word))))

    request = answer(Hooks([adding("first"), adding("second")]).before_llm_call, ASKED, {})
    assert [m.text for m in request.messages] == ["Hello.", "second", "first"]
    assert ASKED.messages == (user("Hello."),)


def test_what_comes_after_a_call_is_told_in_the_order_of_registration():
    seen = []
    plugins = [Plugin(after_llm_call=lambda word=word: seen.append(word), after_tool_call=lambda outcome, word=word: seen.append(word)) for word in ("first", "second")]

    async def main():
        await Hooks(plugins).after_llm_call(ASKED, None, ModelUnavailable("busy"), {})
        await Hooks(plugins).after_tool_call(ToolOutcome(call=CALL, result=ToolResult(call_id="c1")), NO_CONTEXT)

    anyio.run(main)
    assert seen == ["first", "second", "first", "second"]


def test_a_finish_ends_the_chain():
    asked = []
    hooks = Hooks([Plugin(before_llm_call=lambda request: asked.append(request.messages)), Plugin(before_llm_call=lambda: Finish("Done."))])
    assert answer(hooks.before_llm_call, ASKED, {}) == Finish("Done.")
    assert asked == []


def test_a_call_proceeds_is_replaced_or_denied():
    def decided(*plugins):
        return answer(Hooks(plugins).before_tool_call, CALL, NO_CONTEXT)

    narrower = Plugin(before_tool_call=lambda call: Proceed({**call.arguments, "count": 1}))
    wary = Plugin(before_tool_call=lambda call: Deny(f"not with {dict(call.arguments)}"))
    assert decided(wary, narrower) == Deny("not with {'host': 'gw', 'count': 1}")
    assert decided(narrower, Plugin(before_tool_call=lambda: Replace({"up": True}))) == Replace({"up": True})
    assert decided(narrower) == Proceed({"host": "gw", "count": 1})


def test_a_hook_that_raises_is_logged_and_skipped_and_is_no_veto(caplog):
    broken = Plugin(
        admit=raising(ValueError("oops")),
        task_start=raising(ValueError("oops")),
        step_start=raising(ToolFailed("oops", tool="x")),
        before_llm_call=raising(ModelUnavailable("oops")),
        after_llm_call=raising(ValueError("oops")),
        before_tool_call=raising(ValueError("oops")),
        after_tool_call=raising(ValueError("oops")),
        continue_prompt=raising(ValueError("oops")),
        provide_tape_sidecar=raising(ValueError("oops")),
    )
    sound = Plugin(
        admit=lambda: "drop",
        before_llm_call=lambda: Finish("Done."),
        before_tool_call=lambda: Deny("no"),
        continue_prompt=lambda: "Go on.",
        provide_tape_sidecar=lambda: TapeSidecar("notes"),
    )

    async def main():
        hooks = Hooks([sound, broken])
        assert await hooks.admit(user("Hi."), {}) == "drop"
        await hooks.task_start(facts())
        await hooks.step_start(facts())
        assert await hooks.before_llm_call(ASKED, {}) == Finish("Done.")
        await hooks.after_llm_call(ASKED, None, ValueError("no"), {})
        assert await hooks.before_tool_call(CALL, NO_CONTEXT) == Deny("no")
        await hooks.after_tool_call(ToolOutcome(call=CALL, result=ToolResult(call_id="c1")), NO_CONTEXT)
        assert await hooks.continue_prompt({}) == "Go on."
        assert [s.name for s in hooks.sidecars()] == ["notes"]

    anyio.run(main)
    failures = [record for record in caplog.records if record.name == "playhead"]
    assert len(failures) == 9
    assert all("Plugin failed and is skipped" in record.getMessage() and record.exc_info for record in failures)


def test_answers_that_are_none_of_a_hooks_are_logged_and_skipped(caplog):
    wrong = Plugin(admit=lambda: "perhaps", before_llm_call=lambda: "request", before_tool_call=lambda: False, continue_prompt=lambda: 7)

    async def main():
        hooks = Hooks([wrong])
        assert await hooks.admit(user("Hi."), {}) == "process"
        assert await hooks.before_llm_call(ASKED, {}) is ASKED
        assert await hooks.before_tool_call(CALL, NO_CONTEXT) == Proceed(CALL.arguments)
        assert await hooks.continue_prompt({}) is None
        unstorable = Hooks([Plugin(before_tool_call=lambda: Proceed({"host": object()}))])
        assert await unstorable.before_tool_call(CALL, NO_CONTEXT) == Proceed(CALL.arguments)

    anyio.run(main)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 5


def test_a_cancellation_passes_through_a_hook():
    async def main():
        hooks = Hooks([Plugin(before_llm_call=anyio.sleep_forever)])
        with anyio.move_on_after(0.01) as scope:
            await hooks.before_llm_call(ASKED, {})
        assert scope.cancelled_caught

    anyio.run(main)


def test_a_run_may_be_aborted_when_it_starts():
    hooks = Hooks([Plugin(task_start=raising(PlayheadError("quota", "Out of credit.")))])
    with pytest.raises(PlayheadError, match="Out of credit"):
        answer(hooks.task_start, facts())


def test_assigning_the_result_of_an_outcome_changes_what_is_seen_and_an_error_stays_one():
    outcome = ToolOutcome(call=CALL, result=ToolResult(call_id="c1", content="secret", is_error=True, name="ping"), value=None, error=ToolFailed("secret", tool="ping"))
    outcome.result = "[hidden]"
    assert outcome.result == ToolResult(call_id="c1", content="[hidden]", is_error=True, name="ping")
    assert outcome.value == "[hidden]"
    outcome.result = {"up": True}
    assert outcome.result.content == '{"up":true}'
    outcome.result = [Text(text="up")]
    assert outcome.result.content == (Text(text="up"),)
    outcome.result = ToolResult(call_id="another", content="up")
    assert outcome.result == ToolResult(call_id="c1", content="up")
    assert outcome.value == "up"


def test_a_context_is_built_by_the_last_registered_that_builds_one():
    first, second = TapeContext(), TapeContext()
    assert Hooks([Plugin(build_tape_context=lambda: first), Plugin(build_tape_context=lambda: second), Plugin(build_tape_context=lambda: None)]).context() is second


def test_anything_but_a_context_is_a_type_error():
    async def late():
        return TapeContext()

    for wrong in (lambda: {"anchor": None}, late):
        with pytest.raises(TypeError, match=r"hook\.build_tape_context must return TapeContext"):
            Hooks([Plugin(build_tape_context=wrong)]).context()
    with pytest.raises(ZeroDivisionError):
        Hooks([Plugin(build_tape_context=raising(ZeroDivisionError()))]).context()


def test_each_plugin_mounts_a_sidecar_and_of_two_with_one_name_the_last_registered_counts():
    asked = []

    def providing(sidecar):
        return Plugin(provide_tape_sidecar=lambda: asked.append(sidecar) or sidecar)

    first, second, other = TapeSidecar("notes"), TapeSidecar("notes"), TapeSidecar("spill")
    hooks = Hooks([providing(first), providing(other), providing(second), Plugin(provide_tape_sidecar=lambda: None)])
    assert hooks.sidecars() == (second, other)
    assert hooks.sidecars() is hooks.sidecars()
    assert len(asked) == 3


def test_what_is_no_sidecar_is_logged_and_skipped(caplog):
    async def late():
        return TapeSidecar("late")

    hooks = Hooks([Plugin(provide_tape_sidecar=lambda: TapeSidecar("notes")), Plugin(provide_tape_sidecar=object), Plugin(provide_tape_sidecar=late)])
    assert [s.name for s in hooks.sidecars()] == ["notes"]
    assert len(caplog.records) == 2


def test_without_its_provider_a_sidecar_is_not_mounted_but_what_it_kept_stays():
    async def main():
        store = InMemoryTapeStore()
        with_notes = Tape(store, "t", sidecars=Hooks([Plugin(provide_tape_sidecar=lambda: TapeSidecar("notes"))]).sidecars())
        await with_notes.sidecar("notes").append_event("noted", 1)
        without = Tape(store, "t", sidecars=Hooks().sidecars())
        assert without.get_sidecar("notes") is None
        assert [e.payload["data"] for e in await without.sidecar("notes").query().all()] == [1]

    anyio.run(main)


def test_a_context_manager_that_gives_a_store_is_entered_once_and_left_when_the_agent_closes():
    told = []

    @asynccontextmanager
    async def asynchronous():
        told.append("open")
        yield InMemoryTapeStore()
        told.append("closed")

    @contextmanager
    def blocking():
        told.append("open")
        yield InMemoryTapeStore()
        told.append("closed")

    async def late():
        return asynchronous()

    async def main(provide):
        hooks = Hooks([Plugin(provide_tape_store=provide)])
        if provide is not blocking:
            with pytest.raises(StoreUnavailable, match="must be waited for"):
                hooks.store()
        stores = []

        async def opens():
            stores.append(await hooks.open_store())

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(opens)
        assert len({id(store) for store in stores}) == 1
        assert isinstance(stores[0], InMemoryTapeStore)
        assert hooks.store() is stores[0]
        assert told == ["open"]
        await hooks.aclose()
        await hooks.aclose()
        assert told == ["open", "closed"]
        with pytest.raises(StoreUnavailable, match="closed with its agent"):
            hooks.store()
        with pytest.raises(StoreUnavailable, match="closed with its agent"):
            await hooks.open_store()
        told.clear()

    for provide in (asynchronous, blocking, late):
        anyio.run(main, provide)


def test_a_store_that_needs_no_waiting_is_there_at_once_and_what_is_entered_is_left():
    class Closable(InMemoryTapeStore):
        closed = 0

        async def aclose(self):
            self.closed += 1
            await super().aclose()

    class Four:
        def list_tapes(self): ...
        def reset(self, tape): ...
        def fetch_all(self, query): ...
        def append(self, tape, entry): ...

    async def main():
        store = Closable()
        hooks = Hooks([Plugin(provide_tape_store=lambda: None), Plugin(provide_tape_store=lambda: store)])
        assert hooks.store() is store
        assert await hooks.open_store() is store
        await hooks.aclose()
        assert store.closed == 1
        four = Four()
        assert Hooks([Plugin(provide_tape_store=lambda: four)]).store() is four
        assert Hooks([Plugin(provide_tape_store=lambda: None)]).store() is None

    anyio.run(main)


def test_a_store_hook_that_fails_or_gives_no_store_is_not_passed_over():
    async def main():
        with pytest.raises(BadPlugin, match="must return a store"):
            await Hooks([Plugin(provide_tape_store=lambda: "sqlite:///a.db")]).open_store()
        with pytest.raises(BadPlugin, match="must return a store"):
            Hooks([Plugin(provide_tape_store=lambda: 7)]).store()
        with pytest.raises(OSError, match="unplugged"):
            await Hooks([Plugin(provide_tape_store=raising(OSError("unplugged")))]).open_store()

    anyio.run(main)


def test_a_store_that_is_being_opened_is_waited_for_and_not_asked_for_again():
    asked, entered = [], anyio.Event()

    class Slow(InMemoryTapeStore):
        async def __aenter__(self):
            entered.set()
            await anyio.lowlevel.checkpoint()
            return await super().__aenter__()

    def provide():
        asked.append(Slow())
        return asked[-1]

    async def main():
        hooks = Hooks([Plugin(provide_tape_store=provide)])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hooks.open_store)
            await entered.wait()
            with pytest.raises(StoreUnavailable, match="being opened"):
                hooks.store()
        assert hooks.store() is asked[0]
        assert len(asked) == 1
        await hooks.aclose()

    anyio.run(main)
