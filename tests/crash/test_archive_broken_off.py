"""Archiving that fails at any call to the system, or whose process is killed, loses nothing and is done again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import anyio
import pytest

import playhead as ph
from playhead.errors import PlayheadError
from playhead.store.protocol import WholeStore
from playhead.testing.families import everything
from tests.crash.broken_disks import Fault, FaultyDisk

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


@pytest.mark.parametrize("url", ["sqlite:///{}/tapes.db", "file:{}/tapes"])
def test_archiving_whose_process_is_killed_loses_nothing(url: str, tmp_path: Path):
    url, chance = url.format(tmp_path), Random(11)

    async def begin() -> list[object]:
        store = ph.open_store(f"{url}?durability=process")
        try:
            return await filled(store, 3000)
        finally:
            await store.aclose()

    async def seen() -> list[object]:
        store = ph.open_store(url)
        try:
            return await everything(store, "t")
        finally:
            await store.aclose()

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
    assert ph.verify(tmp_path / ("tapes.db" if "sqlite" in url else "tapes")).is_sound
