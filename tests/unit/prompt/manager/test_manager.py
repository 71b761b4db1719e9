"""Opening a manager, what it keeps, what it compiles, and what of it can be changed while it is open."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import assistant, user
from playhead.errors import InvalidInput, InvalidOption, ManagerClosed, MessageNotFound, OverBudgetError, StoreUnavailable, SummaryNotFound
from playhead.prompt.budget import Budget
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.manager.opening import FILE
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.prompt.strategies.passthrough import PassthroughStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from playhead.testing.clock import FakeClock
from tests.unit.prompt.folding.managed import WIDE, call, managed, memory, room, shown, spans, talk
from tests.unit.prompt.folding.shown import check_told_once


def run(function):
    anyio.run(function)


# -- opening and closing


def test_it_opens_with_await_and_with_async_with_and_is_closed_once():
    async def go():
        manager = await ContextManager.open(store=InMemoryTapeStore())
        await manager.add_message("User", "Hello.")
        await manager.aclose()
        await manager.aclose()
        assert manager.is_closed
        async with ContextManager.open(store=InMemoryTapeStore()) as other:
            assert not other.is_closed
        assert other.is_closed

    run(go)


def test_everything_asked_of_a_closed_manager_is_refused():
    async def go():
        manager = await ContextManager.open(store=InMemoryTapeStore())
        await manager.aclose()
        for ask in (partial(manager.add_message, "User", "x"), manager.compile, manager.tick, manager.list_pins, manager.fork, manager.settled):
            with pytest.raises(ManagerClosed):
                await ask()
        with pytest.raises(ManagerClosed):
            manager.compression_holds()

    run(go)


def test_a_store_that_was_given_stays_open_and_one_that_was_opened_for_it_is_closed(tmp_path):
    async def go():
        async with SQLiteTapeStore(tmp_path / "a.db") as store:
            async with ContextManager.open(store=store) as manager:
                await manager.add_message("User", "Hello.")
            assert await store.list_tapes() == ["messages"]
        async with ContextManager.open(path=tmp_path / "b.db") as manager:
            opened = manager.tape.store
        with pytest.raises(StoreUnavailable):
            await opened.list_tapes()

    run(go)


@pytest.mark.parametrize(("path", "file"), [("deep/er", f"deep/er/{FILE}"), ("notes.db", "notes.db"), ("notes.sqlite", "notes.sqlite")])
def test_a_path_is_a_file_or_a_directory_that_is_made(path, file, tmp_path):
    async def go():
        for expected in (0, 1):
            async with ContextManager.open(path=str(tmp_path / path)) as manager:
                assert await manager.message_count() == expected
                await manager.add_message("User", "Hello.")
        assert (tmp_path / file).exists()

    (tmp_path / path).parent.mkdir(exist_ok=True)
    run(go)


def test_a_url_names_any_store(tmp_path):
    async def go():
        async with ContextManager.open(path=f"file:{tmp_path}/tapes") as manager:
            await manager.add_message("User", "Hello.")
        assert (tmp_path / "tapes" / "messages.jsonl").exists()

    run(go)


@pytest.mark.parametrize("given", [{}, {"path": "x", "store": InMemoryTapeStore()}])
def test_neither_or_both_of_path_and_store_is_an_error(given):
    with pytest.raises(InvalidInput, match="path="):
        ContextManager.open(**given)


def test_an_open_that_fails_leaves_no_lock_behind(tmp_path):
    async def go():
        (tmp_path / "broken.db").write_bytes(b"no database " * 100)
        with pytest.raises(Exception, match=r"broken\.db"):
            await ContextManager.open(path=tmp_path / "broken.db")
        (tmp_path / "broken.db").unlink()
        async with ContextManager.open(path=tmp_path / "broken.db") as manager:
            assert await manager.message_count() == 0

    run(go)


def test_isolate_asks_for_a_namespace():
    with pytest.raises(InvalidInput, match="namespace"):
        ContextManager.open(store=InMemoryTapeStore(), isolate=True)


def test_managers_share_messages_and_keep_summaries_apart_or_isolate_both():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store, manager={"namespace": "a"}) as a, managed(store, manager={"namespace": "b"}) as b, managed(store, manager={"namespace": "c", "isolate": True}) as c:
            await talk(a, 40)
            assert (await b.message_count(), await c.message_count()) == (40, 0)
            await a.drain()
            assert await spans(a) and await spans(b) == await spans(c) == []
            assert await store.list_tapes() == ["messages"]
            await talk(c, 1)
            assert sorted(await store.list_tapes()) == ["c/messages", "messages"]

    run(go)


# -- messages


def test_the_agent_is_the_assistant_and_everybody_else_a_user():
    async def go():
        async with ContextManager.open(store=InMemoryTapeStore(), agent="Ada") as manager:
            for who in ("Ada", "User", "Claude"):
                await manager.add_message(who, f"I am {who}.")
            prompt = await manager.compile(WIDE)
            assert [m.role for m in prompt.messages] == ["assistant", "user", "user"]
            assert [m.participant async for m in manager.messages()] == ["Ada", "User", "Claude"]

    run(go)


def test_what_is_added_edited_and_removed_is_told_to_listeners_whatever_strategy_comes():
    async def go():
        async with managed() as manager:
            told = []
            end = manager.on_message(lambda event: told.append(event.kind))
            first, second = await talk(manager, 2)
            await manager.set_strategy(PassthroughStrategy())
            await manager.edit_message(first, "Other.")
            await manager.remove_message(second)
            end()
            await talk(manager, 1)
            assert told == ["add", "add", "edit", "remove"]

    run(go)


def test_a_message_is_read_as_it_was_and_as_it_is():
    async def go():
        async with managed() as manager:
            (id,) = await talk(manager, 1)
            place = (await manager.tape.head()).id
            await manager.edit_message(id, "Other.")
            assert (await manager.get_message(id)).text == "Other."
            assert (await manager.get_message_at(id, place)).text.startswith("Message 0")
            with pytest.raises(MessageNotFound):
                await manager.get_message("nobody")

    run(go)


def test_what_another_manager_changes_shows_at_once_also_far_back():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as one, managed(store) as other:
            ids = await talk(one, 20)
            await other.compile(WIDE)
            await one.edit_message(ids[2], "Changed by the other.")
            await one.remove_message(ids[4])
            added = await one.add_message("User", "One more.")
            texts = [m.text for m in (await other.compile(WIDE)).messages]
            assert texts[2] == "Changed by the other." and len(texts) == 20 and texts[-1] == "One more."
            assert (await other.get_message(ids[2])).text == "Changed by the other."
            assert (await other.get_message(added)).text == "One more."

    run(go)


def test_a_tape_that_an_agent_or_an_import_wrote_opens_and_compiles_whole():
    async def go():
        store = InMemoryTapeStore()
        tape = Tape(store, "support/42")
        await tape.bootstrap()
        await tape.append_many([user("Hello."), assistant("Good day."), TapeEntry.event("run.finished", {})])
        async with managed(store, manager={"tape": "support/42"}) as manager:
            prompt = await manager.compile(WIDE)
            assert [m.text for m in prompt.messages][-2:] == ["Hello.", "Good day."]
            await check_told_once(manager, prompt)

    run(go)


# -- compiling


def test_an_empty_tape_compiles_to_nothing():
    async def go():
        for strategy in (None, AutobiographicalStrategy()):
            async with ContextManager.open(store=InMemoryTapeStore(), strategy=strategy) as manager:
                assert (await manager.compile()).messages == ()
                assert not await manager.tick()

    run(go)


def test_the_makeup_is_that_of_the_last_live_compile_on_this_branch():
    async def go():
        async with managed() as manager:
            await talk(manager, 30)
            assert manager.get_render_stats() is None
            dry = await manager.compile(room(2_000), dry_run=True)
            assert manager.get_render_stats() is None and dry.render_stats.total.count == 30
            await manager.preview(WIDE)
            assert manager.get_render_stats() is None
            live = await manager.compile(WIDE)
            assert manager.get_render_stats() == live.render_stats
            await manager.fork("trial")
            assert manager.get_render_stats() is None
            await manager.compile(WIDE)
            await manager.set_strategy(AutobiographicalStrategy())
            assert manager.get_render_stats() is None

    run(go)


def test_a_preview_shows_other_settings_and_keeps_nothing():
    async def go():
        async with managed(recent_window_tokens=2_000) as manager:
            await talk(manager, 60)
            await manager.drain()
            before = (await memory(manager).look()).head
            assert (await manager.preview(room(600))).over_budget is not None
            narrow = await manager.preview(room(2_400), recent_window_tokens=100)
            assert narrow.over_budget is None and narrow.render_stats.tail.tokens <= 100
            assert (await manager.preview(WIDE, folding_strategy=None, head_window_tokens=None)).over_budget is None
            assert (await memory(manager).look()).head == before and manager.strategy_in_force.config.recent_window_tokens == 2_000
            with pytest.raises(InvalidOption):
                await manager.preview(WIDE, kv_unified={})

    run(go)


def test_a_preview_keeps_phases_and_holds_as_they_are():
    async def go():
        async with managed(recent_window_tokens=0) as manager:
            ids = await talk(manager, 30)
            await manager.hold_compression(ids[10])
            assert (await manager.preview(WIDE)).render_stats == (await manager.compile(WIDE, dry_run=True)).render_stats

    run(go)


def test_a_strategy_without_settings_has_none_to_preview_or_change():
    async def go():
        async with ContextManager.open(store=InMemoryTapeStore()) as manager:
            for ask in (manager.preview, manager.update_hot_settings):
                with pytest.raises(InvalidInput, match="PassthroughStrategy"):
                    await ask()
            with pytest.raises(InvalidInput):
                manager.get_hot_settings()
            assert not await manager.tick() and await manager.drain() == 0
            assert await manager.compression_debt() is None

    run(go)


def test_hot_settings_change_what_comes_and_leave_what_was_told():
    async def go():
        async with managed(recent_window_tokens=100) as manager:
            await talk(manager, 40)
            await manager.drain()
            before = await spans(manager)
            assert await manager.update_hot_settings(recent_window_tokens=700, low_water_ratio=0.5) == {**manager.get_hot_settings(), "recent_window_tokens": 700, "low_water_ratio": 0.5}
            assert (await manager.compile(WIDE)).render_stats.tail.tokens > 600
            await manager.drain()
            assert await spans(manager) == before
            for wrong, kind in (({"merge_threshold": 3}, InvalidOption), ({"recent_window_tokens": -1}, InvalidInput)):
                with pytest.raises(kind):
                    await manager.update_hot_settings(**wrong)
            assert manager.get_hot_settings()["recent_window_tokens"] == 700

    run(go)


def test_settings_that_change_between_two_openings_re_cut_nothing_that_was_told():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            await talk(manager, 40)
            await manager.drain()
            before = await spans(manager)
        for options in ({"target_chunk_tokens": 200}, {"head_window_tokens": 300}, {"recent_window_tokens": 800}, {"attachments_ignore_size": False}):
            async with managed(store, **options) as manager:
                await manager.drain()
                assert set(before) <= set(await spans(manager))
                await check_told_once(manager, await manager.compile(room(1_500)))

    run(go)


# -- the clock


def test_its_clock_tells_the_time_of_all_it_writes(caplog):
    async def go():
        clock = FakeClock()
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=AutobiographicalStrategy(), clock=clock) as manager:
            id = await manager.add_message("User", "Hello.", hold=10)
            assert (await manager.get_message(id)).timestamp == clock.now()
            clock.advance(timedelta(seconds=11))
            assert manager.compression_holds() == ()
            with caplog.at_level(logging.WARNING, "playhead"):
                await manager.compile(Budget(8_000))
            assert id in caplog.text

    run(go)


def test_debt_and_readiness_say_what_waits():
    async def go():
        clock = FakeClock()
        async with managed(manager={"clock": clock}) as manager:
            assert await manager.is_ready()
            await talk(manager, 40)
            assert not await manager.is_ready()
            clock.advance(timedelta(hours=7))
            debt = await manager.compression_debt()
            assert debt.state == "critical" and debt.pending_chunks >= 5 and debt.oldest_pending_age == 7 * 3_600
            await manager.drain()
            assert await manager.is_ready()
            assert (await manager.compression_debt()).state == "healthy"

    run(go)


def test_rounds_of_tools_are_kept_and_compiled_in_their_order():
    async def go():
        async with managed() as manager:
            await talk(manager, 1)
            await call(manager, 1)
            prompt = await manager.compile(WIDE)
            assert [m.role for m in prompt.messages] == ["user", "assistant", "tool"]
            assert shown(prompt) == []

    run(go)


def test_a_manager_that_was_not_opened_says_how_to_open_it():
    with pytest.raises(AttributeError, match=r"async with ContextManager\.open"):
        _ = ContextManager.open(store=InMemoryTapeStore()).add_message


def test_a_summary_leads_back_to_the_words():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 60)
            await manager.drain()
            high = next(node for node in (await manager.search_summaries(include_merged=True)) if node.node.level == 2).node
            said = await manager.read_summary(high.id)
            assert len(said) == high.units and said[0].text.startswith("Message ")
            with pytest.raises(SummaryNotFound):
                await manager.read_summary("L9-99")

    run(go)


def test_a_receipt_tells_each_change_of_what_is_shown():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            whole = (await manager.compile(WIDE)).stats.total
            await manager.compile(room(whole - 100))
            await talk(manager, 60, start=60)
            await manager.drain()
            await manager.compile(room(whole - 100))
            newest, first = await manager.list_fold_receipts()
            assert first.shown and not first.gone and set(newest.shown).isdisjoint(first.shown)
            assert await manager.list_fold_receipts(after=first.id) == (newest,)
            with pytest.raises(InvalidInput, match="No receipt"):
                await manager.list_fold_receipts(after="nothing")

    run(go)


def test_a_small_room_is_folded_for_where_nothing_is_said_of_the_recent_window():
    async def go():
        async with managed(recent_window_tokens=None) as manager:
            await talk(manager, 120)
            with pytest.raises(OverBudgetError):
                await manager.compile(room(1_000))
            await manager.drain()
            prompt = await manager.compile(room(1_000))
            assert 150 < prompt.render_stats.tail.tokens <= 250
            await talk(manager, 60, start=120)
            await manager.drain()
            assert (await manager.compile(room(1_000))).stats.total <= 1_000

    run(go)
