import math
from datetime import timedelta

import pytest

from playhead import clock
from playhead.errors import InvalidInput
from playhead.fold.choosing.holds import HoldBook
from playhead.testing.clock import FakeClock

PLACES = {"a": 40, "b": 41, "c": 7}


def later(time, seconds):
    time.advance(timedelta(seconds=seconds))


def test_nothing_is_summarised_from_the_earliest_held_message_on():
    book = HoldBook()
    assert book.frozen_from(PLACES) is None
    book.hold(["b", "a"])
    assert (book.held, book.frozen_from(PLACES)) == (("b", "a"), 40)
    assert book.release(["a"]) == ("a",)
    assert book.frozen_from(PLACES) == 41


def test_messages_that_are_not_held_or_stand_nowhere_are_passed_over():
    book = HoldBook()
    book.hold(["gone"])
    assert book.frozen_from(PLACES) is None
    assert book.release(["never", "gone", "gone"]) == ("gone",)
    assert book.release(["gone"]) == ()


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, "5", True, 1e300, 10**400, pytest.param(10**5000, id="5000 digits"), pytest.param(-(10**5000), id="minus 5000 digits")])
def test_a_timeout_is_a_positive_finite_number_and_a_bad_one_holds_nothing(timeout):
    book = HoldBook()
    with pytest.raises(InvalidInput, match="timeout"):
        book.hold(["a"], timeout=timeout)
    assert book.held == ()


def test_a_hold_counts_for_nothing_once_its_time_is_up_and_is_told_once():
    with clock.using(FakeClock()) as time:
        book = HoldBook()
        book.hold(["a"], timeout=10)
        book.hold(["b"])
        later(time, 9.5)
        assert (book.held, book.expire()) == (("a", "b"), ())
        later(time, 0.5)
        assert (book.held, book.frozen_from(PLACES)) == (("b",), 41)
        (over,) = book.expire()
        assert (over.uid, (clock.now() - over.held_at).total_seconds()) == ("a", 10)
        assert book.expire() == ()


def test_messages_held_together_share_one_instant():
    with clock.using(FakeClock(step=timedelta(seconds=1))):
        book = HoldBook()
        book.hold(["a", "b"], timeout=60)
        first, second = book.details
        assert (first.held_at, first.expires_at) == (second.held_at, second.expires_at)


def test_a_message_held_again_starts_anew_or_loses_its_timeout():
    with clock.using(FakeClock()) as time:
        book = HoldBook()
        book.hold(["a", "b"], timeout=10)
        later(time, 8)
        book.hold(["a"], timeout=10)
        book.hold(["b"])
        later(time, 8)
        assert book.held == ("a", "b")
        later(time, 3)
        assert [hold.uid for hold in book.expire()] == ["a"]
        assert book.held == ("b",)


def test_one_part_that_expires_leaves_its_sibling_that_was_held_anew():
    with clock.using(FakeClock()) as time:
        book = HoldBook()
        book.hold(["a", "b"], timeout=10)
        later(time, 5)
        book.hold(["b"], timeout=10)
        later(time, 5)
        assert [hold.uid for hold in book.expire()] == ["a"]
        assert book.held == ("b",)
