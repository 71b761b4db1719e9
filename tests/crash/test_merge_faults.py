"""A merge whose store fails at any call is made once: asked for again after the store was opened anew, it changes nothing or all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.entry.message import user
from playhead.errors import AppendOutcomeUnknown, PlayheadError
from playhead.store.file.store import FileTapeStore
from playhead.tape.tape import Branch, Tape
from tests.crash.broken_disks import Fault, FaultyDisk

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
FAULTS = (
    (Fault(), 1 if SOAK else 2),
    (Fault(carried_out=True), 1 if SOAK else 2),
    (Fault(calls=10**9), 1 if SOAK else 5),
    (Fault(code=errno.ENOSPC, takes=7, calls=2), 1 if SOAK else 4),
)


async def begun(place: Path) -> None:
    """Make a tape that has moved since a branch with a sidecar was forked from it."""
    async with FileTapeStore(place, durability="process") as store:
        tape = Tape(store, "t")
        await tape.append(user("one"))
        branch = await tape.fork(name="b")
        await branch.append_many([user("a"), user("b")])
        await branch.sidecar("notes").append_event("of", "a")
        await tape.append(user("two"))


async def merged(store: FileTapeStore, policy: str) -> None:
    """Merge twice: once with the branch left open, then what it has got since."""
    branch = Branch(store, "t__branch__b")
    summary = {"summary": "both"} if policy == "squash" else {}
    if not await store.find(branch.name, keys=["c"]):
        await branch.merge(policy, seal=False, **summary)
    await branch.append(user("c"), key="c")
    await branch.sidecar("notes").append(TapeEntry.event("of", "c"), key="c")
    await branch.merge("append")


async def until_done(place: Path, disk: FaultyDisk, policy: str) -> bool:
    """Try once with a disk that fails, then, after opening the store anew, go on from there; return whether the outcome was unknown."""
    unknown = False
    store = FileTapeStore(place, disk=disk)
    try:
        await merged(store, policy)
    except AppendOutcomeUnknown:
        unknown = True
    except PlayheadError:
        pass
    finally:
        await store.aclose()
    async with FileTapeStore(place, durability="process") as store:
        record = await store.branch("t__branch__b")
        assert record is not None
        if record.is_open:
            await merged(store, policy)
        tape = Tape(store, "t")
        texts = [e.payload["content"] for e in await tape.query().kinds("message").all()]
        assert texts == ["one", "two", *(["[Summary of branch b]\nboth"] if policy == "squash" else ["a", "b"]), "c"], disk.calls
        assert [e.payload["data"] for e in await tape.sidecar("notes").query().all()] == ["a", "c"], disk.calls
        assert sum(e.payload.get("name") == "merge" for e in await tape.query().all()) == 2, disk.calls
        assert await tape.gc() == ([] if policy == "squash" else ["t__branch__b"])
    return unknown


@pytest.mark.parametrize("policy", ["append", "squash"])
@pytest.mark.parametrize(("fault", "step"), FAULTS, ids=str)
def test_a_merge_that_failed_at_any_call_is_made_once(tmp_path: Path, fault: Fault, step: int, policy: str):
    number, unknown = 1, 0
    while True:
        place, disk = tmp_path / str(number), FaultyDisk(fault, at=number)
        anyio.run(begun, place)
        unknown += anyio.run(until_done, place, disk, policy)
        if len(disk.calls) < number:
            break
        number += step
    assert number > 30 and (unknown or not fault.carried_out)
