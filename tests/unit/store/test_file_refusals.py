"""What a store of files refuses, and what it says then."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput, StoreUnavailable
from playhead.store.file.store import FileTapeStore
from playhead.store.query import TapeQuery
from tests.crash.broken_disks import Fault, FaultyDisk


def note(text: str, **meta: object) -> TapeEntry:
    return TapeEntry.message({"role": "user", "content": text}, **meta)


async def texts(store: FileTapeStore, tape: str = "t") -> list[str]:
    return [entry.payload["content"] for entry in await store.fetch_all(TapeQuery(tape=tape))]


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
from playhead.store.file.store import FileTapeStore
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
