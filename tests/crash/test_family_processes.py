"""Many processes at one store: what they appended, compared, sent again, leased and locked is as if they had taken turns."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import KeyConflict, LeaseHeld, StoreBusy
from playhead.store.change import Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from tests.crash.processes import started
from tests.stores import KEPT, opened

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
BRANCH = branch_name("a", "try")
TAPES = ("a", "b/c", BRANCH, sidecar_name("a", "s"))
stores = pytest.mark.parametrize("kind", KEPT)
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

FRONT = """
import random, sys, anyio
from functools import partial
from pathlib import Path
from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, LeaseLost
from playhead.store.query import TapeQuery
from tests.stores import opened

def note(text, **meta):
    return TapeEntry(0, "note", {"text": text}, meta)

def ready():
    print("ready", flush=True)
    return sys.stdin.readline()

kind, place, who = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
opened = partial(opened, kind, place, timeout=60)
"""

APPENDS = (
    FRONT
    + """
count, tapes, chance = int(sys.argv[4]), sys.argv[5:], random.Random(who)

async def one(store, tape, i):
    if i % 4 == 0:
        await store.append_many(tape, [note(f"{who} {i} {part}") for part in "ab"])
    elif i % 4 == 1:
        await store.append(tape, note(f"shared {i}", idempotency_key=f"shared {i}"))
    elif i % 4 == 2:
        while True:
            head = await store.head(tape)
            try:
                await store.append_many(tape, [note(f"{who} {i} compared", head=head.id)], expected_head=head)
                break
            except Conflict:
                await anyio.sleep(chance.uniform(0, 0.004))
    else:
        await store.append(tape, note(f"{who} {i} " + "x" * (i * 397 % 5_000)))

async def main():
    async with opened(durability="process") as store:
        await store.list_tapes()
        ready()
        for i in range(count):
            for tape in chance.sample(tapes, len(tapes)):
                await one(store, tape, i)

anyio.run(main)
"""
)

SENDS = (
    FRONT
    + """
import os, signal, threading, time
last, wait, sends = int(sys.argv[4]), float(sys.argv[5]), sys.argv[6:]

def die(seconds):
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with opened(durability="disk") as store:
        await store.list_tapes()
        ready()
        for number, key in enumerate(sends):
            print("sending", key, flush=True)
            if number == last:
                threading.Thread(target=die, args=[wait]).start()
            stored = await store.append("a", note(f"body of {key}", idempotency_key=key))
            if number == last:
                time.sleep(60)
            print("kept", key, stored.id, stored.uid, flush=True)

anyio.run(main)
"""
)

HOLDS = (
    FRONT
    + """
async def main():
    async with opened(durability="process") as store:
        lease = await store.lease("a", owner=who, seconds=float(sys.argv[4]))
        ready()
        number, refused = 0, 0
        while refused < 3:
            texts = [f"first {number} {part}" for part in range(1 + number % 3)]
            try:
                await store.append_many("a", [note(text) for text in texts], fence=lease.epoch)
                print("kept", *texts, sep="|", flush=True)
            except LeaseLost:
                refused += 1
                print("refused", flush=True)
            number += 1

anyio.run(main)
"""
)

COUNTS = (
    FRONT
    + """
async def main():
    async with opened(durability="process") as store:
        for _ in range(int(sys.argv[4])):
            async with store.lock("a"):
                found = await store.fetch_all(TapeQuery(tape="a").newest_first().limit(1))
                await store.append("a", note(str(int(found[0].payload["text"]) + 1 if found else 1)))

anyio.run(main)
"""
)

LOCKS = (
    FRONT
    + """
async def main():
    async with opened(durability="process") as store:
        async with store.lock("a"):
            ready()

anyio.run(main)
"""
)


def played(kind: str, place: Path, scenario: Callable[[WholeStore], Awaitable[object]], *, timeout: float = 60) -> object:
    """Run a scenario in this process on the store, opened for it, and return what it returns."""

    async def play() -> object:
        store = opened(kind, place, timeout=timeout)
        try:
            return await scenario(store)
        finally:
            await store.aclose()

    return anyio.run(play)


def child(code: str, kind: str, place: Path, who: object, *arguments: object) -> subprocess.Popen[bytes]:
    """Start a process and wait until it is ready."""
    process = started(code, kind, place, who, *arguments, stdin=subprocess.PIPE)
    line = process.stdout.readline()
    assert line == b"ready\n", process.communicate()[1].decode()
    return process


def ended(process: subprocess.Popen[bytes], told: bytes = b"go\n") -> str:
    """Let a process go on to its end and return what it printed."""
    out, err = process.communicate(told, timeout=240)
    assert process.returncode == 0, err.decode()
    return out.decode()


def is_sound(entries: list[TapeEntry], *, first: int, processes: int, count: int) -> None:
    """Compare what the processes appended to a tape, behind `first` entries, with what each of them did."""
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    texts = [entry.payload["text"] for entry in entries]
    shared = [text for text in texts if text.startswith("shared")]
    assert sorted(shared) == sorted(f"shared {i}" for i in range(1, count, 4))
    wanted = [i for i in range(count) if i % 4 != 1 for _ in range(2 if i % 4 == 0 else 1)]
    for who in range(processes):
        assert [int(text.split()[1]) for text in texts if text.startswith(f"{who} ")] == wanted
    assert len(texts) == first + len(shared) + processes * len(wanted)
    for entry in entries[first:]:
        assert entry.meta.get("head", entry.id - 1) == entry.id - 1
        if entry.payload["text"].endswith(" a"):
            assert texts[entry.id] == entry.payload["text"].removesuffix("a") + "b"


@stores
def test_eight_processes_append_and_compare_on_the_tapes_of_one_store(store_place: Path, kind: str):
    """Per tape, branch and sidecar: dense ids, each process's own order, batches in one piece, no key twice, every comparison right."""
    processes, count = 8, 200 if SOAK else 8

    async def prepare(store: WholeStore) -> None:
        await store.append_many("a", [TapeEntry(0, "note", {"text": "start"}, {})])
        await store.apply([Fork(tape=BRANCH, parent="a")])

    played(kind, store_place, prepare)
    children = [child(APPENDS, kind, store_place, who, count, *TAPES) for who in range(processes)]
    for process in children:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in children:
        ended(process, b"")

    async def check(store: WholeStore) -> None:
        for tape in TAPES:
            entries = list(await store.fetch_all(TapeQuery(tape=tape)))
            is_sound(entries, first=1 if tape in ("a", BRANCH) else 0, processes=processes, count=count)
            assert (await store.head(tape)).id == len(entries) == await store.count(TapeQuery(tape=tape))
        marks = await store.marks(TAPES[3])
        assert marks == sorted(marks)

    played(kind, store_place, check)


@unix
@stores
def test_an_entry_sent_again_and_again_stands_once(store_place: Path, kind: str):
    """Each of one to four sendings of a key goes to any of four processes; two are killed between sending and acknowledgement, and begin again."""
    chance = random.Random(5)
    keys, rounds = [f"key-{n}" for n in range(240 if SOAK else 24)], 12 if SOAK else 2
    kept: dict[str, tuple[str, str]] = {}
    sent: set[str] = set()
    for turn in range(rounds):
        sends: list[list[str]] = [[], [], [], []]
        for key in keys[turn::rounds]:
            for each in chance.choices(sends, k=chance.randint(1, 4)):
                each.append(key)
        mortal = [child(SENDS, kind, store_place, who, chance.randrange(len(sends[who])), chance.choice([0.001, 0.002, 0.01]), *sends[who]) for who in range(2)]
        others = [child(SENDS, kind, store_place, who, -1, 0, *sends[who]) for who in (2, 3)]
        for process in (*mortal, *others):
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in mortal:
            out, err = process.communicate(timeout=240)
            assert process.returncode == -signal.SIGKILL, err.decode()
            heard(out.decode(), kept, sent)
        for process in (*others, *[child(SENDS, kind, store_place, "again", -1, 0, *sends[who]) for who in range(2)]):
            heard(ended(process), kept, sent)

    async def check(store: WholeStore) -> None:
        entries = list(await store.fetch_all(TapeQuery(tape="a")))
        assert [entry.id for entry in entries] == list(range(1, len(keys) + 1))
        assert {entry.meta["idempotency_key"]: (str(entry.id), entry.uid) for entry in entries} == kept
        assert sent == set(keys) == set(kept)
        for entry in entries[::7]:
            with pytest.raises(KeyConflict):
                await store.append_many("a", [TapeEntry(0, "note", {"text": "another body"}, {"idempotency_key": entry.meta["idempotency_key"]})])

    played(kind, store_place, check)


def heard(out: str, kept: dict[str, tuple[str, str]], sent: set[str]) -> None:
    """Note what a process sent and what was acknowledged to it; the same key is always the same entry."""
    for line in out.splitlines(keepends=True):
        match line.split():
            case ["sending", key]:
                sent.add(key)
            case ["kept", key, id, uid] if line.endswith("\n"):
                assert kept.setdefault(key, (id, uid)) == (id, uid)


@unix
@pytest.mark.parametrize("appends", range(20) if SOAK else (2,))
@stores
def test_a_holder_that_was_stopped_past_its_lease_appends_no_more(store_place: Path, kind: str, appends: int):
    """It is stopped wherever it is in the midst of its appends: those it was told of stand before the first of who followed it, and nothing of it behind."""
    holder = child(HOLDS, kind, store_place, "first", 0.2)
    holder.stdin.write(b"go\n")
    holder.stdin.flush()
    kept = [holder.stdout.readline().decode() for _ in range(appends)]
    holder.send_signal(signal.SIGSTOP)

    async def follow(store: WholeStore) -> None:
        with anyio.fail_after(60):
            while True:
                try:
                    lease = await store.lease("a", owner="second", seconds=600)
                    break
                except LeaseHeld:
                    await anyio.sleep(0.02)
                except StoreBusy:  # it was stopped with the store's own lock in its hand; let it put that down
                    holder.send_signal(signal.SIGCONT)
                    await anyio.sleep(0.1)
                    holder.send_signal(signal.SIGSTOP)
        assert lease.epoch == 2
        for text in ("second", "second again"):
            with anyio.fail_after(60):
                while not await appended(store, text, fence=lease.epoch):
                    holder.send_signal(signal.SIGCONT)
                    await anyio.sleep(0.1)
                    holder.send_signal(signal.SIGSTOP)

    played(kind, store_place, follow, timeout=1)
    holder.send_signal(signal.SIGCONT)
    told = [*kept, *ended(holder, b"").splitlines()]
    assert [line for line in told if not line.startswith("kept|")] == ["refused"] * 3

    async def texts(store: WholeStore) -> list[str]:
        return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape="a"))]

    assert played(kind, store_place, texts) == [text for line in told for text in line.strip().split("|")[1:]] + ["second", "second again"]


async def appended(store: WholeStore, text: str, *, fence: int) -> bool:
    """Append an entry and return whether that was possible: False while somebody who was stopped holds the store's own lock."""
    try:
        await store.append_many("a", [TapeEntry(0, "note", {"text": text}, {"idempotency_key": text})], fence=fence)
    except StoreBusy:
        return False
    return True


@unix
@stores
def test_a_lease_outlives_the_process_that_holds_it(store_place: Path, kind: str):
    """Who dies keeps it until its time is over, so that nobody takes up its work too soon."""
    holder = child(HOLDS, kind, store_place, "first", 600)
    holder.kill()
    holder.communicate()

    async def follow(store: WholeStore) -> int:
        with pytest.raises(LeaseHeld, match="first"):
            await store.lease("a", owner="second", seconds=60)
        return (await store.lease("a", owner="first", seconds=60)).epoch

    assert played(kind, store_place, follow) == 1


@stores
def test_processes_that_lock_a_tape_read_and_write_it_one_after_the_other(store_place: Path, kind: str):
    count = 100 if SOAK else 15
    counters = [started(COUNTS, kind, store_place, who, count, stdin=subprocess.PIPE) for who in range(4)]
    for counter in counters:
        ended(counter, b"")

    async def texts(store: WholeStore) -> list[str]:
        return [entry.payload["text"] for entry in await store.fetch_all(TapeQuery(tape="a"))]

    assert played(kind, store_place, texts) == [str(n) for n in range(1, 4 * count + 1)]


@unix
@stores
def test_a_lock_ends_with_the_process_that_holds_it(store_place: Path, kind: str):
    holder = child(LOCKS, kind, store_place, "holder")

    async def wait(store: WholeStore) -> None:
        with anyio.move_on_after(0.05) as scope:
            async with store.lock("a"):
                raise AssertionError("two at once")
        assert scope.cancelled_caught
        holder.kill()
        with anyio.fail_after(30):
            async with store.lock("a"):
                pass

    played(kind, store_place, wait)
    holder.communicate()
