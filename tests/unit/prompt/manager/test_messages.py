"""The messages of a tape: added, read and found as they are now, whoever wrote them."""

from datetime import UTC, datetime

import anyio
import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Media, Message, Text, ToolCall, assistant, system, tool_result_message, user
from playhead.errors import InvalidInput, MessageNotFound, UnstorableValue
from playhead.prompt.manager.ledger import STRIDE
from playhead.testing import FakeClock
from tests.unit.prompt.manager.books import STORES, CountingStore, book, book_in, said

each_store = pytest.mark.parametrize("opened", STORES.values(), ids=STORES)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 3}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "three"}


def shapes(entries):
    return [(e.kind, e.payload.get("role"), e.payload.get("name")) for e in entries]


# -- adding


@each_store
def test_a_message_comes_out_as_it_went_in(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            with clock.using(FakeClock(NOW)):
                (cause,) = await messages.add("Alice", "Look at this.")
                picture = Media(kind="image", mime="image/png", url="https://example.org/a.png")
                (id,) = await messages.add("User", [Text(text="Here."), picture], metadata={"tags": ["a"], "external": {"id": 7}}, caused_by=[cause])
            message = await messages.get(id)
            assert (message.id, message.entry, message.participant, message.timestamp) == (id, 2, "User", NOW)
            assert message.message == user([Text(text="Here."), picture])
            assert message.message.sources == (id,)
            assert message.content == (Text(text="Here."), picture)
            assert message.text == "Here."
            assert (message.metadata, message.caused_by) == ({"tags": ["a"], "external": {"id": 7}}, (cause,))
            assert message.body is None
            assert not message.is_amended

    anyio.run(main)


def test_the_agent_is_the_assistant_and_everybody_else_a_user_of_that_name():
    async def main():
        messages = book()
        for name in ("Claude", "claude", "assistant", "User", "Alice"):
            await messages.add(name, "hello")
        entries = await messages.tape.query().all()
        agent = ("message", "assistant", "Claude")
        assert shapes(entries) == [agent, agent, agent, ("message", "user", None), ("message", "user", "Alice")]
        assert [name for name, _ in await said(messages)] == ["Claude", "Claude", "Claude", "User", "Alice"]

    anyio.run(main)


def test_a_message_keeps_what_it_says_and_gets_its_speaker_from_its_participant():
    async def main():
        messages = book()
        turn = Message(role="assistant", content=(Text(text="a", extra={"anthropic": {"x": 1}}),), name="other", extra={"openai": {"y": 2}})
        (mine,) = await messages.add("Claude", turn)
        (theirs,) = await messages.add("Dora", turn)
        (told,) = await messages.add("System", system("Be brief."))
        assert (await messages.get(mine)).message == Message(role="assistant", content=turn.content, name="Claude", extra=turn.extra)
        assert (await messages.get(theirs)).message == Message(role="user", content=turn.content, name="Dora", extra=turn.extra)
        assert (await messages.get(told)).message == system("Be brief.", name="System")

    anyio.run(main)


def test_results_are_entries_of_their_own_before_the_words_beside_them():
    async def main():
        messages = book()
        (turn,) = await messages.add("Claude", [{"type": "text", "text": "I look."}, CALL])
        ids = await messages.add("Alice", ["So?", RESULT], metadata={"m": 1})
        entries = await messages.tape.query().all()
        assert [e.kind for e in entries] == ["tool_call", "tool_result", "message"]
        assert [e.uid for e in entries] == [turn, *ids]
        results, words = await messages.get(ids[0]), await messages.get(ids[1])
        assert results.message == tool_result_message("c1", "three")
        assert (results.participant, words.participant) == ("Alice", "Alice")
        assert (results.metadata, words.metadata) == ({"m": 1}, {"m": 1})
        (unit,) = [u for u in await messages.tape.read() if u.kind == "round"]
        assert not unit.is_open

    anyio.run(main)


def test_a_turn_that_holds_its_own_results_is_kept_in_its_order():
    async def main():
        messages = book()
        ids = await messages.add("Claude", [CALL, RESULT, "Three.", {**CALL, "id": "c2"}])
        entries = await messages.tape.query().all()
        assert [e.kind for e in entries] == ["tool_call", "tool_result", "tool_call"]
        assert (await messages.get(ids[2])).message == assistant("Three.", calls=[ToolCall(id="c2", name="look", arguments={"at": 3})], name="Claude")
        assert len({e.date for e in entries}) == 1

    anyio.run(main)


@pytest.mark.parametrize(
    ("participant", "content", "more"),
    [
        ("User", "", {}),
        ("User", [], {}),
        ("User", [{"type": "text", "text": ""}], {}),
        ("User", user(""), {}),
        ("User", [CALL], {}),
        ("User", assistant(calls=[ToolCall(id="c1", name="look")]), {}),
        ("User", [{"type": "thinking", "thinking": "hm"}], {}),
        ("", "hello", {}),
        ("  ", "hello", {}),
        (None, "hello", {}),
        ("User", "hello", {"metadata": ["a"]}),
        ("User", "hello", {"metadata": {"when": NOW}}),
        ("User", "hello", {"metadata": {"n": float("nan")}}),
        ("User", "hello", {"caused_by": [7]}),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(participant, content, more):
    async def main():
        messages = book(shard_tokens=8)
        told = []
        messages.on_message(told.append)
        with pytest.raises(InvalidInput):
            await messages.add(participant, content, **more)
        assert (await messages.tape.head()).id == 0
        assert told == []

    anyio.run(main)


def test_what_json_cannot_hold_is_named_with_its_place():
    async def main():
        with pytest.raises(UnstorableValue, match=r"metadata\.deep\.n"):
            await book().add("User", "hello", metadata={"deep": {"n": float("inf")}})

    anyio.run(main)


def test_a_lone_half_of_a_character_is_kept():
    async def main():
        messages = book(shard_tokens=2)
        (id,) = await messages.add("User", "\ud83c")
        ids = await messages.add("User", "\ud83c" * 40)
        assert (await messages.get(id)).text == "\ud83c"
        assert "".join([(await messages.get(id)).text for id in ids]) == "\ud83c" * 40

    anyio.run(main)


def test_adding_costs_one_append_and_no_read_at_any_length():
    async def main():
        store = CountingStore()
        messages = book(store=store, shard_tokens=8)
        for i in range(200):
            await messages.add("User", f"{i} " * 60)
        assert store.read == 0
        assert len(store.appends) == 200
        assert min(store.appends) > 1

    anyio.run(main)


@each_store
def test_messages_added_at_once_are_all_there_and_each_is_whole(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path), shard_tokens=8) as messages:
            ids = []

            async def add(number):
                ids.append(await messages.add("User", f"{number} " * 60))

            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(add, number)
            entries = [e.uid for e in await messages.tape.query().all()]
            assert sorted(entries) == sorted(id for each in ids for id in each)
            for each in ids:
                start = entries.index(each[0])
                assert tuple(entries[start : start + len(each)]) == each

    anyio.run(main)


# -- reading


def test_an_unknown_id_and_that_of_no_message_are_not_found():
    async def main():
        messages = book()
        await messages.add("User", "hello")
        event = await messages.tape.append_event("noise")
        for id in ("nothing", "", event.uid, 7, None):
            for ask in (messages.get, messages.remove, messages.remove_body, messages.place, messages.body_places, messages.parts):
                with pytest.raises(MessageNotFound):
                    await ask(id)
            assert await messages.known_parts(id) == ()

    anyio.run(main)


def test_what_others_wrote_to_the_tape_are_messages_too():
    async def main():
        messages = book()
        tape = messages.tape
        await tape.append(user("by an import"))
        await tape.append(assistant("by an agent", calls=[ToolCall(id="c1", name="look")]))
        await tape.append(tool_result_message("c1", "three"))
        await tape.append(system("Be brief."))
        await tape.append(user("of a subagent", name="Ann"), context=False)
        await tape.append(TapeEntry.message({"role": "developer", "content": "in OpenAI's spelling"}))
        assert await said(messages) == [
            ("User", "by an import"),
            ("Claude", "by an agent"),
            ("Tool", "three"),
            ("System", "Be brief."),
            ("Ann", "of a subagent"),
            ("User", "in OpenAI's spelling"),
        ]

    anyio.run(main)


@pytest.mark.parametrize("payload", [{"role": "nobody", "content": "hi"}, {"role": "user", "content": [7]}, {}])
def test_what_is_no_message_is_shown_word_for_word_and_goes_to_no_model(payload):
    async def main():
        messages = book()
        entry = await messages.tape.append(TapeEntry.message(payload))
        (part,) = (await messages.get(entry.uid)).content
        assert (part.provider, part.value) == ("unknown", payload)
        assert await messages.count() == 1

    anyio.run(main)


@each_store
def test_a_window_shows_the_messages_from_a_place_on_and_how_many_there_are(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            items = []
            for number in range(3 * STRIDE):
                items.append(user(str(number)))
                items += [TapeEntry.event("noise")] * (number % 3)
            stored = await messages.tape.append_many(items)
            rows = [e for e in stored if e.kind == "message"]
            gone = [rows[0], rows[300], rows[301], rows[-1]]
            for entry in gone:
                await messages.remove(entry.uid)
            left = [e.uid for e in rows if e not in gone]
            assert await messages.count() == len(left)
            for offset, limit in [(0, 3), (298, 5), (STRIDE, STRIDE), (len(left) - 2, 10), (5, 1), (len(left) - 1, 1)]:
                page = await messages.window(offset, limit)
                assert [m.id for m in page.messages] == left[offset : offset + limit]
                assert (page.start, page.total) == (offset, len(left))
            assert await messages.window(len(left) + 5, 3) == ((), len(left), len(left))

    anyio.run(main)


def test_a_window_costs_what_it_shows_wherever_it_lies():
    async def main():
        store = CountingStore()
        messages = book(store=store)
        await messages.tape.append_many([user(str(i)) for i in range(40 * STRIDE)])
        for offset in (0, 17 * STRIDE + 3, 40 * STRIDE - 5):
            await messages.window(offset, 5)
            store.read = 0
            assert (await messages.window(offset, 5)).messages[0].text == str(offset)
            assert store.read < 2 * STRIDE

    anyio.run(main)


@pytest.mark.parametrize("place", [(-1, 5), (0, 0), (True, 5), (0, "5"), (None, 5)])
def test_a_window_that_is_none_is_refused(place):
    async def main():
        with pytest.raises(InvalidInput, match="A window begins"):
            await book().window(*place)

    anyio.run(main)


def test_an_empty_tape_has_no_messages():
    async def main():
        messages = book()
        assert await messages.count() == 0
        assert await messages.window(0, 5) == ((), 0, 0)
        assert await messages.query() == ((), 0)
        assert await said(messages) == []

    anyio.run(main)


# -- places


@each_store
def test_a_place_is_the_entry_of_a_message_and_not_its_number(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            await messages.tape.append_event("noise")
            (first,) = await messages.add("User", "one")
            await messages.tape.append_event("noise")
            (second,) = await messages.add("User", "two")
            await messages.remove(first)
            assert (await messages.place(first), await messages.place(second)) == (2, 4)
            assert await messages.places([second, first, "unknown"]) == {first: 2, second: 4}
            assert await messages.body_places(second) == (4,)

    anyio.run(main)


def test_a_result_stands_with_the_turns_that_asked_for_it():
    async def main():
        messages = book()
        (one,) = await messages.add("Claude", [CALL, {**CALL, "id": "c2"}])
        (two,) = await messages.add("Claude", [{**CALL, "id": "c3"}])
        (results,) = await messages.add("User", [RESULT, {**RESULT, "tool_use_id": "c3"}])
        (orphan,) = await messages.add("User", [{**RESULT, "tool_use_id": "gone"}])
        assert await messages.parts(results) == {one: 1, two: 2, results: 3}
        assert await messages.known_parts(orphan) == (orphan,)
        assert await messages.parts(one) == {one: 1}

    anyio.run(main)


@pytest.mark.parametrize("id", [["x"], {"x": 1}, {"x"}, None, 3, b"x"], ids=repr)
def test_an_id_of_another_type_is_that_of_no_message(id):
    async def main():
        messages = book()
        (first,) = await messages.add("User", "one")
        for ask in (messages.get, messages.remove, messages.remove_body, messages.place, messages.parts, messages.body_places):
            with pytest.raises(MessageNotFound):
                await ask(id)
        assert await messages.places([id, first]) == {first: 1}
        assert await messages.known_parts(id) == ()

    anyio.run(main)
