"""Whatever is on a tape, and however small the budget: the prompt is valid, within the budget, and says where everything is."""

from __future__ import annotations

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, Text, ToolCall, ToolResult, assistant, system, user
from playhead.errors import NothingToSend, OverBudgetError
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import LAST_ANCHOR, TapeContext, default_tape_context

ids = st.sampled_from(["a", "b", "c", ""])
words = st.sampled_from(["", "hi", "word " * 20, "你好", "x" * 200])
calls = st.builds(lambda id, name: ToolCall(id=id, name=name, arguments={"q": "x"}), ids, st.sampled_from(["read", "run"]))
answers = st.builds(lambda id, text, bad: ToolResult(call_id=id, content=text, is_error=bad), ids, words, st.booleans())
items = st.one_of(
    st.builds(user, words),
    st.builds(assistant, words),
    st.builds(system, words),
    st.builds(lambda text, calls: assistant(text, calls=calls), words, st.lists(calls, min_size=1, max_size=3)),
    st.builds(lambda results: Message(role="tool", content=tuple(results)), st.lists(answers, min_size=1, max_size=3)),
    st.builds(lambda results, text: Message(role="user", content=(*results, Text(text=text))), st.lists(answers, min_size=1, max_size=2), words),
    st.builds(TapeEntry.tool_result, st.lists(words | st.just({"n": 1}), max_size=3)),
    st.builds(lambda n: TapeEntry.anchor(n, {"summary": n}), st.sampled_from(["x", "y"])),
    st.builds(lambda n: TapeEntry.event(n, {"n": n}), words.filter(bool)),
    st.just(TapeEntry.message({"role": "user", "content": "hidden"}, context=False)),
    st.just(TapeEntry.message({"role": "nobody"})),
    st.just(TapeEntry(0, "tool_call", {"calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]})),
)
contexts = st.sampled_from([default_tape_context(), TapeContext(anchor=None), TapeContext(anchor=LAST_ANCHOR), TapeContext(anchor=None, select=default_tape_context().select)])
strategies = st.sampled_from([PassthroughStrategy(), WindowedPassthroughStrategy()])


async def compiled(history, context, tokens, strategy):
    tape = Tape(InMemoryTapeStore(), "t", context=context)
    await tape.append_many(history)
    try:
        return tape, await compile(tape, Budget(max_tokens=tokens, reserve_for_response=0), strategy=strategy)
    except OverBudgetError:
        return tape, None


@settings(max_examples=150, deadline=None)
@given(st.lists(items, max_size=25), contexts, st.integers(10, 600), strategies)
def test_every_prompt_is_whole_within_its_budget_and_accounts_for_every_entry(history, context, tokens, strategy):
    tape, prompt = anyio.run(compiled, history, context, tokens, strategy)
    if prompt is None:
        return
    assert prompt.stats.total <= tokens
    for provider in ("openai", "openai-responses", "anthropic"):
        try:
            prompt.to(provider)
        except NothingToSend:
            assert not any(m.role != "system" and m.text for m in prompt.messages)
    explanation = prompt.explain()
    for id in range(1, anyio.run(tape.head).id + 1):
        assert explanation.why(id) != "not in the view", id


@settings(max_examples=100, deadline=None)
@given(st.lists(items, min_size=1, max_size=25), contexts, st.integers(10, 600), strategies)
def test_a_handle_that_read_along_compiles_what_a_fresh_one_does(history, context, tokens, strategy):
    async def go():
        tape, budget = Tape(InMemoryTapeStore(), "t", context=context), Budget(max_tokens=tokens, reserve_for_response=0)
        for item in history:
            await tape.append(item)
            along = await compile(tape, budget, strategy=strategy, dry_run=True)
            fresh = await compile(Tape(tape.store, "t", context=context), budget, strategy=strategy, dry_run=True)
            assert along.digest == fresh.digest and along.plan.tokens == fresh.plan.tokens
            past = await compile(tape.at(fresh.plan.units.end), budget, strategy=strategy, dry_run=True)
            assert past.digest == fresh.digest

    anyio.run(go)


@settings(max_examples=60, deadline=None)
@given(st.lists(items, min_size=2, max_size=20), st.integers(10, 600), strategies)
def test_reading_the_past_is_reading_a_tape_that_ended_there(history, tokens, strategy):
    async def go():
        budget, whole, shorter = Budget(max_tokens=tokens, reserve_for_response=0), Tape(InMemoryTapeStore(), "t"), Tape(InMemoryTapeStore(), "t")
        stored = await whole.append_many(history)
        await compile(whole, budget, strategy=strategy, dry_run=True)
        half = stored[: (len(stored) + 1) // 2]
        await shorter.append_many(half)
        then = await compile(whole.at(half[-1]), budget, strategy=strategy, dry_run=True)
        assert then.digest == (await compile(shorter, budget, strategy=strategy, dry_run=True)).digest

    anyio.run(go)
