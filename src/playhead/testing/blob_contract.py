"""Blobs, as tests that every store passes that keeps some; left out for all others."""

from __future__ import annotations

import unittest
from pathlib import Path

import anyio

from playhead.errors import BlobNotFound, InvalidInput, StoreDamaged
from playhead.store.blobs import Blob, BlobStore, blobs_of, digest_of
from playhead.store.protocol import WholeStore
from playhead.testing.stage import StoreStage, equal, raising

_BYTES = (b"", b"hello", bytes(range(256)) * 300)


def _keeping(store: WholeStore) -> BlobStore:
    kept = blobs_of(store)
    if kept is None:
        raise unittest.SkipTest("the store keeps no blobs")
    return kept


class BlobContract(StoreStage):
    """What `put_blob`, `get_blob` and `blobs` promise."""

    def spoil_blob(self, place: Path, digest: str, spoilt: bytes) -> None:
        """Put other bytes where a blob stands in the store at `place`, which is closed; override it to have damage tested."""
        raise unittest.SkipTest("nobody said how a blob of the store is damaged")

    def test_a_blob_is_read_back_by_its_hash(self, tmp_path: Path) -> None:
        """Whatever the bytes are."""

        async def scenario(store: WholeStore) -> None:
            kept = _keeping(store)
            made = [await kept.put_blob(data, mime="image/png") for data in _BYTES]
            equal(made, [Blob(digest=digest_of(data), size=len(data), mime="image/png") for data in _BYTES])
            equal([await kept.get_blob(blob.digest) for blob in made], list(_BYTES))
            equal(await kept.blobs(), sorted(made, key=lambda blob: blob.digest))

        self.play(tmp_path, scenario)

    def test_a_blob_is_kept_once_under_the_type_that_was_said_first(self, tmp_path: Path) -> None:
        """However often it is put."""

        async def scenario(store: WholeStore) -> None:
            kept = _keeping(store)
            equal([(await kept.put_blob(b"same", mime=mime)).mime for mime in (None, "image/png", "text/plain", None)], [None, "image/png", "image/png", "image/png"])
            equal(await kept.blobs(), [Blob(digest=digest_of(b"same"), size=4, mime="image/png")])

        self.play(tmp_path, scenario)

    def test_a_blob_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        """And what is no digest is refused."""

        async def scenario(store: WholeStore) -> None:
            kept = _keeping(store)
            await kept.put_blob(b"another")
            with raising(BlobNotFound):
                await kept.get_blob(digest_of(b"never put"))
            for name in ("", "sha256:12", digest_of(b"x").upper(), "../x"):
                with raising(InvalidInput):
                    await kept.get_blob(name)
            with raising(InvalidInput):
                await kept.put_blob("text")  # type: ignore[arg-type]

        self.play(tmp_path, scenario)

    def test_blobs_are_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1."""

        async def before(store: WholeStore) -> None:
            await _keeping(store).put_blob(_BYTES[2], mime="audio/wav")

        async def after(store: WholeStore) -> None:
            kept = _keeping(store)
            equal(await kept.blobs(), [Blob(digest=digest_of(_BYTES[2]), size=len(_BYTES[2]), mime="audio/wav")])
            equal(await kept.get_blob(digest_of(_BYTES[2])), _BYTES[2])

        self.play_again(tmp_path, before, after)

    def test_many_who_put_the_same_bytes_at_once_keep_them_once(self, tmp_path: Path) -> None:
        """And all are told the same."""

        async def scenario(store: WholeStore) -> None:
            kept = _keeping(store)
            found: list[Blob] = []

            async def put(number: int) -> None:
                found.append(await kept.put_blob(_BYTES[2] * (1 + number % 3), mime="image/png"))

            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(put, number)
            equal(sorted(set(found), key=lambda blob: blob.digest), await kept.blobs())
            equal([len(await kept.get_blob(blob.digest)) for blob in await kept.blobs()], [blob.size for blob in await kept.blobs()])

        self.play(tmp_path, scenario)

    def test_a_blob_that_is_not_as_it_was_written_is_refused_and_mended_by_putting_it_again(self, tmp_path: Path) -> None:
        """Torn, emptied, grown or altered; under the type it had."""
        self.outlives_the_process(tmp_path)
        blob = Blob(digest=digest_of(b"kept"), size=4, mime="image/png")

        async def put(store: WholeStore) -> None:
            equal(await _keeping(store).put_blob(b"kept", mime="image/png"), blob)

        async def mend(store: WholeStore) -> None:
            kept = _keeping(store)
            with raising(StoreDamaged):
                await kept.get_blob(blob.digest)
            equal(await kept.put_blob(b"kept"), blob)
            equal(await kept.get_blob(blob.digest), b"kept")
            equal(await kept.blobs(), [blob])

        for spoilt in (b"ke", b"", b"kept!", b"Kept"):
            self.play(tmp_path, put)
            self.spoil_blob(tmp_path, blob.digest, spoilt)
            self.play(tmp_path, mend)
