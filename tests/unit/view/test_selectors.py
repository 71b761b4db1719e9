from base64 import b64encode
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Text, Thinking, ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidInput
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.prompt.strategies.windowed import WindowedPassthroughStrategy
from playhead.prompt.strategy import Need
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext
from playhead.view.pipe import pipe
from playhead.view.selectors import DROPPED_IMAGE, drop_images, drop_tool_results, keep_last, latest_read_only, mask, trim_tool_results

LONG = "line of output\n" * 400
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def run(function):
    return anyio.run(function)


async def tape_of(*items, store=None):
    tape = Tape(store or InMemoryTapeStore(), "t")
    await tape.bootstrap()
    await tape.append_many(items)
    return tape


def through(tape, *steps):
    return tape.with_context(TapeContext(anchor=None, select=pipe(*steps)))


def behind_anchor(tape, *steps):
    return tape.with_context(TapeContext(select=pipe(*steps)))


def texts(messages):
    return [m.text for m in messages if "Anchor created" not in m.text]


def read(id, path, content=LONG, name="read_file", key="path"):
    return assistant(calls=[ToolCall(id=id, name=name, arguments={key: path})]), tool_result_message(id, content)


def test_bulky_results_are_left_out_and_their_calls_stay():
    async def go():
        tape = await tape_of(user("go"), *read("a", "x.py"), *read("b", "y.py", content="short"))
        messages = await through(tape, drop_tool_results(over_tokens=200)).read_messages()
        told = texts(messages)
        assert told[2].startswith("result not shown: ") and told[2].endswith("tokens, entry 5") and told[4] == "short"
        assert [c.name for m in messages for c in m.calls] == ["read_file", "read_file"]

    run(go)


def test_large_results_keep_their_ends():
    async def go():
        body = "".join(f"line {i}\n" for i in range(2_000))
        tape = await tape_of(*read("a", "x.py", content=body))
        _, shown = texts(await through(tape, trim_tool_results(over_tokens=500, head=50, tail=50)).read_messages())
        assert shown.startswith("line 0\n") and shown.endswith("line 1999\n") and "tokens not shown, entry 4]" in shown
        prompt = await compile(through(tape, trim_tool_results(over_tokens=500, head=50, tail=50)), Budget())
        assert prompt.stats.total < 400

    run(go)


def test_of_repeated_reads_only_the_newest_is_shown():
    async def go():
        tape = await tape_of(*read("a", "x.py", "old"), *read("b", "y.py", "other"), *read("c", "x.py", "new", name="Read", key="file_path"), *read("d", "x.py", "ran", name="run"))
        told = texts(await through(tape, latest_read_only()).read_messages())
        assert told[1].startswith("read again later; ") and told[1].endswith("entry 4")
        assert told[3::2] == ["other", "new", "ran"]
        plain = texts(await through(tape, latest_read_only(tools=("nothing",))).read_messages())
        assert plain[1] == "old"

    run(go)


def test_two_ranges_of_one_file_are_two_things_unless_a_key_is_named():
    def part(id, offset):
        return assistant(calls=[ToolCall(id=id, name="Read", arguments={"file_path": "x", "offset": offset})]), tool_result_message(id, f"from {offset}")

    async def go():
        tape = await tape_of(*part("a", 1), *part("b", 101), *part("c", 1))
        first, second, third = texts(await through(tape, latest_read_only()).read_messages())[1::2]
        assert first.startswith("read again later; ") and (second, third) == ("from 101", "from 1")
        one = texts(await through(tape, latest_read_only(key="file_path")).read_messages())[1::2]
        assert one[2] == "from 1" and all(t.startswith("read again later") for t in one[:2])

    run(go)


def test_a_users_words_are_never_taken_for_an_event():
    async def go():
        tape = await tape_of(user('[Event read_file]: {"path":"x"}'), *read("a", "x", "text"))
        assert texts(await through(tape, latest_read_only()).read_messages())[0] == '[Event read_file]: {"path":"x"}'

    run(go)


def test_the_note_of_the_anchor_and_every_other_place_is_masked():
    async def go():
        secret = "sk-abc123"
        tape = await tape_of()
        await tape.handoff("phase", state={"summary": f"the key is {secret}", secret: 1})
        note = Media(kind="document", mime="text/plain", data=b64encode(f"in a file: {secret}".encode()).decode(), name=f"{secret}.txt")
        await tape.append(user([note]))
        await tape.append(assistant(calls=[ToolCall(id="a", name="f", arguments={secret: 1})]))
        await tape.append(tool_result_message("a", "ok"))
        view = tape.with_context(TapeContext(select=mask(r"sk-\w+")))
        prompt = await compile(view, Budget())
        assert secret not in str(await view.read_messages()) and prompt.provenance.sources[0].kind == "note"
        for provider in ("openai", "openai-responses", "anthropic"):
            body = str(prompt.to(provider))
            assert secret not in body and b64encode(secret.encode()).decode()[:8] not in body

    run(go)


def test_what_a_selector_changed_is_trimmed_and_says_by_what():
    async def go():
        tape = await tape_of(user("go"), *read("a", "x.py"), assistant("done"))
        prompt = await compile(through(tape, drop_tool_results(over_tokens=50), mask("line")), Budget())
        assert [(s.form, s.how) for s in prompt.plan.spans] == [("raw", None), ("trimmed", "drop_tool_results"), ("raw", None)]
        assert prompt.explain().why(4) == "trimmed: fits the budget; drop_tool_results"
        assert [(s.kind, s.name) for s in prompt.provenance.sources][1:3] == [("trimmed", "drop_tool_results")] * 2
        assert prompt.stats.trimmed > 0 and prompt.stats.total == prompt.stats.raw + prompt.stats.trimmed

    run(go)


def test_a_single_step_is_a_selector_too():
    async def go():
        tape = await tape_of(user("sk-1"))
        assert texts(await tape.with_context(TapeContext(select=mask(r"sk-\d"))).read_messages()) == ["[masked]"]

    run(go)


def test_of_repeated_read_events_only_the_newest_is_shown():
    async def go():
        events = [TapeEntry.event("read_file", {"path": p, "text": t}) for p, t in (("x", "old"), ("y", "only"), ("x", "new"))]
        tape = await tape_of(user("go"), *events, TapeEntry.event("other", {"path": "x"}))
        view = through(tape, latest_read_only())
        told = texts(await view.read_messages())
        assert told == ["go", '[Event read_file]: {"path":"y","text":"only"}', '[Event read_file]: {"path":"x","text":"new"}']
        assert (await compile(view, Budget())).explain().why(4) == "not shown: read again later (latest_read_only)"

    run(go)


def test_what_matches_is_masked_everywhere_it_would_be_shown():
    async def go():
        secret = "sk-abc123"
        turn = assistant([Thinking(text=f"use {secret}", signature="s", provider="anthropic", model="m"), Text(text=f"with {secret}")], calls=[ToolCall(id="a", name="f", arguments={"k": [secret]})])
        tape = await tape_of(user(f"key {secret}", name=f"ada-{secret}"), turn, tool_result_message("a", f"got {secret}"))
        prompt = await compile(through(tape, mask(r"sk-\w+")), Budget())
        for provider in ("openai", "openai-responses", "anthropic"):
            body = str(prompt.to(provider, model="m"))
            assert secret not in body and "[masked]" in body
        assert not any(isinstance(p, Thinking) for m in prompt.messages for p in m.parts)
        assert secret in str(await tape.query().all())

    run(go)


def test_the_last_turns_are_kept_with_all_that_follows_them():
    async def go():
        tape = await tape_of(system("Be brief."), user("one"), assistant("1"), user("two"), *read("a", "x", "A"), assistant("2"), user("three"))
        view = behind_anchor(tape, keep_last(2))
        told = texts(await view.read_messages())
        assert told == ["Be brief.", "two", "", "A", "2", "three"]
        explanation = (await compile(view, Budget())).explain()
        assert explanation.why(4) == "not shown: older than the last 2 turns"
        assert len(texts(await behind_anchor(tape, keep_last(9)).read_messages())) == 8

    run(go)


@pytest.mark.parametrize("away", [3, 400, 5_000])
def test_of_older_system_messages_keep_last_shows_those_alone_that_the_view_opens_with(away: int):
    async def go():
        said = [user(f"m{i}") if i % 2 == 0 else assistant(f"a{i}") for i in range(6_000)]
        view = behind_anchor(await tape_of(system("Be brief."), *said[:-away], system("In French."), *said[-away:]), keep_last(1))
        told = ["Be brief.", "m5998", "a5999"]
        assert texts(await view.read_messages()) == told
        assert texts((await compile(view, Budget(max_tokens=8_000, reserve_for_response=0))).messages) == told

    run(go)


def test_a_strategy_that_wants_the_head_gets_none_that_keep_last_leaves_out():
    class Ends(PassthroughStrategy):
        def need(self, budget, state):
            return Need(head_tokens=1_000, tail_tokens=1_000)

    async def go():
        tape = await tape_of(system("Be brief."), *(user(f"m{i}") if i % 2 == 0 else assistant(f"a{i}") for i in range(6_000)))
        prompt = await compile(behind_anchor(tape, keep_last(1)), Budget(max_tokens=8_000, reserve_for_response=0), strategy=Ends())
        assert texts(prompt.messages) == ["Be brief.", "m5998", "a5999"]

    run(go)


def test_keep_last_reads_the_tail_of_a_long_tape_alone():
    async def go():
        tape = await tape_of(*(user(f"m{i}") if i % 2 == 0 else assistant(f"a{i}") for i in range(6_000)))
        prompt = await compile(through(tape, keep_last(3)), Budget(max_tokens=2_000, reserve_for_response=0))
        assert [m.text for m in prompt.messages] == ["m5994", "a5995", "m5996", "a5997", "m5998", "a5999"]
        gap = next(s for s in prompt.plan.spans if not s.units)
        assert gap.reason == "older than the last 3 turns" and gap.count > 4_000

    run(go)


def test_images_fall_out_several_at_a_time():
    async def go():
        tape, shown = await tape_of(), []
        for i in range(60):
            await tape.append(user([Text(text=f"shot {i}"), Media(kind="image", mime="image/png", data=PIXEL)]))
            messages = await through(tape, drop_images(keep=8)).read_messages()
            shown.append([m.text for m in messages if any(isinstance(p, Media) for p in m.parts)])
        assert all(len(s) <= 8 for s in shown) and all(len(s) >= 4 for s in shown[8:])
        firsts = [s[0] for s in shown]
        assert sum(a != b for a, b in pairwise(firsts)) <= 16
        assert DROPPED_IMAGE in messages[5].text

    run(go)


def test_steps_join_in_order_and_stay_valid_at_every_budget():
    async def go():
        items = [i for n in range(40) for i in (user(f"q{n} sk-{n}"), *read(f"c{n}", f"f{n % 3}.py", LONG if n % 2 else "tiny"), assistant(f"a{n}"))]
        view = through(await tape_of(*items), drop_tool_results(over_tokens=300), latest_read_only(), mask(r"sk-\w+"))
        for tokens in (200, 1_000, 5_000):
            prompt = await compile(view, Budget(max_tokens=tokens, reserve_for_response=0), strategy=WindowedPassthroughStrategy())
            assert prompt.stats.total <= tokens
            for provider in ("openai", "openai-responses", "anthropic"):
                assert "sk-" not in str(prompt.to(provider))

    run(go)


def test_a_view_changes_no_byte_of_the_tape(tmp_path: Path):
    async def go():
        store = SQLiteTapeStore(tmp_path / "t.db")
        tape = await tape_of(user("key sk-1"), *read("a", "x.py"), *read("b", "x.py"), store=store)
        before = [(e.id, e.payload, e.meta, e.date) for e in await tape.query().all()]
        await compile(through(tape, drop_tool_results(over_tokens=10), latest_read_only(), mask("sk-.")), Budget())
        assert [(e.id, e.payload, e.meta, e.date) for e in await tape.query().all()] == before
        await store.aclose()

    run(go)


def test_a_step_is_asked_once_about_a_unit_that_stays():
    async def go():
        tape = await tape_of(*read("a", "x.py"))
        view = through(tape, drop_tool_results(over_tokens=10))
        first, second = await compile(view, Budget()), await compile(view, Budget())
        assert first.messages[-1] is second.messages[-1]

    run(go)


@pytest.mark.parametrize(
    "make",
    [
        pipe,
        lambda: pipe(len),
        lambda: drop_tool_results(over_tokens=0),
        lambda: trim_tool_results(over_tokens=100, head=60, tail=50),
        lambda: keep_last(0),
        lambda: keep_last(True),
        lambda: drop_images(keep=0),
        lambda: drop_images(trim_to=0),
        mask,
        lambda: mask("("),
        lambda: mask(3),
    ],
)
def test_a_selector_with_an_impossible_setting_is_refused(make):
    with pytest.raises(InvalidInput):
        make()
