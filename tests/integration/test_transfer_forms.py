"""What exports hold and in which forms they are taken in: blobs, tars made by hand, pages bounded by bytes, what a killed one leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

import playhead as ph
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.store.transfer.aside import aside
from playhead.store.transfer.original import Original
from tests.unit.store.moving import STORES, exported, files_of, furnish, opened


@pytest.mark.parametrize("what", ["tape", "blob", "manifest", "missing", "tar"])
def test_an_export_that_was_altered_is_refused_before_anything_is_written(what: str, tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await furnish(one)
        place = tmp_path / ("export.tar" if what == "tar" else "export")
        await ph.export_store(one, place)
        if what == "tar":
            place.write_bytes(place.read_bytes()[:3000])
        elif what == "missing":
            next((place / "tapes").iterdir()).unlink()
        elif what == "manifest":
            (place / "manifest.json").write_text('{"playhead": "store", "version": 1, "tapes": [{"name": "../../x"}], "blobs": []}')
        else:
            path = next(path for path in (place / f"{what}s").rglob("*") if path.is_file())
            path.write_bytes(path.read_bytes().replace(b"\0" if what == "blob" else b"n", b"m", 1))
        with pytest.raises(ph.UnreadableFile):
            await ph.import_store(place, other)
        assert await other.list_tapes() == [] or what == "blob"
        assert "support/42" not in await other.list_tapes()

    anyio.run(run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("what", ["manifest.json", "tapes", "blobs"])
def test_a_pipe_in_an_export_is_refused_and_not_waited_for(what: str, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        await ph.export_store(one, tmp_path / "export")
        path = next(path for path in (tmp_path / "export").rglob("*") if path.is_file() and path.relative_to(tmp_path / "export").parts[0] == what)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(ph.UnreadableFile, match="no regular file"):
            await ph.import_store(tmp_path / "export", ph.InMemoryTapeStore())

    anyio.run(run)


@pytest.mark.parametrize("top", ["", "./", "folder/", "./folder/"])
def test_a_tar_that_was_made_by_hand_is_taken_in_and_a_compressed_one_told(top: str, tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await furnish(one)
        wanted = await exported(one, tmp_path / "export")
        for name, mode in (("hand.tar", "w"), ("hand.tar.gz", "w:gz")):
            with tarfile.open(tmp_path / name, mode) as tar:
                tar.add(tmp_path / "export", arcname=top or ".", recursive=False)
                for path in sorted((tmp_path / "export").iterdir(), reverse=True):
                    tar.add(path, arcname=f"{top}{path.name}")
        await ph.import_store(tmp_path / "hand.tar", other)
        assert await exported(other, tmp_path / "again") == wanted
        with pytest.raises(ph.UnreadableFile, match="compressed"):
            await ph.import_store(tmp_path / "hand.tar.gz", ph.InMemoryTapeStore())
        with pytest.raises(ph.InvalidInput, match=r"write it to 'x\.tar'"):
            await ph.export_store(one, tmp_path / "x.tar.gz")

    anyio.run(run)


class Counting:
    """Hands all on to a store, and counts how many entries, and how many bytes of text, it was asked for at a time."""

    def __init__(self, store: WholeStore) -> None:
        self._store = store
        self.pages: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def fetch_all(self, query: ph.TapeQuery) -> list[ph.TapeEntry]:
        entries = await self._store.fetch_all(query)
        self.pages.append((len(entries), sum(len(entry.payload["data"]["text"]) for entry in entries)))
        return entries


@pytest.mark.parametrize(("count", "length"), [(60, 1 << 20), (3000, 10)])
def test_what_is_held_at_a_time_is_bounded_by_bytes_and_by_entries(count: int, length: int, tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append_many("t", [ph.TapeEntry.event("n", {"text": "x" * length})] * count)
        for move in (lambda store: ph.export_store(store, tmp_path / "a"), lambda store: ph.copy_store(store, ph.InMemoryTapeStore())):
            store = Counting(one)
            await move(store)  # type: ignore[no-untyped-call]
            assert max(size for _, size in store.pages) <= 8 << 20
            assert max(entries for entries, _ in store.pages) in ((7, 8) if length > 10 else (256,))

    anyio.run(run)


def test_parts_of_payloads_are_loaded_a_page_at_a_time(tmp_path: Path):
    async def run() -> None:
        async with ph.SQLiteTapeStore(tmp_path / "t.db", durability="process") as one:
            await one.append_many("t", [ph.TapeEntry.event("n", {"n": n}) for n in range(512)])
            await one.append_many("t", [ph.TapeEntry.event("n", {"text": f"{n:>1000000}"}) for n in range(60)])
            original = await Original.of(one, "t")
            ((member, strip),) = original.outline.strips()
            after, sizes = 0, []
            while after < strip.last:
                page = await original.page(member, strip, after=after, upto=strip.last)
                after += len(page)
                sizes.append(sum(len(entry.payload["data"].get("text", "")) for entry, _ in page))
            assert max(sizes) <= (8 << 20) + 1_000_000

    anyio.run(run)


LEAVING = """
import os, sys, anyio, playhead as ph

async def run():
    store = ph.InMemoryTapeStore()
    await store.append("t", ph.TapeEntry.event("n"))
    await ph.export_store(store, sys.argv[1], progress=lambda told: os.kill(os.getpid(), 9))

anyio.run(run)
"""


BEGINNING = """
import os, sys, anyio, playhead as ph

def told(progress):
    if progress.tape == "c":
        os.kill(os.getpid(), 9)

anyio.run(lambda: ph.export_store(sys.argv[1], sys.argv[2], progress=told))
"""


@pytest.mark.skipif(os.name == "nt", reason="a system without signals")
@pytest.mark.parametrize("form", ["export", "export.tar"])
def test_an_export_that_was_killed_goes_on_with_what_is_there_in_either_form(form: str, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'tapes.db'}"

    async def run() -> None:
        async with ph.open_store(url) as one:
            for name in "abc":
                await one.append(name, ph.TapeEntry.event("n"))
            child = subprocess.run([sys.executable, "-c", BEGINNING, url, str(tmp_path / form)], check=False)  # noqa: ASYNC221 - nothing else runs meanwhile
            assert child.returncode == -9
            await one.append("a", ph.TapeEntry.event("goes on"))
            report = await ph.export_store(one, tmp_path / form)
            assert (report.tapes, report.known) == (("a", "c"), ("b",))
            await ph.export_store(one, tmp_path / f"whole-{form}")
            if form == "export":
                assert files_of(tmp_path / form) == files_of(tmp_path / f"whole-{form}")
            else:
                assert (tmp_path / form).read_bytes() == (tmp_path / f"whole-{form}").read_bytes()
        assert list(tmp_path.glob(".playhead-*")) == []

    anyio.run(run)


@pytest.mark.parametrize("form", ["export", "export.tar"])
@pytest.mark.parametrize("what", ["tape", "cut tape", "blob", "cut blob"])
def test_what_an_export_goes_on_with_is_proved_and_written_anew_where_it_was_altered(form: str, what: str, tmp_path: Path):
    def alter(place: Path) -> None:
        path = next(path for path in (place / f"{what.removeprefix('cut ')}s").rglob("*") if path.is_file() and (what.endswith("blob") or "support" in path.name))
        content = path.read_bytes()
        path.write_bytes(content[:-10] if what.startswith("cut") else content.replace(b"PNG" if what == "blob" else b"float", b"GNP" if what == "blob" else b"boats"))
        assert path.read_bytes() != content

    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await furnish(one)
        wanted = await exported(one, tmp_path / "wanted")
        if form == "export":
            await ph.export_store(one, tmp_path / form)
            (tmp_path / form / "manifest.json").unlink()
            alter(tmp_path / form)
        else:
            with pytest.raises(ZeroDivisionError):
                await ph.export_store(one, tmp_path / form, progress=lambda told: 1 // (told.tape != "日本語"))
            ((left),) = tmp_path.glob(".playhead-*")
            alter(left / "drafts" / "export")
        await ph.export_store(one, tmp_path / form)
        if form == "export.tar":
            with tarfile.open(tmp_path / form) as tar:
                tar.extractall(tmp_path / "unpacked", filter="data")
        assert files_of(tmp_path / ("export" if form == "export" else "unpacked")) == wanted

    anyio.run(run)


@pytest.mark.skipif(os.name == "nt", reason="a system without signals")
def test_what_a_killed_export_leaves_beside_a_tar_goes_with_the_next_and_what_others_make_stays(tmp_path: Path):
    async def run() -> None:
        one = ph.InMemoryTapeStore()
        await one.append("t", ph.TapeEntry.event("n"))
        (tmp_path / ".playhead-mine").mkdir()
        async with aside(tmp_path) as others:
            await ph.export_store(one, tmp_path / "x.tar")
            assert others.is_dir()
            assert len(list(tmp_path.glob(".playhead-*"))) == 2

    child = subprocess.run([sys.executable, "-c", LEAVING, str(tmp_path / "x.tar")], check=False)
    assert child.returncode == -9 and len(list(tmp_path.glob(".playhead-*"))) == 1
    anyio.run(run)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".playhead-mine", "x.tar"]


def test_what_refers_to_bytes_that_nobody_keeps_moves_all_the_same(tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        lost = "sha256:" + "0" * 64
        await one.append("t", ph.TapeEntry.event("n", {"ref": lost}))
        assert (await ph.copy_store(one, other)).missing == (lost,)
        assert (await ph.export_store(one, tmp_path / "a")).missing == (lost,)
        assert (await ph.import_store(tmp_path / "a", ph.InMemoryTapeStore())).missing == (lost,)

    anyio.run(run)


@pytest.mark.parametrize("kind", STORES)
def test_a_blob_that_is_only_mentioned_moves_too_and_one_that_is_not_kept_is_missing_only_where_it_is_referred_to(kind: str, tmp_path: Path):
    async def run() -> None:
        async with opened(kind, tmp_path / "one") as one, opened(kind, tmp_path / "other") as other:
            said, meta = await one.put_blob(b"in a text"), await one.put_blob(b"in the meta")  # type: ignore[attr-defined]
            never = "sha256:" + "1" * 64
            await one.append("t", ph.TapeEntry.event("n", {"text": f"see {said.digest} and {never}"}, picture=meta.digest))
            unused = await ph.unused_blobs(one, grace=timedelta(0))  # type: ignore[arg-type]
            assert unused.unused == ()
            for report in (await ph.export_store(one, tmp_path / "a"), await ph.import_store(tmp_path / "a", ph.InMemoryTapeStore()), await ph.copy_store(one, other)):
                assert (report.blobs, report.missing) == (2, ())
            assert [await other.get_blob(blob.digest) for blob in (said, meta)] == [b"in a text", b"in the meta"]  # type: ignore[attr-defined]

    anyio.run(run)


def test_a_consumer_that_reads_on_in_the_copy_is_not_set_back(tmp_path: Path):
    async def run() -> None:
        one, other = ph.InMemoryTapeStore(), ph.InMemoryTapeStore()
        await one.append_many("t", [ph.TapeEntry.event("n", {"n": n}) for n in range(9)])
        await one.move_cursor("t", "mail", Head(0, 4))
        await ph.copy_store(one, other)
        await other.move_cursor("t", "mail", Head(0, 7))
        assert (await ph.copy_store(one, other)).known == ("t",)
        assert [await other.cursor("t", "mail"), await other.cursor("t", "web")] == [Head(0, 7), EMPTY]

    anyio.run(run)
