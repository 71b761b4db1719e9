"""An amend changes or removes what every view shows of an earlier entry; the entry itself stays as it is."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import Media, Message, Text, ToolCall, ToolResult, assistant, system, tool_result_message, user
from playhead.entry.payload import part_to_json
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.view.context import TapeContext, default_tape_context
from playhead.view.selection import build_messages
from playhead.view.selectors import mask

REMOVED = "removed by a later entry"


def run(function):
    return anyio.run(function)


def amend(target, content):
    return TapeEntry(0, AMEND, {"target": target.uid, "content": content})


def remove(target):
    return TapeEntry(0, AMEND, {"target": target.uid, "removed": True})


async def filled(*said, store=None):
    tape = Tape(store or InMemoryTapeStore(), "t")
    return tape, await tape.append_many(said)


async def texts(tape):
    return [m.text for m in await tape.read_messages()]


def reasons(units):
    return {h.id: h.reason for h in units.hidden}


PARTS = [part_to_json(Text(text="see")), part_to_json(Media(kind="image", mime="image/png", data="aGk="))]


@pytest.mark.parametrize("content", ["Call me Ada.", PARTS], ids=["text", "parts"])
def test_a_view_shows_the_changed_content_in_place_with_both_entries_as_sources(content):
    async def go():
        tape, (first, second) = await filled(user("Call me Bob.", name="bob"), assistant("Hello Bob."))
        tape = tape.with_context(default_tape_context(anchor=None))
        changed = await tape.append(amend(first, content))
        units = await tape.read()
        (message,) = units[0].messages
        assert (message.role, message.name) == ("user", "bob")
        assert message.content == (content if isinstance(content, str) else (Text(text="see"), Media(kind="image", mime="image/png", data="aGk=")))
        assert message.sources == (first.uid, changed.uid) and units[0].ids == (1,) and units[0].uids == (first.uid,)
        assert units[1].messages[0].sources == (second.uid,)
        assert reasons(units) == {3: "changes entry 1"}
        assert (await tape.query().all())[0].payload["content"] == "Call me Bob."
        prompt = await compile(tape, Budget(max_tokens=9_000))
        assert prompt.provenance.sources[0].uids == (first.uid, changed.uid) and prompt.explain().why(3) == "not shown: changes entry 1"

    run(go)


def test_the_newest_change_of_an_entry_counts_and_a_change_after_a_removal_brings_it_back():
    async def go():
        tape, (first, _) = await filled(user("one"), user("two"))
        tape = tape.with_context(TapeContext(anchor=None))
        seen = []
        for change in (amend(first, "1"), amend(first, "I"), remove(first), amend(first, "uno")):
            await tape.append(change)
            seen.append(await texts(tape))
        assert seen == [["1", "two"], ["I", "two"], ["two"], ["uno", "two"]]
        assert [await texts(tape.at(end)) for end in range(2, 7)] == [["one", "two"], *seen]

    run(go)


def test_a_removed_message_is_hidden_with_its_reason():
    async def go():
        tape, (first, _) = await filled(user("one"), user("two"))
        await tape.append(remove(first))
        units = await tape.with_context(default_tape_context(anchor=None)).read()
        assert [u.ids for u in units] == [(2,)] and reasons(units) == {1: REMOVED, 3: "removes entry 1"}

    run(go)


A_ROUND = (assistant("I look.", calls=[ToolCall(id="a", name="f"), ToolCall(id="b", name="g")]), tool_result_message("a", "A"), tool_result_message("b", "B"))


def test_a_change_of_a_call_keeps_its_calls_and_one_of_a_result_its_call():
    async def go():
        tape, (turn, first, _) = await filled(*A_ROUND)
        tape = tape.with_context(default_tape_context(anchor=None))
        by_turn, by_result = await tape.append_many([amend(turn, "Looking."), amend(first, "[cut]")])
        (unit,) = await tape.read()
        assert [(m.role, m.text) for m in unit.messages] == [("assistant", "Looking."), ("tool", "[cut]"), ("tool", "B")]
        assert [c.id for c in unit.messages[0].calls] == ["a", "b"] and [m.results[0].call_id for m in unit.messages[1:]] == ["a", "b"]
        assert unit.messages[0].sources == (turn.uid, by_turn.uid) and unit.messages[1].sources == (first.uid, by_result.uid)
        assert unit.ids == (1, 2, 3) and not unit.is_open

    run(go)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_removing_one_entry_of_a_round_hides_the_whole_round_and_what_answers_it_later(index):
    async def go():
        tape, said = await filled(*A_ROUND[:2], user("hurry"))
        tape = tape.with_context(default_tape_context(anchor=None))
        late = await tape.append(A_ROUND[2])
        await tape.append_many([user("done"), remove([said[0], said[1], late][index])])
        units = await tape.read()
        assert [u.ids for u in units] == [(3,), (5,)]
        assert reasons(units) == {1: REMOVED, 2: REMOVED, 4: REMOVED, 6: f"removes entry {[1, 2, 4][index]}"}
        tail = await tape.read(tail_tokens=4)
        assert [u.ids for u in tail] == [(5,)] and reasons(tail) == {6: f"removes entry {[1, 2, 4][index]}"}

    run(go)


def test_a_result_that_comes_after_its_call_was_removed_is_hidden_with_it():
    async def go():
        tape, (turn,) = await filled(A_ROUND[0])
        tape = tape.with_context(default_tape_context(anchor=None))
        await tape.append(remove(turn))
        assert len(await tape.read()) == 0
        await tape.append_many([tool_result_message("a", "A"), user("and?")])
        units = await tape.read()
        assert [u.ids for u in units] == [(4,)] and reasons(units) == {1: REMOVED, 2: "removes entry 1", 3: REMOVED}

    run(go)


def test_one_removed_result_of_an_entry_with_words_takes_round_and_words():
    async def go():
        both = TapeEntry.message({"role": "user", "content": [part_to_json(ToolResult(call_id="a", content="A")), part_to_json(Text(text="and now?"))]})
        tape, said = await filled(user("go"), assistant(calls=[ToolCall(id="a", name="f")]), both)
        tape = tape.with_context(default_tape_context(anchor=None))
        await tape.append(amend(said[2], "well?"))
        assert [m.text for u in await tape.read() for m in u.messages] == ["go", "", "A", "well?"]
        await tape.append(remove(said[2]))
        units = await tape.read()
        assert [u.ids for u in units] == [(1,)] and [(h.id, h.reason) for h in units.hidden][:2] == [(2, REMOVED), (3, REMOVED)]

    run(go)


def test_what_stands_for_calls_and_results_inside_a_message_stays_when_its_words_change():
    async def go():
        call, result = part_to_json(ToolCall(id="a", name="f")), part_to_json(ToolResult(call_id="a", content="A"))
        turn = TapeEntry.message({"role": "assistant", "content": [part_to_json(Text(text="I look.")), call]})
        tape, said = await filled(turn, TapeEntry.message({"role": "tool", "content": [result]}))
        tape = tape.with_context(default_tape_context(anchor=None))
        await tape.append_many([amend(said[0], "Looking."), amend(said[1], "[cut]")])
        (unit,) = await tape.read()
        assert [m.text for m in unit.messages] == ["Looking.", "[cut]"] and unit.messages[0].calls[0].id == "a"

    run(go)


def test_changes_that_change_nothing_say_why():
    async def go():
        two = TapeEntry.tool_result(["A", "B"])
        tape, said = await filled(assistant(calls=[ToolCall(id="a", name="f"), ToolCall(id="b", name="f")]), two, user("hi"))
        tape = tape.with_context(default_tape_context(anchor=None))
        changes = [TapeEntry(0, AMEND, p) for p in ({}, {"target": "nobody", "content": "x"}, {"target": said[2].uid}, {"target": said[1].uid, "content": "x"})]
        stored = await tape.append_many(changes)
        await tape.append(amend(stored[0], "x"))
        assert list(reasons(await tape.read()).values()) == [
            "changes nothing: it names no target",
            "changes nothing: what it names does not stand before it on this tape",
            "changes nothing: it holds no content",
            "changes nothing: entry 2 holds several results",
            "changes nothing: entry 4 is a change itself",
        ]
        assert [m.text for u in await tape.read() for m in u.messages] == ["", "A", "B", "hi"]

    run(go)


def test_a_change_before_its_target_changes_nothing_whenever_it_is_read():
    async def go():
        tape = Tape(InMemoryTapeStore(), "t", context=TapeContext(anchor=None))
        later = TapeEntry.message({"role": "user", "content": "kept"}, uid="0198c0de-0000-7000-8000-000000000001")
        await tape.append(TapeEntry(0, AMEND, {"target": later.uid, "removed": True}))
        assert await texts(tape) == []
        await tape.append(later)
        assert await texts(tape) == ["kept"] == await texts(Tape(tape.store, "t", context=TapeContext(anchor=None)))

    run(go)


def test_changes_reach_anchors_their_notes_and_events():
    async def go():
        tape, (anchor, _, told) = await filled(TapeEntry.anchor("phase", {"summary": "We chose plan B."}), user("Go on."), TapeEntry.anchor("inside", {"n": 1}))
        whole, behind = tape.with_context(default_tape_context(anchor=None)), tape.with_context(default_tape_context(anchor="phase"))
        await tape.append_many([amend(anchor, "We chose plan C."), amend(told, "halfway")])
        assert await texts(whole) == ["We chose plan C.", "Go on.", "halfway"]
        note, *rest = await texts(behind)
        assert note.startswith("[Note left at phase") and note.endswith("We chose plan C.") and rest == ["Go on.", "halfway"]
        await tape.append(remove(anchor))
        assert await texts(behind) == ["Go on.", "halfway"] and reasons(await whole.read())[1] == REMOVED

    run(go)


def test_selectors_and_build_messages_see_entries_as_they_were_changed():
    async def go():
        tape, said = await filled(user("my key is sk-1"), user("gone"), *A_ROUND, user("bye"))
        await tape.append_many([amend(said[0], "my key is sk-2"), remove(said[1]), remove(said[3])])
        given = []

        def own(entries, context):
            given.extend(entries)
            return [e.payload for e in entries if e.kind == "message"]

        selecting = tape.with_context(TapeContext(anchor=None, select=own))
        assert await texts(selecting) == ["my key is sk-2", "bye"]
        assert [e.id for e in given] == [1, 6]
        units = await selecting.read()
        assert [u.ids for u in units] == [(1,), (6,)] and reasons(units)[2] == reasons(units)[4] == REMOVED and reasons(units)[7] == "changes entry 1"
        masked = tape.with_context(TapeContext(anchor=None, select=mask(r"sk-\d")))
        assert await texts(masked) == ["my key is [masked]", "bye"]
        entries = await tape.query().all()
        for context in (TapeContext(), default_tape_context(), TapeContext(select=own), TapeContext(select=mask("sk-1"))):
            assert [m.text if isinstance(m, Message) else m["content"] for m in build_messages(entries, context)] == ["my key is sk-2", "bye"]

    run(go)


@pytest.mark.parametrize("opened", ["memory", "file", "sqlite"])
def test_changes_are_seen_in_forks_at_earlier_entries_and_after_merges(opened, tmp_path):
    async def go():
        store = {"memory": InMemoryTapeStore, "file": partial(FileTapeStore, tmp_path / "f"), "sqlite": partial(SQLiteTapeStore, tmp_path / "s.db")}[opened]()
        tape, said = await filled(user("one"), user("two"), store=store)
        tape = tape.with_context(TapeContext(anchor=None))
        branch = await tape.fork(name="b")
        await branch.append(amend(said[0], "1"))
        await tape.append(user("three"))
        assert (await texts(branch), await texts(tape)) == (["1", "two"], ["one", "two", "three"])
        inner = await branch.fork(name="c")
        await inner.append(remove(said[1]))
        assert await texts(inner) == ["1"]
        await branch.merge(policy="append")
        assert await texts(tape) == ["1", "two", "three"] == await texts(Tape(store, "t", context=TapeContext(anchor=None)))
        assert await texts(tape.at(3)) == ["one", "two", "three"]
        earlier = await tape.fork(2, name="d")
        assert await texts(earlier) == ["one", "two"]
        await store.aclose()

    run(go)


def test_a_change_far_behind_reaches_what_the_view_opens_with_its_head_and_older_runs():
    async def go():
        tape, said = await filled(system("Be brief."), *(user(f"m{i}") for i in range(2, 2_001)))
        await tape.append_many([amend(said[0], "Be kind."), amend(said[1], "changed two"), amend(said[99], "changed hundred"), *(user(f"n{i}") for i in range(2_000))])
        for fresh in (Tape(tape.store, "t", context=TapeContext(anchor=None)) for _ in range(2)):
            opening = await fresh.read(tail_tokens=20)
            assert [m.text for u in opening[:1] for m in u.messages] == ["Be kind."] and opening.lead == 1
            head = await fresh.read(tail_tokens=20, head_tokens=30)
            assert [u.messages[0].text for u in head[:2]] == ["Be kind.", "changed two"]
            folded = await fresh.read(folded=[(2, 90), (111, 3_900)])
            assert "changed hundred" in [u.messages[0].text for u in folded]
            assert [u.messages[0].text for u in await fresh.read_range(100, 100)] == ["changed hundred"]

    run(go)


def test_a_tail_is_read_without_looking_for_changes_of_what_is_before_it():
    class Watched:
        def __init__(self, store):
            self.store, self.queries = store, []

        def __getattr__(self, name):
            return getattr(self.store, name)

        async def fetch_all(self, query):
            self.queries.append(query)
            return await self.store.fetch_all(query)

    async def go():
        tape, said = await filled(*(user(f"m{i}") for i in range(3_000)))
        await tape.append_many([amend(said[0], "changed"), amend(said[-1], "the newest"), user("bye")])
        fresh = Tape(tape.store, "t", context=TapeContext(anchor=None))
        watched = fresh._reader._known.store = Watched(tape.store)
        units = await fresh.read(tail_tokens=20)
        assert [u.messages[0].text for u in units][-2:] == ["the newest", "bye"]
        assert [h.reason for h in units.hidden] == ["changes entry 1", "changes entry 3000"]
        assert [q for q in watched.queries if q.only == (AMEND,)] == []
        assert (await fresh.amends()).since == 0 and sum(q.only == (AMEND,) for q in watched.queries) == 1

    run(go)


def test_only_what_a_change_touches_is_read_again():
    async def go():
        tape, said = await filled(*(user(f"m{i}") for i in range(200)))
        tape = tape.with_context(TapeContext(anchor=None))
        folded = [(11, 50), (61, 100)]
        before = await tape.read(folded=folded)
        await tape.append(amend(said[54], "changed"))
        after = await tape.read(folded=folded)
        old, new = {u.first: u for u in before}, {u.first: u for u in after}
        assert {i for i in old if old[i] is not new[i]} <= set(range(51, 61))
        assert new[55].messages[0].text == "changed"

    run(go)


def test_a_reset_forgets_the_changes():
    async def go():
        tape, said = await filled(user("one"))
        tape = tape.with_context(TapeContext(anchor=None))
        await tape.append(amend(said[0], "1"))
        assert await texts(tape) == ["1"]
        await tape.reset()
        await tape.append(said[0])
        assert await texts(tape) == ["one"]

    run(go)
