"""Many processes append to one tape: ids are dense, nothing is lost, and who compares before appending was right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreBusy
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from tests.crash.file_stage import TAPE
from tests.crash.naive import NaiveFile
from tests.crash.processes import finished, started

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, COUNT = (8, 600) if os.environ.get("PLAYHEAD_SOAK") else (4, 40)
unix = pytest.mark.skipif(sys.platform == "win32", reason="forks and locks of Unix")

APPENDS = """
import sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict
from playhead.store.file.store import FileTapeStore

place, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

def note(text, **meta):
    return TapeEntry.message({"role": "user", "content": text}, **meta)

async def main():
    async with FileTapeStore(place, durability="process") as store:
        print("ready", flush=True)
        sys.stdin.readline()
        for i in range(count):
            if i % 4 == 0:
                await store.append_many("t", [note(f"{who} {i} {part}") for part in "ab"])
            elif i % 4 == 1:
                await store.append("t", note(f"shared {i}", idempotency_key=f"shared {i}"))
            elif i % 4 == 2:
                while True:
                    head = await store.head("t")
                    try:
                        await store.append_many("t", [note(f"{who} {i} compared", head=head.id)], expected_head=head)
                        break
                    except Conflict:
                        continue
            else:
                await store.append("t", note(f"{who} {i} " + "x" * (i * 397 % 5_000)))

anyio.run(main)
"""

NAIVE = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[4])
from tests.crash.naive import NaiveFile

store = NaiveFile(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[3])):
    store.append(f"{sys.argv[2]} {i}")
"""


FORKS = """
import os, sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.file.store import FileTapeStore

async def write(store, who, numbers):
    for i in numbers:
        await store.append("t", TapeEntry.event(who, i))
        await store.head("t")

store = FileTapeStore(sys.argv[1])
anyio.run(write, store, "parent", range(10))
child = os.fork()
if not child:
    anyio.run(write, store, "child", range(20))
    os._exit(0)
anyio.run(write, store, "parent", range(10, 20))
assert os.waitpid(child, 0)[1] == 0
"""

HOLDS = """
import sys
from playhead.store.concurrency.lock import FileLock
with FileLock(sys.argv[1], timeout=1):
    print("held", flush=True)
    sys.stdin.read()
"""


def together(code: str, place: Path, *, processes: int, count: int) -> None:
    """Start processes, let them begin at the same moment, and wait for all."""
    children = [started(code, place, who, count, ROOT, stdin=subprocess.PIPE) for who in range(processes)]
    for child in children:
        assert child.stdout.readline() == b"ready\n"
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        _, err = child.communicate()
        assert child.returncode == 0, err.decode()


def entries_of(place: Path) -> list[TapeEntry]:
    async def read() -> list[TapeEntry]:
        async with FileTapeStore(place) as store:
            return await store.fetch_all(TapeQuery(tape=TAPE))

    return anyio.run(read)


def is_sound(entries: list[TapeEntry], *, processes: int, count: int) -> None:
    """Compare a tape with what the processes did to it."""
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    texts = [entry.payload["content"] for entry in entries]
    shared = [text for text in texts if text.startswith("shared")]
    assert shared == list(dict.fromkeys(shared))
    assert len(shared) == len(range(1, count, 4))
    for who in range(processes):
        own = [int(text.split()[1]) for text in texts if text.startswith(f"{who} ")]
        wanted = [i for i in range(count) if i % 4 != 1 for _ in range(2 if i % 4 == 0 else 1)]
        assert own == wanted
    for entry in entries:
        assert entry.meta.get("head", entry.id - 1) == entry.id - 1
        if entry.payload["content"].endswith(" a"):
            assert texts[entry.id] == entry.payload["content"].removesuffix("a") + "b"


def test_processes_that_append_and_compare_at_once_lose_nothing(tmp_path: Path):
    together(APPENDS, tmp_path, processes=PROCESSES, count=COUNT)
    is_sound(entries_of(tmp_path), processes=PROCESSES, count=COUNT)


def test_a_store_without_a_lock_gives_ids_twice(tmp_path: Path):
    together(NAIVE, tmp_path / "file", processes=4, count=200)
    ids = [id for id, _ in NaiveFile(tmp_path / "file").read()]
    assert len(set(ids)) < len(ids) == 800


@unix
def test_a_fork_goes_on_with_the_store_on_both_sides(tmp_path: Path):
    finished(FORKS, tmp_path)
    entries = entries_of(tmp_path)
    assert [entry.id for entry in entries] == list(range(1, 41))
    for who in ("parent", "child"):
        assert [entry.payload["data"] for entry in entries if entry.payload["name"] == who] == list(range(20))


@unix
def test_a_lock_that_another_process_holds_is_waited_for_and_then_said_to_be_busy(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, timeout=0.05) as store:
            await store.append(TAPE, TapeEntry.event("before"))
            holder = started(HOLDS, tmp_path / ".playhead" / "t.lock", stdin=subprocess.PIPE)
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(StoreBusy):
                await store.append(TAPE, TapeEntry.event("refused"))
            assert [entry.payload["name"] for entry in await store.fetch_all(TapeQuery(tape=TAPE))] == ["before"]
            await store.append("other", TapeEntry.event("another tape has a lock of its own"))
            holder.communicate()
            assert (await store.append(TAPE, TapeEntry.event("after"))).id == 2

    anyio.run(play)


@unix
def test_a_lock_that_was_removed_while_it_was_open_is_not_trusted(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, timeout=0.05) as store:
            await store.append(TAPE, TapeEntry.event("one"))
            shutil.rmtree(tmp_path / ".playhead")
            (tmp_path / ".playhead").mkdir()
            holder = started(HOLDS, tmp_path / ".playhead" / "t.lock", stdin=subprocess.PIPE)
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(StoreBusy):
                await store.append(TAPE, TapeEntry.event("refused"))
            holder.communicate()
            assert (await store.append(TAPE, TapeEntry.event("two"))).id == 2
            shutil.rmtree(tmp_path)
            assert (await store.append(TAPE, TapeEntry.event("anew"))).id == 1

    anyio.run(play)
