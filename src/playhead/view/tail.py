"""The tail of a view as units, kept as the tape grows: a compile pays for what is new, not for what it shows again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.view.pairing import Built, Pairing
from playhead.view.pieces import Piece
from playhead.view.projection import Projection
from playhead.view.tokens import Counter
from playhead.view.units import Hidden

UNREAD_CALL = "its call is before what was read"
LONGEST = 20_000
"""How many units a tail may hold before it is built anew from what is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailKey:
    """What a tail was built for: it serves only a view that is the same in all of this."""

    projection: Projection
    counter: str
    generation: int
    start: int


class Tail:
    """The newest units of a view from entry `first` on; `is_whole` where that is where the view starts."""

    def __init__(self, key: TailKey, *, counter: Counter, first: int, is_whole: bool, orphan: str) -> None:
        self.key = key
        self.first = first
        self.last = first - 1
        self.is_whole = is_whole
        self._pairing = Pairing(counter=counter, orphan=orphan if is_whole else UNREAD_CALL)

    def add(self, entries: Iterable[TapeEntry], *, read: Callable[[TapeEntry], Piece]) -> None:
        """Take in the entries that follow, in order."""
        run = tuple(entries)
        self.key.projection.feed(self._pairing, run, read=read)
        self.last = run[-1].id if run else self.last

    @property
    def is_too_long(self) -> bool:
        """Whether building it anew would be cheaper than carrying it on."""
        return len(self._pairing) > LONGEST

    @property
    def tokens(self) -> int:
        """The price of all its units."""
        return sum(u.tokens for u in self._pairing.built().units)

    def holding(self, tokens: int | None) -> tuple[Built, bool] | None:
        """Return the newest units that cost more than `tokens` (None: all), and whether the view starts with them.

        None where the tail does not reach so far back.
        """
        if tokens is None:
            return (self._pairing.built(), True) if self.is_whole else None
        index, units = self._pairing.tail(tokens)
        starts_view = self.is_whole and index == 0
        if sum([u.tokens for u in units]) <= tokens and not starts_view:
            return None
        if starts_view:
            return self._pairing.built(), True
        first = units[0].first
        late = [Hidden(id=id, kind=kind, reason=UNREAD_CALL) for id, kind, round in self._pairing.late if id >= first and round < index]
        hidden = self._pairing.hidden_from(first)
        return Built(units=units, hidden=tuple(sorted((*hidden, *late), key=lambda h: h.id)) if late else hidden), False
