"""The words of the command line: the kinds that commands take, and those that hints and errors are made of."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from datetime import UTC, datetime, timedelta

import pytest

from playhead import clock
from playhead.cli.arguments import span
from playhead.cli.failures import spoken
from playhead.cli.hints import command
from playhead.cli.parser import SETTINGS
from playhead.cli.transcript import age
from playhead.errors import InvalidInput, OverBudgetError, PlayheadError, UnreadableFile
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


@pytest.mark.parametrize(
    ("message", "kind", "told"),
    [
        ("compression_max_tokens is a whole number", InvalidInput, "compression_max_tokens is a whole number"),
        ("max_tokens 3 less reserve_for_response 4", InvalidInput, "--max-tokens 3 less --reserve 4"),
        ("read it with format='x'", UnreadableFile, "read it with --format'x'"),
        ("unpin some, or raise max_tokens", OverBudgetError, "`unpin` some, or raise --max-tokens"),
    ],
)
def test_errors_name_options_as_the_command_line_does(message: str, kind: type[PlayheadError], told: str):
    assert spoken(message, kind=kind) == told


def test_a_hint_repeats_the_options_that_were_given():
    args = Namespace(tape="t", store=None, strategy="autobiographical", namespace=None, recent=5, head=None, settings=["a=1", "b=x y"], anchor=None)
    assert command("fold", args, carries=SETTINGS).strip("`").endswith(" fold --tape t --strategy autobiographical --recent 5 --set a=1 --set 'b=x y'")
