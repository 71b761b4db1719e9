"""One file, several users: what each sees of the others, and who finishes what one of them began."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import StoreDamaged, StoreError
from playhead.store.file.disk import Disk
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from tests.crash.broken_disks import Fault, FaultyDisk


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": text}, **meta)


async def texts(store: FileTapeStore, tape: str = "t") -> list[str]:
    return [entry.payload["content"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


def test_another_store_sees_appends_and_a_reset_that_grew_again(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as one, FileTapeStore(tmp_path) as other:
            for i in range(5):
                await one.append("t", note(f"old {i}"))
            assert await texts(other) == [f"old {i}" for i in range(5)]
            await other.append("t", note("old 5"))
            await one.reset("t", entries=[note(f"new {i}") for i in range(9)])
            assert await texts(other) == [f"new {i}" for i in range(9)]
            assert [entry.id for entry in await other.append_many("t", [note("new 9")])] == [10]
            assert await one.head("t") == await other.head("t") == Head(1, 10)
            assert await texts(one) == [f"new {i}" for i in range(10)]

    anyio.run(play)


def test_a_file_that_was_removed_or_replaced_is_a_new_tape(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("gone", **{IDEMPOTENCY_KEY: "k"}))
            await store.append("other", note("other"))
            (tmp_path / "t.jsonl").unlink()
            assert await store.head("t") == EMPTY
            assert (await store.append("t", note("fresh", **{IDEMPOTENCY_KEY: "k"}))).id == 1
            os.replace(tmp_path / "other.jsonl", tmp_path / "t.jsonl")
            assert (await store.append("t", note("second"))).id == 2
            assert await texts(store) == ["other", "second"]

    anyio.run(play)


def test_an_unfinished_line_is_not_seen_until_it_is_whole(tmp_path: Path):
    """What looks torn may be an append on its way: readers leave it alone and find it later."""

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
            await store.append("t", note("two"))
            path = tmp_path / "t.jsonl"
            content = path.read_bytes()
            whole = content.index(b"\n") + 1
            for cut in range(whole, len(content) - 1, 7):
                path.write_bytes(content[:cut])
                assert await texts(store) == ["one"]
                assert path.read_bytes() == content[:cut]
            path.write_bytes(content)
            assert await texts(store) == ["one", "two"]
            assert store.findings == ()

    anyio.run(play)


def test_a_reader_adds_the_newline_that_a_whole_line_lacks(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=lambda finding: None) as store:
            await store.append("t", note("one"))
            path = tmp_path / "t.jsonl"
            content = path.read_bytes()
            for torn in (content[:-1], content[:-1] + b"\x0b"):
                path.write_bytes(torn)
                assert await texts(store) == ["one"]
                assert path.read_bytes() == content
            assert ["lacked its newline" in finding.what for finding in store.findings] == [True]

    anyio.run(play)


def test_what_a_process_leaves_behind_is_no_older_than_its_last_append(tmp_path: Path):
    code = """
import sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.store.file.disk import Disk
from playhead.store.file.store import FileTapeStore

async def main():
    store = FileTapeStore(sys.argv[1])
    await store.append("t", TapeEntry.event("from another process"))

anyio.run(main)
"""

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
            await anyio.to_thread.run_sync(lambda: subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True))
            assert (await store.append("t", note("three"))).id == 3
            assert [entry.kind for entry in await store.fetch_all(TapeQuery(tape="t"))] == ["message", "event", "message"]

    anyio.run(play)


def test_a_change_that_was_begun_is_finished_by_whoever_finds_it(tmp_path: Path):
    """Wherever a reset stops behind the moment that it is written down, the next reader or writer completes it."""

    async def begun(place: Path, number: int) -> bool:
        async with FileTapeStore(place) as store:
            await store.append("t", note("old"))
        store = FileTapeStore(place, disk=FaultyDisk(Fault(calls=10**9), at=number))
        with suppress(StoreError):
            await store.reset("t", entries=[note("new")])
        await store.aclose()
        return (place / ".playhead" / "t.redo").exists()

    async def play() -> None:
        finished = []
        for number in range(2, 20):
            for who in ("reader", "writer"):
                place = tmp_path / f"{number}-{who}"
                if not await begun(place, number):
                    continue
                async with FileTapeStore(place) as store:
                    wanted = ["new"]
                    if who == "writer":
                        await store.append("t", note("more"))
                        wanted.append("more")
                    assert await texts(store) == wanted
                    assert await store.head("t") == Head(1, len(wanted))
                assert sorted(path.name for path in (place / ".playhead").iterdir()) == ["t.lock"]
                finished.append(who)
        assert finished.count("reader") == finished.count("writer") == 8

    anyio.run(play)


def test_a_redo_file_that_cannot_be_followed_is_refused(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
            redo = tmp_path / ".playhead" / "t.redo"
            redo.write_bytes(b'{"steps":[["replace","x","t"]],"~c":"00000000"}\n')
            for refused in (store.append("t", note("two")), store.head("t")):
                with pytest.raises(StoreDamaged, match="remove it to go on"):
                    await refused
            redo.unlink()
            assert await texts(store) == ["one"]

    anyio.run(play)


def test_drafts_that_a_killed_process_left_are_removed_by_the_next_change_of_that_tape_alone(tmp_path: Path):
    uid = "01a22e8c-36f0-7000-aa70-36ba7ac9ab02"

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
            hidden = tmp_path / ".playhead"
            for stem in ("t", "t.x", "tt", f"t.{uid}"):
                (hidden / f"{stem}.{uid}.draft").write_text("left")
            await store.reset("t", entries=[note("two")])
            assert sorted(path.name for path in hidden.glob("*.draft")) == sorted(f"{stem}.{uid}.draft" for stem in ("t.x", "tt", f"t.{uid}"))
            assert await texts(store) == ["two"]

    anyio.run(play)


class BlinkingDisk(Disk):
    """Reads a line wrongly once, as a reader may while a writer cuts off a torn end and writes in its place."""

    def __init__(self) -> None:
        self.blinks = 1

    def read(self, fd: int, length: int, offset: int) -> bytes:
        found = super().read(fd, length, offset)
        if self.blinks and length > 1:
            self.blinks -= 1
            return found.replace(b"one", b"uno")
        return found


def test_what_looks_damaged_is_looked_at_again_while_nobody_writes(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
        disk = BlinkingDisk()
        async with FileTapeStore(tmp_path, disk=disk) as store:
            assert await texts(store) == ["one"]
            assert disk.blinks == 0

    anyio.run(play)


def test_an_older_copy_put_in_place_of_a_file_in_use_is_what_counts(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            path = tmp_path / "t.jsonl"
            await store.append("t", note("one", **{IDEMPOTENCY_KEY: "one"}))
            copy = path.read_bytes()
            for text in ("two", "three"):
                await store.append("t", note(text, **{IDEMPOTENCY_KEY: text}))
            path.write_bytes(copy)
            assert [entry.id for entry in await store.append_many("t", [note("three", **{IDEMPOTENCY_KEY: "three"}), note("one", **{IDEMPOTENCY_KEY: "one"})])] == [2, 1]
            assert await texts(store) == ["one", "three"]

    anyio.run(play)
