"""Messages are found by who spoke, by what a host noted, by where they came from, and by when."""

from datetime import UTC, date, datetime, timedelta

import anyio
import pytest

from playhead import clock
from playhead.entry.message import user
from playhead.errors import InvalidDate, InvalidInput
from playhead.testing import FakeClock
from tests.unit.prompt.manager.books import STORES, CountingStore, book, book_in

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
each_store = pytest.mark.parametrize("opened", STORES.values(), ids=STORES)


def noted(channel=None, **external):
    return {**({"channelId": channel} if channel is not None else {}), **({"external": external} if external else {})}


def texts(found):
    return [m.text for m in found.messages]


async def filled(messages):
    """Six messages, a minute apart."""
    tells = FakeClock(START)
    with clock.using(tells):
        for name, text, metadata in [
            ("User", "one", {"tags": ["a"], "flag": True, "n": 1, "deep": {"er": {"key": "v"}}}),
            ("Alice", "two", noted("c1")),
            ("Claude", "three", noted(channelId="c1", source="zulip", id="z1")),
            ("Alice", "four", noted("c1", channelId="c1", source="zulip", id="z2")),
            ("User", "five", noted("c2", channelId="c3", source="mail", id="z1")),
            ("Alice", "six", {"n": 1.0, "a.b": 5}),
        ]:
            await messages.add(name, text, metadata=metadata)
            tells.advance(timedelta(minutes=1))


@each_store
def test_each_filter_keeps_what_it_says(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            await filled(messages)
            for wanted, expected in [
                ({}, ["one", "two", "three", "four", "five", "six"]),
                ({"participant": "Alice"}, ["two", "four", "six"]),
                ({"participant": "assistant"}, ["three"]),
                ({"participant": "alice"}, []),
                ({"source": "zulip"}, ["three", "four"]),
                ({"external_ids": ["z1", "z9"]}, ["three", "five"]),
                ({"source": "zulip", "external_ids": {"z1", "z2"}}, ["three", "four"]),
                ({"channel": "c1"}, ["two", "three", "four"]),
                ({"channel": "c3"}, ["five"]),
                ({"metadata": {"external.source": "mail"}}, ["five"]),
                ({"metadata": {"deep.er.key": "v", "n": 1}}, ["one"]),
                ({"metadata": {"tags": ["a"]}}, ["one"]),
                ({"metadata": {"flag": 1}}, []),
                ({"metadata": {"a.b": 5}}, ["six"]),
                ({"metadata": {"deep.er.none": None}}, []),
                ({"participant": "Alice", "channel": "c1", "since": START + timedelta(minutes=2)}, ["four"]),
            ]:
                found = await messages.query(**wanted)
                assert (texts(found), found.total) == (expected, len(expected)), wanted

    anyio.run(main)


@each_store
def test_times_are_both_included_and_a_bare_date_is_its_whole_day(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            await filled(messages)
            minute = timedelta(minutes=1)
            assert texts(await messages.query(since=START + minute, until=START + 3 * minute)) == ["two", "three", "four"]
            assert texts(await messages.query(since=START + 4 * minute)) == ["five", "six"]
            assert texts(await messages.query(until="2026-03-01T12:00:00")) == ["one"]
            assert (await messages.query(since=date(2026, 3, 1), until="2026-03-01")).total == 6
            assert (await messages.query(since=date(2026, 3, 2))).total == 0
            with pytest.raises(InvalidInput, match="Start date"):
                await messages.query(since=START + minute, until=START)
            with pytest.raises(InvalidDate):
                await messages.query(since="yesterday")

    anyio.run(main)


@each_store
def test_a_limit_counts_from_the_end_that_is_asked_for_and_the_total_does_not_feel_it(opened, tmp_path):
    async def main():
        async with book_in(opened(tmp_path)) as messages:
            await filled(messages)
            assert await messages.query(limit=2) == ((await messages.window(0, 2)).messages, 6)
            assert texts(await messages.query(limit=2, reverse=True)) == ["six", "five"]
            found = await messages.query(participant="Alice", limit=1, reverse=True)
            assert (texts(found), found.total) == (["six"], 3)

    anyio.run(main)


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"limit": True}, {"limit": "3"}, {"metadata": ["flag"]}, {"metadata": {7: 1}}, {"external_ids": "z1"}, {"external_ids": 7}])
def test_a_question_that_is_none_is_refused(wanted):
    async def main():
        with pytest.raises(InvalidInput):
            await book().query(**wanted)

    anyio.run(main)


def test_a_removed_message_is_not_found_and_an_edited_one_reads_as_it_is_now():
    async def main():
        messages = book()
        await filled(messages)
        two, four = (await messages.query(channel="c1", participant="Alice")).messages
        await messages.remove(two.id)
        await messages.edit(four.id, "changed")
        found = await messages.query(channel="c1")
        assert (texts(found), found.total) == (["three", "changed"], 2)
        assert (await messages.query(limit=1)).total == 5
        assert await messages.channel_counts() == {"c1": 2, "c2": 1, "c3": 1}

    anyio.run(main)


def test_a_channel_is_found_in_either_place_and_counted_once():
    async def main():
        messages = book()
        await filled(messages)
        await messages.add("User", "by number", metadata=noted(7))
        await messages.add("User", "by no channel", metadata={"channelId": True, "external": "none"})
        assert await messages.channel_counts() == {"c1": 3, "c2": 1, "c3": 1, 7: 1}
        assert texts(await messages.query(channel=7)) == ["by number"]

    anyio.run(main)


def test_a_message_is_found_by_the_id_it_came_with():
    async def main():
        messages = book(shard_tokens=8)
        await filled(messages)
        assert (await messages.find_by_external_id("zulip", "z1")).text == "three"
        assert (await messages.find_by_external_id("mail", "z1")).text == "five"
        assert await messages.find_by_external_id("mail", "z2") is None
        ids = await messages.add("User", "a long one " * 20, metadata=noted(source="zulip", id="z1"))
        assert (await messages.find_by_external_id("zulip", "z1")).id == ids[0]
        await messages.remove_body(ids[0])
        assert (await messages.find_by_external_id("zulip", "z1")).text == "three"

    anyio.run(main)


def test_the_newest_few_of_many_messages_cost_a_page():
    async def main():
        store = CountingStore()
        messages = book(store=store)
        await messages.tape.append_many([user(str(i)) for i in range(4_000)])
        await messages.count()
        store.read = 0
        found = await messages.query(limit=5, reverse=True)
        assert texts(found) == ["3999", "3998", "3997", "3996", "3995"]
        assert found.total == 4_000
        assert store.read < 600

    anyio.run(main)
