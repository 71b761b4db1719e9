"""A loss of power at any moment leaves all that was acknowledged at durability "disk", whatever else reached the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from playhead.store.rows.connection import Durability
from tests.crash.file_stage import TAPE, Ear, note
from tests.crash.power import Aftermath, PowerDisk

KEPT = ("nothing", "all", "some", "some", "some", *["holes"] * 6)
Moment = tuple["Life", int, str, tuple[int, list[str]] | None]
"""A life, how many of its events came before the loss of power, what was kept of them, and what was found (None: refused)."""

SIZES = (10, 300, 1_500, 20, 9_000)


class Life:
    """A tape's appends and its reset, with when each was begun and acknowledged."""

    def __init__(self, place: Path, durability: Durability) -> None:
        self.disk = PowerDisk()
        self.finals: dict[int, list[str]] = {}
        self.edges: dict[int, list[int]] = {0: [0], 1: []}
        self._store = FileTapeStore(place, durability=durability, disk=self.disk)

    async def append(self, texts: Sequence[str]) -> None:
        entries = await self._store.append_many(TAPE, [note(text) for text in texts])
        self._acknowledged(0 if 0 not in self.finals else 1, entries)

    async def reset(self, texts: Sequence[str]) -> None:
        self.finals[0] = await self._all()
        self.disk.note("reset")
        self._acknowledged(1, await self._store.reset(TAPE, entries=[note(text) for text in texts]))

    def _acknowledged(self, generation: int, entries: Sequence[TapeEntry]) -> None:
        self.edges[generation].append(entries[-1].id)
        self.disk.note("acknowledged", generation, entries[-1].id)

    async def _all(self) -> list[str]:
        return [entry.payload["content"] for entry in await self._store.fetch_all(TapeQuery(tape=TAPE))]

    async def live(self) -> None:
        for number, size in enumerate(SIZES):
            await self.append([f"{number} " + "x" * size])
        await self.append([f"batch {i} ü" * 90 for i in range(3)])
        async with anyio.create_task_group() as tasks:
            for who in "abcd":
                tasks.start_soon(self.append, [who * 700])
        await self.reset(["r" * 50, "s" * 600])
        await self.append(["t"])
        self.finals[1] = await self._all()
        await self._store.aclose()


async def found_after(place: Path) -> tuple[int, list[str]]:
    """Return the generation and the texts that a store finds, after one more append that must succeed."""
    async with FileTapeStore(place, durability="process", on_finding=Ear()) as store:
        before = await store.fetch_all(TapeQuery(tape=TAPE))
        await store.append(TAPE, note("after"))
        entries = await store.fetch_all(TapeQuery(tape=TAPE))
        assert entries[:-1] == before
        assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
        return (await store.head(TAPE)).generation, [entry.payload["content"] for entry in before]


def played(tmp_path: Path, durability: Durability, *, every: int = 1) -> list[Moment]:
    """Live once, then lose power behind every event, several times."""
    life = Life(tmp_path / "lived", durability)
    anyio.run(life.live)
    chance = Random(7)
    moments: list[Moment] = []

    async def lose_power() -> None:
        for moment in range(0, len(life.disk.events) + 1, every):
            for number, kept in enumerate(KEPT):
                place = tmp_path / f"{moment}-{number}"
                place.mkdir()
                Aftermath(life.disk.events[:moment]).write(tmp_path / "lived", place, kept=kept, chance=chance)
                try:
                    moments.append((life, moment, kept, await found_after(place)))
                except StoreDamaged:
                    moments.append((life, moment, kept, None))

    anyio.run(lose_power)
    return moments


def acknowledged(events: Sequence[tuple[object, ...]]) -> tuple[int, int]:
    """Return the generation and the id up to which a tape was acknowledged."""
    heads = [(event[1], event[2]) for event in events if event[0] == "acknowledged"]
    return max(heads, default=(0, 0))  # type: ignore[type-var, return-value]


def is_kept(life: Life, moment: int, found: tuple[int, list[str]]) -> bool:
    """Return whether a tape is a first part of the one that was lived, cut between two appends, with all that was acknowledged."""
    generation, texts = found
    events = life.disk.events[:moment]
    safe_generation, safe_id = acknowledged(events)
    begun = 1 if ("reset",) in events else 0
    is_part = texts == life.finals[generation][: len(texts)] and (not generation or bool(texts))
    return is_part and safe_generation <= generation <= begun and (generation > safe_generation or len(texts) >= safe_id)


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Moment]:
    return played(tmp_path_factory.mktemp("power"), "disk")


def test_all_that_was_acknowledged_survives_a_loss_of_power_at_any_moment(moments: list[Moment]):
    assert len(moments) > 500
    assert [(moment, kept) for _, moment, kept, found in moments if found is None] == []
    assert [(moment, kept, found) for life, moment, kept, found in moments if found is not None and not is_kept(life, moment, found)] == []


def test_a_batch_is_kept_whole_or_not_at_all_when_power_is_lost(moments: list[Moment]):
    for _, moment, kept, found in moments:
        if found is not None and found[0] == 0:
            assert sum(text.startswith("batch") for text in found[1]) in (0, 3), (moment, kept)


def test_without_flushes_a_loss_of_power_loses_entries_but_never_changes_one(tmp_path: Path):
    """The very harness must notice it, or it would notice nothing."""
    moments = played(tmp_path, "process", every=2)
    lost = [moment for life, moment, _, found in moments if found is not None and not is_kept(life, moment, found)]
    assert len(lost) > len(moments) / 10
    for life, moment, kept, found in moments:
        if found is not None:
            assert found[1] == life.finals[found[0]][: len(found[1])], (moment, kept)


@pytest.mark.parametrize("kept", ["nothing", "all", "some", "holes"])
def test_the_disk_of_these_tests_keeps_what_was_flushed(tmp_path: Path, kept: str):
    disk = PowerDisk()
    fd = disk.open_to_write(str(tmp_path / "file"))
    disk.write(fd, b"a" * 1000, 0)
    disk.flush(fd)
    disk.flush_directory(str(tmp_path))
    disk.write(fd, b"b" * 1000, 1000)
    disk.close(fd)
    Aftermath(disk.events).write(tmp_path, tmp_path / "after", kept=kept, chance=Random(1))
    found = (tmp_path / "after" / "file").read_bytes()
    assert found[:1000] == b"a" * 1000
    assert (len(found) == 2000) == (kept in ("all", "holes"))
