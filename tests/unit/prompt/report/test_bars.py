import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.prompt.report.bars import FINEST, LEAST, segments, widths
from playhead.prompt.report.stretches import Stretch


def raw(tokens, *, form="raw"):
    return Stretch(form=form, reason="fits", tokens=tokens, first=1, last=1, count=1)


@given(st.lists(st.none() | st.integers(0, 10**7), min_size=1, max_size=200))
def test_the_parts_of_a_bar_fill_it(amounts):
    found = widths(amounts)
    assert len(found) == len(amounts) and min(found) >= 0
    if any(amounts) or None in amounts:
        assert sum(found) == pytest.approx(100)


def test_a_part_is_as_wide_as_its_share_and_never_too_small_to_see():
    assert widths([75, 25]) == [75, 25]
    assert widths([10**6, 1])[1] == LEAST
    assert widths([100, None]) == [95, 5]
    assert widths([None]) == [100]


def test_many_small_neighbours_are_drawn_as_one_and_large_ones_stay_apart():
    parts = [*(raw(1) for _ in range(2000)), raw(5000), *(raw(1, form="omitted") for _ in range(2000))]
    drawn = segments(enumerate(parts))
    assert len(drawn) <= 2 * FINEST + 2
    assert sum(s.tokens or 0 for s in drawn) == 9000
    assert [s.number for s in drawn if s.tokens == 5000] == [2000]
    assert drawn[0].tip.endswith("spans: raw 90 tokens; entry 1") and drawn[-1].form == "omitted"


def test_a_few_small_parts_stay_apart():
    assert len(segments(enumerate([raw(10**6), *(raw(1) for _ in range(50))]))) == 51


def test_what_was_not_read_is_a_part_of_its_own():
    drawn = segments(enumerate([*(raw(1) for _ in range(200)), raw(None, form="omitted"), raw(1)]))
    assert [s.tokens for s in drawn if s.form == "omitted"] == [None]
