"""gc --blobs: what nothing names is removed, or only shown; what does not go together is said."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.store.blobs import digest_of
from playhead.testing.clock import FakeClock
from tests.integration.program import Program


@pytest.fixture(params=["sqlite:///{}/blobs.db", "file:{}/blobs"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a store with a blob that is named, one that was put today, and two that nothing needs."""

    async def fill(url: str) -> None:
        store = ph.open_store(url)
        with clock.using(FakeClock(clock.now() - timedelta(days=2))):
            kept = [await store.put_blob(data, mime="image/png") for data in (b"named", b"old", b"older")]  # type: ignore[attr-defined]
            await ph.Tape(store, "t").append(ph.user([ph.Media(kind="image", ref=kept[0].digest)]))
        await store.put_blob(b"new")  # type: ignore[attr-defined]
        await store.aclose()

    url = request.param.format(tmp_path)
    anyio.run(fill, url)
    return url


def left(url: str) -> set[str]:
    async def look() -> set[str]:
        store = ph.open_store(url)
        found = {blob.digest for blob in await store.blobs()}  # type: ignore[attr-defined]
        await store.aclose()
        return found

    return anyio.run(look)


def digests(*texts: bytes) -> set[str]:
    return set(map(digest_of, texts))


def test_what_nothing_names_is_shown_then_removed(playhead: Program, url: str):
    shown = playhead.run("gc", "--blobs", "--dry-run", "--store", url)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        *(f"would be removed: {digest}, {size} bytes, image/png" for digest, size in sorted([(digest_of(b"old"), 3), (digest_of(b"older"), 5)])),
        "4 blobs: 1 named, 1 recent, 2 would be removed (8 bytes)",
    ]
    assert left(url) == digests(b"named", b"old", b"older", b"new")
    told = playhead.run("gc", "--blobs", "--dry-run", "--store", url, "--json").json
    assert {blob["digest"] for blob in told["unused"]} == digests(b"old", b"older") and set(told) == {"store", "blobs", "recent", "named", "bytes", "unused"}

    ran = playhead.run("gc", "--blobs", "--store", url, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"store", "blobs", "recent", "named", "bytes", "removed"}
    assert {key: ran.json[key] for key in ("blobs", "recent", "named", "bytes")} == {"blobs": 4, "recent": 1, "named": 1, "bytes": 8}
    assert sorted(ran.json["removed"], key=lambda blob: blob["size"]) == [
        {"digest": digest_of(b"old"), "size": 3, "mime": "image/png"},
        {"digest": digest_of(b"older"), "size": 5, "mime": "image/png"},
    ]
    assert left(url) == digests(b"named", b"new")
    assert playhead.run("gc", "--blobs", "--store", url).out == "2 blobs: 1 named, 1 recent, 0 removed (0 bytes)\n"
    assert playhead.run("gc", "--blobs", "--grace", "0s", "--store", url).out.splitlines()[-1] == "2 blobs: 1 named, 0 recent, 1 removed (3 bytes)"
    assert left(url) == digests(b"named")


def test_what_archives_name_is_kept(playhead: Program, url: str, tmp_path: Path):
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / "t.jsonl.20260101T000000Z.bak").write_text(json.dumps({"payload": {"ref": digest_of(b"old")}}))
    (tmp_path / "other.bak").write_text(digest_of(b"older"))
    playhead.run("gc", "--blobs", "--archive", str(tmp_path / "archives"), "--archive", str(tmp_path / "other.bak"), "--store", url)
    assert left(url) == digests(b"named", b"old", b"older", b"new")
    ran = playhead.run("gc", "--blobs", "--archive", str(tmp_path / "none.bak"), "--store", url)
    assert ran.code == 1 and "none.bak" in ran.error
    assert len(left(url)) == 4


def test_a_store_that_is_not_there_has_none(playhead: Program, tmp_path: Path):
    assert playhead.run("gc", "--blobs", "--store", f"sqlite:///{tmp_path}/none.db").out == "0 blobs: 0 named, 0 recent, 0 removed (0 bytes)\n"
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("words", [("--dry-run",), ("--grace", "1d"), ("--archive", "x"), ("--blobs", "t"), ("--blobs", "--older-than", "1d")])
def test_what_does_not_go_together_is_said(playhead: Program, words: tuple[str, ...]):
    ran = playhead.run("gc", *words)
    assert ran.code == 2 and "--blobs" in ran.error
