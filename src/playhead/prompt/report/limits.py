"""How much of a long record a page holds: shares of a limit that leave short things whole."""

from __future__ import annotations

from collections.abc import Sequence

MOST_STRETCHES = 1_000
"""How many stretches a page lists; of more, the first and the last."""

MOST_UNITS = 5_000
"""How many units a page lists, of all stretches together."""

MOST_CHARACTERS = 6_000_000
"""How many characters of texts a page holds."""

PREVIEW = 4_000
"""How many characters of one text a page holds at most."""


def level(amounts: Sequence[int], most: int) -> int:
    """Return the largest height to which all amounts can be cut so that together they are at most `most`."""
    left = most
    for passed, amount in enumerate(sorted(amounts)):
        equal = left // (len(amounts) - passed)
        if amount > equal:
            return equal
        left -= amount
    return max(amounts, default=0)


def ends(count: int, most: int) -> tuple[range, range]:
    """Return what to list of `count` things if it may be `most`: the first and, where some are left out, the last."""
    if count <= most:
        return range(count), range(count, count)
    tail = most // 2
    return range(most - tail), range(count - tail, count)
