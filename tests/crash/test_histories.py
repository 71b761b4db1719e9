"""Many use one tape at once, and all that they are told is as if they had taken turns: no stale answer, nothing lost, nothing made up, every refusal right."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from tests.crash.histories import TAPE, Told, flaws, read, threaded, together
from tests.crash.processes import started
from tests.stores import KEPT, opened

PROCESSES, STEPS = (4, 400) if os.environ.get("PLAYHEAD_SOAK") else (2, 16)
SCRIPT = "import runpy; runpy.run_module('tests.crash.histories', run_name='__main__', alter_sys=False)"


def calls(history: Sequence[Told]) -> set[str]:
    """Return what happened in a history, so that a test can tell that much did."""
    return {told.call if told.call != "append" else "written" if told.ids else "refused" for told in history}


@pytest.mark.parametrize("kind", KEPT)
def test_processes_threads_and_tasks_are_told_what_they_would_be_told_in_turns(store_place: Path, kind: str):
    """Each process has three threads with loops of their own, two of which share a store, and each loop has two tasks."""

    async def prepare() -> None:
        async with opened(kind, store_place) as store:
            await store.list_tapes()

    async def whole() -> list[str]:
        async with opened(kind, store_place) as store:
            return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape=TAPE))]

    anyio.run(prepare)
    children = [started(SCRIPT, kind, store_place, who, STEPS, stdin=subprocess.PIPE) for who in range(PROCESSES)]
    for child in children:
        assert child.stdout.readline() == b"ready\n", child.communicate()[1].decode()
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    history = []
    for child in children:
        out, err = child.communicate(timeout=240)
        assert child.returncode == 0, err.decode()
        history += read(out.decode().splitlines())
    assert flaws(history, anyio.run(whole)) == []
    assert calls(history) == {"written", "refused", "head", "find", "last"}


def test_threads_and_tasks_at_a_store_in_memory_are_told_what_they_would_be_told_in_turns(tmp_path: Path):
    history = threaded("memory", tmp_path, who="memory", steps=STEPS * 10)
    log = history[-1].texts[::-1]
    assert flaws(history, log) == []
    assert calls(history) == {"written", "refused", "head", "find", "last"}


class Stale(InMemoryTapeStore):
    """Tells the head that it had at the question before."""

    last = Head(0, 0)

    async def head(self, tape: str) -> Head:
        told, self.last = self.last, await super().head(tape)
        return told


class Forgetful(InMemoryTapeStore):
    """Acknowledges every ninth append without keeping it."""

    count = 0

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        self.count += 1
        if self.count % 9:
            return await super().append_many(tape, entries, expected_head=expected_head, fence=fence)
        end = (await self.head(tape)).id
        return tuple(replace(entry, id=end + number) for number, entry in enumerate(entries, 1))


class Careless(InMemoryTapeStore):
    """Compares no heads."""

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        return await super().append_many(tape, entries, fence=fence)


class Piecemeal(InMemoryTapeStore):
    """Appends the entries of a batch one after the other, and lets others look between."""

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        stored = await super().append_many(tape, entries[:1], expected_head=expected_head, fence=fence)
        for entry in entries[1:]:
            await anyio.lowlevel.checkpoint()
            stored += await super().append_many(tape, [entry])
        return stored


class Repeating(InMemoryTapeStore):
    """Knows no keys."""

    async def append_many(self, tape: str, entries: Sequence[TapeEntry], *, expected_head: Head | None = None, fence: int | None = None) -> tuple[TapeEntry, ...]:
        return await super().append_many(tape, [replace(entry, meta={}) for entry in entries], expected_head=expected_head, fence=fence)


@pytest.mark.parametrize("bad", [Stale, Forgetful, Careless, Piecemeal, Repeating])
def test_a_store_that_does_not_keep_to_turns_is_found_out(bad: type[InMemoryTapeStore]):
    async def scenario() -> tuple[list[Told], list[str]]:
        store = bad()
        history = await together(store, who="guard", steps=60, tasks=6)
        return history, [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape=TAPE))]

    assert flaws(*anyio.run(scenario))


ONE = Told(start=10, end=20, call="append", ids=(1,), texts=("a",))
TWO = Told(start=30, end=40, call="append", ids=(2, 3), texts=("b", "c"))
LOG = ("a", "b", "c")


def told(start: int, end: int, call: str, **about: object) -> Told:
    return Told(start=start, end=end, call=call, **about)  # type: ignore[arg-type]


RIGHT = {
    "head before": told(0, 12, "head", found=0),
    "head after, though the call had not returned": told(12, 15, "head", found=1),
    "head of the middle, across the second": told(15, 35, "head", found=1),
    "an old head, that was asked for before": told(5, 45, "head", found=0),
    "no key before": told(5, 12, "find", key="k", found=0),
    "a refusal": told(25, 35, "append", expected=0, found=1, texts=("x",)),
    "the last": told(35, 36, "last", ids=(3, 2), texts=("c", "b")),
}
WRONG = {
    "an old head": told(21, 25, "head", found=0),
    "a head of the future": told(21, 25, "head", found=3),
    "half a batch": told(35, 50, "head", found=2),
    "the last of half a batch": told(35, 50, "last", ids=(2, 1), texts=("b", "a")),
    "old last ones": told(45, 50, "last", ids=(1,), texts=("a",)),
    "a gap in the last ones": told(45, 50, "last", ids=(3, 1), texts=("c", "a")),
    "another text": told(45, 50, "last", ids=(3, 2), texts=("c", "x")),
    "a refusal without a reason": told(45, 50, "append", expected=3, found=3, texts=("x",)),
    "a refusal for an old head": told(45, 50, "append", expected=0, found=1, texts=("x",)),
    "an append that nobody has": told(45, 50, "append", ids=(4,), texts=("x",)),
    "an id twice": told(45, 50, "append", ids=(3,), texts=("c",)),
    "a key of another entry": told(45, 50, "find", key="k", found=3),
}


@pytest.mark.parametrize("answer", RIGHT)
def test_an_answer_that_fits_an_instant_of_its_call_is_right(answer: str):
    assert flaws([TWO, RIGHT[answer], ONE], LOG) == []


@pytest.mark.parametrize("answer", WRONG)
def test_an_answer_that_fits_no_instant_of_its_call_is_wrong(answer: str):
    assert len(flaws([TWO, WRONG[answer], ONE], LOG)) >= 1


def test_answers_that_fit_each_by_itself_must_fit_together():
    seen, unseen = told(12, 14, "head", found=1), told(15, 18, "head", found=0)
    assert flaws([ONE, seen], LOG[:1]) == flaws([ONE, unseen], LOG[:1]) == []
    assert flaws([ONE, seen, unseen], LOG[:1])


def test_appends_in_another_order_than_their_ids_are_wrong():
    assert flaws([replace(ONE, start=50, end=60), TWO], LOG)


def test_who_sends_a_key_again_may_be_told_of_the_entry_of_who_sent_it_first():
    first, again = told(0, 50, "append", key="k", ids=(1,), texts=("k",)), told(20, 30, "append", key="k", ids=(1,), texts=("k",))
    before, after = told(31, 32, "head", found=0), told(31, 32, "head", found=1)
    assert flaws([first, again, after], ["k"]) == []
    assert flaws([first, again, before], ["k"])
    assert flaws([first, replace(again, ids=(2,), end=60)], ["k", "k"])
    assert flaws([first, told(40, 60, "find", key="k", found=0)], ["k"]) == []
    assert flaws([first, again, told(40, 60, "find", key="k", found=0)], ["k"])
