"""Entries that a database or a file keeps in parts: seen by nobody, loaded late, kept once, proved, copied, salvaged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead.store.blobs import digest_of
from playhead.store.change import Append, Fork
from playhead.store.family import branch_name
from playhead.testing.stage import keyed, note
from tests.unit.store.test_blobs import Packed

LONG = "Grüße an alle. " * 400
DIGEST = digest_of(LONG.encode())
STORES: dict[str, Callable[..., Any]] = {
    "sqlite": lambda place, **options: ph.SQLiteTapeStore(place / "tapes.db", **{"durability": "process", "inline_limit": 2_000, **options}),
    "file": lambda place, **options: ph.FileTapeStore(place / "tapes", **{"durability": "process", "inline_limit": 2_000, **options}),
}
Opener = Callable[..., Any]


@pytest.fixture(params=STORES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda place=tmp_path, **options: STORES[request.param](place, **options)


def play(scenario: Callable[[Any], Awaitable[Any]], store: Any, *, backend: str = "asyncio") -> Any:
    async def go() -> Any:
        async with store:
            return await scenario(store)

    return anyio.run(go, backend=backend)


def at(place: Path) -> Path:
    """Return the path of the store that was opened at a place."""
    return place / ("tapes.db" if (place / "tapes.db").exists() else "tapes")


def spoil(place: Path, *, spoilt: bytes | None = None, digest: str = DIGEST) -> None:
    """Alter a blob, or take it away."""
    hex = digest.removeprefix("sha256:")
    if at(place).is_file():
        with closing(sqlite3.connect(at(place))) as connection, connection:
            if spoilt is None:
                connection.execute("DELETE FROM blobs WHERE digest = ?", (bytes.fromhex(hex),))
            else:
                connection.execute("UPDATE blobs SET data = ? WHERE digest = ?", (spoilt, bytes.fromhex(hex)))
        return
    (path,) = at(place).rglob(hex)
    path.unlink() if spoilt is None else path.write_bytes(spoilt)


async def entries(store: Any, tape: str = "t") -> list[ph.TapeEntry]:
    return list(await store.fetch_all(ph.TapeQuery(tape=tape)))


async def append(store: Any) -> ph.TapeEntry:
    (stored,) = await store.append_many("t", [note(LONG)])
    return stored


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_long_text_is_kept_once_as_what_it_says(opened: Opener, backend: str):
    async def scenario(store: Any) -> None:
        for _ in range(3):
            await append(store)
        await store.append_many("u", [note(LONG, more={"a": 1}), note("short")])
        assert await store.blobs() == [ph.Blob(digest=DIGEST, size=len(LONG.encode()), mime="text/plain; charset=utf-8")]
        assert await store.get_blob(DIGEST) == LONG.encode()
        assert [entry.payload["text"] for tape in "tu" for entry in await entries(store, tape)] == [LONG] * 4 + ["short"]

    play(scenario, opened(), backend=backend)


def test_a_line_stays_an_object_that_is_read_by_eye(tmp_path: Path):
    play(append, STORES["file"](tmp_path))
    (line,) = (tmp_path / "tapes" / "t.jsonl").read_text().splitlines()
    found = json.loads(line)
    assert found["payload"] == {"text": f"[{len(LONG.encode()):,} bytes kept as {DIGEST}]"}
    assert found["~p"] == [{"at": ["text"], "blob": DIGEST, "as": "text"}]
    assert list(found)[-2:] == ["~p", "~c"]


def test_a_row_is_short_and_sealed(tmp_path: Path):
    play(append, STORES["sqlite"](tmp_path))
    with closing(sqlite3.connect(tmp_path / "tapes.db")) as connection:
        ((body,),) = connection.execute("SELECT body FROM entries").fetchall()
        assert json.loads(body)[1] == [{"at": ["text"], "blob": DIGEST, "as": "text"}]
        with connection:
            connection.execute("UPDATE entries SET body = ?", (body.replace(b'"text"', b'"next"', 1),))
    with pytest.raises(ph.StoreDamaged, match="Entry 1 of the tape 't' is not as it was written"):
        play(entries, STORES["sqlite"](tmp_path))[0].payload  # noqa: B018


def test_what_is_not_looked_at_is_not_loaded_and_what_is_gone_is_told_with_its_entry(opened: Opener, tmp_path: Path):
    async def read(store: Any) -> list[ph.TapeEntry]:
        assert await store.count(ph.TapeQuery(tape="t").kinds("note")) == 2
        assert (await store.find("t", uids=["u"]))["u"].id == 1
        return list(await store.fetch_all(ph.TapeQuery(tape="t").newest_first()))

    async def write(store: Any) -> None:
        await store.append_many("t", [note(LONG, uid="u"), note("short")])

    play(write, opened())
    spoil(tmp_path)
    short, long = play(read, opened())
    assert (long.id, long.kind, long.uid, short.payload["text"]) == (1, "note", "u", "short")
    with pytest.raises(ph.StoreDamaged, match=rf"part of entry 1 of .*t.* is kept as the blob {DIGEST}, which is not there; restore a backup, or put the same bytes again"):
        long.payload  # noqa: B018
    assert [(flaw.severity, flaw.tape, flaw.id) for flaw in ph.verify(at(tmp_path)).flaws] == [("damage", "t", 1)]
    play(lambda store: store.put_blob(LONG.encode()), opened())
    assert long.payload["text"] == LONG
    assert ph.verify(at(tmp_path)).is_sound


def test_a_reference_in_vain_is_a_remnant_and_nothing_worse(opened: Opener, tmp_path: Path):
    async def write(store: Any) -> None:
        blob = await store.put_blob(b"kept")
        await store.append_many("t", [note("a", ref=blob.digest), note("b", ref=digest_of(b"never put")), note(digest_of(b"only a word"))])

    play(write, opened())
    report = ph.verify(at(tmp_path))
    assert report.is_sound
    assert [(flaw.severity, flaw.tape, flaw.id, flaw.what) for flaw in report.flaws] == [("remnant", "t", 2, f"it refers to the blob {digest_of(b'never put')}, which is not kept")]


def test_a_part_that_was_altered_is_refused_and_mended_by_the_next_append(opened: Opener, tmp_path: Path):
    play(append, opened())
    spoil(tmp_path, spoilt=LONG.encode()[:-1])
    with pytest.raises(ph.StoreDamaged, match="not as it was written"):
        play(entries, opened())[0].payload  # noqa: B018
    assert not ph.verify(at(tmp_path)).is_sound
    play(append, opened())
    assert ph.verify(at(tmp_path)).is_sound
    assert [entry.payload["text"] for entry in play(entries, opened())] == [LONG, LONG]


def test_a_text_is_searched_for_in_the_parts_and_not_in_what_stands_for_them(opened: Opener, tmp_path: Path):
    async def search(store: Any) -> list[list[int]]:
        return [[entry.id for entry in await store.fetch_all(ph.TapeQuery(tape="t").query(text))] for text in ("AN ALLE", "bytes kept as", DIGEST)]

    play(append, opened())
    assert play(search, opened()) == [[1], [], []]
    spoil(tmp_path)
    with pytest.raises(ph.StoreDamaged):
        play(search, opened())


def test_a_limit_is_the_writers_and_no_readers(opened: Opener):
    async def more(store: Any) -> None:
        await store.append_many("t", [note(LONG + "2")])

    play(append, opened())
    play(more, opened(inline_limit=None))
    play(append, opened(inline_limit=100_000))

    async def look(store: Any) -> None:
        assert [entry.payload["text"] for entry in await entries(store)] == [LONG, LONG + "2", LONG]
        assert [blob.digest for blob in await store.blobs()] == [DIGEST]

    play(look, opened())
    with pytest.raises(ph.InvalidInput, match="inline_limit"):
        opened(inline_limit=10)


def test_a_store_that_is_only_read_shows_the_parts(opened: Opener):
    play(append, opened())
    (entry,) = play(entries, opened(read_only=True))
    assert entry.payload["text"] == LONG


def test_a_long_entry_with_a_key_is_compared_before_it_is_committed(opened: Opener):
    async def scenario(store: Any) -> None:
        found: list[tuple[ph.TapeEntry, ...]] = []

        async def send(text: str) -> None:
            found.append(await store.append_many("t", [keyed(text, "k")]))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(send, LONG)
        assert {(entry.id, entry.payload["text"]) for (entry,) in found} == {(1, LONG)}
        with pytest.raises(ph.KeyConflict):
            await store.append_many("t", [keyed(LONG + "!", "k")])

    play(scenario, opened())


def test_a_refused_append_leaves_no_entry(opened: Opener):
    async def scenario(store: Any) -> None:
        await append(store)
        with pytest.raises(ph.Conflict):
            await store.append_many("t", [note(LONG + "2")], expected_head=ph.Head(0, 7))
        assert len(await entries(store)) == 1

    play(scenario, opened())


def test_a_backup_has_the_parts(opened: Opener, tmp_path: Path):
    play(append, opened())
    (tmp_path / "copy").mkdir()
    ph.backup(at(tmp_path), tmp_path / "copy" / at(tmp_path).name)
    (entry,) = play(entries, opened(tmp_path / "copy"))
    assert entry.payload["text"] == LONG and ph.verify(at(tmp_path / "copy")).is_sound


def test_what_is_salvaged_keeps_its_parts(opened: Opener, tmp_path: Path):
    async def write(store: Any) -> None:
        await store.append_many("t", [note("a"), note(LONG), note("b")])
        await store.append_many("t", [ph.TapeEntry.anchor("mark", {"text": LONG}), note("c")])

    play(write, opened())
    if at(tmp_path).is_file():
        with closing(sqlite3.connect(at(tmp_path))) as connection, connection:
            connection.execute("UPDATE entries SET body = 'x' WHERE eid & 4294967295 = 1")
    else:
        path = at(tmp_path) / "t.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"a"', b'"A"', 1))
    report = ph.salvage(at(tmp_path))
    assert report.kept == 4
    place = tmp_path / "salvaged"
    if at(tmp_path).is_file():
        place.mkdir()
        report.path.rename(place / "tapes.db")
    else:
        place = tmp_path

    async def look(store: Any) -> None:
        found = await entries(store)
        assert [entry.kind for entry in found] == ["event", "note", "note", "anchor", "note"]
        assert found[1].payload["text"] == found[3].payload["state"]["text"] == LONG
        assert [entry.id for entry in await store.fetch_all(ph.TapeQuery(tape="t").after_anchor("mark"))] == [5]

    play(look, opened(place))
    assert ph.verify(at(place)).is_sound


@pytest.mark.parametrize("spoilt", [None, b"altered"])
def test_an_entry_whose_part_is_missing_or_damaged_is_lost_where_its_store_is_salvaged(opened: Opener, spoilt: bytes | None, tmp_path: Path):
    async def write(store: Any) -> None:
        await store.append_many("t", [note("a"), note(LONG), note("b"), note(LONG + "2"), note(LONG)])

    play(write, opened())
    spoil(tmp_path, spoilt=spoilt)
    report = ph.salvage(at(tmp_path))
    assert (report.kept, [loss.ids for loss in report.lost]) == (3, [(2, 2), (5, 5)])
    assert all(DIGEST in loss.why for loss in report.lost)
    place = tmp_path
    if at(tmp_path).is_file():
        place = tmp_path / "salvaged"
        place.mkdir()
        report.path.rename(place / "tapes.db")

    async def look(store: Any) -> None:
        found = await entries(store)
        assert [entry.id for entry in found] == [1, 2, 3, 4, 5]
        assert [entry.payload.get("name", entry.payload.get("text")) for entry in found] == ["a", "salvage.lost", "b", LONG + "2", "salvage.lost"]

    play(look, opened(place))
    assert [flaw for flaw in ph.verify(at(place)).flaws if flaw.tape is not None] == []


def test_a_branch_under_another_name_keeps_its_parts(opened: Opener, tmp_path: Path):
    async def scenario(store: Any) -> None:
        await append(store)
        trial = branch_name("t", "trial")
        await store.apply([Fork(tape=trial, parent="t"), Append(tape=trial, entries=[ph.TapeEntry.anchor("a", {"x": 1}), note(LONG + "2")])])
        await store.append_many(trial, [ph.TapeEntry.anchor("b"), note("c")])
        await store.rename(trial, branch_name("t", "other"))
        found = await entries(store, branch_name("t", "other"))
        assert [entry.payload.get("text") for entry in found] == [LONG, None, LONG + "2", None, "c"]

    play(scenario, opened())
    assert ph.verify(at(tmp_path)).is_sound


def test_a_copy_into_another_store_has_the_whole_payload(opened: Opener, tmp_path: Path):
    async def scenario(store: Any) -> None:
        await append(store)
        async with ph.FileTapeStore(tmp_path / "other", durability="process", inline_limit=None) as other:
            await ph.Tape(store, "t").copy("t", store=other)
            assert [entry.payload["text"] for entry in await entries(other)] == [LONG]
            assert await other.blobs() == []

    play(scenario, opened())


def test_a_codec_hides_the_parts_and_where_they_belong(tmp_path: Path):
    async def write(store: Any) -> None:
        await store.append_many("t", [note("small"), note(LONG, secretly=DIGEST)])

    play(write, STORES["file"](tmp_path, codec=Packed()))
    files = [path for path in (tmp_path / "tapes").rglob("*") if path.is_file()]
    assert not [path for path in files if any(said in path.read_bytes() for said in (b"alle", b"secretly", b'"at"'))]

    async def look(store: Any) -> None:
        assert [entry.payload["text"] for entry in await entries(store)] == ["small", LONG]
        assert (await ph.gc_blobs(store, grace=timedelta(0))).named == 1
        assert await store.get_blob(DIGEST) == LONG.encode()

    play(look, STORES["file"](tmp_path, codec=Packed()))
    assert ph.verify(STORES["file"](tmp_path, codec=Packed())).is_sound
    with pytest.raises(ph.StoreError, match="codec"):
        play(ph.gc_blobs, STORES["file"](tmp_path))
    next((tmp_path / "tapes").rglob("*.coded")).unlink()
    assert [flaw.id for flaw in ph.verify(STORES["file"](tmp_path, codec=Packed())).flaws] == [2]
