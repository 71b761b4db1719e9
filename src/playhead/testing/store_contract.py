"""The promises of a store as tests: inherit them, say how to open the store, run pytest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, InvalidInput, KeyConflict
from playhead.store.protocol import EMPTY, IDEMPOTENCY_KEY, Head, WholeStore
from playhead.store.query import TapeQuery
from playhead.testing.archive_contract import ArchiveContract
from playhead.testing.blob_contract import BlobContract
from playhead.testing.branch_contract import BranchContract
from playhead.testing.change_contract import ChangeContract
from playhead.testing.collection_contract import CollectionContract
from playhead.testing.copy_contract import CopyContract
from playhead.testing.large_contract import LargeContract
from playhead.testing.lease_contract import LeaseContract
from playhead.testing.query_contract import QueryContract
from playhead.testing.search_contract import SearchContract
from playhead.testing.sidecar_contract import SidecarContract
from playhead.testing.stage import entry_of, equal, keyed, note, raising, whole

_NAMES = ("../x", "/etc/passwd", "a/b", "a\\b", ".", "CON", "a b", "x" * 3_000, "Case", "case", "日本語", "🙂", "%_", "'; --", "tab\there")
_VALUES: Sequence[object] = (
    "plain", "", "Grüße, 日本語, 🙂", "half \ud83d alone", "NUL \0 inside", "line\nbreak", '"quoted" \\ back', "\u2028", None, True, False,
    0, -1, 2**63, 2**64, 10**40, -(10**30), 0.1, 1e300, -2.5e-10, [], {}, [[], {}, [None]], {"z": 1, "a": {"deep": [1, {"er": "x"}]}}, {"": "empty key"},
)  # fmt: skip


class StoreContract(QueryContract, SearchContract, BranchContract, ChangeContract, SidecarContract, LeaseContract, BlobContract, CollectionContract, LargeContract, CopyContract, ArchiveContract):
    """D1 to D6, what queries return, branches and sidecars, archiving, for any store: blocking, async, with four methods or whole.

        class TestMyStore(playhead.testing.StoreContract):
            def open_store(self, place: Path) -> MyStore:
                return MyStore(place)

    Tests of promises that the store does not make are left out; those of reopening, too, unless the store has a
    `durability` other than "memory", and those of blobs and of archiving where it does without or collects none. Each test runs its own event loop, so pytest needs no plugin.
    """

    def test_ids_are_dense_from_one_on_each_tape(self, tmp_path: Path) -> None:
        """D3."""

        async def scenario(store: WholeStore) -> None:
            equal([e.id for e in await _notes(store, "a", 3)], [1, 2, 3])
            equal([e.id for e in await _notes(store, "b", 2)], [1, 2])
            equal([e.id for e in await store.append_many("a", [note("x"), note("y")])], [4, 5])
            equal([e.id for e in await whole(store, "a")], [1, 2, 3, 4, 5])

        self.play(tmp_path, scenario)

    def test_appends_at_the_same_time_each_get_their_own_id(self, tmp_path: Path) -> None:
        """D3."""

        async def scenario(store: WholeStore) -> None:
            stored: list[TapeEntry] = []

            async def write(who: int) -> None:
                for i in range(8):
                    stored.extend(await store.append_many("t", [note(f"{who}.{i}")]))

            async with anyio.create_task_group() as tasks:
                for who in range(8):
                    tasks.start_soon(write, who)
            kept = await whole(store, "t")
            equal([e.id for e in kept], list(range(1, 65)))
            equal({e.id: e for e in stored}, {e.id: e for e in kept}, "what the appends returned")
            for who in range(8):
                equal([e.payload["text"] for e in kept if e.payload["text"].startswith(f"{who}.")], [f"{who}.{i}" for i in range(8)], "order of one writer")

        self.play(tmp_path, scenario)

    def test_a_given_entry_stays_as_it_is(self, tmp_path: Path) -> None:
        """D4: the entry that was handed in has no id afterwards, also one that has its uid already."""

        async def scenario(store: WholeStore) -> None:
            plain, known = note("x"), note("y", uid="0190a0b0-0000-7000-8000-000000000001")
            stored = await store.append_many("t", [plain, known])
            equal([plain.id, known.id, plain.uid], [0, 0, ""])
            equal([stored[0].uid != "", stored[1].uid], [True, known.uid])

        self.play(tmp_path, scenario)

    def test_an_append_returns_what_a_later_read_returns(self, tmp_path: Path) -> None:
        """D4."""

        async def scenario(store: WholeStore) -> None:
            written = [*await _notes(store, "t", 2), *await store.append_many("t", [note("c", run_id="r"), TapeEntry.anchor("a", {"k": [1]})])]
            equal(await whole(store, "t"), written)
            equal(await whole(store, "t"), written, "read again")

        self.play(tmp_path, scenario)

    def test_every_json_value_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """D4."""

        async def scenario(store: WholeStore) -> None:
            for value in _VALUES:
                await store.append_many("t", [TapeEntry.event("e", {"value": value}, note=value)])
            kept = await whole(store, "t")
            for value, entry in zip(_VALUES, kept, strict=True):
                equal(entry.payload["data"]["value"], value)
                equal(type(entry.payload["data"]["value"]) in (type(value), *type(value).__subclasses__()), wanted=True, what=f"type of {value!r}")
                equal(entry.meta["note"], value)
            equal(list(kept[_VALUES.index({"z": 1, "a": {"deep": [1, {"er": "x"}]}})].payload["data"]["value"]), ["z", "a"], "order of keys")

        self.play(tmp_path, scenario)

    def test_kind_and_date_come_back_as_they_were(self, tmp_path: Path) -> None:
        """R-003: any text is a kind; dates are instants in UTC, to the microsecond."""

        async def scenario(store: WholeStore) -> None:
            dates = ["2026-03-01T12:00:00.123456+02:00", "1969-12-31T23:59:59.999999Z", "2026-03-01", "0001-01-01", "9999-12-31T23:59:59.999999"]
            await store.append_many("t", [entry_of("kind of 我", {}, date=date) for date in dates])
            kept = await whole(store, "t")
            equal({e.kind for e in kept}, {"kind of 我"})
            equal([e.date for e in kept], [entry_of("k", {}, date=date).date for date in dates])

        self.play(tmp_path, scenario)

    def test_later_changes_of_the_source_do_not_reach_the_tape(self, tmp_path: Path) -> None:
        """D4."""

        async def scenario(store: WholeStore) -> None:
            content = ["one", {"two": 2}]
            await store.append_many("t", [TapeEntry.message({"role": "user", "content": content})])
            content.append("three")
            (kept,) = await whole(store, "t")
            with raising(TypeError):
                kept.payload["content"].append("four")
            equal([e.payload["content"] for e in await whole(store, "t")], [["one", {"two": 2}]])

        self.play(tmp_path, scenario)

    def test_a_large_entry_is_kept_whole(self, tmp_path: Path) -> None:
        """D4."""

        async def scenario(store: WholeStore) -> None:
            text = "0123456789abcdef" * 200_000
            await store.append_many("t", [note(text), note("after")])
            equal([e.payload["text"] == text for e in await whole(store, "t")], [True, False])

        self.play(tmp_path, scenario)

    def test_any_name_is_a_tape_of_its_own(self, tmp_path: Path) -> None:
        """Names are compared as they are and never reach a file system or a pattern."""

        async def scenario(store: WholeStore) -> None:
            for name in _NAMES:
                await store.append_many(name, [note(name)])
            for name in _NAMES:
                equal([e.payload["text"] for e in await whole(store, name)], [name])
            equal(await store.list_tapes(), sorted(_NAMES))

        self.play(tmp_path, scenario)

    def test_a_name_that_cannot_be_kept_is_refused(self, tmp_path: Path) -> None:
        """The empty name, NUL, and half a surrogate pair raise InvalidInput and leave nothing behind."""

        async def scenario(store: WholeStore) -> None:
            for name in ("", "a\0b", "a\ud800"):
                with raising(InvalidInput):
                    await store.append_many(name, [note("x")])
                with raising(InvalidInput):
                    await store.fetch_all(TapeQuery(tape=name))
                with raising(InvalidInput):
                    await store.head(name)
            equal(await store.list_tapes(), [])

        self.play(tmp_path, scenario)

    def test_an_entry_that_cannot_be_kept_leaves_its_batch_unwritten(self, tmp_path: Path) -> None:
        """D2."""

        async def scenario(store: WholeStore) -> None:
            await _notes(store, "t", 1)
            for bad in (note("x", uid=7), note("x", **{IDEMPOTENCY_KEY: 7}), {"role": "user"}):
                with raising(InvalidInput):
                    await store.append_many("t", [note("good"), bad])  # type: ignore[list-item]
            equal(await store.head("t"), Head(0, 1))

        self.play(tmp_path, scenario)

    def test_no_reader_sees_a_part_of_a_batch(self, tmp_path: Path) -> None:
        """D2."""

        async def scenario(store: WholeStore) -> None:
            seen: list[int] = []
            done = anyio.Event()

            async def read() -> None:
                while not done.is_set():
                    seen.append(len(await whole(store, "t")))
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                for _ in range(20):
                    await store.append_many("t", [note(str(i)) for i in range(10)])
                    await anyio.lowlevel.checkpoint()
                done.set()
            equal([n for n in seen if n % 10], [])

        self.play(tmp_path, scenario, needs="D2")

    def test_no_other_entry_stands_inside_a_batch(self, tmp_path: Path) -> None:
        """D2, D3."""

        async def scenario(store: WholeStore) -> None:
            async def write(who: str) -> None:
                for _ in range(5):
                    await store.append_many("t", [note(who) for _ in range(5)])

            async with anyio.create_task_group() as tasks:
                for who in "abcd":
                    tasks.start_soon(write, who)
            texts = [e.payload["text"] for e in await whole(store, "t")]
            equal([texts[i : i + 5] for i in range(0, 100, 5) if len(set(texts[i : i + 5])) > 1], [])

        self.play(tmp_path, scenario)

    def test_a_key_is_accepted_once(self, tmp_path: Path) -> None:
        """D5: the same key again returns the entry that stands, whatever its meta or the order of its payload's keys."""

        async def scenario(store: WholeStore) -> None:
            (first,) = await store.append_many("t", [TapeEntry.event("e", {"a": 1, "b": 2}, idempotency_key="k")])
            await _notes(store, "t", 2)
            again = await store.append_many("t", [entry_of("event", {"data": {"b": 2, "a": 1}, "name": "e"}, meta={IDEMPOTENCY_KEY: "k", "other": 1})])
            equal(again, (first,))
            mixed = await store.append_many("t", [note("new"), keyed("twice", "l"), keyed("twice", "l"), TapeEntry.event("e", {"a": 1, "b": 2}, idempotency_key="k")])
            equal([e.id for e in mixed], [4, 5, 5, 1])
            equal([e.id for e in await store.append_many("other", [keyed("x", "k")])], [1], "keys are each tape's own")

        self.play(tmp_path, scenario, needs="D5")

    def test_a_key_with_another_body_changes_nothing(self, tmp_path: Path) -> None:
        """D5."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [keyed("x", "k")])
            for batch in ([keyed("y", "k")], [note("new"), keyed("y", "k")], [keyed("one", "l"), keyed("two", "l")]):
                with raising(KeyConflict):
                    await store.append_many("t", batch)
            with raising(KeyConflict):
                await store.append_many("t", [entry_of("other kind", {"text": "x"}, meta={IDEMPOTENCY_KEY: "k"})])
            equal(await store.head("t"), Head(0, 1))

        self.play(tmp_path, scenario, needs="D5")

    def test_the_same_key_from_many_writers_is_one_entry(self, tmp_path: Path) -> None:
        """D5."""

        async def scenario(store: WholeStore) -> None:
            async with anyio.create_task_group() as tasks:
                for _ in range(16):
                    tasks.start_soon(store.append_many, "t", [keyed("x", "k")])
            equal(await store.head("t"), Head(0, 1))

        self.play(tmp_path, scenario, needs="D5")

    def test_another_head_than_expected_changes_nothing(self, tmp_path: Path) -> None:
        """D6."""

        async def scenario(store: WholeStore) -> None:
            await store.append_many("t", [note("x")], expected_head=EMPTY)
            for wrong in (EMPTY, Head(0, 2), Head(1, 1)):
                with raising(Conflict) as caught:
                    await store.append_many("t", [note("y")], expected_head=wrong)
                equal([getattr(error, "found", None) for error in caught], [Head(0, 1)])
                with raising(Conflict):
                    await store.reset("t", expected_head=wrong)
            equal(await store.head("t"), Head(0, 1))
            await store.append_many("t", [note("y")], expected_head=Head(0, 1))
            equal(await store.head("t"), Head(0, 2))

        self.play(tmp_path, scenario, needs="D6")

    def test_of_writers_that_expect_the_same_head_one_wins(self, tmp_path: Path) -> None:
        """D6."""

        async def scenario(store: WholeStore) -> None:
            lost: list[str] = []

            async def write(who: str) -> None:
                try:
                    await store.append_many("t", [note(who)], expected_head=EMPTY)
                except Conflict:
                    lost.append(who)

            async with anyio.create_task_group() as tasks:
                for who in "abcdefgh":
                    tasks.start_soon(write, who)
            equal([len(lost), await store.head("t")], [7, Head(0, 1)])

        self.play(tmp_path, scenario, needs="D6")

    def test_a_replayed_key_does_not_compare_the_head(self, tmp_path: Path) -> None:
        """D5, D6: a retry of what was kept succeeds although the tape has moved since."""

        async def scenario(store: WholeStore) -> None:
            first = await store.append_many("t", [keyed("x", "k")], expected_head=EMPTY)
            equal(await store.append_many("t", [keyed("x", "k")], expected_head=EMPTY), first)
            with raising(Conflict):
                await store.append_many("t", [keyed("x", "k"), note("new")], expected_head=EMPTY)

        self.play(tmp_path, scenario, needs="D6")

    def test_reset_removes_the_tape_and_starts_at_one(self, tmp_path: Path) -> None:
        """R-100."""

        async def scenario(store: WholeStore) -> None:
            await _notes(store, "t", 70)
            await _notes(store, "other", 1)
            await store.reset("never written")
            equal(await store.head("never written"), EMPTY)
            await store.reset("t")
            equal([await whole(store, "t"), await store.list_tapes(), await store.head("t")], [[], ["other"], Head(1, 0)])
            equal([e.id for e in await _notes(store, "t", 2)], [1, 2])
            equal([await store.list_tapes(), await store.head("t")], [["other", "t"], Head(1, 2)])

        self.play(tmp_path, scenario)

    def test_reset_starts_the_next_generation_with_the_given_entries(self, tmp_path: Path) -> None:
        """R-100, D5: keys and uids of the old generation are forgotten with it."""

        async def scenario(store: WholeStore) -> None:
            (old,) = await store.append_many("t", [keyed("x", "k")])
            fresh = await store.reset("t", entries=[TapeEntry.anchor("start"), keyed("another body", "k")])
            equal([e.id for e in fresh], [1, 2])
            equal(await whole(store, "t"), list(fresh))
            equal(await store.find("t", keys=["k"], uids=[old.uid]), {"k": fresh[1]})
            equal(await store.head("t"), Head(1, 2))

        self.play(tmp_path, scenario)

    def test_entries_are_found_by_key_and_by_uid(self, tmp_path: Path) -> None:
        """Any number of them, near the end of the tape and far from it; what is on another tape is not found."""

        async def scenario(store: WholeStore) -> None:
            kept = await store.append_many("t", [keyed(str(i), f"key {i}") for i in range(200)])
            odd = await store.append_many("t", [note("odd", uid="no UUID: \ud800 🙂"), note("upper", uid=kept[0].uid.upper() + "X")])
            await _notes(store, "other", 1)
            uids = [kept[3].uid, kept[150].uid, odd[0].uid, odd[1].uid, "unknown"]
            equal(await store.find("t", uids=uids), {e.uid: e for e in (kept[3], kept[150], *odd)})
            equal(await store.find("t", keys=["key 7", "key 199", "none"]), {"key 7": kept[7], "key 199": kept[199]})
            equal([await store.find("other", uids=uids, keys=["key 7"]), await store.find("unknown", uids=uids), await store.find("t")], [{}, {}, {}])

        self.play(tmp_path, scenario)

    def test_what_was_acknowledged_is_there_when_the_store_is_opened_again(self, tmp_path: Path) -> None:
        """D1, D3, D5."""
        kept: list[TapeEntry] = []

        async def before(store: WholeStore) -> None:
            await _notes(store, "gone", 3)
            await store.reset("gone")
            kept.extend([*await _notes(store, "t", 70), *await store.append_many("t", [keyed("x", "k")])])

        async def after(store: WholeStore) -> None:
            equal(await whole(store, "t"), kept)
            equal(await store.append_many("t", [keyed("x", "k")]), (kept[-1],))
            equal([e.id for e in await _notes(store, "t", 1)], [72])
            equal([await store.head("gone"), await store.list_tapes()], [Head(1, 0), ["t"]])

        self.play_again(tmp_path, before, after)


async def _notes(store: WholeStore, tape: str, count: int) -> list[TapeEntry]:
    """Append notes one by one and return them as stored."""
    return [entry for i in range(count) for entry in await store.append_many(tape, [note(f"note {i}")])]
