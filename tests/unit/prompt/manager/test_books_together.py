"""Books on one tape, on branches of it and on what it was; and those who are told of what a book does."""

import anyio
import pytest

from playhead.entry.message import ToolResult
from playhead.errors import MessageNotFound
from playhead.prompt.manager.ledger import STRIDE
from playhead.prompt.manager.messages import MessageBook
from playhead.tape.tape import Tape
from tests.unit.prompt.manager.books import STORES, book, said

each_store = pytest.mark.parametrize("opened", STORES.values(), ids=STORES)
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "three"}


@each_store
def test_a_book_sees_at_once_what_another_on_the_same_tape_writes(opened, tmp_path):
    async def main():
        async with opened(tmp_path) as store:
            one, other = book(store=store), book(store=store)
            (first,) = await one.add("User", "first")
            for number in range(2 * STRIDE):
                await one.add("User", str(number))
            assert await other.count() == 2 * STRIDE + 1
            await one.edit(first, "edited")
            assert (await other.get(first)).text == "edited"
            assert (await other.window(0, 1)).messages[0].text == "edited"
            await other.add("User", "last")
            await other.remove(first)
            assert await one.count() == 2 * STRIDE + 1
            assert (await one.window(0, 1)).messages[0].text == "0"
            assert (await one.window(2 * STRIDE, 1)).messages[0].text == "last"

    anyio.run(main)


@each_store
def test_a_branch_and_its_parent_go_their_own_ways_and_a_merge_brings_edits_back(opened, tmp_path):
    async def main():
        async with opened(tmp_path) as store:
            main_book = book(store=store)
            (id,) = await main_book.add("User", "before")
            branch = await main_book.tape.fork()
            branched = MessageBook(branch, agent="Claude")
            await branched.edit(id, "on the branch")
            await branched.add("User", "only there")
            await main_book.add("User", "only here")
            assert await said(branched) == [("User", "on the branch"), ("User", "only there")]
            assert await said(main_book) == [("User", "before"), ("User", "only here")]
            await branch.merge()
            assert await said(main_book) == [("User", "on the branch"), ("User", "only here"), ("User", "only there")]

    anyio.run(main)


@each_store
def test_a_branch_made_anew_under_an_old_name_shows_nothing_of_the_old_one(opened, tmp_path):
    async def main():
        async with opened(tmp_path) as store:
            tape = Tape(store, "t")
            root = book(store=store)
            (id,) = await root.add("User", "root")
            first = await tape.fork(name="draft")
            old = MessageBook(first, agent="Claude")
            await old.edit(id, "of the old one")
            for number in range(2 * STRIDE):
                await old.add("User", f"old {number}")
            assert (await old.window(1, 1)).messages[0].text == "old 0"
            await first.discard()
            await tape.gc()
            second = await tape.fork(name="draft")
            new = MessageBook(second, agent="Claude")
            for number in range(3 * STRIDE):
                await new.add("User", f"new {number}")
            await new.remove((await new.window(1, 1)).messages[0].id)
            for view in (new, old):
                assert (await view.get(id)).text == "root"
                assert await view.count() == 3 * STRIDE
                assert (await view.window(STRIDE, 1)).messages[0].text == f"new {STRIDE}"

    anyio.run(main)


def test_a_tape_that_was_reset_has_none_of_its_messages():
    async def main():
        messages = book()
        ids = [(await messages.add("User", str(number)))[0] for number in range(2 * STRIDE)]
        await messages.edit(ids[0], "edited")
        assert await messages.count() == 2 * STRIDE
        await messages.tape.reset()
        assert await messages.count() == 0
        with pytest.raises(MessageNotFound):
            await messages.get(ids[0])
        await messages.add("User", "after")
        assert await messages.window(0, 5) == ((await messages.get((await messages.window(0, 1)).messages[0].id),), 0, 1)

    anyio.run(main)


def test_a_handle_of_the_past_shows_messages_as_they_were_then():
    async def main():
        messages = book()
        (first,) = await messages.add("User", "one")
        (second,) = await messages.add("User", "two")
        await messages.edit(first, "changed")
        await messages.remove(second)
        (third,) = await messages.add("User", "three")
        past = MessageBook(messages.tape.at(3), agent="Claude")
        assert await said(past) == [("User", "changed"), ("User", "two")]
        assert await past.count() == 2
        with pytest.raises(MessageNotFound):
            await past.get(third)

    anyio.run(main)


# -- listeners


def test_listeners_are_told_what_was_added_edited_and_removed():
    async def main():
        messages = book(shard_tokens=8)
        told = []
        messages.on_message(told.append)
        (first,) = await messages.add("User", "one")
        second = await messages.add("Claude", "a long one " * 12)
        await messages.edit(first, "changed")
        await messages.remove(first)
        await messages.remove_body(second[1])
        (last,) = await messages.add("User", [RESULT])
        await messages.remove_range(last, last)
        assert [(event.kind, event.ids) for event in told] == [
            ("add", (first,)),
            ("add", second),
            ("edit", (first,)),
            ("remove", (first,)),
            ("remove", second),
            ("add", (last,)),
            ("remove_range", (last,)),
        ]
        assert [m.text for m in told[2].messages] == ["changed"]
        assert "".join(m.text for m in told[1].messages) == "a long one " * 12
        assert told[5].messages[0].message.results == (ToolResult(call_id="c1", content="three"),)

    anyio.run(main)


def test_a_listener_that_fails_is_logged_and_the_others_hear_all_the_same(caplog):
    async def main():
        messages = book()
        told = []

        def failing(event):
            raise RuntimeError("broken")

        async def waiting(event):
            await anyio.lowlevel.checkpoint()
            told.append(event.kind)

        detach = messages.on_message(failing)
        messages.on_message(waiting)
        (id,) = await messages.add("User", "one")
        assert (await messages.get(id)).text == "one"
        assert told == ["add"]
        assert "broken" in caplog.text
        caplog.clear()
        detach()
        detach()
        await messages.remove(id)
        assert told == ["add", "remove"]
        assert caplog.text == ""

    anyio.run(main)
