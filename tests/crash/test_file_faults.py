"""Whatever call to the system fails: what was acknowledged is there, what was refused is not, and an unknown outcome is said to be unknown."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from playhead.errors import AppendOutcomeUnknown, PlayheadError, StoreUnavailable
from playhead.store.file.disk import Disk
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.crash.file_stage import TAPE, Ear, note, tape_file, texts_in

LONG = "longer than what a store looks through without an index " * 5_000
FAULTS = (
    Fault(),
    Fault(calls=10**9),
    Fault(carried_out=True),
    Fault(code=errno.ENOSPC, takes=7),
    Fault(code=errno.ENOSPC, takes=7, calls=2),
    Fault(code=errno.ENOSPC, takes=200, calls=3),
    Fault(code=errno.ENOSPC, takes=50, calls=10**9),
)


@dataclass
class Story:
    """What happened to a tape: what must stand on it, and what may."""

    must: list[str] = field(default_factory=list)
    may: list[list[str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    after_reset: list[str] | None = None

    async def tell(self, texts: Sequence[str], append: Callable[[], Awaitable[object]]) -> None:
        """Append, and note how it ended."""
        try:
            await append()
        except AppendOutcomeUnknown:
            self.may.append(list(texts))
        except StoreUnavailable:
            self.refused += texts
        else:
            self.must += texts

    async def tell_reset(self, texts: Sequence[str], reset: Callable[[], Awaitable[object]]) -> None:
        try:
            await reset()
        except AppendOutcomeUnknown:
            self.after_reset = list(texts)
        except StoreUnavailable:
            return
        else:
            self.must, self.may = list(texts), []

    def settle(self, found: list[str]) -> None:
        """Compare the tape with what happened; from here on what is there must stay."""
        if self.after_reset is not None and found == self.after_reset:
            self.must, self.may = list(found), []
        assert [text for text in found if text in self.must] == self.must
        rest = [text for text in found if text not in self.must]
        for texts in self.may:
            there = [text for text in rest if text in texts]
            assert there in ([], texts), (found, self.may)
            rest = [text for text in rest if text not in texts]
        assert rest == [], (found, self)
        self.must, self.may, self.after_reset = list(found), [], None


async def first_session(store: FileTapeStore, story: Story) -> None:
    """Append one, several, with a key, and many at the same time."""
    await story.tell(["a"], lambda: store.append(TAPE, note("a")))
    await story.tell(["b 1", "b 2 ü"], lambda: store.append_many(TAPE, [note("b 1"), note("b 2 ü")]))
    await story.tell([LONG], lambda: store.append(TAPE, note(LONG, **{IDEMPOTENCY_KEY: "long"})))
    await story.tell(["k"], lambda: store.append(TAPE, note("k", **{IDEMPOTENCY_KEY: "k"})))
    await story.tell([], lambda: store.find(TAPE, keys=["long", "k"]))
    async with anyio.create_task_group() as tasks:
        for text in ("c", "d", "e"):
            tasks.start_soon(story.tell, [text], lambda text=text: store.append(TAPE, note(text)))


async def second_session(store: FileTapeStore, story: Story) -> None:
    """Append behind a torn end, repeat what stands, start anew, and go on."""
    await story.tell(["f"], lambda: store.append(TAPE, note("f")))
    if LONG in story.must:
        await story.tell([], lambda: store.append(TAPE, note(LONG, **{IDEMPOTENCY_KEY: "long"})))
    await story.tell_reset(["r"], lambda: store.reset(TAPE, entries=[note("r")]))
    await story.tell(["z"], lambda: store.append(TAPE, note("z")))


async def told(place: Path, disk: Disk) -> None:
    """Play both sessions on a disk, the end of the file torn in between, and compare each time on a sound one."""
    story = Story()
    for session in (first_session, second_session):
        store = FileTapeStore(place, disk=disk, on_finding=Ear())
        await session(store, story)
        await store.aclose()
        async with FileTapeStore(place, durability="process", on_finding=Ear()) as sound:
            story.settle(await texts_in(sound))
        if session is first_session and tape_file(place).exists():
            with tape_file(place).open("ab") as file:
                file.write(b'{"id":7,"kind":"mess')
    async with FileTapeStore(place, durability="process", on_finding=Ear()) as sound:
        before = await texts_in(sound)
        await sound.append(TAPE, note("end"))
        assert await texts_in(sound) == [*before, "end"]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_failing_call_loses_nothing_that_was_acknowledged(tmp_path: Path, fault: Fault):
    number = 0
    while True:
        number += 1
        disk = FaultyDisk(fault, at=number)
        anyio.run(told, tmp_path / str(number), disk)
        if len(disk.calls) < number:
            break
    assert number > 30
    assert {"open", "write", "flush", "cut", "rename", "link", "remove", "date", "flush directory", "make directory"} == set(disk.calls)


def test_an_append_that_did_not_reach_the_disk_is_of_unknown_outcome_until_the_store_is_opened_anew(tmp_path: Path):
    async def play() -> None:
        calls = FaultyDisk()
        async with FileTapeStore(tmp_path / "sound", disk=calls) as store:
            await store.append(TAPE, note("a", **{IDEMPOTENCY_KEY: "a"}))
        store = FileTapeStore(tmp_path / "other", disk=FaultyDisk(Fault(), at=calls.calls.index("flush") + 1))
        with pytest.raises(AppendOutcomeUnknown, match="may not have reached the disk"):
            await store.append(TAPE, note("a", **{IDEMPOTENCY_KEY: "a"}))
        for refused in (store.append(TAPE, note("b")), store.head(TAPE), store.list_tapes(), store.reset(TAPE)):
            with pytest.raises(AppendOutcomeUnknown, match="open it again"):
                await refused
        await store.aclose()
        async with FileTapeStore(tmp_path / "other") as again:
            assert set(await again.find(TAPE, keys=["a"])) in ({"a"}, set())
            (stored,) = await again.append_many(TAPE, [note("a", **{IDEMPOTENCY_KEY: "a"})])
            assert (stored.id, await again.head(TAPE)) == (1, Head(0, 1))

    anyio.run(play)


def test_bytes_that_a_failed_flush_left_behind_are_written_again(tmp_path: Path):
    """After a failed flush the system takes dirty pages for clean ones; the next flush that succeeds must cover them."""
    calls = FaultyDisk()

    async def play(disk: FaultyDisk, place: Path) -> None:
        store = FileTapeStore(place, disk=disk)
        try:
            await store.append(TAPE, note("a"))
        except PlayheadError:
            pass
        finally:
            await store.aclose()

    anyio.run(play, calls, tmp_path / "sound")
    failing = FaultyDisk(Fault(), at=calls.calls.index("flush") + 1)
    anyio.run(play, failing, tmp_path / "failing")
    assert failing.calls[-2:] == ["flush", "write"]


@pytest.mark.parametrize("takes", [None, 0, 1, 100])
def test_a_failed_append_leaves_the_file_as_it_was(tmp_path: Path, takes: int | None):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append(TAPE, note("a"))
        before = tape_file(tmp_path).read_bytes()
        disk = FaultyDisk(Fault(code=errno.ENOSPC, takes=takes, calls=1 if takes is None else 2), at=2)
        async with FileTapeStore(tmp_path, disk=disk) as store:
            with pytest.raises(StoreUnavailable, match="No space left"):
                await store.append(TAPE, note("b"))
            assert disk.calls[1] == "write"
            assert tape_file(tmp_path).read_bytes() == before
            assert (await store.append(TAPE, note("b"))).id == 2

    anyio.run(play)


def test_the_harness_itself_sees_every_entry(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, disk=FaultyDisk()) as store:
            story = Story()
            await first_session(store, story)
            assert len(await store.fetch_all(TapeQuery(tape=TAPE))) == 8 == len(story.must)
            with pytest.raises(AssertionError):
                story.settle(story.must[:-1])
            story.may = [["x", "y"]]
            with pytest.raises(AssertionError):
                story.settle([*story.must, "x"])

    anyio.run(play)
