"""What any version wrote is read by this one and gone on with, and what leaves the process is written as it ever was.

`sqlite.sql` and `postgres.sql` are stores as each version of their tables kept them: a new migration takes what is written behind it
to their end. `export`, `export.tar.txt` and `files` are the forms that leave the process; where one of them gets another version, the
new one has its place beside the old one, which is read for ever.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest

import playhead as ph
from playhead import clock
from playhead.errors import KeyConflict, LeaseHeld, LeaseLost
from playhead.store.archiving.retention import archiving
from playhead.store.change import MERGED, Append, Close, Fork
from playhead.store.family import branch_name
from playhead.store.protocol import IDEMPOTENCY_KEY, Head
from playhead.store.rows.statements import numbered
from playhead.testing import FakeClock
from playhead.testing.stage import keyed, note
from tests.golden.stores.older import FOLDERS, HERE, make_postgres, make_sqlite, written
from tests.golden.stores.written import DROPPED, KEY, LETTER, LIMIT, LONG, LONG_KEY, ODD_UID, PICTURE, SHORT, SPILL, START, TAPE, TRIAL, uid, write
from tests.stores import KEPT, URL, opened

OLDER = [(kind, step) for kind, folder in FOLDERS.items() for step in range(1, len(numbered(folder)) + 1)]
EVERY = ["memory", *KEPT]
SEARCHES = [(SHORT, "w13"), (SHORT, "tick w2"), (LONG, "tunnel"), (DROPPED, "mtu"), (TAPE, "drops again"), (TRIAL, "vpn")]

Ids = list[int]
Hits = dict[tuple[str, str], list[tuple[int, float]]]


def contents(directory: Path) -> dict[str, bytes]:
    """Return what the files of a directory hold, but for locks."""
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file() and path.suffix != ".lock" and path.name != ".lock"}


def tar() -> bytes:
    """Return the golden tar: in its text, runs of NUL are told by their length."""
    return re.sub(rb"<NUL (\d+)>", lambda run: b"\0" * int(run[1]), (HERE / "export.tar.txt").read_bytes())


def played(kind: str, place: Path, scenario: Callable[[Any], Any], *, at: timedelta = timedelta()) -> Any:
    """Run a scenario on the store at a place, some time after it was begun, and return what it returns."""

    async def play() -> Any:
        options = {} if kind == "memory" else {"durability": "process", "inline_limit": LIMIT}
        with clock.using(FakeClock(START + at)) as now:
            store = opened(kind, place, **options)
            try:
                return await scenario(store, now)
            finally:
                await store.aclose()

    return anyio.run(play)


@cache
def hits() -> Hits:
    """Return what a store in memory that was just written finds."""

    async def scenario(store: ph.InMemoryTapeStore, now: FakeClock) -> Hits:
        await write(store, now)
        return {(tape, text): await found(store, tape, text) for tape, text in SEARCHES}

    return played("memory", HERE, scenario)


async def found(store: Any, tape: str, text: str) -> list[tuple[int, float]]:
    return [(hit.entry.id, hit.score) for hit in await store.search(ph.TapeQuery(tape=tape), text)]


async def ids(store: Any, query: ph.TapeQuery) -> Ids:
    return [entry.id for entry in await store.fetch_all(query)]


async def check(store: Any, place: Path, *, hits: Hits) -> None:
    """Read all that a store holds, to the byte, and ask for some of it in every way there is."""
    await ph.export_store(store, place)
    assert contents(place) == contents(HERE / "export")
    standing = await store.find(DROPPED, keys=[KEY, LONG_KEY, "no key"], uids=[ODD_UID, uid(18)])
    assert {name: entry.id for name, entry in standing.items()} == {KEY: 8, LONG_KEY: 9, ODD_UID: 10, uid(18): 13}
    query = ph.TapeQuery(tape=DROPPED)
    assert await ids(store, query.after_anchor("diagnosed")) == [12, 13]
    assert await ids(store, query.between_anchors("session/start", "diagnosed").newest_first().limit(2)) == [10, 9]
    assert await ids(store, query.between_dates("9999-12-31", "9999-12-31")) == [6]
    assert await ids(store, query.kinds("tool_call", "tool_result", "system")) == [2, 4, 5]
    assert await ids(store, ph.TapeQuery(tape=SHORT).kinds("event").after(38).limit(4)) == [39, 40, 41, 42]
    assert await store.get_blob(next(blob.digest for blob in await store.blobs() if blob.size == len(PICTURE))) == PICTURE
    assert [entry.payload["content"] for entry in await store.fetch_all(ph.TapeQuery(tape=LONG).limit(1))] == [LETTER]
    assert await store.marks(SPILL) == [Head(0, 3), Head(0, 6)]
    assert [await store.cursor(TAPE, "mail"), await store.cursor(TRIAL, "merge")] == [Head(1, 2), Head(0, 6)]
    assert {(tape, text): await found(store, tape, text) for tape, text in SEARCHES} == hits


async def go_on(store: Any, *, epoch: int) -> None:
    """Append to each kind of tape, fork, merge, archive and reset, as if nothing had been in between; `epoch` is that of the lease that ran out."""
    assert [entry.id for entry in await store.append_many(TAPE, [note("on"), keyed("kept once", "another key")], fence=epoch)] == [5, 6]
    (standing,) = await store.append_many(TRIAL, [note("on the trial")])
    assert standing.id == 7
    merged = ph.TapeEntry(0, "merge", {"of": "taken"}, {IDEMPOTENCY_KEY: "merge taken"})
    assert [entry.id for entry in await store.append_many(TAPE, [merged])] == [4]
    with pytest.raises(KeyConflict):
        await store.append_many(TAPE, [keyed("another body", "merge taken")])
    await store.append_many(SPILL, [note("beside it")])
    assert await store.marks(SPILL, after=2) == [Head(1, 6)]
    branch = branch_name(TAPE, "new")
    await store.apply([Fork(tape=branch, parent=TAPE, at=2)])
    own = await store.append_many(branch, [note("on a new branch")])
    await store.apply([Append(tape=TAPE, entries=own), Close(tape=branch, outcome=MERGED)])
    assert (own[0].id, await store.head(TAPE)) == (3, Head(1, 7))
    assert [entry.id for entry in await store.append_many(SHORT, [note("w13 once more")])] == [67]
    assert (await archiving(store).archive(SHORT, upto=60)).upto <= 60
    assert (await found(store, SHORT, "w13 once more"))[0][0] == 67
    await store.reset(LONG, entries=[note("begun again")])
    lease = await store.lease(TAPE, owner="three", seconds=60)
    assert lease.epoch == epoch + 1
    with pytest.raises(LeaseLost):
        await store.append_many(TAPE, [note("too late")], fence=epoch)
    assert [entry.id for entry in await store.append_many(TAPE, [note("in time")], fence=lease.epoch)] == [8]


async def is_leased(store: Any, now: FakeClock) -> None:
    """Find the lease that stood still standing, and who held it before shut out."""
    with pytest.raises(LeaseHeld, match="two"):
        await store.lease(TAPE, owner="three", seconds=60)
    with pytest.raises(LeaseLost):
        await store.append_many(TAPE, [note("too late")], fence=1)


def check_and_go_on(kind: str, place: Path, *, epoch: int) -> None:
    """Read a golden store, go on with it, and prove it before and after."""

    async def goes_on(store: Any, now: FakeClock) -> None:
        await go_on(store, epoch=epoch)

    wanted = hits()
    assert all(wanted.values())
    played(kind, place, lambda store, now: check(store, place / "exported", hits=wanted))
    assert ph.verify(opened(kind, place)).is_sound
    if epoch:
        played(kind, place, is_leased, at=timedelta(seconds=200))
    played(kind, place, goes_on, at=timedelta(days=1))
    report = ph.verify(opened(kind, place))
    assert report.is_sound, str(report)

    async def heads(store: Any, now: FakeClock) -> list[Head]:
        return [await store.head(tape) for tape in (TAPE, TRIAL, SPILL, SHORT, LONG)]

    assert played(kind, place, heads) == [Head(1, 8), Head(0, 7), Head(0, 3), Head(0, 67), Head(1, 1)]


def test_every_migration_has_what_was_written_behind_it():
    for kind, folder in FOLDERS.items():
        assert list(written(kind)) == [Path(name).name for name in numbered(folder)]


@pytest.mark.parametrize(("kind", "step"), OLDER)
def test_a_store_of_every_version_of_the_tables_is_read_and_gone_on_with(tmp_path: Path, kind: str, step: int, request: pytest.FixtureRequest):
    if kind == "sqlite":
        make_sqlite(tmp_path / "tapes.db", step=step)
    else:
        (tmp_path / URL).write_text(request.getfixturevalue("empty_postgres_url"))
        make_postgres((tmp_path / URL).read_text(), step=step)
    check_and_go_on(kind, tmp_path, epoch=2)


def test_the_golden_files_of_tapes_are_read_and_gone_on_with(tmp_path: Path):
    shutil.copytree(HERE / "files", tmp_path / "tapes")
    check_and_go_on("file", tmp_path, epoch=2)
    branch = Path("support%2F42.family") / "trial.branch.jsonl"
    assert (tmp_path / "tapes" / branch).read_bytes().startswith((HERE / "files" / branch).read_bytes()), "what stood there was written anew"


def test_the_files_of_tapes_are_written_as_the_golden_ones(tmp_path: Path):
    played("file", tmp_path, write)
    assert contents(tmp_path / "tapes") == contents(HERE / "files")


@pytest.mark.parametrize("kind", EVERY)
def test_every_store_exports_the_golden_bytes(store_place: Path, kind: str):
    async def scenario(store: Any, now: FakeClock) -> None:
        await write(store, now)
        await ph.export_store(store, store_place / "export")
        await ph.export_store(store, store_place / "export.tar", tapes=[TAPE])

    played(kind, store_place, scenario)
    assert contents(store_place / "export") == contents(HERE / "export")
    assert (store_place / "export.tar").read_bytes() == tar()


@pytest.mark.parametrize("kind", KEPT)
def test_the_golden_export_is_imported_and_gone_on_with(store_place: Path, kind: str):
    async def scenario(store: Any, now: FakeClock) -> None:
        assert (await ph.import_store(HERE / "export", store)).tapes == (LONG, TAPE, SHORT)

    played(kind, store_place, scenario)
    check_and_go_on(kind, store_place, epoch=0)


@pytest.mark.parametrize("kind", EVERY)
def test_the_golden_tar_is_imported_and_exported_as_it_was(store_place: Path, kind: str):
    (store_place / "golden.tar").write_bytes(tar())

    async def scenario(store: Any, now: FakeClock) -> None:
        assert (await ph.import_store(store_place / "golden.tar", store)).tapes == (TAPE,)
        await ph.export_store(store, store_place / "again.tar")

    played(kind, store_place, scenario)
    assert (store_place / "again.tar").read_bytes() == tar()


@pytest.mark.parametrize("file", ["manifest.json", "tapes/letters.jsonl"])
def test_an_export_of_a_newer_version_is_refused(tmp_path: Path, file: str):
    shutil.copytree(HERE / "export", tmp_path / "export")
    path, manifest = tmp_path / "export" / file, tmp_path / "export" / "manifest.json"
    before = sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text(encoding="utf-8").replace('"version":1', '"version":2', 1), encoding="utf-8")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(before, sha256(path.read_bytes()).hexdigest()), encoding="utf-8")

    async def scenario(store: Any, now: FakeClock) -> None:
        with pytest.raises(ph.UnreadableFile, match="newer version"):
            await ph.import_store(tmp_path / "export", store)
        assert await store.list_tapes() == []

    played("memory", tmp_path, scenario)
