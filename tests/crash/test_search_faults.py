"""What searches find when the disk fails at any call of those that make volumes: what a look at all entries finds."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import anyio
import pytest

import playhead as ph
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.unit.store.searches import caught_up, check, fill, volumes

FAULTS = [Fault(), Fault(code=errno.ENOSPC, calls=1_000)]
if os.environ.get("PLAYHEAD_SOAK"):
    FAULTS += [Fault(takes=100), Fault(carried_out=True)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a place where a tape has seven volumes, and enough entries for the one with which they become one."""
    place = tmp_path_factory.mktemp("begun")

    async def play() -> None:
        async with ph.FileTapeStore(place, durability="process") as store:
            for number in range(7):
                await fill(store, "t", first=number * 520, count=520)
                await caught_up(store, "t")
            assert len(await volumes(store)) == 7
        async with ph.FileTapeStore(place, durability="process", search="scan") as store:
            await fill(store, "t", first=9_000, count=520)

    anyio.run(play)
    return place


@pytest.mark.parametrize("fault", FAULTS, ids=map(str, FAULTS))
def test_a_disk_that_fails_while_volumes_are_made_costs_at_most_these(fault: Fault, begun: Path, tmp_path: Path):
    async def failed(place: Path, at: int) -> bool:
        disk = FaultyDisk(fault, at=at)
        async with ph.FileTapeStore(place, durability="process", disk=disk) as store:
            await caught_up(store, "t")
        async with ph.FileTapeStore(place, durability="process") as store:
            await check(store, "t")
            await caught_up(store, "t")
            assert ("t", 1, 4_160) in await volumes(store)
        assert at % 8 or ph.verify(place).is_sound
        return len(disk.calls) >= at

    at = 1
    while anyio.run(failed, Path(shutil.copytree(begun, tmp_path / str(at))), at):
        at += 1
    assert at > 10
