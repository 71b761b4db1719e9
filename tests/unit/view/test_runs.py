"""Runs of entry ids: joined, and asked whether they hold something."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from playhead.view.runs import joined, meets

RUN = st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda run: (run[0], run[0] + run[1]))


@given(st.lists(RUN, max_size=12))
def test_joined_runs_hold_the_same_entries_in_order_with_a_gap_between_them(runs):
    found = joined(runs)
    assert {id for first, last in found for id in range(first, last + 1)} == {id for first, last in runs for id in range(first, last + 1)}
    assert all(one[1] + 1 < other[0] for one, other in pairwise(found))


@given(st.lists(RUN, max_size=12), RUN)
def test_runs_meet_a_stretch_where_an_entry_lies_in_both(runs, stretch):
    held = {id for first, last in runs for id in range(first, last + 1)}
    assert meets(joined(runs), *stretch) == any(id in held for id in range(stretch[0], stretch[1] + 1))
