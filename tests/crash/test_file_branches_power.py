"""A loss of power at any moment leaves a family as some of the changes left it, with all that were acknowledged at durability "disk"."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from random import Random

import anyio

from playhead import clock
from playhead.errors import PlayheadError
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import WholeStore
from playhead.store.rows.connection import Durability
from playhead.testing import FakeClock
from playhead.testing.families import everything
from tests.crash.file_stage import Ear
from tests.crash.power import Aftermath, PowerDisk
from tests.crash.test_file_branches_faults import ACTS, wanted

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
KEPT = ("nothing", "all", "some", "holes", "holes", *(["some", *["holes"] * 4] if SOAK else []))
STEP = 1 if SOAK else 3
EMPTY_FORKS = {2: 4, 7: 11}
"""Which acts make a branch that holds nothing of its own, and how many acts there are when it does, or is written anew: only then is it safe."""


async def lived(place: Path, durability: Durability) -> list[tuple[object, ...]]:
    """Do all acts and return what the disk saw, with when each was begun and done."""
    disk = PowerDisk()
    async with FileTapeStore(place, durability=durability, disk=disk) as store:
        for act in ACTS:
            disk.note("begun")
            await act(store)
            disk.note("done")
    return disk.events


async def seen(store: WholeStore) -> list[object]:
    return [await everything(store, root) for root in ("t", "u")]


async def expected() -> list[tuple[int, list[object]]]:
    """Return what may be seen when so many acts were done; a branch without entries of its own may be lost."""
    states = []
    for count in range(len(ACTS) + 1):
        lost = [number for number, safe in EMPTY_FORKS.items() if number < count < safe]
        for gone in ((), lost) if lost else ((),):
            acts = [act for number, act in enumerate(ACTS[:count]) if number not in gone]
            states.append((count, [of_root for of_root, _ in await wanted(acts)]))
    return states


async def lose_power(place: Path, durability: Durability, *, step: int = STEP) -> tuple[int, int, list[object]]:
    """Lose power behind every event; return how often, how often something was refused, and what was found that should not be."""
    with clock.using(FakeClock()):
        events = await lived(place / "lived", durability)
        states = await expected()
    chance, wrong, moments, refused = Random(5), [], 0, 0
    for moment in range(0, len(events) + 1, step):
        done, begun = (sum(event == (word,) for event in events[:moment]) for word in ("done", "begun"))
        for number, kept in enumerate(KEPT):
            after = place / f"{moment}-{number}"
            after.mkdir()
            Aftermath(events[:moment]).write(place / "lived", after, kept=kept, chance=chance)
            moments += 1
            try:
                async with FileTapeStore(after, durability="process", on_finding=Ear()) as store:
                    found = await seen(store)
            except PlayheadError as error:
                refused += 1
                found = [repr(error)]
            if not any(done <= count <= begun and found == state for count, state in states):
                wrong.append((moment, kept, done, begun, found))
    return moments, refused, wrong


def test_a_family_survives_a_loss_of_power_at_any_moment(tmp_path: Path):
    moments, _, wrong = anyio.run(lose_power, tmp_path, "disk")
    assert moments > 300
    assert wrong == []


def test_without_flushes_a_loss_of_power_loses_changes(tmp_path: Path):
    """The very harness must notice it, or it would notice nothing."""
    moments, _, wrong = anyio.run(partial(lose_power, step=7), tmp_path, "process")
    assert len(wrong) > moments / 20
