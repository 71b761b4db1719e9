"""A blob that was acknowledged survives whatever the disk does; one that was not is whole or not there."""

from __future__ import annotations

from pathlib import Path
from random import Random

import anyio
import pytest

from playhead.errors import BlobNotFound, StoreUnavailable
from playhead.store.blobs import digest_of
from playhead.store.file.store import FileTapeStore
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.crash.power import Aftermath, PowerDisk

DATA = Random(3).randbytes(5_000)
FAULTS = [Fault(), Fault(calls=1_000), Fault(carried_out=True), Fault(takes=100), Fault(takes=0)]


async def found(place: Path, data: bytes = DATA) -> bytes | None:
    async with FileTapeStore(place, durability="process") as store:
        try:
            return await store.get_blob(digest_of(data))
        except BlobNotFound:
            return None


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_call_that_fails_leaves_a_blob_whole_or_not_there_and_the_next_try_keeps_it(fault: Fault, tmp_path: Path):
    async def go() -> int:
        for at in range(1, 100):
            place, disk = tmp_path / str(at), FaultyDisk(fault, at=at)
            store = FileTapeStore(place, disk=disk)
            try:
                await store.put_blob(DATA, mime="image/png")
            except StoreUnavailable:
                assert await found(place) in (None, DATA), at
            else:
                assert await found(place) == DATA, at
            await store.aclose()
            is_past = len(disk.calls) < at
            async with FileTapeStore(place, durability="process") as again:
                assert (await again.put_blob(DATA, mime="image/png")).mime == "image/png"
                assert await again.get_blob(digest_of(DATA)) == DATA
            if is_past:
                return at
        raise AssertionError("the faults never end")

    assert anyio.run(go) > 8


def test_a_loss_of_power_takes_nothing_that_was_acknowledged(tmp_path: Path):
    pieces = [DATA, b"", DATA[:700], DATA]
    disk = PowerDisk()

    async def live() -> None:
        async with FileTapeStore(tmp_path / "lived", disk=disk) as store:
            for piece in pieces:
                await store.put_blob(piece, mime="image/png")
                disk.note("acknowledged", piece)

    async def lose_power() -> None:
        chance = Random(7)
        for moment in range(len(disk.events) + 1):
            for number, kept in enumerate(("nothing", "all", "some", "some", "holes", "holes")):
                place = tmp_path / f"{moment}-{number}"
                place.mkdir()
                Aftermath(disk.events[:moment]).write(tmp_path / "lived", place, kept=kept, chance=chance)
                for event in disk.events[:moment]:
                    if event[0] == "acknowledged":
                        assert await found(place, event[1]) == event[1], (moment, kept)  # type: ignore[arg-type]
                async with FileTapeStore(place, durability="process") as store:
                    await store.put_blob(DATA)
                    assert await store.get_blob(digest_of(DATA)) == DATA

    anyio.run(live)
    anyio.run(lose_power)
