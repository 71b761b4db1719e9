"""What searches find when processes are killed while they make volumes, and when several make them at once: what a look at all entries finds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import anyio
import pytest

import playhead as ph
from tests import stores
from tests.crash.processes import finished, started
from tests.unit.store.searches import Kept, check, volumes

KILLS = 60 if os.environ.get("PLAYHEAD_SOAK") else 4
ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from pathlib import Path
import anyio
import playhead as ph
from tests.stores import opened
from tests.unit.store.searches import caught_up, fill

async def go(sort, place, seed, rounds):
    store = opened(sort, Path(place), durability="process", timeout=60, **({"on_finding": lambda finding: None} if sort == "file" else {}))
    for number in range(rounds):
        await fill(store, "a", first=seed * 10_000 + number * 600, count=520)
        print(number, flush=True)
        await caught_up(store, "a")
        if seed % 3 == 2:
            await store.reset("b")
        await fill(store, "b", first=seed * 10_000 + number * 600, count=520)
        await caught_up(store, "b")
        await store.search(ph.TapeQuery(tape="a"), "gate")
    await store.aclose()

anyio.run(go, sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""


def opened(sort: str, place: Path) -> Kept:
    store: Kept = stores.opened(sort, place, durability="process", **({"on_finding": lambda _: None} if sort == "file" else {}))
    return store


@pytest.fixture(params=stores.KEPT)
def sort(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a kind of store, with a database for it where it needs one."""
    if request.param == "postgres":
        (tmp_path / stores.URL).write_text(request.getfixturevalue("postgres_url"))
    return str(request.param)


def look(sort: str, place: Path) -> int:
    """Compare what a fresh store finds with all entries, have the store proved, and return how many volumes it has."""

    async def play() -> int:
        async with opened(sort, place) as store:
            await check(store, "a", "b")
            return len(await volumes(store))

    count = anyio.run(play)
    report = ph.verify(opened(sort, place))
    assert report.is_sound, str(report)
    return count


def test_searches_are_whole_after_a_kill_while_volumes_are_made(sort: str, tmp_path: Path):
    chance, seen = Random(11), set()
    for seed in range(KILLS):
        child = started(WRITER, sort, tmp_path, seed, 100, cwd=ROOT)
        child.stdout.readline()
        time.sleep(chance.uniform(0.01, 0.5))
        child.kill()
        child.communicate()
        seen.add(look(sort, tmp_path))
    assert max(seen) > 0


def test_processes_that_make_volumes_of_the_same_tapes_do_not_get_into_each_others_way(sort: str, tmp_path: Path):
    children = [started(WRITER, sort, tmp_path, seed, 2, cwd=ROOT) for seed in (0, 1)]
    for child in children:
        _, err = child.communicate(timeout=120)
        assert child.returncode == 0, err.decode()
    assert look(sort, tmp_path) > 0
    finished(WRITER, sort, tmp_path, 5, 1, cwd=ROOT)
    assert look(sort, tmp_path) > 0
