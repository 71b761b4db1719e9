"""How sure it is that a value is of a format."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from itertools import islice

LOOKED_INTO = 50
"""How many messages of a conversation that stands in one value are looked at."""


class Certainty(IntEnum):
    """NONE: it is not of the format; MAYBE: it is as much of others; SURE: no other format writes it so."""

    NONE = 0
    MAYBE = 1
    SURE = 2


def surest(found: Iterable[Certainty]) -> Certainty:
    """Return the highest of the first few; MAYBE where there are none."""
    return max(islice(found, LOOKED_INTO), default=Certainty.MAYBE)
