"""A long message that is stored in parts is shown as one message, wherever its parts stand beside each other."""

from __future__ import annotations

import anyio
import pytest

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import Media, Text, ToolCall, assistant, tool_result_message, user
from playhead.entry.payload import part_to_json
from playhead.fold.choosing.shards import shards
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.prompt.injection import Injection
from playhead.prompt.report.stretches import stretches
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from playhead.view.bodies import bodies, messages
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.pieces import body_of
from playhead.view.plan import Plan, span_of
from playhead.view.selection import build_messages
from playhead.view.selectors import mask
from playhead.view.tokens import default_counter, message_tokens
from playhead.view.units import Body, Unit

WIDE = Budget(max_tokens=100_000)


def run(function):
    return anyio.run(function)


def shard(text, index, *, body="b", count=3, role="user", **payload):
    return TapeEntry.message({"role": role, "content": text, **payload}, shard={"body": body, "index": index, "count": count})


async def filled(*said):
    tape = Tape(InMemoryTapeStore(), "t", context=default_tape_context(anchor=None))
    return tape, await tape.append_many(said)


async def texts(tape):
    return [m.text for m in await tape.read_messages()]


def test_shards_are_units_of_their_own_and_one_message():
    async def go():
        tape, stored = await filled(user("look:"), shard("Once upon ", 0), shard("a time ", 1), shard("it ended.", 2), assistant("Nice."))
        units = await tape.read()
        assert [u.body for u in units] == [None, *(Body(id="b", index=i, count=3) for i in range(3)), None]
        assert await texts(tape) == ["look:", "Once upon a time it ended.", "Nice."]
        prompt = await compile(tape, WIDE)
        assert [m.text for m in prompt.messages] == await texts(tape)
        assert prompt.provenance.sources[1].uids == tuple(e.uid for e in stored[1:4]) == prompt.messages[1].sources
        assert prompt.stats.total == units.tokens and len(prompt.provenance.sources) == 3

    run(go)


@pytest.mark.parametrize(
    ("shards", "shown"),
    [
        ([("a", 0, "x"), ("b", 1, "x"), ("a", 0, "x"), ("b", 1, "x")], ["ab", "ab"]),
        ([("a", 0, "x"), ("b", 1, "y")], ["a", "b"]),
        ([("b", 1, "x"), ("a", 0, "x")], ["b", "a"]),
        ([("a", 0, "x"), ("c", 2, "x")], ["ac"]),
        ([("a", 1, "x"), ("b", 1, "x")], ["a", "b"]),
    ],
    ids=["posted twice", "of two bodies", "falling", "with a hole", "the same again"],
)
def test_a_shard_goes_on_with_the_one_before_where_body_and_rising_index_say_so(shards, shown):
    async def go():
        tape, _ = await filled(*(shard(text, index, body=body) for text, index, body in shards))
        assert await texts(tape) == shown

    run(go)


def test_another_speaker_or_something_between_parts_a_body():
    async def go():
        tape, _ = await filled(shard("a", 0), shard("b", 1, name="bob"), user("between"), shard("c", 2, name="bob"))
        assert await texts(tape) == ["a", "b", "between", "c"]

    run(go)


def test_what_is_no_text_stays_where_it_was_among_the_words():
    async def go():
        picture = Media(kind="image", mime="image/png", data="aGk=")
        first = [part_to_json(Text(text="Once ")), part_to_json(picture)]
        tape, _ = await filled(shard(first, 0), shard("upon ", 1), shard([part_to_json(Text(text="a time."))], 2))
        (message,) = await tape.read_messages()
        assert message.content == (Text(text="Once upon a time."), picture)
        ahead, _ = await filled(shard([part_to_json(picture), part_to_json(Text(text="Once "))], 0), shard("upon", 1))
        (message,) = await ahead.read_messages()
        assert message.content == (picture, Text(text="Once upon"))

    run(go)


@pytest.mark.parametrize(
    "odd", [None, "b", {}, {"body": "", "index": 0, "count": 1}, {"body": "b", "index": "0", "count": 1}, {"body": "b", "index": 2, "count": 2}, {"body": "b", "index": -1, "count": 2}]
)
def test_a_mark_that_is_none_leaves_an_ordinary_message(odd):
    assert body_of(TapeEntry.message({"role": "user", "content": "x"}, shard=odd)) is None


def test_the_border_of_two_spans_does_not_part_a_body_and_anything_shown_otherwise_does():
    class Spans:
        def __init__(self, *forms):
            self.forms = forms

        def plan(self, units, *, budget, state):
            return Plan(spans=tuple(span_of([u], form=f, reason=f"{i}") for i, (u, f) in enumerate(zip(units, self.forms, strict=True))), units=units)

    async def go():
        tape, stored = await filled(shard("a", 0), shard("b", 1), shard("c", 2), user("end"))
        joined = await compile(tape, WIDE, strategy=Spans("raw", "raw", "raw", "raw"))
        assert [m.text for m in joined.messages] == ["abc", "end"]
        parted = await compile(tape, WIDE, strategy=Spans("raw", "omitted", "raw", "raw"))
        assert [m.text for m in parted.messages] == ["a", "c", "end"]
        assert [s.uids for s in parted.provenance.sources] == [(stored[0].uid,), (stored[2].uid,), (stored[3].uid,)]

    run(go)


def test_a_shard_that_a_selector_changed_is_shown_by_itself():
    async def go():
        tape, _ = await filled(shard("a", 0), shard("b", 1), shard("sk-1", 2, count=4), shard("d", 3, count=4))
        assert await texts(tape.with_context(TapeContext(anchor=None, select=mask(r"sk-\d")))) == ["ab", "[masked]", "d"]

    run(go)


def test_build_messages_and_selectors_join_shards_and_name_all_their_entries():
    async def go():
        tape, stored = await filled(shard("a", 0), shard("b", 1), user("end"))
        entries = await tape.query().all()
        for context in (TapeContext(), default_tape_context(), TapeContext(select=mask("zzz"))):
            assert [m.text for m in build_messages(entries, context)] == ["ab", "end"]
        rebuilt = tape.with_context(TapeContext(anchor=None, select=lambda entries, context: build_messages(entries, default_tape_context())))
        units = await rebuilt.read()
        assert [u.ids for u in units] == [(1, 2), (3,)] and units.hidden == () and units[0].messages[0].sources == tuple(e.uid for e in stored[:2])
        payloads = tape.with_context(TapeContext(anchor=None, select=lambda entries, context: [e.payload for e in entries]))
        assert await texts(payloads) == ["ab", "end"] and (await compile(payloads, WIDE)).provenance.sources[0].uids == tuple(e.uid for e in stored[:2])

    run(go)


def test_injections_stand_before_and_behind_the_whole_body_in_prompt_and_page():
    async def go():
        tape, _ = await filled(assistant("hi"), shard("a", 0), shard("b", 1))
        injections = [Injection(namespace="before", position="before_user", content="x"), Injection(namespace="after", position="after_user", content="y")]
        prompt = await compile(tape, WIDE, injections=injections)
        assert [m.text for m in prompt.messages] == ["hi", "x", "ab", "y"]
        assert [p.name or f"{p.first}-{p.last}" for p in stretches(prompt)] == ["1-1", "before", "2-3", "after"]

    run(go)


def test_a_changed_shard_stays_part_of_its_body():
    async def go():
        tape, stored = await filled(shard("a", 0), shard("b", 1))
        change = await tape.append(TapeEntry(0, AMEND, {"target": stored[0].uid, "content": "A"}))
        (message,) = await tape.read_messages()
        assert message.text == "Ab" and message.sources == (stored[0].uid, change.uid, stored[1].uid)

    run(go)


def test_rounds_and_messages_without_a_body_pass_as_they_are():
    async def go():
        tape, _ = await filled(user("go"), assistant(calls=[ToolCall(id="a", name="f")]), tool_result_message("a", "A"))
        units = await tape.read()
        assert list(messages(units)) == [m for u in units for m in u.messages] and list(bodies(units)) == [(u,) for u in units]

    run(go)


def test_no_units_are_no_messages():
    assert list(messages(())) == [] and list(bodies(iter([one := Unit(kind="message", messages=(user("x"),), ids=(1,), uids=(), tokens=1)]))) == [(one,)]


TEXTS = {
    "emoji": "😀" * 8_000,
    "families": "👩‍👩‍👧 " * 4_000,
    "one word": "fooBarBaz" * 6_000,
    "prose": "The pump broke at night because its bearing ran dry. " * 700,
    "lines": "\n" * 30_000,
    "digits": "1234567" * 5_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("tokens", [50, 500, 1_500])
def test_a_long_message_costs_no_more_than_its_parts_were_priced_at(text, tokens):
    async def go():
        parts = shards(text, tokens=tokens)
        tape, _ = await filled(*(shard(part, index, count=len(parts)) for index, part in enumerate(parts)))
        units = await tape.read()
        for count in {2, 3, 5, len(units)}:
            some = units[:count]
            (joined,) = messages(some)
            assert message_tokens(joined, counter=default_counter()) <= sum(u.tokens for u in some)

    run(go)


def test_a_message_that_is_no_part_is_priced_as_it_is():
    async def go():
        tape, _ = await filled(user("x" * 4_000))
        (unit,) = await tape.read()
        assert unit.tokens == message_tokens(unit.messages[0], counter=default_counter())

    run(go)
