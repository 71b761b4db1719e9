"""Archiving that fails at any call to the system, or whose process is killed, loses nothing and is done again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread
import pytest

import playhead as ph
from playhead.errors import PlayheadError
from playhead.store.protocol import WholeStore
from playhead.testing.families import everything
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.postgres import private_server
from tests.stores import URL, opened

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
    assert kind == "postgres" or ph.verify(place).is_sound


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
