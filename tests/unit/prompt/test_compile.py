from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Text, Thinking, ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidInput, OverBudgetError, UnstorableValue
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext

WIDE = Budget(max_tokens=100_000)


def run(function):
    return anyio.run(function)


def texts(prompt):
    return [m.text for m in prompt.messages]


async def talk(count, *, words=30):
    tape = Tape(InMemoryTapeStore(), "t")
    for i in range(count):
        await tape.append(user(f"question {i} " + "word " * words) if i % 2 == 0 else assistant(f"answer {i} " + "word " * words))
    return tape


def test_a_tape_without_anchors_compiles_from_its_first_entry():
    async def go():
        prompt = await compile(await talk(3), WIDE)
        assert [t.split()[1] for t in texts(prompt)] == ["0", "1", "2"]
        assert [(s.form, s.first, s.last) for s in prompt.plan.spans] == [("raw", 1, 3)]

    run(go)


def test_an_empty_tape_compiles_to_nothing():
    async def go():
        prompt = await compile(Tape(InMemoryTapeStore(), "t"), WIDE)
        assert prompt.messages == () and prompt.plan.spans == () and prompt.stats.total == 0

    run(go)


def test_what_does_not_fit_is_left_out_oldest_first_with_its_reason():
    async def go():
        tape = await talk(200)
        prompt = await compile(tape, Budget(max_tokens=2_000, reserve_for_response=500))
        left, kept = prompt.explain()
        assert (left.form, left.reason) == ("omitted", "older than what fits the budget")
        assert (left.first, kept.last, kept.first) == (1, 200, left.last + 1)
        assert prompt.stats.total <= 1_500 and prompt.stats.total > 1_200
        assert prompt.explain().why(1) == "omitted: older than what fits the budget"
        assert prompt.explain().why(200) == "raw: fits the budget"

    run(go)


def test_only_the_tail_of_a_long_tape_is_read():
    async def go():
        tape = await talk(5_000)
        read = []

        class Watched:
            def __getattr__(self, name):
                return getattr(tape.store, name)

            async def fetch_all(self, query):
                found = await tape.store.fetch_all(query)
                read.append(len(found))
                return found

        view = Tape(tape.store, "t")
        view._reader._known.store = Watched()
        prompt = await compile(view, Budget(max_tokens=2_000, reserve_for_response=500))
        assert sum(read) < 400
        assert prompt.plan.spans[0].tokens is None and prompt.plan.spans[0].first == 1
        assert prompt.messages[-1].text.startswith("answer 4999")

    run(go)


def test_a_round_is_shown_whole_or_not_at_all():
    async def go():
        tape = await talk(4)
        await tape.append(assistant(calls=[ToolCall(id="a", name="f"), ToolCall(id="b", name="f")]))
        await tape.append(tool_result_message("a", "x " * 300))
        await tape.append(tool_result_message("b", "y " * 300))
        await tape.append(user("and?"))
        for tokens in range(60, 2_000, 40):
            try:
                prompt = await compile(tape, Budget(max_tokens=tokens, reserve_for_response=0))
            except OverBudgetError:
                continue
            calls = {c.id for m in prompt.messages for c in m.calls}
            assert calls == {r.call_id for m in prompt.messages for r in m.results}
            assert prompt.stats.total <= tokens

    run(go)


def test_leading_system_messages_and_the_anchors_note_stay_when_the_middle_falls_out():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "We agreed on plan B."})
        await tape.append(system("Be brief."))
        for i in range(400):
            await tape.append(user(f"m{i} " + "word " * 30))
        prompt = await compile(tape, Budget(max_tokens=2_000, reserve_for_response=0))
        assert prompt.messages[0].text == "Be brief." and prompt.to("anthropic")["system"]
        assert "plan B" in prompt.messages[1].text and prompt.messages[1].role == "user" and prompt.messages[-1].text.startswith("m399")
        assert [(s.form, s.reason) for s in prompt.plan.spans] == [
            ("omitted", "before anchor phase"),
            ("raw", "opens the view"),
            ("omitted", "older than what fits the budget"),
            ("omitted", "older than what fits the budget"),
            ("raw", "fits the budget"),
        ]
        assert prompt.provenance.sources[1].kind == "note" and prompt.provenance.anchor == "phase"

    run(go)


def test_a_note_that_leaves_no_room_is_left_out_with_that_reason():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "word " * 2_000})
        await tape.append(user("Go on."))
        prompt = await compile(tape, Budget(max_tokens=1_000, reserve_for_response=0))
        assert texts(prompt) == ["Go on."]
        assert ("omitted", "leaves no room for the newest message") in [(s.form, s.reason) for s in prompt.plan.spans]

    run(go)


def test_entries_that_show_nothing_are_counted_with_their_reasons():
    async def go():
        tape = await talk(2)
        for i in range(3):
            await tape.append_event("tick", {"i": i})
        await tape.append(TapeEntry.message({"role": "user", "content": "psst"}, context=False))
        explanation = (await compile(tape, WIDE)).explain()
        assert [(r.form, r.count, r.reason) for r in explanation if r.form == "not shown"] == [
            ("not shown", 3, "event: kind not shown by the default projection"),
            ("not shown", 1, "message: meta.context is False"),
        ]
        assert explanation.why(3) == "not shown: kind not shown by the default projection"
        assert explanation.why(99) == "not in the view"
        minimal = (await compile(tape.with_context(TapeContext(anchor=None)), WIDE)).explain()
        assert minimal.why(3) == "not shown: kind not shown by the minimal projection"
        assert "reason" in str(explanation) and "of 96,000 tokens" in str(explanation)

    run(go)


def test_the_same_tape_compiles_to_the_same_digest_and_another_budget_to_another():
    async def go():
        tape = await talk(100)
        small = Budget(max_tokens=2_000, reserve_for_response=0)
        one, two = await compile(tape, small), await compile(Tape(tape.store, "t"), small)
        assert one.digest == two.digest and one.messages == two.messages
        assert one.provenance.compile_id != two.provenance.compile_id
        assert one.digest != (await compile(tape, WIDE)).digest

    run(go)


def test_diff_says_where_the_new_prompt_leaves_the_old_prefix():
    async def go():
        tape = await talk(4)
        old = await compile(tape, WIDE)
        await tape.append(user("more"))
        grown = (await compile(tape, WIDE)).diff(old)
        assert grown.is_append and grown.seam == 4 and texts_of(grown.added) == ["more"]
        small = (await compile(tape, Budget(max_tokens=70, reserve_for_response=0))).diff(old)
        assert not small.is_append and small.seam == 0 and small.shared_tokens == 0 and len(small.removed) == 3
        assert "1 added" in str(grown) and "+ user: more" in str(grown)

    run(go)


def texts_of(messages):
    return [m.text for m in messages]


def test_injections_take_their_places_and_are_never_kept():
    async def go():
        tape = await talk(3)
        injections = [
            Injection(namespace="clock", position="before_user", content="It is noon."),
            Injection(namespace="rules", position="system", content="Never guess."),
            Injection(namespace="recall", position="after_user", content="You met before."),
        ]
        prompt = await compile(tape, WIDE, injections=injections)
        assert [t.split()[0] for t in texts(prompt)] == ["question", "answer", "It", "question", "You"]
        assert prompt.messages[2].name == "system_context:clock"
        assert prompt.system_injections == (Text(text="Never guess."),)
        assert [s.kind for s in prompt.provenance.sources] == ["raw", "raw", "injection", "raw", "injection"]
        assert prompt.stats.injections > 0 and prompt.stats.total == prompt.stats.raw + prompt.stats.injections
        assert "Never guess." in str(prompt.to("anthropic")["system"])
        first = prompt.to("openai")["messages"][0]
        assert first["role"] == "system" and "Never guess." in str(first["content"])
        assert (await tape.head()).id == 3

    run(go)


def test_without_a_user_message_injections_before_it_fall_out_and_those_behind_go_last():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append(assistant("alone"))
        prompt = await compile(tape, WIDE, injections=[Injection(namespace="a", position="before_user", content="x"), Injection(namespace="b", position="after_user", content="y")])
        assert texts(prompt) == ["alone", "y"]

    run(go)


def test_an_injection_never_lands_between_a_call_and_its_result():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append(user("go"))
        await tape.append(assistant(calls=[ToolCall(id="a", name="f")]))
        await tape.append(user("hurry"))
        await tape.append(tool_result_message("a", "A"))
        prompt = await compile(tape, WIDE, injections=[Injection(namespace="x", position="before_user", content="ctx")])
        assert [m.role for m in prompt.messages] == ["user", "assistant", "tool", "user", "user"]

    run(go)


def test_the_request_overhead_is_counted_and_changes_nothing_else():
    async def go():
        tape = await talk(3)
        plain = await compile(tape, WIDE)
        told = await compile(tape, WIDE, request_overhead={"system": "Be brief.", "tools": [{"name": "f"}]})
        assert plain.stats.request is None and plain.stats.request_total is None
        assert told.digest == plain.digest
        assert told.stats.request is not None and told.stats.request_total == told.stats.total + told.stats.request
        with pytest.raises(UnstorableValue):
            await compile(tape, WIDE, request_overhead={"tools": [{1, 2}]})
        with pytest.raises(InvalidInput):
            await compile(tape, WIDE, request_overhead={"tool": []})

    run(go)


def test_signed_thinking_goes_back_only_to_the_model_that_made_it():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append(user("why?"))
        thought = Thinking(text="because", signature="sig", provider="anthropic", model="claude-x")
        await tape.append(assistant([thought, Text(text="So.")]))
        await tape.append(user("ok"))
        prompt = await compile(tape, WIDE)
        assert "sig" in str(prompt.to("anthropic", model="claude-x"))
        for body in (prompt.to("anthropic"), prompt.to("anthropic", model="other"), prompt.to("openai", model="claude-x")):
            assert "sig" not in str(body) and "because" not in str(body)
        with pytest.raises(InvalidInput, match="anthropic"):
            prompt.to("nobody")

    run(go)


def test_the_window_stays_while_the_tape_grows_and_then_jumps():
    async def go():
        tape, budget, firsts = await talk(60), Budget(max_tokens=2_000, reserve_for_response=0), []
        for i in range(120):
            await tape.append(user(f"more {i} " + "word " * 30))
            prompt = await compile(tape, budget, strategy=WindowedPassthroughStrategy())
            firsts.append(prompt.plan.spans[-1].first)
            fresh = await compile(Tape(tape.store, "t"), budget, strategy=WindowedPassthroughStrategy())
            assert fresh.digest == prompt.digest
        assert firsts == sorted(firsts)
        assert sum(a != b for a, b in pairwise(firsts)) < 12

    run(go)


def test_the_anchors_note_is_no_user_message_and_a_hidden_anchor_leaves_none():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "S"})
        await tape.append(assistant("alone"))
        before = Injection(namespace="a", position="before_user", content="x")
        prompt = await compile(tape, WIDE, injections=[before])
        assert [s.kind for s in prompt.provenance.sources] == ["note", "raw"]
        assert "no user message" in str(prompt.explain()) and prompt.stats.injections == 0
        await tape.handoff("quiet", state={"summary": "S"}, context=False)
        await tape.append(user("hi"))
        assert texts(await compile(tape, WIDE)) == ["hi"]

    run(go)


def test_the_explanation_ends_with_the_total_of_the_prompt():
    async def go():
        prompt = await compile(await talk(2), WIDE, injections=[Injection(namespace="rules", content="Never guess.")])
        assert str(prompt.explain()).endswith(f"{prompt.stats.total:,} of 96,000 tokens")
        (row,) = [r for r in prompt.explain() if r.form == "injection"]
        assert row.tokens == prompt.stats.injections

    run(go)


def test_keep_shows_what_the_view_opens_with_besides():
    class LastTwo:
        def plan(self, units, *, budget, state):
            return units.keep(units[-2:], reason="older than the last two")

    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.handoff("phase", state={"summary": "S"})
        await tape.append_many([system("Be brief."), *(user(f"m{i}") for i in range(9))])
        prompt = await compile(tape, WIDE, strategy=LastTwo())
        assert [m.text[:9] for m in prompt.messages] == ["Be brief.", "[Note lef", "m7", "m8"]
        assert prompt.explain().why(1) == "raw: its state is the note left at phase"

    run(go)


def test_printing_a_prompt_or_a_plan_is_one_short_line():
    async def go():
        prompt = await compile(await talk(40), WIDE)
        for value in (prompt, prompt.plan, prompt.plan.units, prompt.plan.units[0]):
            assert len(repr(value)) < 120

    run(go)


def test_a_kind_cannot_forge_a_row_of_the_explanation():
    async def go():
        tape = await talk(1)
        await tape.append(TapeEntry(0, "odd\n\x1b[31mraw", {}))
        table = str((await compile(tape, WIDE)).explain())
        assert "\x1b" not in table and "odd\\n\\x1b[31mraw" in table

    run(go)
