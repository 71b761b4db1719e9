"""What a provider counts more, or less, than we do."""

from __future__ import annotations

import pytest

from playhead.fold.calibration import CEILING, epoch_of, factor_of, learnt
from playhead.fold.forest import Forest
from playhead.view import token_rates
from playhead.view.tokens import default_counter

COUNTER = default_counter()


class Other:
    name = "another"

    def count(self, text):
        return len(text)


@pytest.mark.parametrize(
    ("factor", "counted", "reported", "expected"),
    [
        (1.0, 100_000, 120_000, 1.04),
        (1.0, 224_000, 504_000, 1.0),
        (1.8, 100_000, 100_800, 1.6416),
        (1.0, 1_000, 10, 1.0),
        (1.75, 100_000, 179_000, 1.758),
    ],
)
def test_a_report_moves_the_factor_a_fifth_of_the_way_unless_it_is_not_to_be_believed(factor, counted, reported, expected):
    assert learnt(factor, counted=counted, reported=reported, counter=COUNTER) == pytest.approx(expected, abs=1e-3)


def test_it_never_passes_its_ceiling():
    factor = 1.0
    for _ in range(100):
        factor = learnt(factor, counted=1_000, reported=1_790, counter=COUNTER)
    assert 1.7 < factor <= CEILING


def test_a_factor_counts_under_the_counter_and_the_rates_it_was_learnt_under():
    kept = Forest(factor=1.3, factor_epoch=epoch_of(COUNTER))
    assert factor_of(kept, COUNTER) == 1.3
    assert factor_of(kept, Other()) == 1.0
    assert factor_of(Forest(factor=1.3, factor_epoch="class-aware/other rates"), COUNTER) == 1.0
    assert factor_of(Forest(), COUNTER) == 1.0


def test_an_epoch_names_the_counter_and_every_rate():
    assert epoch_of(COUNTER).partition("/")[0] == COUNTER.name
    assert epoch_of(Other()).partition("/")[2] == epoch_of(COUNTER).partition("/")[2]
    assert [name for name in vars(token_rates) if name.isupper()]
