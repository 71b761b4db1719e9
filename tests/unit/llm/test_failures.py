"""What goes wrong in a call: its kind, what is raised, and what stands on the tape."""

from __future__ import annotations

import json
import pickle

import anyio
import pytest

import playhead as ph
from playhead.llm.failures import told
from playhead.testing import ScriptedModel
from playhead.testing import call as calling
from tests.unit.llm.test_chat import BEGINNING, TURN, shape

REFUSED = [
    ({"prompt": "Hi.", "messages": [{"role": "user", "content": "Hi."}]}, "Provide either prompt or messages, not both."),
    ({}, "Either prompt or messages is required."),
    ({"messages": [ph.user("Hi.")], "system_prompt": "Be brief."}, "system_prompt and tape are not supported with messages input."),
    ({"messages": [ph.user("Hi.")], "tape": "t"}, "system_prompt and tape are not supported with messages input."),
    ({"messages": []}, "A conversation is asked with at least one message."),
    ({"messages": [{"role": "nobody"}]}, "nobody"),
    ({"prompt": ph.assistant("Hi.")}, "asked something by a user"),
    ({"prompt": "Hi.", "max_tokens": 0}, "max_tokens is a whole number from 1"),
    ({"prompt": "Hi.", "max_tokens": True}, "max_tokens is a whole number from 1"),
    ({"prompt": "Hi.", "model": 3}, "A model is a spec"),
    ({"prompt": "Hi.", "context": {}, "tape": "t"}, "A context is a TapeContext"),
    ({"prompt": "Hi.", "tape": ""}, "A tape's name is a non-empty text"),
    ({"prompt": "Hi.", "system_prompt": 3}, "A system prompt is a text"),
]


def ping() -> str:
    """Ping."""
    return "pong"


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=[words[:30] for _, words in REFUSED])
@pytest.mark.parametrize("name", ["chat", "stream", "stream_events"])
def test_what_cannot_be_asked_is_refused_before_anything_is_written(name: str, given: dict[str, object], words: str):
    model = ScriptedModel([])
    llm = ph.LLM(model)
    with pytest.raises(ph.LLMError, match=words) as caught:
        getattr(llm, name)(**given)
    assert caught.value.kind is ph.ErrorKind.INVALID_INPUT
    assert (llm.store.list_tapes(), model.requests) == ([], [])


def test_a_conversation_is_refused_on_a_tape():
    with pytest.raises(ph.LLMError) as caught:
        ph.LLM("echo:").tape("t").chat(messages=[{"role": "user", "content": "Hi."}])
    assert str(caught.value) == "[invalid_input] system_prompt and tape are not supported with messages input."


@pytest.mark.parametrize("given", [{"model": ""}, {"model": None}, {"model": "echo:", "context": 3}, {"model": "echo:", "tape_store": 3}, {"model": "echo:", "fallback_models": [3]}])
def test_an_llm_is_made_of_what_it_can_use(given: dict[str, object]):
    with pytest.raises(ph.LLMError) as caught:
        ph.LLM(**given)
    assert caught.value.kind == "invalid_input"


class TestTheViewCannotBeRead:
    """The error is on the tape and raised; the question is not kept, as nobody was asked."""

    @pytest.mark.parametrize("name", ["chat", "stream", "stream_events"])
    def test_an_anchor_that_is_not_there(self, name: str):
        model = ScriptedModel(["a"])
        tape = ph.LLM(model).tape("t")
        with pytest.raises(ph.LLMError) as caught:
            list(getattr(tape, name)("Hi.", context=ph.TapeContext(anchor="nowhere"), system_prompt="Be brief."))
        assert str(caught.value) == "[not_found] Anchor 'nowhere' was not found."
        assert caught.value.kind is ph.ErrorKind.NOT_FOUND
        assert isinstance(caught.value.__cause__, ph.AnchorNotFound)
        assert shape(tape) == ["system", "error not_found", "event run"]
        assert tape.query.all()[-1].payload["data"] == {"status": "error", "provider": "scripted", "model": "script"}
        assert model.requests == []
        assert tape.chat("Hi.") == "a"

    def test_a_selector_that_fails(self):
        tape = ph.LLM(ScriptedModel([])).tape("t", context=ph.TapeContext(anchor=None, select=lambda entries, context: 1 / 0))
        with pytest.raises(ph.LLMError) as caught:
            tape.chat("Hi.")
        assert caught.value.kind == "invalid_input"
        assert shape(tape) == ["error invalid_input", "event run"]

    def test_a_store_that_refuses_every_call_says_why(self):
        text = "Sync tape APIs are unavailable when tape_store is AsyncTapeStore; use async chat/tool APIs."
        tape = ph.LLM(ScriptedModel(["a"]), tape_store=ph.UnavailableTapeStore(text)).tape("t")
        for call in (lambda: tape.chat("Hi."), lambda: list(tape.stream("Hi."))):
            with pytest.raises(ph.LLMError) as caught:
                call()
            assert str(caught.value) == f"[invalid_input] {text}"
            assert "Nor could the failure be recorded" in caught.value.__notes__[0]
        for call in (tape.query.all, tape.reset, tape.read_messages, lambda: tape.append(ph.user("Hi."))):
            with pytest.raises(ph.InvalidInput, match="use async chat/tool APIs"):
                call()


class TestTheModelFails:
    """The question is kept with the error, and with the words that had come."""

    @pytest.mark.parametrize("name", ["chat", "stream", "stream_events"])
    def test_before_it_said_anything(self, name: str):
        tape = ph.LLM(ScriptedModel([ph.ModelUnavailable("Busy.", retry_after=3), "Now."])).tape("t")
        with pytest.raises(ph.LLMError) as caught:
            list(getattr(tape, name)("Hi."))
        assert str(caught.value) == "[temporary] Busy."
        assert caught.value.as_dict() == {"kind": "temporary", "message": "Busy.", "details": {"retry_after": 3, "status": None}}
        assert isinstance(caught.value.__cause__, ph.ModelUnavailable)
        assert shape(tape) == [*BEGINNING, "message user", "error temporary", "event run"]
        assert tape.chat("Again.") == "Now."

    def test_in_the_middle_of_its_words(self):
        tape = ph.LLM(ScriptedModel([["Half an ", ph.BadReply("Broken off.")]]), fallback_models=[ScriptedModel(["another"])]).tape("t")
        with pytest.raises(ph.LLMError, match=r"\[provider\] Broken off\."):
            tape.chat("Hi.")
        kept = tape.query.kinds("message").all()
        assert [(e.payload["content"], e.meta.get("partial")) for e in kept] == [("Hi.", None), ("Half an ", True)]

    def test_with_an_error_of_its_own(self):
        def fail(request: ph.ModelRequest) -> str:
            raise ZeroDivisionError("no")

        with pytest.raises(ph.LLMError, match="ZeroDivisionError") as caught:
            ph.LLM(ScriptedModel([fail])).chat("Hi.")
        assert caught.value.kind == "provider"

    def test_a_fallback_answers_where_the_first_said_nothing(self):
        first, second = ScriptedModel([ph.ModelUnavailable("Busy.")], name="scripted:first"), ScriptedModel(["Here."], name="scripted:second")
        tape = ph.LLM(first, fallback_models=["nobody:x", second]).tape("t")
        assert tape.chat("Hi.") == "Here."
        assert tape.query.all()[-1].payload["data"]["model"] == "second"
        assert shape(tape) == [*BEGINNING, *TURN]

    def test_the_first_error_is_the_one_that_is_raised(self):
        llm = ph.LLM(ScriptedModel([ph.ModelRefused("No.")]), fallback_models=[ScriptedModel([ph.ModelUnavailable("Busy.")])])
        with pytest.raises(ph.LLMError, match="No"):
            llm.chat("Hi.")


class Refusing(ph.InMemoryTapeStore):
    """Refuses the writes that hold an entry of some kind or role, as often as it is told to."""

    def __init__(self, what: str, *, times: int) -> None:
        super().__init__()
        self.what = what
        self.times = times

    async def append_many(self, tape, entries, **options):
        if self.times and any(self.what in (entry.kind, entry.payload.get("role")) for entry in entries):
            self.times -= 1
            raise ph.StoreBusy("The disk is busy.")
        return await super().append_many(tape, entries, **options)


class TestTheRecordCannotBeWritten:
    """The call fails as any other, and all that was heard is kept where it can be."""

    @pytest.mark.parametrize("name", ["chat", "stream", "stream_events"])
    def test_of_an_answer(self, name: str):
        tape = ph.LLM(ScriptedModel(["Hello."]), tape_store=Refusing("assistant", times=1)).tape("t")
        with pytest.raises(ph.LLMError) as caught:
            list(getattr(tape, name)("Hi."))
        assert str(caught.value) == "[temporary] The disk is busy."
        assert isinstance(caught.value.__cause__, ph.StoreBusy)
        assert shape(tape) == [*BEGINNING, "message user", "message assistant", "error temporary", "event run"]
        assert [m.text for m in tape.read_messages()][:2] == ["Hi.", "Hello."]

    def test_nor_that_it_could_not(self):
        tape = ph.LLM(ScriptedModel(["Hello."]), tape_store=Refusing("assistant", times=2)).tape("t")
        with pytest.raises(ph.LLMError, match="busy") as caught:
            tape.chat("Hi.")
        assert "Nor could the failure be recorded" in caught.value.__notes__[0]

    def test_of_calls_of_tools(self):
        tape = ph.LLM(ScriptedModel([[calling("ping")]]), tape_store=Refusing("tool_call", times=1)).tape("t")
        with pytest.raises(ph.LLMError, match="busy"):
            tape.run_tools("Hi.", tools=[ping])
        assert shape(tape) == [*BEGINNING, "message user", "error temporary", "event run"]

    def test_of_a_result(self):
        tape = ph.LLM(ScriptedModel([[calling("ping")]]), tape_store=Refusing("tool_result", times=1)).tape("t")
        with pytest.raises(ph.LLMError, match="busy") as caught:
            tape.run_tools("Hi.", tools=[ping])
        assert isinstance(caught.value.__cause__, ph.StoreBusy)
        assert shape(tape) == [*BEGINNING, "message user", "tool_call", "error temporary", "event run"]
        assert tape.query.all()[-1].payload["data"]["status"] == "error"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [("nobody:gpt", "config"), ("gpt", "invalid_input"), ("scripted:/nowhere/script.json", "config")],
)
def test_a_model_that_cannot_be_had_is_a_matter_of_configuration(spec: str, kind: str):
    tape = ph.LLM(spec).tape("t")
    with pytest.raises(ph.LLMError) as caught:
        tape.chat("Hi.")
    assert caught.value.kind == kind
    assert shape(tape) == [f"error {kind}", "event run"]


KINDS = [
    (ph.InvalidInput("x"), "invalid_input"),
    (ph.OverBudgetError(needed=2, room=1, what="It"), "invalid_input"),
    (ph.WireError("x"), "invalid_input"),
    (ph.ProviderNotFoundError("x", known=("y",)), "config"),
    (ph.MissingExtra("openai", "It"), "config"),
    (ph.ModelRejected("x", status=401), "config"),
    (ph.ModelRejected("x", status=400), "provider"),
    (ph.ContextLimitExceeded("x"), "provider"),
    (ph.ModelError("x"), "provider"),
    (ph.ModelUnavailable("x"), "temporary"),
    (ph.StoreBusy("x"), "temporary"),
    (ph.ToolFailed("x", tool="t"), "tool"),
    (ph.NoAnchors(), "not_found"),
    (ph.StoreDamaged("x"), "unknown"),
    (ValueError("x"), "unknown"),
]


@pytest.mark.parametrize(("error", "kind"), KINDS, ids=[type(error).__name__ for error, _ in KINDS])
def test_every_failure_is_of_one_of_seven_kinds(error: Exception, kind: str):
    found = told(error)
    assert found.kind is ph.ErrorKind(kind)
    assert str(found) == f"[{kind}] {getattr(error, 'message', 'ValueError: x')}"
    assert json.loads(json.dumps(found.as_dict()))["kind"] == kind
    assert told(found) is found
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_details_are_left_out_where_there_are_none():
    assert ph.LLMError(ph.ErrorKind.UNKNOWN, "x").as_dict() == {"kind": "unknown", "message": "x"}
    assert ph.TapeNotFound("t").as_dict()["kind"] == "not_found"
    assert {kind.value for kind in ph.ErrorKind} == {"invalid_input", "config", "provider", "tool", "temporary", "not_found", "unknown"}


def test_a_call_that_is_cancelled_keeps_the_question_and_what_was_heard():
    def waiting(request: ph.ModelRequest):
        async def pieces():
            yield "half an "
            scope.cancel()
            await anyio.sleep_forever()

        return pieces()

    tape = ph.LLM(ScriptedModel([waiting, "whole"])).tape("t")
    scope: anyio.CancelScope

    async def go() -> None:
        nonlocal scope
        with anyio.CancelScope() as scope:
            await tape.chat_async("Hi.")
            raise AssertionError

    anyio.run(go)
    assert shape(tape) == [*BEGINNING, *TURN]
    assert tape.query.all()[-1].payload["data"]["status"] == "cancelled"
    assert tape.query.all()[-2].meta["partial"] is True
    assert tape.chat("Again.") == "whole"


def test_a_blocking_call_inside_the_loop_of_the_blocking_calls_is_refused():
    llm = ph.LLM("echo:")
    tape = llm.tape("t", context=ph.TapeContext(anchor=None, select=lambda entries, context: [ph.user(llm.chat("inside"))]))
    with pytest.raises(ph.LLMError, match="use the async form there"):
        tape.chat("outside")
