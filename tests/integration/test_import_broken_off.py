"""An import that is broken off, or that another one overtakes, is completed by the next."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreUnavailable
from playhead.importers.driver import import_file
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import Head
from playhead.store.sqlite.store import SQLiteTapeStore
from playhead.tape.tape import Tape
from tests.unit.importers.sessions import Session, call, entries, shown, text, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
async def tape(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tape]:
    store = InMemoryTapeStore() if request.param == "memory" else SQLiteTapeStore(tmp_path / "tapes.db")
    async with store:
        yield Tape(store, "t")


def bodies(found: Sequence[TapeEntry]) -> list[tuple[str, Any, Any, str]]:
    """Return what entries say, without what a tape adds: their uid and their id."""
    return [(e.kind, e.payload, {k: v for k, v in e.meta.items() if k != "uid"}, e.date) for e in found]


async def test_an_import_may_be_cancelled_and_taken_up_again(tape: Tape, tmp_path: Path) -> None:
    session = Session()
    for n in range(1200):
        session.prompt(f"question {n}")
    path = session.write(tmp_path / "s.jsonl")
    with anyio.CancelScope() as scope:
        await import_file(path, into=tape, progress=lambda told: scope.cancel() if told.added else None)
    assert scope.cancelled_caught
    begun = len(await entries(tape))
    assert 0 < begun < 1203
    report = await import_file(path, into=tape)
    assert report.added + report.known == 1201
    assert [str(m) for m in await tape.read_messages()] == [f"question {n}" for n in range(1200)]


class FailingStore(InMemoryTapeStore):
    """A store whose k-th batch fails: before it is written, or after, when nobody hears of it."""

    def __init__(self, at: int, *, after: bool) -> None:
        super().__init__()
        self.left = at
        self.after = after

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise StoreUnavailable("the disk went away")
        stored = await super().append_many(tape, entries, expected_head=expected_head)
        if self.left == 0:
            raise StoreUnavailable("the disk went away")
        return stored


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 7))
async def test_an_import_that_failed_anywhere_is_completed_by_the_next(at: int, after: bool, tmp_path: Path) -> None:
    session = Session()
    for n in range(150):
        session.prompt(f"question {n}")
        session.turn(call(f"a{n}"), id=f"m{n}")
        session.result(f"a{n}")
        session.turn(call(f"b{n}"), id=f"m{n}")
        session.result(f"b{n}")
        session.turn(text("ok"), id=f"n{n}")
    path = session.write(tmp_path / "s.jsonl")
    whole = Tape(InMemoryTapeStore(), "t")
    await import_file(path, into=whole)
    tape = Tape(FailingStore(at, after=after), "t")
    try:
        await import_file(path, into=tape)
    except StoreUnavailable:
        await import_file(path, into=tape)
    assert bodies(await entries(tape))[2:] == bodies(await entries(whole))[2:]


class RacingStore(InMemoryTapeStore):
    """A store to which somebody else writes just before its second batch, the first behind the start of the tape."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0
        self.race: Callable[[], Any] | None = None

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None) -> tuple[TapeEntry, ...]:
        self.batches += 1
        if self.batches == 2 and self.race is not None:
            await self.race()
        return await super().append_many(tape, entries, expected_head=expected_head)


async def test_another_import_of_a_shorter_file_in_between_is_completed(tmp_path: Path) -> None:
    session = Session()
    session.turn(call("c1"), id="m1")
    shorter = session.write(tmp_path / "shorter.jsonl")
    session.turn(call("c2"), id="m1")
    session.result("c2")
    longer = session.write(tmp_path / "longer.jsonl")
    store = RacingStore()
    tape = Tape(store, "t")
    store.race = lambda: import_file(shorter, into=tape)
    report = await import_file(longer, into=tape)
    assert (report.added, report.known) == (2, 2)
    assert told(shown(await entries(tape)))[1:] == ["tool_call c1", "tool_call c2", "tool_result c2"]
