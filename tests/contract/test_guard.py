"""The contract is not numb: stores that break a promise fail its tests."""

from __future__ import annotations

import unittest

import anyio.lowlevel
import pytest

from playhead.entry.entry import TapeEntry
from playhead.errors import PlayheadError
from playhead.store.memory import InMemoryTapeStore
from playhead.testing import StoreContract
from playhead.testing.stores import ListStore

TESTS = sorted(name for name in dir(StoreContract) if name.startswith("test_"))


def failed(make, folder):
    """Return which tests of the contract a store fails."""

    class Contract(StoreContract):
        def open_store(self, place):
            return make()

    names = set()
    for number, name in enumerate(TESTS):
        place = folder / str(number)
        place.mkdir()
        try:
            getattr(Contract(), name)(place)
        except unittest.SkipTest:
            continue
        except (AssertionError, PlayheadError, TypeError, ExceptionGroup):
            names.add(name)
    return names


class Plain(InMemoryTapeStore):
    """Breaks nothing yet."""


class Piecemeal(InMemoryTapeStore):
    """Promises whole batches and writes them one by one."""

    async def append_many(self, tape, entries, *, expected_head=None):
        stored = []
        for entry in entries:
            stored += await super().append_many(tape, [entry], expected_head=expected_head)
            expected_head = None
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
    """Does not look at expected heads, keys or anchors."""

    async def append_many(self, tape, entries, *, expected_head=None):
        without = [TapeEntry(0, e.kind, e.payload, {k: v for k, v in e.meta.items() if k != "idempotency_key"}, e.date) for e in entries]
        return await super().append_many(tape, without)


class Reused(InMemoryTapeStore):
    """Goes on in the same generation after a reset."""

    async def reset(self, tape, *, entries=(), expected_head=None):
        self._tapes.pop(tape, None)
        return await self.append_many(tape, entries)


def test_a_store_that_breaks_nothing_passes(tmp_path):
    assert failed(Plain, tmp_path) == set()


@pytest.mark.parametrize(
    ("make", "tests"),
    [
        (Piecemeal, {"test_no_reader_sees_a_part_of_a_batch", "test_an_entry_that_cannot_be_kept_leaves_its_batch_unwritten", "test_no_other_entry_stands_inside_a_batch"}),
        (InPlace, {"test_a_given_entry_stays_as_it_is"}),
        (Forgetful, {"test_ids_are_dense_from_one_on_each_tape", "test_every_json_value_comes_back_as_it_was"}),
        (Deaf, {"test_a_key_is_accepted_once", "test_another_head_than_expected_changes_nothing", "test_of_writers_that_expect_the_same_head_one_wins"}),
        (Reused, {"test_reset_removes_the_tape_and_starts_at_one"}),
    ],
)
def test_a_store_that_breaks_a_promise_is_found_out(tmp_path, make, tests):
    assert tests <= failed(make, tmp_path)
