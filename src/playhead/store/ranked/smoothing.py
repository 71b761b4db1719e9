"""Smoothing: what stands beside a hit is likely about the same, so that it gets a share of the hit's score.

An answer often does not repeat the words of its question. Of the best hits each gives shares to the entries that were said just
before and behind it, whether these hold a word of the query or not. Events, anchors and errors stand outside of the talk: they
give no share, get none, and are stepped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from playhead.entry.entry import ANCHOR, ERROR, EVENT, SYSTEM
from playhead.store.ranked.best import Ranked
from playhead.store.ranked.protocol import Document

SHARES = (0.5, 0.25)
"""What the entry next to a hit gets of its score, and the one after next."""

GIVERS = 100
"""How many of the best hits give shares."""

REACH = 8
"""How many entries, stepped over or not, are looked through on either side of a hit."""

_BESIDE_THE_TALK = frozenset({EVENT, ANCHOR, ERROR, SYSTEM})

Look = Callable[[Iterable[int]], Sequence[Document]]
"""Returns what is known of those entries that a search may return, in the order given."""


def shares(hits: Sequence[Ranked], look: Look) -> dict[int, float]:
    """Return what the best of the hits, which come best first, give to the entries beside them."""
    givers = hits[:GIVERS]
    reach = sorted({id for giver in givers for id in range(giver.id - REACH, giver.id + REACH + 1)})
    talk = {document.id for document in look(reach) if document.kind not in _BESIDE_THE_TALK}
    given: dict[int, float] = {}
    for giver in givers:
        for id, share in _beside(giver.id, talk) if giver.id in talk else ():
            given[id] = given.get(id, 0.0) + share * giver.score
    return given


def _beside(id: int, talk: set[int]) -> Iterator[tuple[int, float]]:
    for direction in (-1, 1):
        neighbours = (there for step in range(1, REACH + 1) if (there := id + direction * step) in talk)
        yield from zip(neighbours, SHARES, strict=False)
