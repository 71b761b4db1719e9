"""The newest units of a run of entries, kept as the tape grows: a compile pays for what is new, not for what it shows again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.view.pairing import Built, Pairing
from playhead.view.pieces import Piece
from playhead.view.projection import Projection
from playhead.view.tokens import Counter

UNREAD_CALL = "its call is before what was read"
LONGEST = 20_000
"""How many units a tail may hold before it is built anew from what is needed, and how many all older ones together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailKey:
    """What a tail was built for: it serves only a run of a view that is the same in all of this.

    The run starts at entry `first` and ends at `last`, or goes on with the tape (None). `orphan` is the reason given for a
    result whose call is before the run, `amend` the newest change of an entry in it.
    """

    projection: Projection
    counter: str
    generation: int
    first: int
    last: int | None
    orphan: str
    amend: int


class Tail:
    """The newest units of a run from entry `first` on; `is_whole` where that is where the run starts."""

    def __init__(self, key: TailKey, *, counter: Counter, first: int, is_whole: bool) -> None:
        self.key = key
        self.first = first
        self.last = first - 1
        self.is_whole = is_whole
        self._pairing = Pairing(counter=counter, orphan=key.orphan if is_whole else UNREAD_CALL)

    def __len__(self) -> int:
        return len(self._pairing)

    def add(self, entries: Iterable[TapeEntry], *, read: Callable[[TapeEntry], Piece]) -> None:
        """Take in the entries that follow, in order."""
        run = tuple(entries)
        self.key.projection.feed(self._pairing, run, read=read)
        self.last = run[-1].id if run else self.last

    @property
    def tokens(self) -> int:
        """The price of all its units."""
        return sum(u.tokens for u in self._pairing.built().units)

    def holding(self, tokens: int | None) -> tuple[Built, bool] | None:
        """Return the newest units that cost more than `tokens` (None: all), and whether the run starts with them.

        None where the tail does not reach so far back.
        """
        if tokens is None:
            return (self._pairing.built(), True) if self.is_whole else None
        index, units = self._pairing.tail(tokens)
        starts_run = self.is_whole and index == 0
        if sum([u.tokens for u in units]) <= tokens and not starts_run:
            return None
        if starts_run:
            return self._pairing.built(), True
        return Built(units=units, hidden=self._pairing.hidden_from(units[0].first, index=index, late=UNREAD_CALL)), False


class Tails:
    """The tails that were used last; older ones are forgotten where they hold too much together."""

    def __init__(self) -> None:
        self._tails: OrderedDict[TailKey, Tail] = OrderedDict()

    def get(self, key: TailKey, *, end: int) -> Tail | None:
        """Return the tail of a run that ends at entry `end`; None where there is none, it reaches further, or one made anew costs less."""
        tail = self._tails.get(key)
        if tail is None or tail.last > end or len(tail) + end - tail.last > 2 * LONGEST or len(tail) > LONGEST:
            return None
        self._tails.move_to_end(key)
        return tail

    def keep(self, tail: Tail) -> None:
        """Remember a tail, unless one of the same run reaches further."""
        known = self._tails.get(tail.key)
        if known is None or tail.last >= known.last:
            self._tails[tail.key] = tail
        self._tails.move_to_end(tail.key)
        held = sum(len(t) + 1 for t in self._tails.values())
        while held > LONGEST and len(self._tails) > 1:
            _, oldest = self._tails.popitem(last=False)
            held -= len(oldest) + 1

    def clear(self) -> None:
        """Forget all of them."""
        self._tails.clear()
