"""Blobs: bytes kept by their hash, once, read back as they were put or not at all, in every store of ours."""

from __future__ import annotations

import base64
import os
import random
import shutil
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.entry.message import Media, Message
from playhead.store.adapt import adapt
from playhead.store.blobs import Blob, BlobStore, blobs_of
from playhead.store.file.disk import Disk
from playhead.testing.stores import AsyncListStore
from tests.unit.tape.opened import KINDS

Opener = Callable[[], ph.WholeStore]
BYTES = {"nothing": b"", "a word": b"hello", "every byte": bytes(range(256)) * 3, "much": random.Random(5).randbytes(3_000_000)}
NAMES = {"text": "x", "number": 7, "short": "sha256:12", "capitals": f"sha256:{'A' * 64}", "other hash": f"md5:{'a' * 64}", "path": f"sha256:{'../' * 21}a"}


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda: KINDS[request.param](tmp_path)


@pytest.fixture(params=[kind for kind in KINDS if kind != "memory"])
def reopened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda: KINDS[request.param](tmp_path)


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def play(opener: Opener, scenario: Callable[[BlobStore], Awaitable[None]], *, backend: str = "asyncio") -> None:
    async def go() -> None:
        store = opener()
        try:
            kept = blobs_of(store)
            assert kept is store
            await scenario(kept)
        finally:
            await store.aclose()

    anyio.run(go, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_was_put_is_read_back_by_its_hash(opened: Opener, backend: str):
    async def scenario(store: BlobStore) -> None:
        for name, data in BYTES.items():
            assert await store.put_blob(data, mime=f"application/{name.replace(' ', '-')}") == Blob(digest=digest(data), size=len(data), mime=f"application/{name.replace(' ', '-')}")
        assert [await store.get_blob(digest(data)) for data in BYTES.values()] == list(BYTES.values())
        assert [blob.digest for blob in await store.blobs()] == sorted(map(digest, BYTES.values()))
        assert {blob.size for blob in await store.blobs()} == set(map(len, BYTES.values()))

    play(opened, scenario, backend=backend)


def test_the_same_bytes_are_kept_once_under_the_type_that_was_said_first(opened: Opener):
    async def scenario(store: BlobStore) -> None:
        found = [await store.put_blob(kind(b"same"), mime=mime) for kind, mime in ((bytes, None), (bytearray, "image/png"), (memoryview, "text/plain"), (bytes, None))]
        assert [blob.mime for blob in found] == [None, "image/png", "image/png", "image/png"]
        assert await store.blobs() == [Blob(digest=digest(b"same"), size=4, mime="image/png")]

    play(opened, scenario)


def test_many_may_put_the_same_bytes_at_once(opened: Opener):
    async def scenario(store: BlobStore) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(store.put_blob, BYTES["every byte"] * (1 + number % 4))
        assert len(await store.blobs()) == 4
        assert [len(await store.get_blob(blob.digest)) for blob in await store.blobs()] == [blob.size for blob in await store.blobs()]

    play(opened, scenario)


def test_what_is_not_there_is_named(opened: Opener):
    async def scenario(store: BlobStore) -> None:
        with pytest.raises(ph.BlobNotFound, match=digest(b"never")) as caught:
            await store.get_blob(digest(b"never"))
        assert caught.value.digest == digest(b"never") and caught.value.kind == "not_found"
        assert await store.blobs() == []

    play(opened, scenario)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_digest_is_nothing_else(opened: Opener, name: str):
    async def scenario(store: BlobStore) -> None:
        with pytest.raises(ph.InvalidInput, match="called by its digest"):
            await store.get_blob(name)

    play(opened, scenario)


@pytest.mark.parametrize(("data", "mime", "told"), [("text", None, "A blob is bytes, not str"), (b"x", 5, "type is a text"), (b"x", "a\nb", "type is a text")])
def test_only_bytes_of_a_named_type_are_kept(opened: Opener, data: object, mime: object, told: str):
    async def scenario(store: BlobStore) -> None:
        with pytest.raises(ph.InvalidInput, match=told):
            await store.put_blob(data, mime=mime)  # type: ignore[arg-type]
        assert await store.blobs() == []

    play(opened, scenario)


def test_blobs_outlive_the_store_that_put_them(reopened: Opener):
    async def put(store: BlobStore) -> None:
        await store.put_blob(b"kept", mime="audio/wav")

    async def look(store: BlobStore) -> None:
        assert await store.get_blob(digest(b"kept")) == b"kept"
        assert await store.blobs() == [Blob(digest=digest(b"kept"), size=4, mime="audio/wav")]

    play(reopened, put)
    play(reopened, look)


def test_a_store_of_the_user_keeps_none(tmp_path: Path):
    assert blobs_of(adapt(AsyncListStore())) is None
    assert blobs_of(AsyncListStore()) is None


def spoil(place: Path, spoilt: bytes) -> None:
    """Alter what stands where the blob `kept` does."""
    if (place / "tapes.db").exists():
        with closing(sqlite3.connect(place / "tapes.db")) as connection, connection:
            connection.execute("UPDATE blobs SET data = ?", (spoilt,))
    else:
        (path,) = (path for path in (place / "tapes").rglob("*") if path.name == sha256(b"kept").hexdigest())
        path.write_bytes(spoilt)


@pytest.mark.parametrize("spoilt", [b"", b"ke", b"kept!", b"Kept"], ids=["emptied", "torn", "grown", "altered"])
def test_damage_is_found_named_and_mended_by_putting_the_bytes_again(reopened: Opener, tmp_path: Path, spoilt: bytes):
    async def put(store: BlobStore) -> None:
        await store.put_blob(b"kept", mime="image/png")

    async def mend(store: BlobStore) -> None:
        with pytest.raises(ph.StoreDamaged, match="put the same bytes again") as caught:
            await store.get_blob(digest(b"kept"))
        assert caught.value.details["digest"] == digest(b"kept")
        assert await store.put_blob(b"kept") == Blob(digest=digest(b"kept"), size=4, mime="image/png")
        assert await store.get_blob(digest(b"kept")) == b"kept"

    play(reopened, put)
    place = tmp_path / ("tapes.db" if (tmp_path / "tapes.db").exists() else "tapes")
    assert ph.verify(place).is_sound
    spoil(tmp_path, spoilt)
    (flaw,) = [flaw for flaw in ph.verify(place).flaws if flaw.severity == "damage"]
    assert "not as it was written" in flaw.what and sha256(b"kept").hexdigest() in flaw.where
    play(reopened, mend)
    assert ph.verify(place).is_sound


def test_a_store_that_is_only_read_takes_no_blobs(tmp_path: Path):
    async def go() -> None:
        for make, place in ((ph.SQLiteTapeStore, tmp_path / "s.db"), (ph.FileTapeStore, tmp_path / "f")):
            async with make(place, durability="process") as store:
                await store.put_blob(b"kept")
            async with make(place, read_only=True) as store:
                assert await store.get_blob(digest(b"kept")) == b"kept"
                with pytest.raises(ph.ReadOnly):
                    await store.put_blob(b"more")

    anyio.run(go)


def test_a_store_that_is_closed_neither_takes_nor_gives_any(opened: Opener):
    async def go() -> None:
        store = opened()
        await store.aclose()
        for call in (lambda: store.put_blob(b"x"), lambda: store.get_blob(digest(b"x")), store.blobs):
            with pytest.raises(ph.StoreUnavailable):
                await call()

    anyio.run(go)


def test_a_backup_has_the_blobs_too(reopened: Opener, tmp_path: Path):
    async def put(store: BlobStore) -> None:
        await store.put_blob(b"kept", mime="image/png")
        await store.put_blob(BYTES["much"])

    async def look(store: BlobStore) -> None:
        assert [await store.get_blob(digest(data)) for data in (b"kept", BYTES["much"])] == [b"kept", BYTES["much"]]
        assert {blob.mime for blob in await store.blobs()} == {None, "image/png"}

    play(reopened, put)
    name = next(name for name in ("tapes.db", "tapes") if (tmp_path / name).exists())
    (tmp_path / "elsewhere").mkdir()
    ph.backup(tmp_path / name, tmp_path / "elsewhere" / name)
    if name == "tapes":
        shutil.rmtree(tmp_path / name)
    else:
        os.remove(tmp_path / name)
    play(lambda: KINDS["sqlite" if name == "tapes.db" else "file"](tmp_path / "elsewhere"), look)


def test_blobs_of_a_damaged_database_are_salvaged_as_far_as_they_are_whole(tmp_path: Path):
    place = tmp_path / "tapes.db"

    async def go() -> None:
        async with ph.SQLiteTapeStore(place) as store:
            await ph.Tape(store, "t").append(ph.user("hello"))
            for data in (b"kept", b"spoilt", BYTES["much"]):
                await store.put_blob(data, mime="image/png")

    async def look(found: Path) -> None:
        async with ph.SQLiteTapeStore(found) as store:
            assert [blob.size for blob in sorted(await store.blobs(), key=lambda blob: blob.size)] == [4, 3_000_000]
            assert await store.get_blob(digest(BYTES["much"])) == BYTES["much"]

    anyio.run(go)
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE blobs SET data = 'x' WHERE digest = ?", (sha256(b"spoilt").digest(),))
    report = ph.salvage(place)
    assert report.original == place and report.kept == 1
    assert ph.verify(report.path).is_sound
    anyio.run(look, report.path)


class Packed:
    """Compresses."""

    def encode(self, said: bytes, /) -> str:
        assert said.startswith(b"{")
        return base64.b85encode(zlib.compress(said)).decode()

    def decode(self, text: str, /) -> bytes:
        return zlib.decompress(base64.b85decode(text))


def test_a_codec_hides_blobs_as_it_hides_entries(tmp_path: Path):
    async def go() -> None:
        async with ph.FileTapeStore(tmp_path, codec=Packed()) as store:
            await store.put_blob(b"a secret picture", mime="image/png")
            assert await store.put_blob(b"a secret picture") == Blob(digest=digest(b"a secret picture"), size=16, mime="image/png")
            assert await store.get_blob(digest(b"a secret picture")) == b"a secret picture"
            assert await store.blobs() == [Blob(digest=digest(b"a secret picture"), size=16, mime="image/png")]
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
        async with ph.FileTapeStore(tmp_path) as store:
            with pytest.raises(ph.StoreError, match="written with a codec"):
                await store.get_blob(digest(b"a secret picture"))
        (path,) = tmp_path.rglob("*.coded")
        path.write_bytes(b"torn")
        async with ph.FileTapeStore(tmp_path, codec=Packed()) as store:
            with pytest.raises(ph.StoreDamaged):
                await store.get_blob(digest(b"a secret picture"))
            await store.put_blob(b"a secret picture")
            assert await store.get_blob(digest(b"a secret picture")) == b"a secret picture"

    anyio.run(go)


def test_a_copy_of_a_tape_takes_along_what_it_refers_to(opened: Opener, tmp_path: Path):
    async def scenario(store: BlobStore) -> None:
        blob = await store.put_blob(b"pixels", mime="image/png")
        await store.put_blob(b"of another tape")
        lost = digest(b"never put")
        tape = ph.Tape(store, "t")
        await tape.append(Message(role="user", content=[Media(kind="image", mime="image/png", ref=blob.digest), Media(kind="image", ref=lost)]))
        async with ph.FileTapeStore(tmp_path / "other", durability="process") as other:
            await tape.copy("copy", store=other)
            assert await other.blobs() == [blob]
            assert await other.get_blob(blob.digest) == b"pixels"
        await tape.copy("beside")
        await tape.copy("of the user", store=AsyncListStore())
        assert len(await store.blobs()) == 2

    play(opened, scenario)


class FullDisk(Disk):
    """Takes no bytes of a blob."""

    def write(self, fd: int, content: bytes | memoryview, offset: int) -> int:
        raise OSError(28, "No space left on device")


def test_nothing_is_left_of_a_blob_that_finds_no_room(tmp_path: Path):
    async def go() -> None:
        async with ph.FileTapeStore(tmp_path, disk=FullDisk()) as store:
            with pytest.raises(ph.StoreUnavailable, match="No space left"):
                await store.put_blob(b"kept")
        async with ph.FileTapeStore(tmp_path) as store:
            assert await store.blobs() == []
            await store.put_blob(b"kept")
            assert await store.get_blob(digest(b"kept")) == b"kept"

    anyio.run(go)
    assert not ph.verify(tmp_path).flaws


def test_a_draft_that_a_dead_writer_left_is_a_remnant(tmp_path: Path):
    async def put() -> None:
        async with ph.FileTapeStore(tmp_path) as store:
            await store.put_blob(b"kept")

    anyio.run(put)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"kept")
    path.with_name(f"{path.name}.0.part").write_bytes(b"ke")
    (flaw,) = ph.verify(tmp_path).flaws
    assert flaw.severity == "remnant"
