"""What AutobiographicalStrategy shows: the newest raw, what is older in summaries where room asks for that, each unit once."""

from __future__ import annotations

import anyio
import pytest

from playhead.errors import OverBudgetError
from playhead.store.memory.store import InMemoryTapeStore
from playhead.view.tokens import message_tokens
from tests.unit.prompt.folding.managed import WIDE, managed, memory, room, shown, talk
from tests.unit.prompt.folding.shown import check_told_once, starts_with


def run(function):
    anyio.run(function)


def test_what_left_the_recent_window_and_is_not_told_yet_is_shown_raw():
    async def go():
        async with managed() as manager:
            await talk(manager, 20)
            prompt = await manager.compile(WIDE)
            assert shown(prompt) == [] and len(prompt.messages) == 20
            await check_told_once(manager, prompt)

    run(go)


def test_a_view_that_fits_is_shown_raw_though_all_of_it_is_told():
    async def go():
        async with managed() as manager:
            await talk(manager, 40)
            await manager.drain()
            prompt = await manager.compile(WIDE)
            assert shown(prompt) == [] and len(prompt.messages) == 40

    run(go)


def test_a_view_that_does_not_fit_is_folded_oldest_first_to_the_low_mark_in_one_jump():
    async def go():
        async with managed(low_water_ratio=0.3) as manager:
            await talk(manager, 60)
            await manager.drain()
            whole = (await manager.compile(WIDE)).stats.total
            prompt = await manager.compile(room(whole - 100))
            await check_told_once(manager, prompt)
            assert shown(prompt) and prompt.stats.total < whole - 300
            assert [span.form for span in prompt.plan.spans if span.is_shown] == sorted((span.form for span in prompt.plan.spans if span.is_shown), reverse=True)

    run(go)


def test_between_two_folds_the_prompt_only_grows_at_its_end():
    async def go():
        async with managed() as manager:
            before, folds = None, 0
            for number in range(0, 200, 2):
                await talk(manager, 2, start=number)
                await manager.drain()
                prompt = await manager.compile(room(900))
                await check_told_once(manager, prompt)
                folds += prompt.render_stats.folds > 0
                assert before is None or prompt.render_stats.folds or starts_with(prompt.messages, before.messages)
                before = prompt
            assert 2 <= folds <= 20

    run(go)


def test_a_summary_that_was_written_changes_nothing_of_what_is_shown():
    async def go():
        async with managed() as manager:
            await talk(manager, 40)
            before = await manager.compile(WIDE)
            await manager.drain()
            assert (await manager.compile(WIDE)).digest == before.digest

    run(go)


def test_a_summary_that_is_due_and_not_written_does_not_make_room():
    async def go():
        async with managed() as manager:
            await talk(manager, 40)
            with pytest.raises(OverBudgetError) as refused:
                await manager.compile(room(500))
            assert refused.value.needed > 500
            assert refused.value.diagnostics["unsummarised"] or refused.value.diagnostics["wanted"]
            await manager.drain()
            await check_told_once(manager, await manager.compile(room(500)))

    run(go)


def test_a_compile_that_is_refused_keeps_the_cut_that_was_shown():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            await manager.compile(room(900))
            before = await memory(manager).look()
            with pytest.raises(OverBudgetError):
                await manager.compile(room(60))
            assert (await memory(manager).look()).head == before.head

    run(go)


def test_what_always_stays_raw_and_does_not_fit_is_refused_and_nothing_is_left_out():
    async def go():
        async with managed(recent_window_tokens=5_000) as manager:
            await talk(manager, 60)
            await manager.drain()
            with pytest.raises(OverBudgetError, match="always stay raw") as refused:
                await manager.compile(room(500))
            facts = refused.value.diagnostics
            assert facts["tail_tokens"] > 500 and facts["head_tokens"] == 0 and facts["configured_budget"] == 524

    run(go)


def test_the_newest_turn_is_always_shown_and_an_earlier_copy_of_it_is_not_taken_for_it():
    async def go():
        async with managed(recent_window_tokens=0) as manager:
            await manager.add_message("User", "The same words.")
            await talk(manager, 40)
            newest = await manager.add_message("User", "The same words.")
            await manager.drain()
            prompt = await manager.compile(room(500))
            assert prompt.messages[-1].sources == (newest,)
            await check_told_once(manager, prompt)

    run(go)


def test_the_head_window_stays_raw_and_is_counted_once():
    async def go():
        async with managed(head_window_tokens=60) as manager:
            first, *_ = await talk(manager, 60)
            await manager.drain()
            prompt = await manager.compile(room(700))
            assert prompt.messages[0].sources == (first,) and shown(prompt)
            assert prompt.stats.total == sum(span.tokens for span in prompt.plan.spans if span.is_shown)
            assert 0 <= prompt.stats.total - sum(message_tokens(m, counter=prompt.counter) for m in prompt.messages) <= 4 * len(prompt.messages)
            await check_told_once(manager, prompt)

    run(go)


def test_a_head_that_was_folded_is_not_taken_over_by_what_comes_behind_it():
    async def go():
        async with managed(head_window_tokens=50) as manager:
            await manager.add_message("User", "An opening that the head window cannot hold. " * 20)
            await talk(manager, 40)
            await manager.drain()
            told = shown(await manager.compile(room(500)))
            assert told
            await talk(manager, 40, start=40)
            await manager.drain()
            prompt = await manager.compile(room(500))
            assert prompt.render_stats.head.count == 0
            await check_told_once(manager, prompt)

    run(go)


def test_where_the_budget_shrinks_the_summary_over_several_takes_their_place():
    async def go():
        async with managed(merge_threshold=3) as manager:
            await talk(manager, 80)
            await manager.drain()
            levels = [max((await manager.compile(room(tokens))).stats.by_level, default=0) for tokens in (1_800, 600, 400)]
            assert levels == sorted(levels) and levels[-1] > 1

    run(go)


def test_a_budget_that_has_grown_much_shows_the_past_in_more_detail_and_then_stays():
    async def go():
        async with managed(low_water_ratio=0.9) as manager:
            await talk(manager, 80)
            await manager.drain()
            small = await manager.compile(room(500))
            again = await manager.compile(room(600))
            assert shown(again) == shown(small)
            wide = await manager.compile(room(1_500))
            await check_told_once(manager, wide)
            assert wide.stats.raw > small.stats.raw
            assert (await manager.compile(room(1_500))).digest == wide.digest

    run(go)


def test_with_adaptive_resolution_a_share_of_the_room_is_kept_free_and_a_larger_budget_unfolds_nothing():
    async def go():
        async with managed(adaptive_resolution=True, compression_slack_ratio=0.2, low_water_ratio=1.0) as manager:
            await talk(manager, 80)
            await manager.drain()
            small = await manager.compile(room(1_000))
            assert 500 < small.stats.total <= 800
            assert shown(await manager.compile(room(3_000))) == shown(small)

    run(go)


def test_what_cannot_be_folded_further_may_use_the_room_that_is_else_kept_free():
    async def go():
        async with managed(adaptive_resolution=True, compression_slack_ratio=0.5, recent_window_tokens=400) as manager:
            await talk(manager, 40)
            await manager.drain()
            least = (await manager.compile(room(2_000))).render_stats.tail.tokens + 500
            before = (await memory(manager).look()).head
            prompt = await manager.compile(room(least + 10))
            assert prompt.stats.total > (least + 10) * 0.5
            assert (await memory(manager).look()).head == before

    run(go)


def test_a_grace_lets_a_prompt_pass_its_room_by_so_much_and_no_more():
    async def go():
        async with managed(over_budget_grace_ratio=0.1) as manager:
            await talk(manager, 5)
            whole = (await manager.compile(WIDE)).stats.total
            assert (await manager.compile(room(whole - 5))).stats.total == whole
            with pytest.raises(OverBudgetError):
                await manager.compile(room(whole - 20))

    run(go)


def test_dry_runs_change_nothing_and_say_what_a_live_one_says():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            before = (await memory(manager).look()).head
            dry = [await manager.compile(room(600), dry_run=True) for _ in range(3)]
            assert (await memory(manager).look()).head == before
            live = await manager.compile(room(600))
            assert {run.digest for run in (*dry, live)} == {live.digest}
            assert (await memory(manager).look()).head.id == before.id + 1

    run(go)


def test_a_cut_is_kept_once_and_not_at_every_compile():
    async def go():
        async with managed() as manager:
            await talk(manager, 60)
            await manager.drain()
            await manager.compile(room(600))
            before = (await memory(manager).look()).head
            for _ in range(3):
                await manager.compile(room(600))
            assert (await memory(manager).look()).head == before

    run(go)


def test_another_handle_and_another_process_show_the_cut_that_was_kept():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            await talk(manager, 60)
            await manager.drain()
            first = await manager.compile(room(600))
        async with managed(store) as manager:
            assert (await manager.compile(room(700))).digest == first.digest

    run(go)
