from datetime import timedelta

import pytest

from playhead.fold.choosing.debt import debt
from playhead.fold.choosing.quarantine import Alarm, Quarantine, alarm, quarantine, quarantined
from tests.unit.fold.choosing import DAY, forest, node, outcome, run

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
STUCK = outcome(100, 110)


@pytest.mark.parametrize(
    ("age", "pending", "outcomes", "state"),
    [
        (None, 0, (), "healthy"),
        (HOUR, 9, (), "healthy"),
        (HOUR + SECOND, 1, (), "degraded"),
        (SECOND, 1, (STUCK,), "degraded"),
        (6 * HOUR, 9, (STUCK,), "degraded"),
        (6 * HOUR + SECOND, 4, (), "degraded"),
        (6 * HOUR + SECOND, 5, (), "critical"),
        (6 * HOUR + SECOND, 1, (STUCK,), "critical"),
    ],
)
def test_the_state_follows_how_long_chunks_wait_and_what_is_stuck(age, pending, outcomes, state):
    oldest = None if age is None else DAY - age
    assert debt(forest(outcomes=outcomes), now=DAY, pending=pending, oldest=oldest).state == state


def test_debt_tells_what_waits_what_is_stuck_and_what_is_unmerged():
    merge = ("n1-11", "n1-21")
    known = forest(
        *run(2, 1),
        *run(1, 11, 21, 31),
        outcomes=(STUCK, outcome(11, 30, level=2, children=merge, is_stuck=False), outcome(11, 30, level=2, children=merge, is_stuck=False), outcome(31, 40, level=2, children=("n1-31",))),
        ignored={"span owned": 2},
        last_written=DAY,
    )
    told = debt(known, now=DAY, pending=2, oldest=DAY - HOUR, merges=1)
    assert (told.pending_chunks, told.oldest_pending_age, told.merges_due, told.merge_attempts) == (2, 3600, 1, 2)
    assert (told.quarantined_chunks, told.quarantined_merges, told.unmerged) == (1, 1, {1: 3, 2: 1})
    assert (told.last_written, told.ignored) == (DAY, {"span owned": 2})


def test_a_clock_that_was_set_back_makes_no_negative_age():
    assert debt(forest(), now=DAY, pending=1, oldest=DAY + HOUR).oldest_pending_age == 0


def test_what_was_told_after_all_is_quarantined_no_longer():
    assert quarantine(forest(outcomes=(STUCK,))) == Quarantine(chunks=1, keys=("L1:u100",))
    assert quarantine(forest(node(1, 95, 120), outcomes=(STUCK,))) == Quarantine()


def test_a_stuck_merge_counts_only_while_none_of_its_parts_went_into_another():
    stuck = outcome(1, 20, level=2, children=("n1-1", "n1-11"))
    assert quarantine(forest(*run(1, 1, 11), outcomes=(stuck,))) == Quarantine(merges=1, keys=("L2:u1",))
    assert quarantine(forest(*run(1, 11), outcomes=(stuck,))).count == 0


def test_a_span_that_failed_twice_is_one_in_quarantine_and_what_only_failed_is_not():
    assert quarantined(forest(outcomes=(STUCK, outcome(100, 110), outcome(1, 5, is_stuck=False)))) == (STUCK,)


def test_the_alarm_repeats_at_its_interval_and_one_all_clear_follows():
    found, last, heard = Quarantine(chunks=1, keys=("L1:u1",)), None, []
    for seconds in range(0, 2_000, 300):
        now = DAY + timedelta(seconds=seconds)
        told = alarm(found if seconds < 1_500 else Quarantine(), last=last, now=now, interval=900)
        if told is not None:
            heard.append((seconds, told.kind, told.count))
            last = now if told.kind == "alarm" else None
    assert heard == [(0, "alarm", 1), (900, "alarm", 1), (1_500, "all_clear", 0)]


def test_alarms_carry_keys_and_none_are_given_where_they_are_switched_off():
    found = Quarantine(chunks=1, merges=1, keys=("L1:u1", "L2:u5"))
    assert alarm(found, last=None, now=DAY, interval=900) == Alarm(kind="alarm", count=2, keys=("L1:u1", "L2:u5"))
    assert alarm(found, last=None, now=DAY, interval=0) is None
    assert alarm(Quarantine(), last=None, now=DAY, interval=900) is None


def test_a_clock_that_was_set_back_does_not_silence_the_alarm():
    assert alarm(Quarantine(chunks=1), last=DAY + HOUR, now=DAY, interval=900) is not None
