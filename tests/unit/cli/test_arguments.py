"""The kinds of words that commands take."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

import pytest

from playhead import clock
from playhead.cli.arguments import span
from playhead.cli.transcript import age
from playhead.testing import FakeClock


@pytest.mark.parametrize(
    ("text", "meant"), [("0s", timedelta(0)), ("90s", timedelta(seconds=90)), ("30m", timedelta(minutes=30)), ("12h", timedelta(hours=12)), ("7d", timedelta(7)), ("2w", timedelta(14))]
)
def test_a_length_of_time_is_a_number_and_a_unit(text: str, meant: timedelta):
    assert span(text) == meant


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "1.5h", "7 d", "7days", "9999999d", "soon"])
def test_anything_else_is_refused(text: str):
    with pytest.raises(ArgumentTypeError, match="such as 7d"):
        span(text)


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(0), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=5, seconds=3), "5 min"),
        (timedelta(hours=23), "23 h"),
        (timedelta(days=1200), "1,200 d"),
        (timedelta(hours=-1), "0 s"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(passed: timedelta, told: str):
    start = datetime(2026, 3, 1, tzinfo=UTC)
    with clock.using(FakeClock(start + passed)):
        assert age(start.isoformat()) == told
