"""Messages that are edited and removed: what is shown changes, the evidence stays."""

import anyio
import pytest

from playhead.entry.entry import AMEND, TapeEntry
from playhead.entry.message import Media, Text, ToolResult, tool_result_message
from playhead.errors import BodyNotWhole, InvalidInput, MessageNotFound
from playhead.view.bodies import messages as view_messages
from tests.unit.prompt.manager.books import STORES, CountingStore, book, book_in, said

each_store = pytest.mark.parametrize("opened", STORES.values(), ids=STORES)
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 3}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "pending"}
LONG = "a long one " * 12


async def _joined(messages):
    return list(view_messages(await messages.tape.read()))


async def shown(messages):
    return [m.text for m in await _joined(messages)]


async def written(messages):
    return [e async for e in messages.tape.query() if e.kind != AMEND]


@each_store
def test_an_edit_shows_everywhere_and_the_evidence_stays(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            (id,) = await messages.add("User", "one", metadata={"m": 1})
            await messages.add("User", "two")
            before = await written(messages)
            edited = await messages.edit(id, "changed")
            assert edited == await messages.get(id)
            assert (edited.text, edited.participant, edited.metadata, edited.is_amended) == ("changed", "User", {"m": 1}, True)
            await messages.edit(id, [Text(text="again"), Media(kind="image", url="https://example.org/a.png")])
            assert await said(messages) == [("User", "again"), ("User", "two")]
            assert (await messages.window(0, 1)).messages == (await messages.get(id),)
            assert await shown(messages) == ["again", "two"]
            assert await written(messages) == before

    anyio.run(main)


@each_store
def test_a_message_reads_as_it_was_at_any_entry(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            await messages.tape.append_event("noise")
            (id,) = await messages.add("User", "one")
            await messages.edit(id, "two")
            await messages.edit(id, "three")
            await messages.remove(id)
            assert [(await messages.get_at(id, entry)).text for entry in (2, 3, 4)] == ["one", "two", "three"]
            assert [(await messages.get_at(id, entry)).is_amended for entry in (2, 3)] == [False, True]
            for entry in (0, 1, 5, 99):
                with pytest.raises(MessageNotFound):
                    await messages.get_at(id, entry)
            for entry in (-1, True, "2", None):
                with pytest.raises(InvalidInput, match="as of the id of an entry"):
                    await messages.get_at(id, entry)

    anyio.run(main)


def test_an_edit_that_says_nothing_or_something_else_is_refused():
    async def main():
        messages = book()
        (id,) = await messages.add("User", "one")
        (turn,) = await messages.add("Claude", ["I look.", CALL])
        head = await messages.tape.head()
        for message, content in [
            (id, ""),
            (id, []),
            (id, [CALL]),
            (id, [RESULT]),
            (id, [{"type": "thinking", "thinking": "hm"}]),
            (turn, [RESULT]),
            (turn, ["I look.", {**CALL, "input": {"at": 4}}]),
            (turn, [CALL, {**CALL, "id": "c2"}]),
        ]:
            with pytest.raises(InvalidInput):
                await messages.edit(message, content)
        assert await messages.tape.head() == head

    anyio.run(main)


def test_new_words_leave_the_calls_of_a_turn_as_they_are():
    async def main():
        messages = book()
        (turn,) = await messages.add("Claude", ["I look.", CALL])
        (calls,) = [(await messages.get(turn)).message.calls]
        assert (await messages.edit(turn, "I see.")).text == "I see."
        assert (await messages.get(turn)).message.calls == calls
        await messages.edit(turn, [CALL, "Seen."])
        assert [part.type for part in (await messages.get(turn)).content] == ["tool_call", "text"]
        assert (await messages.get(turn)).message.calls == calls
        assert (await shown(messages))[0] == "Seen."

    anyio.run(main)


def test_a_staged_result_is_edited_by_its_answer_alone_or_whole():
    async def main():
        messages = book()
        await messages.add("Claude", [CALL])
        (id,) = await messages.add("User", [RESULT])
        assert (await messages.edit(id, "done")).message == tool_result_message("c1", "done")
        assert (await shown(messages))[1] == "done"
        assert (await messages.edit(id, [{"type": "text", "text": "see"}])).message.results == (ToolResult(call_id="c1", content=(Text(text="see"),)),)
        await messages.edit(id, [ToolResult(call_id="c1", content="from the mine", name="dig")])
        assert (await messages.edit(id, [{**RESULT, "content": "more"}])).message.results[0].name == "dig"
        failed = await messages.edit(id, [{**RESULT, "content": "refused", "is_error": True}])
        assert failed.message == tool_result_message("c1", "refused", is_error=True, name="dig")
        (unit,) = await messages.tape.read()
        assert unit.messages[1].results == (ToolResult(call_id="c1", content="refused", is_error=True, name="dig"),)

    anyio.run(main)


def test_of_several_results_each_gets_an_answer_or_none():
    async def main():
        messages = book()
        await messages.add("Claude", [CALL, {**CALL, "id": "c2"}])
        (id,) = await messages.add("User", [RESULT, {**RESULT, "tool_use_id": "c2"}])
        two = {**RESULT, "tool_use_id": "c2", "content": "two"}
        for content in ["done", [two], [two, {**RESULT, "tool_use_id": "c3"}], [two, {**RESULT, "content": "one"}, "words"]]:
            with pytest.raises(InvalidInput, match="'c1', 'c2'"):
                await messages.edit(id, content)
        await messages.edit(id, [two, {**RESULT, "content": "one"}])
        assert {r.call_id: r.content for r in (await messages.get(id)).message.results} == {"c1": "one", "c2": "two"}
        assert (await shown(messages))[1:] == ["one", "two"]

    anyio.run(main)


@each_store
def test_a_removed_message_is_gone_from_everything_but_the_tape(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            (one,), (two,) = await messages.add("User", "one"), await messages.add("User", "two")
            before = await written(messages)
            await messages.remove(one)
            assert await said(messages) == [("User", "two")]
            assert await shown(messages) == ["two"]
            assert await messages.count() == 1
            assert await written(messages) == before
            for again in (messages.get(one), messages.remove(one), messages.edit(one, "x"), messages.remove_range(one, two), messages.remove_body(one)):
                with pytest.raises(MessageNotFound):
                    await again
            assert await messages.count() == 1

    anyio.run(main)


def test_what_is_no_message_may_be_removed_and_is_counted_neither_before_nor_after():
    async def main():
        messages = book()
        anchor, _ = await messages.tape.handoff("phase")
        (id,) = await messages.add("User", "one")
        await messages.tape.append(TapeEntry(0, AMEND, {"target": anchor.uid, "removed": True}))
        await messages.tape.append(TapeEntry(0, AMEND, {"target": "nothing", "removed": True}))
        assert await messages.count() == 1
        assert (await messages.window(0, 5)).messages == (await messages.get(id),)

    anyio.run(main)


def test_a_range_is_removed_at_once_whichever_end_comes_first():
    async def main():
        store = CountingStore()
        messages = book(store=store)
        ids = [(await messages.add("User", str(n)))[0] for n in range(6)]
        await messages.tape.append_event("noise")
        await messages.remove(ids[2])
        appends = len(store.appends)
        assert await messages.remove_range(ids[4], ids[1]) == (ids[1], ids[3], ids[4])
        assert store.appends[appends:] == [3]
        assert await said(messages) == [("User", "0"), ("User", "5")]
        assert "event" in [e.kind for e in await messages.tape.query().all()]

    anyio.run(main)


@each_store
def test_a_part_of_a_long_message_is_never_changed_alone(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path), shard_tokens=8) as messages:
            (before,) = await messages.add("User", "before")
            shards = await messages.add("User", LONG)
            (behind,) = await messages.add("User", "behind")
            head = await messages.tape.head()
            for ask in (
                lambda: messages.edit(shards[0], "x"),
                lambda: messages.remove(shards[-1]),
                lambda: messages.remove_range(before, shards[0]),
                lambda: messages.remove_range(shards[1], behind),
                lambda: messages.remove_range(shards[1], shards[1]),
            ):
                with pytest.raises(BodyNotWhole):
                    await ask()
            assert await messages.tape.head() == head
            assert await messages.remove_range(shards[-1], shards[0]) == shards
            assert await said(messages) == [("User", "before"), ("User", "behind")]
            assert await messages.body_places(shards[1]) == tuple(range(2, 2 + len(shards)))

    anyio.run(main)


def test_two_postings_of_one_text_are_two_long_messages():
    async def main():
        messages = book(shard_tokens=8)
        first, second = await messages.add("User", LONG), await messages.add("User", LONG)
        bodies = [(await messages.get(ids[0])).body for ids in (first, second)]
        assert bodies[0] == bodies[1]
        assert await messages.remove_body(first[-1]) == first
        assert "".join([text for _, text in await said(messages)]) == LONG
        assert await messages.remove_range(second[0], second[-1]) == second

    anyio.run(main)


def test_a_long_message_that_is_not_all_there_reads_as_what_there_is():
    async def main():
        messages = book()
        for index, text in [(0, "zero "), (2, "two "), (2, "two of another "), (1, "one of a third ")]:
            await messages.tape.append(TapeEntry.message({"role": "user", "content": text}, shard={"body": "bg-x", "index": index, "count": 4}))
        zero, two, other, third = [m async for m in messages.all()]
        assert await messages.body_places(zero.id) == await messages.body_places(two.id) == (1, 2)
        assert (await messages.body_places(other.id), await messages.body_places(third.id)) == ((3,), (4,))
        page = await messages.window(1, 1, align_to_bodies=True)
        assert ([m.id for m in page.messages], page.start) == ([zero.id, two.id], 0)
        assert [m.text for m in await _joined(messages)] == ["zero two ", "two of another ", "one of a third "]

    anyio.run(main)


# -- which messages are stored in parts


@pytest.mark.parametrize(
    ("participant", "content", "is_cut"),
    [
        ("User", LONG, True),
        ("Claude", LONG, True),
        ("User", [Text(text=LONG[:60]), Text(text=LONG[60:])], True),
        ("User", [Text(text=LONG, extra={"anthropic": {"cache_control": {"type": "ephemeral"}}})], True),
        ("User", [Text(text=LONG, extra={"anthropic": {"x": 1}}), Text(text="b", extra={"anthropic": {"x": 2}})], False),
        ("User", "x" * 64, False),
        ("User", "x" * 65, True),
        ("Claude", [LONG, CALL], False),
        ("User", [RESULT, LONG], False),
        ("User", [{**RESULT, "content": LONG}], False),
    ],
)
def test_only_words_without_calls_and_results_are_stored_in_parts(participant, content, is_cut):
    async def main():
        messages = book(shard_tokens=8)
        await messages.add(participant, content)
        bodies = [m.body for m in [m async for m in messages.all()] if m.body is not None]
        assert bool(bodies) == is_cut
        assert [body.index for body in bodies] == list(range(len(bodies)))
        assert all(body.count == len(bodies) for body in bodies)
        assert await _whole(await book_without_parts(participant, content)) == await _whole(messages)

    anyio.run(main)


async def book_without_parts(participant, content):
    messages = book()
    await messages.add(participant, content)
    return messages


async def _whole(messages):
    return [(m.role, m.name, m.text, m.calls, m.results) for m in await _joined(messages)]


def test_what_is_no_text_stays_with_the_first_part():
    async def main():
        messages = book(shard_tokens=8)
        picture = Media(kind="image", url="https://example.org/a.png")
        sound = Media(kind="audio", url="https://example.org/a.mp3")
        ids = await messages.add("User", [picture, Text(text=LONG), sound], metadata={"m": 1}, caused_by=["x"])
        first, *others = [await messages.get(id) for id in ids]
        assert [part.type if part.type == "text" else part.kind for part in first.content] == ["image", "text", "audio"]
        assert all(isinstance(m.message.content, str) for m in others)
        assert {(m.participant, m.metadata["m"], m.caused_by, m.timestamp) for m in (first, *others)} == {("User", 1, ("x",), first.timestamp)}
        (whole,) = await _joined(messages)
        assert whole.parts == (picture, Text(text=LONG), sound)

    anyio.run(main)
