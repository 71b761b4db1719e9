"""The token bar: as wide as it may be, in proportion, nothing too small to be seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playhead.cli.bar import WIDEST, Share, apportioned, bar, legend, totals

AMOUNTS = st.lists(st.integers(min_value=0, max_value=1_000_000), min_size=1, max_size=30)


@given(AMOUNTS, st.integers(min_value=1, max_value=WIDEST))
def test_columns_add_up_unless_there_is_nothing(amounts: list[int], columns: int):
    sizes = apportioned(amounts, columns)
    assert sum(sizes) == (columns if any(amounts) else 0)
    assert all(size == 0 for size, amount in zip(sizes, amounts, strict=True) if amount == 0)


@given(AMOUNTS)
def test_what_has_tokens_is_seen(amounts: list[int]):
    assert all(size >= 1 for size, amount in zip(apportioned(amounts, WIDEST), amounts, strict=True) if amount)


def test_columns_are_in_proportion():
    assert apportioned([50, 25, 25], 80) == [40, 20, 20]
    assert apportioned([1, 999_999], 10) == [1, 9]
    assert apportioned([2, 2, 2, 2, 2, 1, 1, 1, 1, 1], 10) == [1] * 10


def test_a_bar_shows_the_order_of_the_prompt_and_what_is_free():
    shares = [Share(form="raw", tokens=20), Share(form="summary", tokens=10), Share(form="trimmed", tokens=10), Share(form="raw", tokens=20)]
    assert bar(shares, room=100, width=50).plain == "█" * 10 + "▓" * 5 + "▒" * 5 + "█" * 10 + "·" * 20


def test_a_bar_of_very_many_spans_shows_the_sum_of_each_form():
    shares = [Share(form=("raw", "summary")[n % 2], tokens=1) for n in range(1_000)]
    assert bar(shares, room=1_000, width=40).plain == "█" * 20 + "▓" * 20


def test_a_full_bar_has_nothing_free():
    assert bar([Share(form="raw", tokens=10)], room=10, width=20).plain == "█" * 20


def test_a_legend_names_each_form_once():
    shares = [Share(form="raw", tokens=1_000), Share(form="summary", tokens=1), Share(form="raw", tokens=2)]
    assert [(s.form, s.tokens) for s in totals(shares)] == [("raw", 1_002), ("summary", 1)]
    assert legend(shares, room=2_000).plain == "█ raw 1,002   ▓ summary 1   · free 997"
