"""Windows: which of the oldest and of the newest units always stay raw.

The specification's rules about calls and results hold by construction: a call and its results are one unit (specs: context-manager 10).
"""

from __future__ import annotations

from collections.abc import Sequence

from playhead.view.units import Unit


def head_end(units: Sequence[Unit], *, tokens: int, start: int = 0) -> int:
    """Return the index behind the head window: from index `start` on, as many units as cost no more than `tokens` together."""
    end, left = start, tokens
    while tokens and end < len(units) and units[end].tokens <= left:
        left -= units[end].tokens
        end += 1
    return end


def recent_start(units: Sequence[Unit], *, tokens: int, start: int = 0, frozen_from: int | None = None) -> int:
    """Return the index of the first unit of the recent window: the longest tail, at or behind `start`, that costs at most `tokens`.

    `frozen_from` is the first entry that must not be summarised yet: the window then starts no later than at the unit that
    holds it, or at the first part of the long message that this one belongs to. The head window goes first: pass its end as `start`.
    """
    index, left = len(units), tokens
    while index > start and units[index - 1].tokens <= left:
        index -= 1
        left -= units[index].tokens
    if frozen_from is None:
        return index
    return max(start, min(index, _holding(units, frozen_from)))


def _holding(units: Sequence[Unit], entry: int) -> int:
    """Return the index of the unit that holds an entry, or else of the first behind it; the first part of a long message for any of them."""
    behind = len(units)
    for index, unit in enumerate(units):
        if entry in unit.ids:
            behind = index
            break
        if unit.first > entry and behind == len(units):
            behind = index
    while 0 < behind < len(units) and (body := units[behind].body) is not None and body.follows(units[behind - 1].body):
        behind -= 1
    return behind
