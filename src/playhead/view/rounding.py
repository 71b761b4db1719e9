"""Round numbers: a choice inside a moving range that stays the same for as long as it can."""

from __future__ import annotations


def roundest(low: int, high: int) -> int:
    """Return the number from `low` to `high` (both at least 1) that is divisible by the highest power of two.

    While a range moves upwards the answer never moves back, and stays until it leaves the range: a start chosen so
    jumps seldom and far, and depends on nothing but the range.
    """
    step = 1
    while -(-low // (2 * step)) * 2 * step <= high:
        step *= 2
    return -(-low // step) * step
