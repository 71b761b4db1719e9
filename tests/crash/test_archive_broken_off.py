"""Archiving that fails at any call to the system, or whose process is killed, loses nothing and is done again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread
import pytest

import playhead as ph
from playhead import clock
from playhead.errors import PlayheadError
from playhead.store.archiving.retention import archiving
from playhead.store.change import DISCARDED, Append, Close, Fork
from playhead.store.family import branch_name
from playhead.store.protocol import WholeStore
from playhead.store.rows.connection import Durability
from playhead.testing import FakeClock
from playhead.testing.families import everything
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.crash.file_stage import Ear
from tests.crash.power import Aftermath, PowerDisk
from tests.postgres import private_server
from tests.stores import URL, opened

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
BRANCH = branch_name("t", "b")
TEXT = "the same words again " * 8


async def filled(store: WholeStore, count: int) -> list[object]:
    tape = ph.Tape(store, "t")
    for start in range(0, count, 200):
        await tape.append_many([ph.TapeEntry.event("n", {"n": n, "text": TEXT}) for n in range(start, min(start + 200, count))])
    branch = await tape.fork(at=count // 2, name="b")
    await branch.append_many([ph.TapeEntry.event("own", {"n": n}) for n in range(9)])
    await tape.archive(below=20)
    return await everything(store, "t")


@pytest.mark.parametrize("fault", [Fault(), Fault(carried_out=True), Fault(calls=10**9)], ids=str)
def test_archiving_files_that_fails_at_any_call_loses_nothing(fault: Fault, tmp_path: Path):
    async def run() -> None:
        async with ph.FileTapeStore(tmp_path / "sound", durability="process") as store:
            wanted = await filled(store, 120)
        for at in range(1, 1000):
            place = tmp_path / str(at)
            shutil.copytree(tmp_path / "sound", place)
            disk = FaultyDisk(fault, at=at)
            try:
                async with ph.FileTapeStore(place, disk=disk) as store:
                    await store.archive("t", upto=100)
            except PlayheadError:
                pass
            else:
                if len(disk.calls) < at:
                    break
            async with ph.FileTapeStore(place, durability="process") as store:
                assert await everything(store, "t") == wanted
                report = await store.archive("t", upto=100)
                assert report.upto == 100
                assert await everything(store, "t") == wanted
                await store.append("t", ph.TapeEntry.event("goes on"))
            assert ph.verify(place).is_sound
            shutil.rmtree(place)
        assert at > 12

    anyio.run(run)


def noted(n: int) -> ph.TapeEntry:
    return ph.TapeEntry(0, "note", {"n": n, "text": TEXT}, {"uid": f"{n}"}, "2026-03-01")


ACTS: tuple[Callable[[WholeStore], Awaitable[object]], ...] = (
    lambda store: store.append_many("t", [noted(n) for n in range(40)]),
    lambda store: archiving(store).archive("t", upto=30),
    lambda store: store.append_many("t", [noted(n) for n in range(40, 50)]),
    lambda store: store.apply([Fork(tape=BRANCH, parent="t", at=20), Append(tape=BRANCH, entries=[noted(n) for n in range(50, 60)])]),
    lambda store: archiving(store).archive("t", upto=45),
    lambda store: archiving(store).archive(BRANCH, upto=28),
    lambda store: store.append_many("t", [noted(60)]),
    lambda store: store.apply([Close(tape=BRANCH, outcome=DISCARDED)]),
    lambda store: store.collect("t", before=datetime(9000, 1, 1, tzinfo=UTC)),
    lambda store: store.reset("t", entries=[noted(61)]),
)


async def states() -> list[list[object]]:
    """Return what is to be seen before the first act, and behind each."""
    memory = ph.InMemoryTapeStore()
    found = [await everything(memory, "t")]
    for act in ACTS:
        await act(memory)
        found.append(await everything(memory, "t"))
    return found


async def lose_power(place: Path, *, durability: Durability, step: int) -> tuple[int, list[object]]:
    """Lose power behind every few events; return how often, and what was found that should not be."""
    with clock.using(FakeClock()):
        disk = PowerDisk()
        async with ph.FileTapeStore(place / "lived", durability=durability, disk=disk) as store:
            for act in ACTS:
                disk.note("begun")
                await act(store)
                disk.note("done")
        expected = await states()
    chance, wrong, moments = Random(3), list[object](), 0
    for moment in range(0, len(disk.events) + 1, step):
        done, begun = (sum(event == (word,) for event in disk.events[:moment]) for word in ("done", "begun"))
        for kept in ("nothing", "some", "holes", "all"):
            after = place / f"{moment}-{kept}"
            after.mkdir()
            Aftermath(disk.events[:moment]).write(place / "lived", after, kept=kept, chance=chance)
            moments += 1
            try:
                async with ph.FileTapeStore(after, durability="process", on_finding=Ear()) as store:
                    found = await everything(store, "t")
            except PlayheadError as error:
                found = [repr(error)]
            if found not in expected[done : begun + 1]:
                wrong.append((moment, kept, done, begun, found))
            shutil.rmtree(after)
    return moments, wrong


def test_what_is_archived_survives_a_loss_of_power_at_any_moment(tmp_path: Path):
    moments, wrong = anyio.run(partial(lose_power, tmp_path, durability="disk", step=1 if SOAK else 3))
    assert moments > 100
    assert wrong == []


CHILD = """
import sys, anyio, playhead as ph
async def main():
    store = ph.open_store(sys.argv[1])
    print("ready", flush=True)
    for upto in range(50, 3000, 50):
        await store.archive("t", upto=upto)
        print(upto, flush=True)
    await store.compact()
anyio.run(main)
"""


@pytest.mark.parametrize("kind", ["sqlite", "file", "postgres"])
def test_archiving_whose_process_is_killed_loses_nothing(kind: str, store_place: Path):
    place, chance = store_place / ("tapes.db" if kind == "sqlite" else "tapes"), Random(11)
    url = {"sqlite": f"sqlite:///{place}", "file": f"file:{place}", "postgres": (store_place / URL).read_text()}[kind]

    async def begin() -> list[object]:
        async with opened(kind, store_place, durability="process") as store:
            return await filled(store, 3000)

    async def seen() -> list[object]:
        async with opened(kind, store_place) as store:
            return await everything(store, "t")

    async def end() -> int:
        async with opened(kind, store_place) as store:
            return (await store.archive("t", upto=2950)).upto

    wanted = anyio.run(begin)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", CHILD, url], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout as told:
            for _ in range(chance.randint(2, 25)):
                told.readline()
            child.kill()
        child.wait()
        assert anyio.run(seen) == wanted
    assert anyio.run(end) == 2950
    assert anyio.run(seen) == wanted
    assert ph.verify(url).is_sound


def test_archiving_whose_server_is_killed_loses_nothing(tmp_path: Path):
    with private_server(fsync=True) as server:
        (tmp_path / URL).write_text(server.socket_url())

        async def seen() -> list[object]:
            async with opened("postgres", tmp_path) as store:
                return await everything(store, "t")

        async def begin() -> list[object]:
            async with opened("postgres", tmp_path) as store:
                return await filled(store, 1500)

        async def killed() -> None:
            async with opened("postgres", tmp_path, timeout=1.0) as store:
                await store.archive("t", upto=100)

                async def kill() -> None:
                    await anyio.to_thread.run_sync(server.kill)

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(kill)
                    with suppress(PlayheadError):
                        for upto in range(110, 1500, 10):
                            await store.archive("t", upto=upto)

        wanted = anyio.run(begin)
        anyio.run(killed)
        server.start()
        assert anyio.run(seen) == wanted
        assert ph.verify(server.socket_url()).is_sound
