"""Archiving, as tests that every store passes that archives; left out for all others. Nothing that is read shows it."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from pathlib import Path

from playhead.entry.entry import TapeEntry
from playhead.errors import BranchNotFound, KeyConflict
from playhead.store.archiving.retention import ArchivingStore
from playhead.store.change import MERGED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, sidecar_name
from playhead.store.protocol import WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.families import everything, forked
from playhead.testing.stage import StoreStage, entry_of, equal, keyed, note, raising, whole

_LENGTH = 150
_SIDE, _BRANCH = sidecar_name("t", "s"), branch_name("t", "b")


def _archiving(store: WholeStore) -> ArchivingStore:
    if not isinstance(store, ArchivingStore):
        raise unittest.SkipTest("the store does not archive")
    return store


def _entry(number: int) -> TapeEntry:
    """Return an entry of a long tape: anchors, keys, other kinds, and dates that do not rise are among them."""
    date = f"2026-{1 + number % 12:02}-01" if number % 17 == 0 else f"2026-06-{1 + number // 10:02}"
    meta = {"idempotency_key": f"key {number}"} if number % 10 == 3 else {}
    if number % 40 == 20:
        return entry_of("anchor", {"name": f"anchor {number}"}, date=date)
    return entry_of("note" if number % 3 else "odd", {"text": f"number {number}", "words": "the same words again " * 10}, meta=meta, date=date)


async def _long(store: WholeStore) -> None:
    """Write a long tape with a sidecar and a branch."""
    entries = [_entry(number) for number in range(_LENGTH)]
    await store.append_many("t", entries[:100])
    await store.append_many(_SIDE, [note(f"beside {number}") for number in range(70)])
    await store.append_many("t", entries[100:])
    await store.apply([Fork(tape=_BRANCH, parent="t", at=120)])
    await store.append_many(_BRANCH, [note(f"own {number}") for number in range(80)])


async def _read(store: WholeStore, tape: str) -> list[object]:
    """Return what many queries find of a tape."""
    query = TapeQuery(tape=tape)
    asked = [
        query.after(70).limit(3),
        query.before(90).newest_first().limit(4),
        query.kinds("odd", "anchor").after(40),
        query.between_dates("2026-06-03", "2026-06-05"),
        query.between_dates("2026-06-04", "2027-01-01").kinds("odd").newest_first(),
        query.query("number 77"),
        query.after_anchor("anchor 60").limit(2),
        query.between_anchors("anchor 20", "anchor 60"),
        query.last_anchor(),
        query.up_to(95).last_anchor(),
    ]
    found: list[object] = [list(await store.fetch_all(one)) for one in asked]
    found += [await store.count(one) for one in asked]
    found += [[(hit.entry, hit.score) for hit in await store.search(one, text)] for one, text in ((query, "number 42"), (query.limit(7), "same words"), (query.kinds("odd").after(40), "number"))]
    uids = [entry.uid for entry in await whole(store, tape)][::25]
    return [*found, dict(await store.find(tape, keys=["key 13", "key 103", "none"], uids=uids))]


async def _seen(store: WholeStore) -> list[object]:
    return [await everything(store, "t"), await _read(store, "t"), await _read(store, _BRANCH), await store.marks(_SIDE, after=20, limit=9)]


class ArchiveContract(StoreStage):
    """What `archive` promises: every read finds the same as before."""

    def test_what_is_archived_is_read_as_before(self, tmp_path: Path) -> None:
        """By id, kind, date, text, anchor, key and uid, from the tape, its branches and its sidecars."""

        async def scenario(store: WholeStore) -> None:
            keeper = _archiving(store)
            await _long(store)
            before = await _seen(store)
            for tape, upto in (("t", 30), (_SIDE, 64), ("t", 110), ("t", 50), (_BRANCH, 190), ("t", _LENGTH)):
                report = await keeper.archive(tape, upto=upto)
                equal((report.tape, report.before > report.after or not report.entries), (tape, True))
                equal(await _seen(store), before, f"behind the archiving of {tape} up to {upto}")
            await keeper.compact()
            equal(await _seen(store), before)

        self.play(tmp_path, scenario)

    def test_what_is_moved_is_told_and_moved_once(self, tmp_path: Path) -> None:
        """The newest entry may stay; what a branch shares is left to its parent."""

        async def scenario(store: WholeStore) -> None:
            keeper = _archiving(store)
            await _long(store)
            first, again, more = [await keeper.archive("t", upto=upto) for upto in (100, 90, 120)]
            equal([(r.upto, r.entries) for r in (first, again, more)], [(100, 100), (100, 0), (120, 20)])
            equal((again.before, again.after), (0, 0))
            own = await keeper.archive(_BRANCH, upto=150)
            equal((own.upto, own.entries), (150, 30))
            equal((await keeper.archive(_BRANCH, upto=120)).entries, 0)
            await store.apply([Close(tape=_BRANCH, outcome=MERGED)])
            record = await store.branch(_BRANCH)
            equal((await keeper.archive(_BRANCH, upto=180)).entries, 30)
            equal([await store.branch(_BRANCH), len(await whole(store, _BRANCH))], [record, 200])
            last = await keeper.archive("t", upto=10_000)
            equal(last.upto, min(last.upto, _LENGTH) if last.upto >= _LENGTH - 1 else _LENGTH)
            unknown = await keeper.archive("never written", upto=9)
            equal((unknown.upto, unknown.entries, await store.list_tapes()), (0, 0, ["t"]))
            with raising(BranchNotFound):
                await keeper.archive(branch_name("t", "never made"), upto=9)

        self.play(tmp_path, scenario)

    def test_a_tape_goes_on_behind_what_is_archived(self, tmp_path: Path) -> None:
        """Ids, keys, forks and resets are as they were."""

        async def scenario(store: WholeStore) -> None:
            keeper = _archiving(store)
            await _long(store)
            await keeper.archive("t", upto=140)
            (stands,) = await store.append_many("t", [_entry(13)])
            equal(stands.id, 14)
            with raising(KeyConflict):
                await store.append_many("t", [keyed("something else", "key 13")])
            equal((await store.append("t", note("goes on"))).id if hasattr(store, "append") else _LENGTH + 1, _LENGTH + 1)
            late = await forked(store, "t", "late", at=60)
            equal([entry.id for entry in await whole(store, late)], list(range(1, 61)))
            (stands,) = await store.append_many(late, [_entry(13)])
            equal(stands.id, 14)
            await store.apply([Reset(tape="t", entries=[note("anew")]), Append(tape="t", entries=[_entry(13)])])
            equal([entry.id for entry in await whole(store, "t")], [1, 2])
            equal(_texts(await whole(store, late))[:2], ["number 0", "number 1"])
            equal((await keeper.archive("t", upto=1)).entries, 1)
            equal(len(await whole(store, "t")), 2)

        self.play(tmp_path, scenario)

    def test_what_is_archived_is_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1."""
        seen: list[object] = []

        async def before(store: WholeStore) -> None:
            await _long(store)
            await _archiving(store).archive("t", upto=130)
            seen.append(await _seen(store))

        async def after(store: WholeStore) -> None:
            equal(await _seen(store), seen[0])
            equal((await _archiving(store).archive("t", upto=130)).entries, 0)

        self.play_again(tmp_path, before, after)


def _texts(entries: Sequence[TapeEntry]) -> list[object]:
    return [entry.payload.get("text") for entry in entries]
