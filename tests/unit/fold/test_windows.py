import pytest

from playhead.fold.choosing.windows import head_end, recent_start
from playhead.view.units import Unit
from tests.unit.fold.choosing import called, said, shard


def test_the_recent_window_holds_the_longest_tail_within_its_tokens():
    units = [said(1, tokens=9_000), said(2, tokens=11_000), said(3, tokens=12_000)]
    assert recent_start(units, tokens=30_000) == 1
    assert recent_start(units, tokens=32_000) == 0
    assert recent_start(units, tokens=11_999) == 3


def test_a_call_and_its_result_come_into_the_window_together():
    units = [said(1, tokens=9_000), called(2, 3, tokens=11_000), said(4, tokens=12_000)]
    assert recent_start(units, tokens=22_999) == 2
    assert recent_start(units, tokens=23_000) == 1


def test_everything_is_recent_where_everything_fits():
    assert recent_start([said(1), said(2)], tokens=1_000) == 0
    assert recent_start([], tokens=1_000) == 0


def test_the_recent_window_starts_no_earlier_than_the_head_ends():
    units = [said(i) for i in range(1, 6)]
    assert recent_start(units, tokens=1_000, start=2) == 2
    assert recent_start(units, tokens=0, start=2, frozen_from=1) == 2


def test_a_held_result_keeps_its_call_and_all_behind_it_raw():
    units = [said(38), called(39, 40), *(said(i) for i in range(41, 51))]
    assert recent_start(units, tokens=20, frozen_from=40) == 1
    assert recent_start(units, tokens=20) == 10


def test_a_hold_inside_the_recent_window_changes_nothing():
    units = [said(i) for i in range(1, 11)]
    assert recent_start(units, tokens=50, frozen_from=8) == 5


def test_a_hold_of_an_entry_that_shows_nothing_starts_the_window_at_the_next_unit():
    units = [said(i) for i in (1, 2, 5, 6, 7)]
    assert recent_start(units, tokens=10, frozen_from=3) == 2
    assert recent_start(units, tokens=10, frozen_from=99) == 4


def test_a_held_part_of_a_long_message_keeps_the_whole_message_raw():
    units = [said(1), *(shard(i, "b", i - 2) for i in (2, 3, 4)), said(5), said(6)]
    assert recent_start(units, tokens=10, frozen_from=4) == 1


@pytest.mark.parametrize("second", ["b", "other"])
def test_a_long_message_that_was_said_again_is_another_message(second):
    units = [said(1), *(shard(i, "b", i - 2) for i in (2, 3, 4)), *(shard(i, second, i - 5) for i in (5, 6, 7)), said(8)]
    assert recent_start(units, tokens=10, frozen_from=6) == 4


def test_the_head_window_holds_as_many_units_from_the_front_as_fit():
    units = [said(1, tokens=4_000), called(2, 3, tokens=4_000), said(4, tokens=4_000)]
    assert [head_end(units, tokens=tokens) for tokens in (0, 3_999, 4_000, 8_000, 50_000)] == [0, 0, 1, 2, 3]


def test_the_head_window_begins_behind_what_opens_the_view():
    units = [said(1, tokens=4_000), said(2, tokens=10), said(3, tokens=10)]
    assert head_end(units, tokens=15, start=1) == 2


def test_a_note_without_entries_is_passed_over_in_the_search_for_what_is_held():
    note = Unit(kind="note", messages=said(1).messages, ids=(), uids=("a",), tokens=5)
    assert recent_start([note, said(2), said(3)], tokens=5, frozen_from=2) == 1
