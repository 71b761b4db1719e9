"""The table of an explanation stays short, however many spans a plan has."""

from __future__ import annotations

from playhead.cli.compiling import ROWS_SHOWN, condensed
from playhead.prompt.explain import Row


def rows(count: int) -> list[Row]:
    return [Row(form=("raw", "omitted")[n % 2], first=n + 1, last=n + 1, count=1, tokens=10, reason=f"reason {n}") for n in range(count)]


def test_few_rows_are_all_shown():
    assert condensed(rows(2 * ROWS_SHOWN + 1)) == rows(2 * ROWS_SHOWN + 1)


def test_of_thousands_the_ends_are_shown_and_the_middle_is_summed_up():
    all_rows = rows(5_000)
    shown = condensed(all_rows)
    assert len(shown) == 2 * ROWS_SHOWN + 1
    assert (shown[:ROWS_SHOWN], shown[-ROWS_SHOWN:]) == (all_rows[:ROWS_SHOWN], all_rows[-ROWS_SHOWN:])
    middle = shown[ROWS_SHOWN]
    assert (middle.first, middle.last) == (ROWS_SHOWN + 1, 5_000 - ROWS_SHOWN)
    assert sum(r.count for r in shown) == 5_000
    assert sum(r.tokens or 0 for r in shown) == 50_000
    assert "2,476 raw, 2,476 omitted" in middle.reason
