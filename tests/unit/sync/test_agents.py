"""Agents, runs, inboxes, models and stores without `await`."""

from __future__ import annotations

import threading

import pytest

import playhead as ph
from playhead import sync
from playhead.testing import ScriptedModel, call


def kinds(events: object) -> list[str]:
    return [event.kind for event in events]  # type: ignore[attr-defined]


@ph.tool(context=True)
def note(text: str, *, context: ph.ToolContext) -> str:
    """Write a note beside the conversation; a blocking function, which makes blocking calls."""
    sync.Tape.of(context.tape).append_event("noted", {"text": text})
    return "noted"


def test_a_run_is_iterated_and_its_tools_make_blocking_calls():
    with sync.Agent("Be brief.", tools=[note]) as agent:
        with agent.run("Remember A123.", model=ScriptedModel([call("note", text="A123"), "Done."]), tape="t") as stream:
            assert isinstance(stream.tape, sync.Branch)
            assert kinds(stream) == ["final", "tool_call", "tool_result", "text", "final"]
            assert stream.error is None
        assert stream.report is not None
        assert stream.report.parent == "t"
        tape = agent.tape("t")
        assert [e.payload["data"]["text"] for e in tape.query().kinds("event") if e.payload["name"] == "noted"] == ["A123"]
        assert [m.role for m in tape.read_messages()] == ["user", "assistant", "tool", "assistant"]


def test_a_run_says_its_words_at_once_or_as_they_come():
    agent = sync.Agent()
    with agent.run("One?", model=ScriptedModel([["a", "b"]]), tape="t") as stream:
        assert list(stream.text_deltas()) == ["a", "b"]
    with agent.run("Two?", model=ScriptedModel([["c", "d", ph.Usage(input=3, output=2)]]), tape="t") as stream:
        assert stream.text() == "cd"
        assert stream.usage.total == 5
        assert list(stream) == []


def test_a_run_that_is_left_early_is_ended_and_merged():
    agent = sync.Agent()
    with agent.run("Count.", model=ScriptedModel([["one ", "two ", "three"]]), tape="t") as stream:
        for event in stream:
            assert event.data["delta"] == "one "
            break
    assert stream.report is not None
    assert agent.tape("t").read_messages()[0].text == "Count."


def test_what_a_run_raises_is_raised_in_the_loop_over_its_events():
    agent = sync.Agent()
    with agent.run("Up?", model=ScriptedModel([ph.ModelRefused("No.")]), tape="t") as stream, pytest.raises(ph.ModelRefused):
        list(stream)
    assert isinstance(stream.error, ph.ModelRefused)


def test_a_run_is_cancelled_from_another_thread():
    heard, may_go_on = threading.Event(), threading.Event()

    @ph.tool
    def look() -> str:
        """Look for as long as it takes."""
        heard.set()
        may_go_on.wait(10)
        return "seen"

    agent = sync.Agent(tools=[look])
    with agent.run("Look.", model=ScriptedModel([call("look"), "Seen."]), tape="t") as stream:
        threading.Thread(target=lambda: (heard.wait(10), stream.cancel())).start()
        assert "final" not in kinds(stream)[1:]
    may_go_on.set()
    assert [e.payload["data"]["status"] for e in agent.tape("t").query().kinds("event") if e.payload["name"] == "loop.step"] == ["cancelled"]


def test_messages_come_in_by_the_inbox_and_are_taken_up_by_the_run():
    model = ScriptedModel(["Stopped."])
    agent = sync.Agent(inbox=ph.TapeInbox)
    agent.inbox("t").store(ph.user("Stop at once."), key="m1")
    with agent.run("Go.", model=model, tape="t") as stream:
        assert stream.text() == "Stopped."
    assert [m.text for m in model.requests[0].messages] == ["Stop at once.", "Go."]
    assert agent.inbox("t").take_pending() == []
    with agent.submit("And now?", tape="t", model=ScriptedModel(["Nothing."])) as stream:  # type: ignore[union-attr]
        assert stream.text() == "Nothing."


def test_a_session_shares_one_branch_and_is_merged_once():
    with sync.Agent() as agent:
        with agent.session("t") as branch:
            for n in range(2):
                with agent.run(f"Question {n}?", model=ScriptedModel(["Yes."]), tape=branch) as stream:
                    assert stream.text() == "Yes."
            assert agent.tape("t").query().kinds("message").all() == []
        assert len(agent.tape("t").read_messages()) == 4
        stream = agent.start("More?", tape="t", model=ScriptedModel(["No."]))
        assert stream.text() == "No."
        stream.aclose()
        stream.aclose()


def test_a_twin_of_a_model_and_of_a_store_is_taken_where_theirs_are(tmp_path):
    with sync.open_store(f"sqlite:///{tmp_path / 'tapes.db'}") as store, sync.get_model("echo:") as model:
        agent = sync.Agent(store=store, model=model)
        with agent.run("Hello.", tape="t") as stream:
            assert stream.text() == "Hello."
        assert store.list_tapes() == ["t"]
        assert agent.store.list_tapes() == ["t"]
        assert agent.store.asynchronous is store.asynchronous
        assert model.complete(ph.ModelRequest(messages=(ph.user("again"),))).text == "again"
        with model.stream(ph.ModelRequest(messages=(ph.user("streamed"),))) as events:
            assert [type(event).__name__ for event in events] == ["TextDelta", "Reply"]
        tape = sync.open_tape(store, "t")
        assert store.count(tape.query().kinds("message")) == 2
        assert store.fetch_all(ph.TapeQuery(tape="t").kinds("anchor"))[0].payload["name"] == "session/start"
    with pytest.raises(ph.StoreUnavailable):
        tape.head()


def test_fallbacks_may_be_twins_and_a_memory_folds_behind_the_turns():
    strategy = ph.AutobiographicalStrategy(compression_model="extractive", recent_window_tokens=50, target_chunk_tokens=60, summary_target_tokens=40, l1_holdback_chunks=0)
    with sync.get_model("echo:") as echo, sync.Agent(model=ScriptedModel([ph.ModelUnavailable("Busy.")] * 9), fallbacks=[echo], strategy=strategy, tick="manual") as agent:
        for n in range(8):
            with agent.run(f"The order A{n} stands in file{n}.py, line {n}, and goes to C{n}.", tape="t") as stream:
                assert stream.text().startswith(f"The order A{n}")
        assert agent.tick("t")
        agent.settled()


def test_a_fork_says_what_its_merge_did():
    tape = sync.open_tape("memory:", "t")
    scope = tape.fork_tape(name="trial")
    with scope as branch:
        branch.append(ph.user("one"))
    assert [e.payload["content"] for e in scope.asynchronous.report.entries] == ["one"]


def test_media_are_kept_beside_a_message_and_come_back_without_await():
    tape = sync.open_tape("memory:", "t")
    message = ph.user([ph.Text(text="Look:"), ph.Media(kind="image", mime="image/png", data="iVBORw0KGgo=")])
    kept = sync.without_media(message, blobs=tape.store)
    assert kept.is_changed
    assert kept.message.parts[1].data is None  # type: ignore[union-attr]
    assert sync.resolved(kept.message, blobs=tape.store).parts[1].data == "iVBORw0KGgo="  # type: ignore[union-attr]
