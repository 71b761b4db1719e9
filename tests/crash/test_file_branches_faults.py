"""Whatever call to the system fails while a family is changed: the change was made whole or not at all, and which of both is said, or said to be unknown."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from playhead import clock
from playhead.entry.entry import TapeEntry
from playhead.errors import AppendOutcomeUnknown, PlayheadError, StoreUnavailable
from playhead.store.change import DISCARDED, MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file.store import FileTapeStore
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import IDEMPOTENCY_KEY, Head, WholeStore
from playhead.testing import FakeClock
from playhead.testing.families import everything
from tests.crash.broken_disks import Fault, FaultyDisk
from tests.crash.file_stage import Ear

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
FAR = datetime(9000, 1, 1, tzinfo=UTC)
FAULTS = (
    (Fault(), 1),
    (Fault(carried_out=True), 1 if SOAK else 3),
    (Fault(calls=10**9), 1 if SOAK else 5),
    (Fault(code=errno.ENOSPC, takes=7, calls=2), 1 if SOAK else 4),
)
TRY, KEEP, INNER, FINAL = (branch_name("t", label) for label in ("try", "keep", "inner", "final"))
SIDE = sidecar_name("t", "s")
Act = Callable[[WholeStore], Awaitable[object]]


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry(0, "note", {"text": text}, {"uid": text, **meta}, "2026-03-01")


ACTS: tuple[Act, ...] = (
    lambda store: store.append_many("t", [note("a"), note("b")]),
    lambda store: store.append_many(SIDE, [note("side")]),
    lambda store: store.apply([Fork(tape=TRY, parent="t", owner="run")]),
    lambda store: store.append_many(TRY, [note("c"), note("d", **{IDEMPOTENCY_KEY: "d"})]),
    lambda store: store.append_many(sidecar_name(TRY, "s"), [note("beside")]),
    lambda store: store.apply([Fork(tape=KEEP, parent=TRY, at=3), Append(tape=KEEP, entries=[note("k")])]),
    lambda store: store.apply(
        [
            Append(tape="t", entries=[note("c"), note("d"), note("merge", **{IDEMPOTENCY_KEY: "merge"})]),
            Append(tape=SIDE, entries=[note("beside")], marks=[2]),
            Close(tape=TRY, outcome=MERGED, expected_head=Head(0, 4)),
        ],
        unless=("t", "merge"),
    ),
    lambda store: store.apply([Fork(tape=INNER, parent=KEEP)]),
    lambda store: store.reset("t", entries=[note("anew")]),
    lambda store: store.apply([Append(tape=KEEP, entries=[note("last")]), Reset(tape=KEEP), Close(tape=KEEP, outcome=DISCARDED)]),
    lambda store: store.rename(INNER, FINAL),
    lambda store: store.apply([Append(tape="t", entries=[note("more")]), Fork(tape=branch_name("t", "late"), parent="t"), Close(tape=branch_name("t", "late"), outcome=MERGED)]),
    lambda store: store.collect("t", before=FAR),
    lambda store: store.move_cursor("t", "mail", Head(1, 2)),
    lambda store: store.rename("t", "u"),
    lambda store: store.append_many(branch_name("u", "final"), [note("end")]),
)


async def seen(store: WholeStore) -> list[object]:
    """Return all that can be seen of both names that the family has."""
    return [[await everything(store, root), await store.cursor(root, "mail")] for root in ("t", "u")]


async def wanted(acts: Sequence[Act]) -> list[object]:
    """Return what is to be seen once these acts were done."""
    memory = InMemoryTapeStore()
    for act in acts:
        await act(memory)
    return await seen(memory)


async def told(place: Path, disk: FaultyDisk) -> int:
    """Do one act after the other, and compare after each that failed, and at the end; return how many failed."""
    done: list[Act] = []
    failed = 0
    store = FileTapeStore(place, disk=disk, on_finding=Ear())
    for act in ACTS:
        outcomes = [[*done, act]]
        try:
            await act(store)
        except AppendOutcomeUnknown:
            outcomes.append(done)
        except StoreUnavailable:
            outcomes = [done]
        except PlayheadError as error:  # a later act may rest on one that failed: then both stores refuse it alike
            with pytest.raises(type(error)):
                await wanted([*done, act])
            continue
        if len(outcomes) == 1 and outcomes[0] is not done:
            done = outcomes[0]
            continue
        failed += 1
        await store.aclose()
        async with FileTapeStore(place, durability="process", on_finding=Ear()) as sound:
            found = await seen(sound)
        states = [await wanted(acts) for acts in outcomes]
        assert found in states, (disk.calls, found, states)
        done = outcomes[states.index(found)]
        store = FileTapeStore(place, disk=disk, on_finding=Ear())
    await store.aclose()
    async with FileTapeStore(place, durability="process", on_finding=Ear()) as sound:
        assert await seen(sound) == await wanted(done)
    return failed


@pytest.mark.parametrize(("fault", "step"), FAULTS, ids=str)
def test_a_failing_call_leaves_a_family_before_or_behind_the_change(tmp_path: Path, fault: Fault, step: int):
    number, failed = 1, 0
    while True:
        disk = FaultyDisk(fault, at=number)
        with clock.using(FakeClock()):
            failed += anyio.run(told, tmp_path / str(number), disk)
        if len(disk.calls) < number:
            break
        number += step
    assert number > 150
    assert failed > number / step / 2
    assert {"open", "write", "flush", "cut", "rename", "remove", "link", "date", "flush directory", "make directory"} == set(disk.calls)


def test_without_a_fault_all_acts_are_done(tmp_path: Path):
    with clock.using(FakeClock()):
        assert anyio.run(told, tmp_path, FaultyDisk()) == 0
