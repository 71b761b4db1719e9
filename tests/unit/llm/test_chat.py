"""What a call asks, what it leaves on the tape, and how the tape is read for it."""

from __future__ import annotations

import anyio
import pytest

import playhead as ph
from playhead.testing import ScriptedModel, call
from playhead.testing.stores import AsyncListStore, ListStore, SilentListStore


def shape(tape: ph.LLMTape) -> list[str]:
    """Return kinds, with the role of a message, the name of an event or anchor, the kind of an error."""
    return [f"{e.kind} {e.payload.get('role') or e.payload.get('name') or (e.kind == 'error' and e.payload.get('kind')) or ''}".strip() for e in tape.query.all()]


def asked(model: ScriptedModel, at: int = -1) -> list[str]:
    return [f"{m.role}: {m.text}" for m in model.requests[at].messages]


BEGINNING = ["anchor session/start", "event handoff"]
TURN = ["message user", "message assistant", "event run"]


def test_the_first_chat_on_a_fresh_tape_just_works_and_the_next_one_goes_on():
    model = ScriptedModel(["Hello.", "You said hi."])
    tape = ph.LLM(model).tape("t")
    assert tape.chat("Hi.") == "Hello."
    assert tape.chat("What did I say?") == "You said hi."
    assert asked(model) == ["user: Hi.", "assistant: Hello.", "user: What did I say?"]
    assert shape(tape) == [*BEGINNING, *TURN, *TURN]
    assert [m.text for m in tape.read_messages()] == ["Hi.", "Hello.", "What did I say?", "You said hi."]


def test_a_tape_that_holds_something_and_no_anchor_is_read_from_its_start():
    model = ScriptedModel(["Yes."])
    tape = ph.LLM(model).tape("t")
    tape.append(ph.user("Kept before."))
    tape.chat("Is it there?")
    assert asked(model) == ["user: Kept before.", "user: Is it there?"]
    assert shape(tape) == ["message user", *BEGINNING, *TURN]
    assert [m.text for m in tape.read_messages()] == ["Kept before.", "Is it there?", "Yes."]


def test_what_one_call_leaves_carries_its_run_and_says_who_answered_at_what_cost():
    model = ScriptedModel([["Hello.", ph.Usage(input=7, output=2)]], name="scripted:a")
    tape = ph.LLM(model).tape("t")
    tape.chat("Hi.", system_prompt="Be brief.")
    entries = tape.query.last_anchor().all()[1:]
    assert [e.kind for e in entries] == ["system", "message", "message", "event"]
    assert len({e.meta["run_id"] for e in entries}) == 1
    facts = entries[-1].payload["data"]
    assert (facts["status"], facts["provider"], facts["model"], facts["usage"]["total_tokens"]) == ("ok", "scripted", "a", 9)
    assert tape.info().last_token_usage == 9


def test_a_system_prompt_is_sent_every_time_and_kept_where_it_changes():
    model = ScriptedModel(["a", "b", "c"])
    tape = ph.LLM(model).tape("t")
    for prompt in ("Be brief.", "Be brief.", "Be long."):
        tape.chat("Hi.", system_prompt=prompt)
        assert asked(model)[0] == f"system: {prompt}"
    assert [e.payload["content"] for e in tape.query.kinds("system").all()] == ["Be brief.", "Be long."]


def test_a_handoff_starts_anew_and_its_state_goes_along():
    model = ScriptedModel(["a", "b"])
    tape = ph.LLM(model).tape("t")
    tape.chat("Before.")
    tape.handoff("next", {"summary": "all well"})
    tape.chat("After.")
    assert not any("Before." in line for line in asked(model))
    assert any("all well" in line for line in asked(model))
    assert asked(model)[-1] == "user: After."


class TestContexts:
    """A call is read through its own context, else that of its tape, else that of the LLM."""

    def test_the_context_of_a_call_counts_for_that_call_alone(self):
        model = ScriptedModel(["a", "b", "c"])
        tape = ph.LLM(model).tape("t")
        tape.chat("Old.")
        tape.handoff("next")
        whole = ph.TapeContext(anchor=None)
        tape.chat("All?", context=whole)
        assert asked(model)[0] == "user: Old."
        tape.chat("And now?")
        assert "user: Old." not in asked(model)
        assert [m.text for m in tape.read_messages(context=whole)][:2] == ["Old.", "a"]

    def test_a_tape_and_an_llm_have_contexts_that_may_be_set(self):
        model = ScriptedModel(["a"] * 4)
        llm = ph.LLM(model, context=ph.TapeContext(anchor=None, select=lambda entries, context: [ph.user("from the llm")]))
        tape = llm.tape("t")
        tape.chat("1")
        assert asked(model) == ["user: from the llm", "user: 1"]
        tape.context = ph.TapeContext(anchor=None, select=lambda entries, context: [ph.user("from the tape")])
        tape.chat("2")
        assert asked(model)[0] == "user: from the tape"
        tape.context = None
        llm.context = ph.TapeContext(anchor=None)
        assert tape.context is llm.context
        tape.chat("3")
        assert asked(model)[0] == "user: 1"
        own = llm.tape("t", context=ph.TapeContext(anchor=None, select=lambda entries, context: []))
        own.chat("4")
        assert asked(model) == ["user: 4"]

    def test_two_views_of_one_tape_at_the_same_time(self):
        model = ScriptedModel([["Look.", call("read", path="x.py")], "short", "long"])
        tape = ph.LLM(model).tape("t")
        [asked_for] = tape.tool_calls("Read x.py.", tools=[{"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}])
        tape.append(ph.tool_result_message(asked_for["id"], "import os\n" * 500, name="read"))
        before = [e.payload for e in tape.query.all()]
        tape.chat("Sum up.", context=ph.TapeContext(select=ph.drop_tool_results(over_tokens=50)))
        assert max(len(m.text) for m in model.requests[-1].messages) < 200
        tape.chat("Read it again.", context=ph.default_tape_context())
        assert max(len(m.text) for m in model.requests[-1].messages) == 5000
        assert [e.payload for e in tape.query.all()][: len(before)] == before


class TestWithoutATape:
    """A call without a tape leaves nothing."""

    def test_a_prompt_is_asked_alone(self):
        model = ScriptedModel(["a", "b"])
        llm = ph.LLM(model)
        assert llm.chat("Hi.", system_prompt="Be brief.") == "a"
        assert asked(model) == ["system: Be brief.", "user: Hi."]
        assert llm.chat("Again.") == "b"
        assert asked(model) == ["user: Again."]
        assert llm.store.list_tapes() == []

    def test_a_conversation_is_asked_as_it_stands(self):
        model = ScriptedModel(["ok"])
        said = [
            {"role": "system", "content": "Be brief."},
            ph.user("One?"),
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        ]
        assert ph.LLM(model).chat(messages=said) == "ok"
        assert [m.role for m in model.requests[0].messages] == ["system", "user", "assistant", "tool"]
        assert model.requests[0].messages[2].calls[0].name == "look"

    def test_a_call_names_its_tape(self):
        llm = ph.LLM(ScriptedModel(["a", "b"]))
        llm.chat("Hi.", tape="t")
        llm.chat("Again.", tape="t")
        assert len(llm.tape("t").read_messages()) == 4


def test_what_is_asked_beside_the_words_reaches_the_model():
    model = ScriptedModel(["a"])
    ph.LLM(model).chat("Hi.", max_tokens=5, reasoning_effort="low", tool_choice="none", temperature=0.5)
    request = model.requests[0]
    assert (request.max_tokens, request.reasoning_effort, request.tool_choice, dict(request.extra)) == (5, "low", "none", {"temperature": 0.5})


def test_a_budget_and_a_strategy_are_those_of_every_prompt():
    model = ScriptedModel(["a"] * 30)
    tape = ph.LLM(model, budget=ph.Budget(600, reserve_for_response=100), strategy=ph.WindowedPassthroughStrategy()).tape("t")
    for n in range(30):
        tape.chat(f"{n} " + "words of a long talk about the weather " * 4)
    assert len(model.requests[-1].messages) < 30
    assert model.requests[-1].max_tokens == 100


def test_media_reach_the_model_and_stand_beside_the_tape():
    model = ScriptedModel(["A cat."])
    tape = ph.LLM(model).tape("t")
    tape.chat([ph.Text(text="What is this?"), ph.Media(kind="image", mime="image/png", data="iVBORw0KGgo=")])
    assert model.requests[0].messages[-1].parts[1].data == "iVBORw0KGgo="
    assert "iVBORw0KGgo=" not in str([e.payload for e in tape.query.all()])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("make", [ListStore, SilentListStore, AsyncListStore, ph.InMemoryTapeStore, ph.FileTapeStore, ph.SQLiteTapeStore], ids=lambda make: make.__name__)
def test_both_forms_see_the_same_tape_over_every_store(make, backend: str, tmp_path):
    on_disk = make in (ph.FileTapeStore, ph.SQLiteTapeStore)
    store = make(tmp_path / "tapes") if on_disk else make()
    tape = ph.LLM(ScriptedModel(["a", "b", "c"]), tape_store=store).tape("t")
    assert tape.chat("one") == "a"

    async def go() -> None:
        assert await tape.chat_async("two") == "b"
        assert [e.kind async for e in tape.query_async.kinds("message")] == ["message"] * 4
        assert (await tape.handle_async.head()).id == 8
        assert tape.chat("three") == "c"  # in the loop's own thread
        await tape.handoff_async("next")
        await tape.append_async(ph.user("four"))
        assert [m.text for m in await tape.read_messages_async()] == ["four"]

    anyio.run(go, backend=backend)
    assert [e.payload["content"] for e in tape.query().kinds("message").all()] == ["one", "a", "two", "b", "three", "c", "four"]
    if on_disk:
        ph.sync.wait(store.aclose)


@pytest.mark.parametrize("make", [ph.FileTapeStore, lambda place: ph.SQLiteTapeStore(place / "t.db")], ids=["file", "sqlite"])
def test_another_llm_goes_on_with_a_tape_on_disk(make, tmp_path):
    ph.LLM(ScriptedModel(["a"]), tape_store=make(tmp_path)).tape("t").chat("one")
    model = ScriptedModel(["b"])
    with ph.sync.open_tape(make(tmp_path), "t") as handle:
        tape = ph.LLM(model, tape_store=handle.store).tape("t")
        tape.chat("two")
        assert asked(model) == ["user: one", "assistant: a", "user: two"]
        assert tape.handle.name == "t"
        assert tape.reset() == "ok"


def test_threads_chat_at_once_and_no_turn_is_torn():
    from concurrent.futures import ThreadPoolExecutor

    tape = ph.LLM(ScriptedModel([lambda asked: f"to {asked.messages[-1].text}"] * 20)).tape("t")
    tape.chat("start")
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(tape.chat, [str(n) for n in range(19)])) == {f"to {n}" for n in range(19)}
    said = [e.payload["content"] for e in tape.query.kinds("message").all()]
    assert [f"to {question}" for question in said[::2]] == said[1::2]


def test_it_says_who_it_asks():
    llm = ph.LLM("gpt-5-mini", provider="openai", fallback_models=("gpt-5-nano", "echo:"))
    assert (llm.provider, llm.model, llm.models) == ("openai", "gpt-5-mini", ("openai:gpt-5-mini", "openai:gpt-5-nano", "echo:"))
    assert repr(llm) == "LLM(openai:gpt-5-mini, openai:gpt-5-nano, echo:)"
    assert ph.LLM("openai:gpt-5-mini", provider="openai").models == ("openai:gpt-5-mini",)
    assert (ph.LLM("echo:").model, ph.LLM(ScriptedModel([])).model) == ("echo:", "script")
    assert (repr(llm.tape("t")), llm.tape("t").name) == ("LLMTape('t')", "t")


class Reading(ph.InMemoryTapeStore):
    """Counts the entries that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    async def fetch_all(self, query):
        found = await super().fetch_all(query)
        self.read += len(found)
        return found


def test_what_was_read_for_one_chat_is_not_read_again_for_the_next():
    store = Reading()
    tape = ph.LLM(ScriptedModel(["a", "b", "c"]), tape_store=store).tape("t")
    tape.handle.append_many([ph.user(str(n)) for n in range(400)])
    tape.chat("one")
    store.read = 0
    tape.chat("two")
    assert store.read < 40
    tape.reset()
    tape.chat("three")
    assert [m.text for m in tape.read_messages()] == ["three", "c"]


def test_more_tapes_than_are_remembered_are_asked_all_the_same():
    model = ScriptedModel([lambda asked: " ".join(m.text for m in asked.messages)] * 80)
    llm = ph.LLM(model)
    for word in ("a", "b"):
        for n in range(40):
            llm.chat(f"{word}{n}", tape=f"t{n}")
    assert [llm.tape(f"t{n}").read_messages()[-1].text for n in (0, 39)] == ["a0 a0 b0", "a39 a39 b39"]


@pytest.mark.parametrize("named", [lambda place: f"sqlite:///{place}/x.db", lambda place: f"file:{place}/tapes", lambda place: place / "x.db"], ids=["sqlite", "file", "path"])
def test_a_store_may_be_named_by_its_url_and_is_closed_with_the_llm(tmp_path, named):
    llm = ph.LLM(ScriptedModel(["Hello."]), tape_store=named(tmp_path))
    with llm:
        assert llm.tape("t").chat("Hi.") == "Hello."
    with pytest.raises(ph.LLMError, match="closed"):
        llm.tape("t").chat("Still there?")
    with ph.LLM(ScriptedModel(["You said hi."]), tape_store=named(tmp_path)) as again:
        assert [m.text for m in again.tape("t").read_messages()] == ["Hi.", "Hello."]
    with pytest.raises(ph.LLMError, match="names no store"):
        ph.LLM(ScriptedModel([]), tape_store="notes")
