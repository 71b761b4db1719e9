"""A directory of tapes: what lies where, what another process or program sees of it, and what is refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, StoreDamaged, StoreError, StoreUnavailable
from playhead.store.file_disk import Disk
from playhead.store.file_findings import Finding
from playhead.store.file_store import FileTapeStore
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head
from playhead.store.query import TapeQuery
from tests.crash.broken_disks import Fault, FaultyDisk


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": text}, **meta)


async def texts(store: FileTapeStore, tape: str = "t") -> list[str]:
    return [entry.payload["content"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


def shown(place: Path) -> set[str]:
    """Return the names that a user sees in a directory."""
    return {path.name for path in place.iterdir() if not path.name.startswith(".")}


# ---- where things are ------------------------------------------------------------------------------------------------


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

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("x"))
            assert await store.list_tapes() == ["t"]

    anyio.run(play)


# ---- names -----------------------------------------------------------------------------------------------------------


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


# ---- several users of one file ---------------------------------------------------------------------------------------


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
from playhead.store.file_store import FileTapeStore

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
        assert finished.count("reader") == finished.count("writer") == 5

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


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_place_that_cannot_be_one_is_refused(tmp_path: Path):
    for path in ("", "a\0b"):
        with pytest.raises(InvalidInput):
            FileTapeStore(path)
    for options in ({"durability": "memory"}, {"timeout": -1}, {"timeout": float("nan")}):
        with pytest.raises(InvalidInput):
            FileTapeStore(tmp_path, **options)  # type: ignore[arg-type]


def test_a_file_in_place_of_the_directory_is_said_to_be_one(tmp_path: Path):
    (tmp_path / "file").write_text("x")

    async def play() -> None:
        store = FileTapeStore(tmp_path / "file")
        for refused in (store.append("t", note("x")), store.list_tapes(), store.head("t"), store.fetch_all(TapeQuery(tape="t")), store.reset("t"), store.__aenter__()):
            with pytest.raises(StoreUnavailable, match=r"Not a directory|File exists"):
                await refused
        await store.aclose()
        assert (tmp_path / "file").read_text() == "x"

    anyio.run(play)


def test_a_directory_in_place_of_a_tape_is_said_to_be_one(tmp_path: Path):
    (tmp_path / "t.jsonl").mkdir()

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            for refused in (store.append("t", note("x")), store.head("t"), store.reset("t")):
                with pytest.raises(StoreUnavailable, match="Is a directory"):
                    await refused
            await store.append("other", note("x"))

    anyio.run(play)


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a directory of a user whom the system may refuse something, which is never so for root."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if os.geteuid():
            yield place
            return
        place.chmod(0o777)
        os.seteuid(65534)
        try:
            yield place
        finally:
            os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="rights are given in another way there")
def test_a_lack_of_rights_is_said_and_changes_nothing():
    async def play(place: Path) -> None:
        sessions = place / "sessions"
        async with FileTapeStore(sessions) as store:
            await store.append("t", note("one"))
        before = (sessions / "t.jsonl").read_bytes()
        for path, mode, usual in ((sessions, 0o500, 0o700), (sessions / "t.jsonl", 0o400, 0o600)):
            path.chmod(mode)
            async with FileTapeStore(sessions) as store:
                assert await texts(store) == ["one"]
                assert await store.list_tapes() == ["t"]
                with pytest.raises(StoreUnavailable, match="Permission denied"):
                    await store.append("t" if mode == 0o400 else "new", note("two"))
            path.chmod(usual)
            assert (sessions / "t.jsonl").read_bytes() == before
        (sessions / "t.jsonl").chmod(0)
        async with FileTapeStore(sessions) as store:
            for refused in (store.head("t"), store.append("t", note("two"))):
                with pytest.raises(StoreUnavailable, match="Permission denied"):
                    await refused
            assert await store.list_tapes() == ["t"]

    anyio.run(anyio.lowlevel.checkpoint)
    with unprivileged() as place:
        anyio.run(play, place)


@pytest.mark.skipif(os.name == "nt", reason="there is no limit to set there")
def test_a_disk_that_takes_no_more_is_said_to_be_full_and_keeps_what_it_had(tmp_path: Path):
    code = """
import resource, sys, anyio
from playhead.entry.entry import TapeEntry
from playhead.errors import StoreUnavailable
from playhead.store.file_store import FileTapeStore
from playhead.store.query import TapeQuery

async def main():
    async with FileTapeStore(sys.argv[1]) as store:
        kept = 0
        try:
            while True:
                await store.append("t", TapeEntry.event("x", "y" * 300))
                kept += 1
        except StoreUnavailable as full:
            assert "File too large" in str(full), full
        assert (await store.append("t", TapeEntry.event("s"))).id == kept + 1
        print(kept)

resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
anyio.run(main)
"""
    kept = int(subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True).stdout)

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            entries = await store.fetch_all(TapeQuery(tape="t"))
            assert [entry.payload["name"] for entry in entries] == ["x"] * kept + ["s"]
            assert store.findings == ()

    anyio.run(play)
    assert kept > 5


def test_a_read_only_disk_is_said_to_be_one(tmp_path: Path):
    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("one"))
        async with FileTapeStore(tmp_path, disk=FaultyDisk(Fault(code=errno.EROFS, calls=10**9), at=1)) as store:
            assert await texts(store) == ["one"]
            for refused in (store.append("t", note("two")), store.append("new", note("two")), store.reset("t")):
                with pytest.raises(StoreUnavailable, match="Read-only file system"):
                    await refused
            assert await texts(store) == ["one"]

    anyio.run(play)


def test_a_closed_store_says_so(tmp_path: Path):
    async def play() -> None:
        store = FileTapeStore(tmp_path)
        await store.append("t", note("x"))
        await store.aclose()
        await store.aclose()
        with pytest.raises(StoreUnavailable, match="is closed"):
            await store.append("t", note("y"))

    anyio.run(play)


def test_a_finding_nobody_waits_for_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "t.jsonl").write_bytes(b'{"id":1,"kind":"mess')

    async def play() -> None:
        async with FileTapeStore(tmp_path) as store:
            await store.append("t", note("x"))
            assert [finding.size for finding in store.findings] == [20]

    anyio.run(play)
    assert ["cut off (20 bytes)" in message for message in caplog.messages] == [True]


# ---- what it costs ---------------------------------------------------------------------------------------------------


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
