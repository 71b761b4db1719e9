"""What a provider reports of a compile moves the room of those that come, never the prices."""

from __future__ import annotations

import anyio
import pytest

from playhead.errors import OverBudgetError
from playhead.fold.calibration import epoch_of
from playhead.fold.ledger.entries import calibration_entry
from playhead.model.protocol import Usage
from playhead.store.memory.store import InMemoryTapeStore
from tests.unit.prompt.folding.managed import WIDE, managed, memory, room, spans, talk


def run(function):
    anyio.run(function)


def test_one_report_of_a_compile_moves_the_factor_and_later_ones_of_the_same_turn_do_not():
    async def go():
        async with managed() as manager:
            await talk(manager, 40)
            assert await manager.report_usage(1_000) == 1.0
            counted = (await manager.compile(WIDE)).stats.total
            moved = await manager.report_usage(Usage(input=int(counted * 1.2) + 500, output=10), overhead=500)
            assert moved == pytest.approx(1.04, abs=0.01)
            assert await manager.report_usage(counted * 1.7) == moved
            await manager.compile(WIDE, dry_run=True)
            assert await manager.report_usage(counted * 1.7) == moved
            assert (await manager.compile(WIDE)).render_stats.factor == moved

    run(go)


def test_a_factor_scales_the_room_and_never_the_prices():
    async def go():
        store = InMemoryTapeStore()
        async with managed(store) as manager:
            await talk(manager, 30)
            whole = (await manager.compile(WIDE)).stats.total
            await memory(manager).append([calibration_entry(1.5, epoch_of(manager.tape.counter))])
            assert (await manager.compile(WIDE)).stats.total == whole
            with pytest.raises(OverBudgetError):
                await manager.compile(room(int(whole * 1.3)))
            assert (await manager.compile(room(int(whole * 1.6)))).render_stats.factor == 1.5
            before = await spans(manager)
            await manager.drain()
            after = await spans(manager)
            await memory(manager).append([calibration_entry(0.7, epoch_of(manager.tape.counter))])
            await manager.drain()
            assert await spans(manager) == after and before == []

    run(go)


def test_a_factor_that_was_learnt_under_other_prices_counts_for_nothing():
    async def go():
        async with managed() as manager:
            await talk(manager, 10)
            await memory(manager).append([calibration_entry(1.8, "another counter/0123")])
            assert (await manager.compile(WIDE)).render_stats.factor == 1.0

    run(go)
