"""Strategies and counters of a user's own that do what they may not, and prompts that nobody could answer."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, Text, ToolCall, ToolResult, assistant, system, user
from playhead.errors import InvalidInput, InvalidPlan, NothingToSend
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategy import Need
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.calibration import ScaledCounter
from playhead.view.plan import Plan
from playhead.view.tokens import default_counter

PROVIDERS = ("openai", "openai-responses", "anthropic")


def compiled(*items, strategy=None, counter=None):
    async def go():
        tape = Tape(InMemoryTapeStore(), "t", counter=counter)
        for item in items:
            await tape.append(item)
        return await compile(tape, Budget(max_tokens=10_000), strategy=strategy)

    return anyio.run(go)


class Keeps:
    def plan(self, units, *, budget, state):
        return units.keep(units, reason="x")


@pytest.mark.parametrize("odd", [{"tail_tokens": -1}, {"head_tokens": -5}, {"tail_tokens": 2.5}, {"head_tokens": None}, {"tail_tokens": "all"}, {"tail_tokens": True}])
def test_a_need_is_a_number_of_tokens(odd):
    with pytest.raises(InvalidInput, match=f"A need's {next(iter(odd))} is a whole number of tokens from 0"):
        Need(**odd)


@pytest.mark.parametrize("odd", [{"tail_tokens": -1}, {"head_tokens": -1}, {"tail_tokens": 1.5}])
def test_a_view_is_read_up_to_a_number_of_tokens(odd):
    async def go():
        await Tape(InMemoryTapeStore(), "t").read(**odd)

    with pytest.raises(InvalidInput, match="is a whole number of tokens from 0"):
        anyio.run(go)


def test_a_strategy_that_cannot_say_what_it_needs_is_named_and_keeps_its_cause():
    class Lost(Keeps):
        def need(self, *, budget, state):
            return {}["tokens"]

    with pytest.raises(InvalidPlan, match=r"Lost failed in need\(...\) with KeyError") as caught:
        compiled(user("hi"), strategy=Lost())
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("returned", [None, 3.5, "3", -1, [3]])
def test_a_counter_that_counts_in_no_whole_numbers_is_named(returned):
    class Odd:
        name = "odd"

        def count(self, text):
            return returned

    for counter in (Odd(), ScaledCounter(counter=Odd(), factor=1.2)) if returned != 3.5 else (Odd(),):
        with pytest.raises(InvalidInput, match="whole number"):
            compiled(user("hi"), counter=counter)


def test_a_counter_that_fails_is_named_and_keeps_its_cause():
    class Broken:
        name = "broken"

        def count(self, text):
            return 1 // 0

    with pytest.raises(InvalidInput, match="Broken failed with ZeroDivisionError") as caught:
        compiled(user("hi"), counter=Broken())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), "2", None])
def test_a_counters_factor_is_a_positive_number(factor):
    with pytest.raises(InvalidInput, match="positive number"):
        ScaledCounter(counter=default_counter(), factor=factor)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: None, "spans are a tuple of Span, not NoneType"),
        (lambda s: ["span"], "Span 0 of the plan is str, not a Span"),
        (lambda s: (replace(s, units=("unit",)),), "The units of span 0 are a tuple of Unit"),
        (lambda s: (replace(s, units=None),), "The units of span 0"),
        (lambda s: (replace(s, form="summary", node="n", messages=("a text",)),), "The messages of span 0 are a tuple of Message"),
        (lambda s: (replace(s, form="summary", node="n", messages=user("hi")),), "The messages of span 0"),
        (lambda s: (replace(s, form=["raw"]),), "The form and the reason of span 0 are texts"),
        (lambda s: (replace(s, reason=7),), "The form and the reason of span 0 are texts"),
        (lambda s: (replace(s, tokens="9"),), "The tokens of span 0 are a whole number"),
        (lambda s: (replace(s, tokens=-9),), "The tokens of span 0 are a whole number"),
    ],
)
def test_a_plan_made_of_something_else_is_refused(spoil, message):
    class Odd:
        def plan(self, units, *, budget, state):
            (span,) = units.keep(units, reason="x").spans
            return Plan(spans=spoil(span), units=units)

    with pytest.raises(InvalidPlan, match=message):
        compiled(user("hi"), strategy=Odd())


CALL, RESULT = ToolCall(id="a", name="f"), ToolResult(call_id="a", content="A")


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ((Message(role="user", content=(CALL,)), Message(role="tool", content=(RESULT,))), "role 'user' that calls a tool"),
        ((Message(role="system", content=(CALL,)), Message(role="tool", content=(RESULT,))), "role 'system' that calls a tool"),
        ((assistant(calls=[CALL]), Message(role="system", content=(RESULT,))), "role 'system' that holds a result"),
        ((assistant(calls=[CALL]), Message(role="assistant", content=(RESULT,))), "role 'assistant' that holds a result"),
        ((Message(role="tool", content="words"),), "role 'tool' without a result"),
        ((Message(role="tool", content=(Text(text="words"),)),), "role 'tool' without a result"),
        ((assistant(calls=[CALL]),), "call 'a' without its result"),
    ],
)
def test_a_summary_that_no_provider_takes_is_refused_before_it_is_sent(told, fault):
    class Teller:
        def plan(self, units, *, budget, state):
            (span,) = units.keep(units, reason="x").spans
            return Plan(spans=(replace(span, form="summary", node="n", messages=told, tokens=500),), units=units)

    with pytest.raises(InvalidPlan, match=fault):
        compiled(user("hi"), strategy=Teller())


def test_a_summary_that_a_provider_takes_is_sent():
    class Teller:
        def plan(self, units, *, budget, state):
            (span,) = units.keep(units, reason="x").spans
            told = (assistant(calls=[CALL]), Message(role="user", content=(RESULT, Text(text="so it is"))))
            return Plan(spans=[replace(span, form="summary", node="n", messages=told, tokens=500)], units=units)

    prompt = compiled(user("hi"), strategy=Teller())
    assert all("so it is" in str(prompt.to(provider)) for provider in PROVIDERS)


@pytest.mark.parametrize("items", [(), (TapeEntry.event("e"),), (user("hi", name="Ann"), TapeEntry.anchor("x"))])
def test_a_prompt_in_which_nothing_is_said_is_sent_to_nobody(items):
    prompt = compiled(*items)
    for provider in PROVIDERS:
        with pytest.raises(NothingToSend, match=f"{provider} takes no request without a turn, and this prompt holds nothing; append what the user says first"):
            prompt.to(provider)


@pytest.mark.parametrize("items", [(system("Be brief."),), (system("Be brief."), user(" \n"))])
def test_system_messages_alone_go_to_the_providers_that_answer_them(items):
    prompt = compiled(*items)
    assert "Be brief." in str(prompt.to("openai")) and "Be brief." in str(prompt.to("openai-responses"))
    with pytest.raises(NothingToSend, match="system messages alone") as caught:
        prompt.to("anthropic")
    assert (caught.value.kind, caught.value.where, caught.value.provider) == ("wire", "messages", "anthropic")
