"""Collecting blobs, as tests that every store passes that does; left out for all others."""

from __future__ import annotations

import unittest
from datetime import timedelta
from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint

from playhead import clock
from playhead.errors import BlobNotFound, InvalidInput
from playhead.store.archiving.retention import ArchivingStore
from playhead.store.blobs import BlobCollector, digest_of
from playhead.store.change import MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import WholeStore
from playhead.store.sweep import gc_blobs, unused_blobs
from playhead.testing.stage import StoreStage, equal, note, raising, whole

NOW = timedelta(0)
TRIAL = branch_name("t", "trial")
_WRITERS, _EACH = 4, 6


def _collecting(store: WholeStore) -> BlobCollector:
    if not isinstance(store, BlobCollector):
        raise unittest.SkipTest("the store does not collect blobs")
    return store


async def _put(kept: BlobCollector, *texts: str) -> dict[str, str]:
    """Put texts and return their digests."""
    return {text: (await kept.put_blob(text.encode())).digest for text in texts}


async def _left(kept: BlobCollector, digests: dict[str, str]) -> list[str]:
    """Collect, and return which texts are left, after proving that these can be read and the others are gone."""
    report = await gc_blobs(kept, grace=NOW)
    there = {blob.digest for blob in await kept.blobs()}
    equal(sorted(blob.digest for blob in report.unused), sorted(set(digests.values()) - there), "removed")
    for text, digest in digests.items():
        if digest in there:
            equal(await kept.get_blob(digest), text.encode())
        else:
            with raising(BlobNotFound):
                await kept.get_blob(digest)
    return [text for text, digest in digests.items() if digest in there]


class CollectionContract(StoreStage):
    """What `idle_blobs`, `named_blobs` and `drop_blobs` promise, and so `gc_blobs`."""

    def test_what_nothing_names_is_collected_and_what_anything_names_is_not(self, tmp_path: Path) -> None:
        """Wherever the digest stands."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "nobody's", "tape", "deep", "meta", "words", "branch", "sidecar", "side of a branch", "anchor")
            await store.append_many("t", [note("a", part={"ref": digests["meta"]}), note(f"the picture {digests['words']}.")])
            await store.append_many("other", [note(digests["tape"])])
            await store.append_many("t", [note("b", at=[{"in": [{"x": digests["deep"]}]}])])
            await store.apply([Fork(tape=TRIAL, parent="t"), Append(tape=TRIAL, entries=[note(digests["branch"])])])
            await store.append_many(sidecar_name("t", "s"), [note(digests["sidecar"])])
            await store.append_many(sidecar_name(TRIAL, "s"), [note(digests["side of a branch"])])
            await store.append_many("t", [note("c", anchor=digests["anchor"])])
            equal(await _left(kept, digests), [text for text in digests if text != "nobody's"])

        self.play(tmp_path, scenario)

    def test_what_archived_entries_name_is_named(self, tmp_path: Path) -> None:
        """On a tape, a branch and a sidecar; and a value that is kept apart from its payload."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            if not isinstance(store, ArchivingStore):
                raise unittest.SkipTest("the store does not archive")
            digests = await _put(kept, "nobody's", "tape", "meta", "branch", "sidecar")
            large = note("large " * 100_000)
            await store.append_many("t", [note(digests["tape"]), note("a", part=digests["meta"]), large])
            await store.append_many(sidecar_name("t", "s"), [note(digests["sidecar"])])
            await store.apply([Fork(tape=TRIAL, parent="t"), Append(tape=TRIAL, entries=[note(digests["branch"])])])
            for tape in ("t", sidecar_name("t", "s"), TRIAL):
                await store.append_many(tape, [note("the newest")])
                equal((await store.archive(tape, upto=(await store.head(tape)).id - 1)).entries > 0, wanted=True)
            equal(await _left(kept, digests), [text for text in digests if text != "nobody's"])
            equal((await whole(store, "t"))[2].payload, large.payload)

        self.play(tmp_path, scenario)

    def test_what_a_branch_still_shows_of_an_earlier_generation_is_named(self, tmp_path: Path) -> None:
        """And no longer, once it shows it no more."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "shown", "new")
            await store.append_many("t", [note(digests["shown"])])
            await store.apply([Fork(tape=TRIAL, parent="t")])
            await store.apply([Reset(tape="t", entries=[note(digests["new"])])])
            equal(await _left(kept, digests), ["shown", "new"])

        self.play(tmp_path, scenario)

    def test_what_was_reset_names_nothing_in_the_end(self, tmp_path: Path) -> None:
        """What waits to be removed may still be read, so it may take a while."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "gone", "stays")
            await store.append_many("t", [note(digests["gone"])])
            await store.append_many("u", [note(digests["stays"])])
            await store.reset("t")
            with anyio.fail_after(20):
                while await _left(kept, digests) != ["stays"]:
                    await checkpoint()

        self.play(tmp_path, scenario)

    def test_what_a_merge_brought_back_is_named(self, tmp_path: Path) -> None:
        """Also once the branch is gone."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "moved")
            await store.append_many("t", [note("a")])
            entry = note(digests["moved"])
            await store.apply([Fork(tape=TRIAL, parent="t"), Append(tape=TRIAL, entries=[entry])])
            await store.apply([Append(tape="t", entries=[entry]), Close(tape=TRIAL, outcome=MERGED)])
            await store.collect("t", before=clock.now() + timedelta(seconds=1))
            await store.rename("t", "renamed")
            equal(await _left(kept, digests), ["moved"])

        self.play(tmp_path, scenario)

    def test_within_the_grace_nothing_is_collected(self, tmp_path: Path) -> None:
        """A look changes nothing either."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "new")
            equal((await gc_blobs(kept)).recent, 1)
            equal([blob.digest for blob in (await unused_blobs(kept, grace=NOW)).unused], list(digests.values()))
            equal([blob.digest for blob in await kept.blobs()], list(digests.values()))
            with raising(InvalidInput):
                await gc_blobs(kept, grace=timedelta(seconds=-1))

        self.play(tmp_path, scenario)

    def test_a_put_and_an_append_that_names_it_each_make_a_blob_young_again(self, tmp_path: Path) -> None:
        """So a removal that was decided before passes it by."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            digests = await _put(kept, "put again", "named", "named in a batch", "named by a reset", "left")
            await store.append_many("r", [note("a")])
            since = clock.now()
            equal([blob.digest for blob in await kept.idle_blobs(since=since)], sorted(digests.values()))
            await kept.put_blob(b"put again")
            await store.append_many("t", [note("x", ref=digests["named"])])
            await store.apply([Append(tape="t", entries=[note("y"), note(digests["named in a batch"])])])
            await store.apply([Reset(tape="r", entries=[note(digests["named by a reset"])])])
            equal([blob.digest for blob in await kept.idle_blobs(since=since)], [digests["left"]])
            equal(await kept.drop_blobs([*digests.values(), digest_of(b"never put")], idle_since=since), [digests["left"]])
            equal(await kept.drop_blobs(digests.values(), idle_since=since), [])
            equal(sorted(blob.digest for blob in await kept.blobs()), sorted(set(digests.values()) - {digests["left"]}))

        self.play(tmp_path, scenario)

    def test_what_is_put_while_others_remove_is_there(self, tmp_path: Path) -> None:
        """Whether it was removed a moment before, or is about to be."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            texts = [f"blob {number}" for number in range(_WRITERS * _EACH)]
            digests = await _put(kept, *texts)
            since = clock.now()

            async def write(own: list[str]) -> None:
                for text in own:
                    await kept.put_blob(text.encode())
                    await store.append_many("t", [note(digests[text])])

            async def remove() -> None:
                for digest in digests.values():
                    await kept.drop_blobs([digest], idle_since=since)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(remove)
                for first in range(_WRITERS):
                    tasks.start_soon(write, texts[first::_WRITERS])
                tasks.start_soon(remove)
            equal([await kept.get_blob(digest) for digest in digests.values()], [text.encode() for text in texts])
            equal(await _left(kept, digests), texts)

        self.play(tmp_path, scenario)

    def test_what_was_removed_can_be_put_again(self, tmp_path: Path) -> None:
        """Under a type of its own."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            first = await kept.put_blob(b"x", mime="image/png")
            equal((await gc_blobs(kept, grace=NOW)).unused, (first,))
            equal((await kept.put_blob(b"x", mime="text/plain")).mime, "text/plain")
            equal(await kept.get_blob(first.digest), b"x")

        self.play(tmp_path, scenario)

    def test_a_collection_goes_through_all_and_says_how_far_it_is(self, tmp_path: Path) -> None:
        """And stops early where nothing is left to find."""

        async def scenario(store: WholeStore) -> None:
            kept = _collecting(store)
            await _put(kept, "unused")
            await store.append_many("t", [note(f"{number}") for number in range(10)])
            told: list[tuple[int, int]] = []
            await unused_blobs(kept, grace=NOW, progress=lambda done, total: told.append((done, total)))
            equal(told, sorted(told))
            equal(told[-1][0], told[-1][1], "how far it came")
            equal([(await unused_blobs(kept, grace=NOW, keep=[digest_of(b"unused")])).named], [1])

        self.play(tmp_path, scenario)
