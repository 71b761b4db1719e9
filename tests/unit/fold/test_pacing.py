"""What a failure says of its request, and how long a model is left alone after it."""

import logging
import math
from datetime import timedelta

import pytest

from playhead.errors import (
    BadReply,
    ContextLimitExceeded,
    InvalidInput,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
    NothingToSend,
    ProviderNotFoundError,
    WireError,
)
from playhead.fold.writing.pacing import ERRORS_IN_A_ROW, NEVER, Lane, Trouble, lane_of, verdict_of
from playhead.model.scripted import ScriptedModel
from tests.unit.fold.writing import NOW

BUSY = Trouble(why="ModelUnavailable, status 429")
BROKEN = Trouble(why="ModelUnavailable, status 500", may_be_the_request=True)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ContextLimitExceeded("no"), "context_limit"),
        (ModelRefused("no"), "refusal"),
        (ModelRejected("no", status=400), "rejected"),
        (ModelRejected("no", status=413), "rejected"),
        (ModelRejected("no", status=422), "rejected"),
        (WireError("no"), "rejected"),
        (NothingToSend("openai", where="messages", has_system=False), "rejected"),
    ],
)
def test_what_is_said_of_the_request_itself_is_its_outcome(error, outcome):
    assert verdict_of(error) == outcome


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429])
def test_a_wrong_key_a_spent_account_and_an_unknown_model_pass_and_never_count_against_the_request(status):
    assert verdict_of(ModelRejected("secret", status=status)) == Trouble(why=f"ModelRejected, status {status}")


@pytest.mark.parametrize("status", [None, 408, 429, 503, 529])
def test_a_model_that_is_busy_or_out_of_reach_passes_and_never_counts_against_the_request(status):
    verdict = verdict_of(ModelUnavailable("secret", status=status, retry_after=7.5))
    assert verdict == Trouble(why="ModelUnavailable" if status is None else f"ModelUnavailable, status {status}", wait=7.5)


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("secret", status=500),
        ModelUnavailable("secret", status=502),
        BadReply("secret"),
        ModelRejected("secret"),
        KeyError("secret"),
        TimeoutError(),
        InvalidInput("secret"),
        ProviderNotFoundError("x", known=()),
    ],
)
def test_what_nobody_can_tell_passes_but_counts(error):
    verdict = verdict_of(error)
    assert verdict.may_be_the_request and verdict.why.startswith(type(error).__name__)


@pytest.mark.parametrize("error", [ModelUnavailable("secret words", status=500), ModelRejected("secret words", status=401), KeyError("secret words"), BadReply("secret words", partial="secret words")])
def test_why_never_holds_the_words_of_the_provider(error, caplog):
    lane = Lane()
    with caplog.at_level(logging.WARNING, logger="playhead"):
        paused = lane.pause(verdict_of(error), model="a:b", now=NOW)
    assert "secret" not in paused.why and "secret" not in caplog.text and len(caplog.records) == 1


def seconds(lane, trouble, *, now=NOW):
    return (lane.pause(trouble, model="a:b", now=now).until - now).total_seconds()


def test_pauses_double_from_30_seconds_to_10_minutes_and_an_answer_starts_them_anew():
    lane = Lane()
    assert [seconds(lane, BUSY) for _ in range(7)] == [30, 60, 120, 240, 480, 600, 600]
    lane.answered("r")
    assert lane.paused(now=NOW) is None and seconds(lane, BUSY) == 30


def test_a_stated_wait_is_never_shortened():
    lane = Lane()
    assert seconds(lane, Trouble(why="x", wait=7_200.0)) == 7_200
    assert seconds(lane, Trouble(why="x", wait=1.0)) == 60
    assert seconds(lane, Trouble(why="x", wait=119.5)) == 120


@pytest.mark.parametrize("wait", [math.inf, math.nan, 1e300])
def test_a_wait_without_an_end_lasts_until_the_process_ends(wait):
    lane = Lane()
    assert lane.pause(Trouble(why="x", wait=wait), model="a:b", now=NOW).until == NEVER
    assert lane.paused(now=NOW + timedelta(days=9_999)) is not None


def test_a_pause_ends_when_its_time_is_up():
    lane = Lane()
    paused = lane.pause(BUSY, model="a:b", now=NOW)
    assert lane.paused(now=NOW + timedelta(seconds=29.9)) == paused
    assert lane.paused(now=NOW + timedelta(seconds=30)) is None


def test_twelve_failures_of_one_request_in_a_row_are_what_it_comes_to():
    lane = Lane()
    assert [lane.fails_for_good("r", BROKEN) for _ in range(ERRORS_IN_A_ROW)] == [False] * 11 + [True]
    assert not lane.fails_for_good("r", BROKEN)


def test_other_failures_do_not_count_an_answer_ends_the_row_and_requests_are_counted_apart():
    lane = Lane()
    for _ in range(11):
        assert not lane.fails_for_good("r", BROKEN) and not lane.fails_for_good("s", BROKEN)
    for _ in range(50):
        assert not lane.fails_for_good("r", BUSY)
    lane.answered("r")
    assert not lane.fails_for_good("r", BROKEN) and lane.fails_for_good("s", BROKEN)


def test_only_so_many_rows_are_remembered():
    lane = Lane()
    for number in range(1_000):
        lane.fails_for_good(f"r{number}", BROKEN)
    assert len(lane._in_a_row) == 64


def test_a_request_is_held_by_one_at_a_time():
    lane = Lane()
    with lane.writing("r") as first:
        with lane.writing("r") as second, lane.writing("s") as other:
            assert (first, second, other) == (True, False, True)
        with lane.writing("r") as third:
            assert not third
    with lane.writing("r") as again:
        assert again


def test_all_who_write_with_one_model_share_its_lane_and_nobody_else_does():
    model = ScriptedModel([])
    assert lane_of(model) is lane_of(model) and lane_of(ScriptedModel([])) is not lane_of(model)


def test_a_model_that_cannot_be_a_key_has_a_lane_all_the_same():
    class Slotted:
        __slots__ = ()

    assert isinstance(lane_of(Slotted()), Lane)
