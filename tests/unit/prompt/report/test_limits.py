from hypothesis import given
from hypothesis import strategies as st

from playhead.prompt.report.limits import ends, level


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(0, 20_000))
def test_cut_to_their_level_all_amounts_fit_and_none_could_be_higher(amounts, most):
    height = level(amounts, most)
    assert sum(min(a, height) for a in amounts) <= most
    if height < max(amounts, default=0):
        assert sum(min(a, height + 1) for a in amounts) > most


@given(st.integers(0, 300), st.integers(0, 300))
def test_both_ends_of_a_long_list_are_listed_and_never_more_than_may_be(count, most):
    head, tail = ends(count, most)
    assert len(head) + len(tail) == min(count, most)
    assert [*head, *tail] == sorted({*head, *tail})
    assert abs(len(head) - len(tail)) <= 1 or count <= most
