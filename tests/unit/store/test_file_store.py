"""A directory of tapes: what lies where, and what it costs."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict
from playhead.store.file.disk import Disk
from playhead.store.file.findings import Finding
from playhead.store.file.store import FileTapeStore
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": text}, **meta)


async def texts(store: FileTapeStore, tape: str = "t") -> list[str]:
    return [entry.payload["content"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


def shown(place: Path) -> set[str]:
    """Return the names that a user sees in a directory."""
    return {path.name for path in place.iterdir() if not path.name.startswith(".")}


def test_a_tape_is_a_file_of_its_name_in_a_directory_made_when_needed(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path / "new" / "sessions") as store:
            await store.append("demo-user", note("hello"))
        assert shown(tmp_path / "new" / "sessions") == {"demo-user.jsonl"}

    anyio.run(play)


def test_reading_and_constructing_make_nothing(tmp_path: Path):
    async def play() -> None:
        store = FileTapeStore(tmp_path / "sessions")
        assert await store.list_tapes() == []
        assert await store.head("t") == EMPTY
        assert await store.fetch_all(TapeQuery(tape="t")) == []
        await store.aclose()
        assert list(tmp_path.iterdir()) == []

    anyio.run(play)


def test_a_refused_append_makes_no_file(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            with pytest.raises(Conflict):
                await store.append_many("t", [note("x")], expected_head=Head(0, 3))
        assert shown(tmp_path) == set()

    anyio.run(play)


def test_a_bare_json_loop_reads_the_file(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
            await store.append_many("t", [note("two ü"), TapeEntry.anchor("a", {"k": 1})])

    anyio.run(play)
    with (tmp_path / "t.jsonl").open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    assert [(line["id"], line["kind"]) for line in found] == [(1, "message"), (2, "message"), (3, "anchor")]
    assert found[1]["payload"]["content"] == "two ü"
    assert all(set(line) >= {"id", "kind", "payload", "meta", "date"} for line in found)


def test_the_directory_may_be_moved(tmp_path: Path):
    async def write(place: Path) -> None:
        async with FileTapeStore(place) as store:
            await store.append("t", note("x", **{IDEMPOTENCY_KEY: "k"}))
            await store.append("y" * 500, note("x"))

    async def read(place: Path) -> None:
        async with FileTapeStore(place) as store:
            assert await store.list_tapes() == ["t", "y" * 500]
            assert [entry.id for entry in await store.append_many("t", [note("x", **{IDEMPOTENCY_KEY: "k"}), note("z")])] == [1, 2]

    anyio.run(write, tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    anyio.run(read, tmp_path / "there")


def test_other_things_in_the_directory_are_no_tapes(tmp_path: Path):
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden.jsonl").write_text("x")
    (tmp_path / "torn.jsonl").write_text('{"id":1,"ki')
    (tmp_path / os.fsdecode(b"\xff.jsonl")).write_text("x")

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("x"))
            assert await store.list_tapes() == ["t"]

    anyio.run(play)


def test_names_stay_inside_the_directory_and_are_listed_back(tmp_path: Path):
    names = ["../evil", "/etc/evil", "a/b", "C:\\x", "..", "con", "Case", "case", "x" * 2_000, "x" * 1_999, "日本語", "🙂", "trailing.", "trailing "]

    async def play() -> None:
        async with FileTapeStore(tmp_path / "d" / "tapes") as store:
            for name in names:
                await store.append(name, note(name))
            assert await store.list_tapes() == sorted(names)
            for name in names:
                assert await texts(store, name) == [name]
            await store.reset("x" * 2_000, entries=[note("anew")])
            await store.reset("a/b")
            assert await store.list_tapes() == sorted(set(names) - {"a/b"})
            assert await texts(store, "x" * 2_000) == ["anew"]

    anyio.run(play)
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["tapes"]


def test_a_cut_name_that_cannot_be_read_is_reported(tmp_path: Path):
    heard: list[Finding] = []

    async def play() -> None:
        async with FileTapeStore(tmp_path, on_finding=heard.append) as store:
            await store.append("x" * 2_000, note("x"))
            (path,) = tmp_path.glob("*.jsonl")
            path.write_bytes(path.read_bytes().replace(b"xxxx", b"yxxx", 1))
            assert await store.list_tapes() == []

    anyio.run(play)
    assert ["whole name cannot be read" in finding.what for finding in heard] == [True]


class CountingDisk(Disk):
    """Counts the calls and the bytes read."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.bytes = 0

    def __getattribute__(self, name: str) -> object:
        if name in ("calls", "bytes") or name.startswith("__"):
            return super().__getattribute__(name)
        self.calls[name] = self.calls.get(name, 0) + 1
        return super().__getattribute__(name)

    def read(self, fd: int, length: int, offset: int) -> bytes:
        found = super().read(fd, length, offset)
        self.bytes += len(found)
        return found


async def cost(place: Path) -> dict[str, tuple[int, int]]:
    """Return how many calls and bytes it takes to open a store and do one thing."""
    found = {}
    for what in ("append", "last 50", "head", "last anchor", "page in the middle"):
        disk = CountingDisk()
        async with FileTapeStore(place, durability="process", disk=disk) as store:
            query = TapeQuery(tape="t")
            match what:
                case "append":
                    await store.append("t", note("one more"))
                case "last 50":
                    assert len(await store.fetch_all(query.newest_first().limit(50))) == 50
                case "head":
                    await store.head("t")
                case "last anchor":
                    assert len(await store.fetch_all(query.kinds("anchor").newest_first().limit(1))) == 1
                case "page in the middle":
                    middle = (await store.head("t")).id // 2
                    assert [entry.id for entry in await store.fetch_all(query.after(middle).limit(3))] == [middle + 1, middle + 2, middle + 3]
        found[what] = sum(disk.calls.values()), disk.bytes
    return found


def test_a_long_tape_costs_no_more_than_a_short_one(tmp_path: Path):
    async def play() -> None:
        for place, count in ((tmp_path / "short", 500), (tmp_path / "long", 30_000)):
            async with FileTapeStore(place, durability="process") as store:
                await store.append("t", TapeEntry.anchor("start"))
                for _ in range(count // 500):
                    await store.append_many("t", [note(f"text {i} " * 10) for i in range(500)])
                for i in range(60):
                    await store.append("t", note(f"text {i} " * 10))
        short, long = await cost(tmp_path / "short"), await cost(tmp_path / "long")
        for what in ("append", "last 50", "head", "last anchor"):
            assert long[what][0] <= short[what][0], what
            assert long[what][1] <= short[what][1] * 1.2 + 100, what
        assert long["page in the middle"][1] < 600_000
        assert len(await FileTapeStore(tmp_path / "long").fetch_all(TapeQuery(tape="t").limit(1))) == 1

    anyio.run(play)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
def test_many_tapes_hold_no_more_files_and_threads_open_than_a_few(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path, durability="process") as store:
            counts = []
            for number in range(240):
                await store.append(f"tape {number}", note("x"))
                await store.head(f"tape {number}")
                counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
            assert max(files for files, _ in counts) - counts[0][0] < 150
            assert max(threads for _, threads in counts) - counts[0][1] < 10
            assert counts[-1][0] <= max(files for files, _ in counts[:120])

    anyio.run(play)


def test_a_tape_of_files_is_used_like_any_other(tmp_path: Path):
    with ph.sync.open_tape(f"file:{tmp_path}", "support/42") as tape:
        tape.append(ph.user("My VPN drops every hour."))
        tape.handoff("diagnosed", {"summary": "MTU too large"})
        tape.append(ph.assistant("Set the MTU to 1400."))
        prompt = ph.sync.compile(tape, ph.Budget(max_tokens=1_000, reserve_for_response=0))
        assert "MTU too large" in str(prompt.to("openai"))
        archived = tape.reset(archive=tmp_path / "archive")
    assert shown(tmp_path) == {"support%2F42.jsonl", "archive"}
    with ph.sync.open_tape(f"file:{tmp_path}", "copy") as tape:
        (path,) = (tmp_path / "archive").iterdir()
        assert archived.endswith(str(path))
        (tmp_path / "copy.jsonl").write_bytes(path.read_bytes())
        assert tape.info().entries == 4
