"""A blob, or an entry kept in parts, that was acknowledged survives whatever the disk does; one that was not is whole or not there."""

from __future__ import annotations

from pathlib import Path
from random import Random

import anyio
import pytest

from playhead.errors import AppendOutcomeUnknown, BlobNotFound, StoreUnavailable
from playhead.store.blobs import digest_of
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from playhead.testing.stage import note
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.crash.power import Aftermath, PowerDisk

LARGE = [f"{number} " * 1_500 for number in range(3)]
LIMIT = 1_024
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


async def said(place: Path) -> list[str]:
    """Return what the entries say; an unfinished line is no entry."""
    async with FileTapeStore(place, durability="process", on_finding=lambda _: None) as store:
        return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape="t"))]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_call_that_fails_leaves_a_large_entry_whole_or_not_there(fault: Fault, tmp_path: Path):
    async def go() -> int:
        for at in range(1, 100):
            place, disk = tmp_path / str(at), FaultyDisk(fault, at=at)
            store = FileTapeStore(place, disk=disk, inline_limit=LIMIT)
            kept = []
            for text in LARGE[:2]:
                try:
                    await store.append_many("t", [note(text)])
                    kept.append(text)
                except (StoreUnavailable, AppendOutcomeUnknown):
                    break
            await store.aclose()
            found = await said(place)
            assert found[: len(kept)] == kept and found == LARGE[: len(found)], at
            is_past = len(disk.calls) < at
            async with FileTapeStore(place, durability="process", inline_limit=LIMIT, on_finding=lambda _: None) as again:
                await again.append_many("t", [note(LARGE[2])])
            assert await said(place) == [*found, LARGE[2]]
            if is_past:
                return at
        raise AssertionError("the faults never end")

    assert anyio.run(go) > 12


def test_a_loss_of_power_takes_no_part_of_an_entry_that_was_acknowledged(tmp_path: Path):
    disk = PowerDisk()

    async def live() -> None:
        async with FileTapeStore(tmp_path / "lived", disk=disk, inline_limit=LIMIT) as store:
            for text in [*LARGE[:2], LARGE[0]]:
                await store.append_many("t", [note(text)])
                disk.note("acknowledged", text)

    async def lose_power() -> None:
        chance = Random(7)
        for moment in range(len(disk.events) + 1):
            for number, kept in enumerate(("nothing", "all", "some", "holes")):
                place = tmp_path / f"{moment}-{number}"
                place.mkdir()
                Aftermath(disk.events[:moment]).write(tmp_path / "lived", place, kept=kept, chance=chance)
                acknowledged = [event[1] for event in disk.events[:moment] if event[0] == "acknowledged"]
                found = await said(place)
                assert found[: len(acknowledged)] == acknowledged, (moment, kept)
                assert found == [*LARGE[:2], LARGE[0]][: len(found)]

    anyio.run(live)
    anyio.run(lose_power)
