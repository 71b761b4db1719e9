"""The sweep: what is young, named, kept elsewhere or unreadable stays; the rest goes, whoever uses the store meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.entry import codec
from playhead.store.adapt import adapt
from playhead.store.blobs import digest_of, names_in
from playhead.store.change import Append, Fork
from playhead.store.family import branch_name, sidecar_name
from playhead.store.file import marking
from playhead.store.rows.connection import migrate
from playhead.store.rows.statements import numbered
from playhead.testing.clock import FakeClock
from playhead.testing.stage import note
from playhead.testing.stores import AsyncListStore
from tests.unit.store.test_blobs import Packed
from tests.unit.tape.opened import KINDS

NOW = timedelta(0)
Opener = Callable[[], Any]


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda: KINDS[request.param](tmp_path)


@pytest.fixture(params=[kind for kind in KINDS if kind != "memory"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return lambda: KINDS[request.param](tmp_path)


def play(scenario: Callable[[Any], Awaitable[Any]], store: Any, *, backend: str = "asyncio") -> Any:
    async def go() -> Any:
        async with store:
            return await scenario(store)

    return anyio.run(go, backend=backend)


async def texts(store: Any) -> list[str]:
    return sorted([(await store.get_blob(blob.digest)).decode() for blob in await store.blobs()])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_blob_is_left_alone_for_the_grace_after_its_last_use(opened: Opener, backend: str):
    time = FakeClock()

    async def scenario(store: Any) -> None:
        with clock.using(time):
            await store.put_blob(b"a")
            await store.put_blob(b"b")
            time.advance(timedelta(hours=20))
            await store.put_blob(b"a")
            assert (await ph.gc_blobs(store)).unused == ()
            time.advance(timedelta(hours=5))
            report = await ph.gc_blobs(store)
            assert (report.blobs, report.recent, report.named, report.size) == (2, 1, 0, 1)
            assert str(report) == "2 blobs: 1 recent, 0 named, 1 unused (1 bytes)"
            assert await texts(store) == ["a"]
            await store.append_many("t", [note("x", ref=digest_of(b"a"))])
            await store.reset("t")
            time.advance(timedelta(hours=23))
            assert (await ph.gc_blobs(store)).recent == 1
            assert (await ph.unused_blobs(store, grace=timedelta(hours=22))).recent == 0

    play(scenario, opened(), backend=backend)


def test_an_older_use_that_comes_late_makes_no_blob_older(opened: Opener):
    time = FakeClock()

    async def scenario(store: Any) -> None:
        with clock.using(time):
            time.advance(timedelta(days=3))
            await store.put_blob(b"a")
            time.set(time.now() - timedelta(days=2))
            await store.put_blob(b"a")
            await store.append_many("t", [note(digest_of(b"a"))])
            assert await store.idle_blobs(since=time.now() + timedelta(days=1)) == []

    play(scenario, opened())


def test_what_is_kept_elsewhere_stays(opened: Opener, tmp_path: Path):
    async def scenario(store: Any) -> None:
        names = {text: (await store.put_blob(text.encode())).digest for text in ("listed", "archived", "below", "across blocks", "gone")}
        (tmp_path / "archives" / "deep").mkdir(parents=True)
        (tmp_path / "one.bak").write_text(f'{{"ref":"{names["archived"]}"}}\n')
        (tmp_path / "archives" / "deep" / "x.jsonl").write_text(names["below"])
        (tmp_path / "archives" / "long").write_text("x" * ((1 << 20) - 30) + names["across blocks"])
        report = await ph.gc_blobs(store, grace=NOW, keep=[names["listed"]], archives=[tmp_path / "one.bak", str(tmp_path / "archives")])
        assert [blob.digest for blob in report.unused] == [names["gone"]] and report.named == 4
        assert await texts(store) == ["across blocks", "archived", "below", "listed"]
        with pytest.raises(ph.FileMissing, match="no-such"):
            await ph.gc_blobs(store, archives=[tmp_path / "no-such"])
        with pytest.raises(ph.InvalidInput, match="called by its digest"):
            await ph.gc_blobs(store, keep=["x"])

    play(scenario, opened())


def test_a_store_that_cannot_collect_says_so():
    class Keeping(AsyncListStore):
        async def put_blob(self, data: bytes, *, mime: str | None = None) -> None: ...

        async def get_blob(self, digest: str) -> None: ...

        async def blobs(self) -> None: ...

    async def go() -> None:
        with pytest.raises(ph.InvalidInput, match="keeps no blobs"):
            await ph.gc_blobs(adapt(AsyncListStore()))
        with pytest.raises(ph.InvalidInput, match="methods of BlobCollector"):
            await ph.unused_blobs(Keeping())

    anyio.run(go)


def test_the_blocking_twins_do_the_same():
    store = ph.InMemoryTapeStore()
    blob = ph.sync.wait(store.put_blob, b"x")
    assert ph.sync.unused_blobs(store, grace=NOW).unused == (blob,)
    assert ph.sync.gc_blobs(store, grace=NOW).unused == (blob,)
    assert ph.sync.gc_blobs(store, grace=NOW).blobs == 0


def test_a_store_that_is_only_read_is_looked_at_and_not_changed(kept: Opener, tmp_path: Path):
    async def look(store: Any) -> None:
        assert len((await ph.unused_blobs(store, grace=NOW)).unused) == 1
        with pytest.raises(ph.ReadOnly):
            await ph.gc_blobs(store, grace=NOW)

    play(lambda store: store.put_blob(b"x"), kept())
    path = tmp_path / "tapes.db"
    play(look, ph.SQLiteTapeStore(path, read_only=True) if path.exists() else ph.FileTapeStore(tmp_path / "tapes", read_only=True))


def test_where_an_entry_is_damaged_nothing_is_removed(kept: Opener, tmp_path: Path):
    async def write(store: Any) -> None:
        digest = (await store.put_blob(b"a")).digest
        await store.append_many("t", [note("a"), note(digest), note("b")])
        await store.put_blob(b"unused")

    async def look(store: Any) -> None:
        with pytest.raises(ph.StoreDamaged):
            await ph.gc_blobs(store, grace=NOW)
        assert await texts(store) == ["a", "unused"]

    play(write, kept())
    path = tmp_path / "tapes.db"
    if path.exists():
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE entries SET body = replace(body, 'sha256', 'sha257') WHERE eid & 4294967295 = 2")
    else:
        path = tmp_path / "tapes" / "t.jsonl"
        path.write_bytes(path.read_bytes().replace(b"sha256", b"sha257", 1))
    play(look, kept())


def test_a_torn_end_that_was_never_acknowledged_stops_nobody_and_keeps_what_it_names(tmp_path: Path):
    async def write(store: Any) -> str:
        await store.append_many("t", [note("a")])
        await store.put_blob(b"unused")
        return (await store.put_blob(b"torn")).digest

    digest = play(write, KINDS["file"](tmp_path))
    with (tmp_path / "tapes" / "t.jsonl").open("ab") as file:
        file.write(b'{"id":2,"kind":"note","payload":{"text":"%b' % digest.encode())

    async def look(store: Any) -> None:
        await ph.gc_blobs(store, grace=NOW)
        assert await texts(store) == ["torn"]

    play(look, KINDS["file"](tmp_path))


def test_lines_of_other_programs_name_blobs_in_their_own_spelling(tmp_path: Path):
    async def put(store: Any) -> list[str]:
        return [(await store.put_blob(text)).digest for text in (b"plain", b"escaped", b"within", b"unused")]

    plain, escaped, within, _ = play(put, KINDS["file"](tmp_path))
    spelt = "".join(f"\\u{ord(c):04x}" for c in escaped)
    lines = [
        f'{{"id":1,"kind":"note","payload":{{"ref":"{plain}"}},"meta":{{}}}}',
        f'{{"id":2,"kind":"note","payload":{{"ref":"{spelt}"}},"meta":{{}}}}',
    ]
    (tmp_path / "tapes" / "older.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "tapes" / "notes.txt").write_text(f"see {within}")

    async def look(store: Any) -> None:
        await ph.gc_blobs(store, grace=NOW)
        assert await texts(store) == ["escaped", "plain", "within"]

    play(look, KINDS["file"](tmp_path))


def test_what_a_codec_hides_is_seen_with_it_and_refused_without(tmp_path: Path):
    async def write(store: Any) -> None:
        await store.append_many("t", [note((await store.put_blob(b"named")).digest)])
        await store.append_many(sidecar_name("t", "s"), [note("x", ref=(await store.put_blob(b"beside")).digest)])
        await store.put_blob(b"unused")

    def coded(codec: Any = None) -> Any:
        return ph.FileTapeStore(tmp_path, durability="process", codec=codec)

    async def look(store: Any) -> None:
        await ph.gc_blobs(store, grace=NOW)
        assert await texts(store) == ["beside", "named"]

    play(write, coded(Packed()))
    with pytest.raises(ph.StoreError, match="was written with a codec"):
        play(lambda store: ph.gc_blobs(store, grace=NOW), coded())
    play(look, coded(Packed()))


@pytest.mark.parametrize("by", [None, Packed()], ids=["plain", "coded"])
def test_a_change_that_was_begun_and_not_finished_names_what_it_will_write(tmp_path: Path, by: Any):
    async def write(store: Any) -> bytes:
        await store.append_many("t", [note((await store.put_blob(b"begun")).digest)])
        await store.put_blob(b"unused")
        return (tmp_path / "t.jsonl").read_bytes()

    lines = play(write, ph.FileTapeStore(tmp_path, durability="process", codec=by))
    (tmp_path / "t.jsonl").unlink()
    (tmp_path / ".playhead" / "t.redo").write_bytes(codec.encode({"steps": [["append", "t", 0, lines.decode()]]}) + b"\n")

    async def look(store: Any) -> None:
        found = frozenset().union(*[part.digests async for part in store.named_blobs()])
        assert found == {digest_of(b"begun")}

    play(look, ph.FileTapeStore(tmp_path, durability="process", codec=by))


def marked(store: Any) -> Iterator[frozenset[str]]:
    return (part.digests for part in marking.marked(store._place))


def test_a_tape_that_gets_another_name_while_files_are_looked_through_is_seen(tmp_path: Path):
    async def scenario(store: Any) -> None:
        for name in ("a", "m", "z"):
            await store.append_many(name, [note(digest_of(name.encode()))])
        parts = marked(store)
        found = set(next(parts))
        await store.rename("z", "0")
        await store.rename("m", "n")
        assert found | set().union(*parts) == {digest_of(name) for name in (b"a", b"m", b"z")}

    play(scenario, KINDS["file"](tmp_path))


def test_a_file_that_is_written_anew_under_another_name_makes_what_it_names_young(tmp_path: Path):
    async def scenario(store: Any) -> None:
        names = [(await store.put_blob(text)).digest for text in (b"a", b"b")]
        trial = branch_name("t", "trial")
        await store.append_many("t", [note("x")])
        await store.apply([Fork(tape=trial, parent="t"), Append(tape=trial, entries=[ph.TapeEntry.anchor("a"), note(names[0]), note("x", ref=names[1])])])
        since = clock.now()
        assert len(await store.idle_blobs(since=since)) == 2
        parts = store.named_blobs()
        await anext(parts)
        await store.rename(trial, branch_name("t", "other"))
        assert await store.idle_blobs(since=since) == []
        await parts.aclose()

    play(scenario, KINDS["file"](tmp_path))


def test_a_long_file_is_looked_through_in_parts(tmp_path: Path):
    async def scenario(store: Any) -> None:
        lines = [note("x" * 200_000), note(digest_of(b"near"))]
        for _ in range(50):
            await store.append_many("t", lines)
        await store.append_many("t", [note(digest_of(b"far"))])
        told = [(part.done, part.total) async for part in store.named_blobs()]
        assert len(told) > 1 and told == sorted(told) and told[-1][0] == told[-1][1]
        assert {digest_of(b"near"), digest_of(b"far")} <= set().union(*[part.digests async for part in store.named_blobs()])

    play(scenario, KINDS["file"](tmp_path))


def test_a_long_table_is_looked_through_in_parts(tmp_path: Path):
    async def scenario(store: Any) -> None:
        await store.append_many("t", [note(digest_of(b"%d" % (number % 7))) for number in range(4_500)])
        parts = [(part.done, part.total, len(part.digests)) async for part in store.named_blobs()]
        assert parts == [(2_000, 4_500, 7), (4_000, 4_500, 7), (4_500, 4_500, 7)]

    play(scenario, KINDS["sqlite"](tmp_path))


def test_blobs_of_an_older_file_have_the_age_they_were_put_at(tmp_path: Path):
    path = tmp_path / "tapes.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, path=str(path))
        connection.execute("DROP TABLE blob_ages")
        connection.execute("DELETE FROM schema_version WHERE v >= ?", (numbered().index("0004_blob_ages") + 1,))
        for text, days in (b"old", 3), (b"new", 0):
            at = int((clock.now() - timedelta(days=days)).timestamp() * 1e6)
            connection.execute("INSERT INTO blobs (root_no, digest, size, data, created_at) VALUES (0, ?, 3, ?, ?)", (bytes.fromhex(digest_of(text)[7:]), text, at))

    async def look(store: Any) -> None:
        assert [blob.digest for blob in (await ph.gc_blobs(store)).unused] == [digest_of(b"old")]
        assert await texts(store) == ["new"]

    play(look, ph.SQLiteTapeStore(path))
    assert ph.verify(path).is_sound


def test_a_tape_tells_what_it_and_its_sidecars_refer_to(opened: Opener):
    async def scenario(store: Any) -> None:
        tape = ph.Tape(store, "t", context=ph.default_tape_context(anchor=None))
        names = [(await store.put_blob(b"%d" % number)).digest for number in range(600)]
        lost = digest_of(b"never put")
        await store.append_many("t", [note("x", picture={"ref": name}) for name in [*names[:590], names[0]]])
        await tape.append(ph.user([ph.Text(text=names[595]), ph.Media(kind="image", ref=names[590]), ph.Media(kind="image", ref=lost)]))
        await store.append_many(sidecar_name("t", "s"), [ph.TapeEntry.event("e", {"deep": [{"ref": names[591]}]})])
        await store.append_many("other", [ph.TapeEntry.event("e", {"ref": names[592]})])
        assert [digest async for digest in tape.blob_refs()] == [*names[:590], names[590], lost, names[591]]
        branch = await tape.fork(3)
        assert [digest async for digest in branch.blob_refs()] == names[:3]
        assert [digest async for digest in tape.at(2).blob_refs()][:2] == names[:2]
        async with ph.InMemoryTapeStore() as other:
            await tape.copy("copy", store=other)
            assert {blob.digest for blob in await other.blobs()} == set(names[:592])

    play(scenario, opened())


def test_names_are_found_wherever_they_stand():
    one, two = digest_of(b"1"), digest_of(b"2")
    assert names_in(b"") == names_in(b"sha256:12") == names_in(one.upper().encode()) == frozenset()
    assert names_in(f"{one}{two} x{one}0".encode()) == {one, two}
