"""The contract is not numb: stores that break a promise fail its tests."""

from __future__ import annotations

import unittest
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import BranchNotFound, PlayheadError
from playhead.store.blobs import BlobNames
from playhead.store.change import DISCARDED, Append, Close, Fork
from playhead.store.memory.blobs import named
from playhead.store.memory.store import InMemoryTapeStore
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.store.ranked.hit import Hit
from playhead.testing import StoreContract
from playhead.testing.stores import ListStore

TESTS = sorted(name for name in dir(StoreContract) if name.startswith("test_"))
DURABLE = {
    "test_blobs_are_there_when_the_store_is_opened_again",
    "test_a_blob_that_is_not_as_it_was_written_is_refused_and_mended_by_putting_it_again",
    "test_large_payloads_are_there_when_the_store_is_opened_again",
    "test_a_search_is_there_when_the_store_is_opened_again",
    "test_families_are_there_when_the_store_is_opened_again",
    "test_what_is_archived_is_there_when_the_store_is_opened_again",
    "test_what_was_acknowledged_is_there_when_the_store_is_opened_again",
    "test_a_lock_excludes_those_who_opened_the_store_by_themselves",
}


def outcomes(make, folder, names):
    """Return which of some tests of the contract a store fails, and which it leaves out."""

    class Contract(StoreContract):
        def open_store(self, place):
            return make()

    failed, left_out = set(), set()
    for number, name in enumerate(sorted(names)):
        place = folder / str(number)
        place.mkdir()
        try:
            getattr(Contract(), name)(place)
        except unittest.SkipTest:
            left_out.add(name)
        except (AssertionError, PlayheadError, TypeError, ExceptionGroup):
            failed.add(name)
    return failed, left_out


class Piecemeal(InMemoryTapeStore):
    """Promises whole batches and whole merges, and writes them one by one."""

    async def append_many(self, tape, entries, *, expected_head=None, fence=None):
        stored = []
        for entry in entries:
            stored += await super().append_many(tape, [entry], expected_head=expected_head, fence=fence)
            expected_head = None
            await anyio.lowlevel.checkpoint()
        return tuple(stored)

    async def apply(self, changes, *, unless=None):
        if unless is not None and await self.find(unless[0], keys=[unless[1]]):
            return None
        stored = []
        for change in changes:
            stored += await super().apply([change])
            await anyio.lowlevel.checkpoint()
        return tuple(stored)


class InPlace(ListStore):
    """Numbers the very entry it was given."""

    def append(self, tape, entry):
        entries = self.tapes.setdefault(tape, [])
        object.__setattr__(entry, "id", len(entries) + 1)
        entries.append(entry)
        return entry


class Forgetful(ListStore):
    """Starts a tape at id 0, and forgets the meta."""

    def append(self, tape, entry):
        entries = self.tapes.setdefault(tape, [])
        entries.append(TapeEntry(len(entries), entry.kind, entry.payload, {}, entry.date))


class Deaf(InMemoryTapeStore):
    """Does not look at expected heads, keys or fences."""

    async def append_many(self, tape, entries, *, expected_head=None, fence=None):
        without = [TapeEntry(0, e.kind, e.payload, {k: v for k, v in e.meta.items() if k != "idempotency_key"}, e.date) for e in entries]
        return await super().append_many(tape, without)


class Reused(InMemoryTapeStore):
    """Goes on in the same generation after a reset."""

    async def head(self, tape):
        return Head(0, (await super().head(tape)).id)


class Live(InMemoryTapeStore):
    """Shows in a branch that holds nothing of its own what its parent shows now."""

    async def fetch_all(self, query):
        record = await self.branch(query.tape)
        if record is not None and record.base == await self.head(query.tape):
            return await super().fetch_all(replace(query, tape=record.parent))
        return await super().fetch_all(query)


class Lenient(InMemoryTapeStore):
    """Takes a branch that was never made for an empty one."""

    async def fetch_all(self, query):
        try:
            return await super().fetch_all(query)
        except BranchNotFound:
            return []


class Uncut(InMemoryTapeStore):
    """Forgets where the entries of sidecars were written."""

    async def apply(self, changes, *, unless=None):
        return await super().apply([replace(change, marks=None) if isinstance(change, Append) else change for change in changes], unless=unless)

    async def marks(self, tape, *, after=0):
        return [EMPTY for _ in await super().marks(tape, after=after)]


class Hasty(InMemoryTapeStore):
    """Merges what was merged already, closes a branch wherever it ends, and forks at the end whatever was asked for."""

    async def apply(self, changes, *, unless=None):
        def hasty(change):
            match change:
                case Close():
                    return replace(change, expected_head=None)
                case Fork(at=int()):
                    return replace(change, at=None)
            return change

        return await super().apply([hasty(change) for change in changes])


class Greedy(InMemoryTapeStore):
    """Collects whatever is closed, and hands out the same epoch again."""

    async def collect(self, tape, *, before):
        for record in await self.branches(tape):
            self._shelf.records[record.name] = replace(record, state=record.state if record.is_open else DISCARDED, closed_at=record.closed_at and "2000-01-01")
        return await super().collect(tape, before=before)

    async def lease(self, tape, *, owner, seconds):
        return replace(await super().lease(tape, owner=owner, seconds=seconds), epoch=1)


class Open(InMemoryTapeStore):
    """Locks nothing, and remembers no cursor."""

    def lock(self, tape):
        return nullcontext()

    async def move_cursor(self, tape, consumer, head):
        pass


class Careless(InMemoryTapeStore):
    """Lets go of blobs that are in use again."""

    async def drop_blobs(self, digests, *, idle_since):
        return await super().drop_blobs(digests, idle_since=datetime.max.replace(tzinfo=UTC))


class Blind(InMemoryTapeStore):
    """Looks at no branch and no sidecar for what they name."""

    async def named_blobs(self):
        for tape in await self.list_tapes():
            yield BlobNames(digests=named(await self.fetch_all(TapeQuery(tape=tape))), done=1, total=1)


class Hoarder(InMemoryTapeStore):
    """Keeps every blob, the same bytes as often as they are put."""

    async def idle_blobs(self, *, since):
        return []

    async def blobs(self):
        return [*await super().blobs()] * 2


class Cutting(InMemoryTapeStore):
    """Cuts long texts off, and forgets what it cut."""

    async def append_many(self, tape, entries, *, expected_head=None, fence=None):
        def cut(entry):
            return replace(entry, payload={key: value[:1000] if isinstance(value, str) else value for key, value in entry.payload.items()}) if isinstance(entry, TapeEntry) else entry

        return await super().append_many(tape, [cut(entry) for entry in entries], expected_head=expected_head, fence=fence)


class Stale(InMemoryTapeStore):
    """Searches each tape as it was when it was searched first."""

    def __init__(self):
        super().__init__()
        self.ends = {}

    async def search(self, query, text, *, smoothed=False):
        end = self.ends.setdefault(query.tape, (await self.head(query.tape)).id)
        return await super().search(query.up_to(end if query.ceiling is None else min(end, query.ceiling)), text, smoothed=smoothed)


class Literal(InMemoryTapeStore):
    """Finds a text as it stands, the newest first."""

    async def search(self, query, text, *, smoothed=False):
        return [Hit(entry=entry, score=1.0) for entry in await self.fetch_all(query.query(text).newest_first())]


def test_a_store_that_breaks_nothing_passes_and_only_what_memory_cannot_show_is_left_out(tmp_path):
    assert outcomes(InMemoryTapeStore, tmp_path, TESTS) == (set(), DURABLE)


BROKEN = {
    Piecemeal: (
        "no_reader_sees_a_part_of_a_batch",
        "an_entry_that_cannot_be_kept_leaves_its_batch_unwritten",
        "no_other_entry_stands_inside_a_batch",
        "a_refusal_in_the_middle_changes_nothing",
        "merges_at_the_same_time_are_made_once_and_stay_in_one_piece",
    ),
    InPlace: ("a_given_entry_stays_as_it_is",),
    Forgetful: ("ids_are_dense_from_one_on_each_tape", "every_json_value_comes_back_as_it_was"),
    Deaf: (
        "a_key_is_accepted_once",
        "another_head_than_expected_changes_nothing",
        "of_writers_that_expect_the_same_head_one_wins",
        "a_key_that_stands_at_the_fork_point_stands_in_the_branch",
        "who_lost_the_lease_appends_no_more",
    ),
    Reused: ("reset_removes_the_tape_and_starts_at_one", "a_branch_carries_the_generation_of_its_parent", "a_reset_inside_a_branch_is_its_own"),
    Live: ("what_a_branch_shows_stays_whatever_its_parent_does", "a_branch_can_be_forked_at_any_entry"),
    Lenient: ("a_branch_that_was_never_made_is_not_found", "branches_that_ended_are_collected_when_nothing_needs_them"),
    Uncut: ("each_entry_of_a_sidecar_is_marked_with_the_head_of_its_tape", "changes_may_say_where_the_entries_of_a_sidecar_were_written", "a_fork_in_the_past_cuts_the_sidecars_there"),
    Hasty: ("changes_are_left_where_a_key_stands", "a_merge_appends_what_the_branch_holds_of_its_own", "a_closed_branch_is_read_and_not_written", "a_branch_can_be_forked_at_any_entry"),
    Greedy: ("branches_that_ended_are_collected_when_nothing_needs_them", "a_lease_is_held_by_one_until_its_time_is_over", "no_epoch_comes_twice"),
    Careless: ("a_put_and_an_append_that_names_it_each_make_a_blob_young_again",),
    Blind: ("what_nothing_names_is_collected_and_what_anything_names_is_not", "what_a_branch_still_shows_of_an_earlier_generation_is_named"),
    Hoarder: ("what_was_removed_can_be_put_again", "what_nothing_names_is_collected_and_what_anything_names_is_not", "many_who_put_the_same_bytes_at_once_keep_them_once"),
    Cutting: ("a_large_payload_is_read_back_as_it_was_appended", "a_large_entry_is_found_like_any_other", "a_large_entry_with_a_key_is_kept_once", "large_entries_go_with_their_family"),
    Stale: ("what_was_appended_last_is_found_and_what_was_reset_is_not", "a_branch_is_searched_as_it_shows_its_tape"),
    Literal: ("a_search_finds_words_in_any_form", "equal_scores_come_newest_first_and_equal_payloads_once", "filters_choose_among_what_is_found"),
    Open: ("a_lock_is_held_by_one_task_at_a_time", "who_gives_up_waiting_for_a_lock_leaves_it_usable", "each_consumer_has_a_cursor_of_its_own"),
}


@pytest.mark.parametrize("store", BROKEN, ids=lambda store: store.__name__)
def test_a_store_that_breaks_a_promise_is_found_out(tmp_path, store):
    names = {f"test_{name}" for name in BROKEN[store]}
    assert outcomes(store, tmp_path, names) == (names, set())
