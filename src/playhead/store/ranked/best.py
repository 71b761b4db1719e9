"""The best entries of a view for weighted terms, exactly, without scoring all that hold a common word.

MaxScore (Turtle & Flood, "Query evaluation: strategies and optimizations", 1995): terms are taken from the heaviest on. Once what
the lighter ones could add together is less than what the best have, no new entry can come in, and lighter terms are only looked
up for those that still may be among the best. Each score is the same sum in the same order, however much was left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import nlargest
from itertools import accumulate
from typing import NamedTuple

from playhead.store.ranked.bm25 import MOST_GAIN, Gains
from playhead.store.ranked.protocol import Run
from playhead.store.ranked.view import View

_ROUNDING = 1 + 1e-9
_WORTH_A_LOOK = 4
"""For how many found entries to each one of the next term the best are looked for: more would cost more than the term."""


class Term(NamedTuple):
    """A term to look for and what it weighs."""

    text: str
    weight: float
    frequency: int


class Ranked(NamedTuple):
    """An entry that was found and its score."""

    id: int
    score: float


def ordered(found: dict[int, float]) -> list[Ranked]:
    """Return entries by score, of equal ones the newest first."""
    return [Ranked(id, score) for id, score in sorted(found.items(), key=lambda item: (-item[1], -item[0]))]


def scored(view: View, terms: Sequence[Term], gains: Gains, ids: Sequence[int]) -> dict[int, float]:
    """Return the scores of entries, given by ascending ids; 0 where one holds none of the terms."""
    scores = dict.fromkeys(ids, 0.0)
    for term in _by_weight(terms):
        for run in view.postings_near(term.text, ids):
            _add(scores, _of(run, ids), term.weight, gains)
    return scores


def best(view: View, terms: Sequence[Term], gains: Gains, *, number: int) -> list[Ranked]:
    """Return the best entries, the best first: `number` of them, or all there are."""
    by_weight = _by_weight(terms)
    rest = [*accumulate((term.weight * MOST_GAIN for term in reversed(by_weight)), initial=0.0)][::-1]
    scores: dict[int, float] = {}
    for place, term in enumerate(by_weight):
        if len(scores) <= _WORTH_A_LOOK * term.frequency and _are_out_of_reach(scores, rest[place], number=number):
            scores = _narrowed(view, scores, by_weight[place:], rest[place:], gains, number=number)
            break
        for run in view.postings(term.text):
            _add(scores, run, term.weight, gains)
    least = _least(scores, number=number)
    return ordered({id: score for id, score in scores.items() if score >= least})[:number]


def _are_out_of_reach(scores: dict[int, float], rest: float, *, number: int) -> bool:
    """Return whether the best so far have more than what the rest of the terms can add together."""
    if len(scores) < number or rest * _ROUNDING >= max(scores.values()):
        return False
    return rest * _ROUNDING < _least(scores, number=number)


def _least(scores: dict[int, float], *, number: int) -> float:
    """Return what the last of the best has, 0 where all are among them."""
    return nlargest(number, scores.values())[-1] if len(scores) >= number else 0.0


def _by_weight(terms: Sequence[Term]) -> list[Term]:
    """Return terms in the order in which every score is summed."""
    return sorted(terms, key=lambda term: (-term.weight, term.text))


def _add(scores: dict[int, float], run: Run, weight: float, gains: Gains) -> None:
    added = gains.of(run, weight)
    if not scores:
        scores.update(zip(run.ids, added, strict=True))
        return
    standing = scores.get
    for id, gain in zip(run.ids, added, strict=True):
        scores[id] = standing(id, 0.0) + gain


def _narrowed(view: View, scores: dict[int, float], terms: Sequence[Term], rest: Sequence[float], gains: Gains, *, number: int) -> dict[int, float]:
    """Return those scores that may be among the best, with what the terms add to them."""
    for place, term in enumerate(terms):
        least = _least(scores, number=number)
        scores = {id: score for id, score in scores.items() if (score + rest[place]) * _ROUNDING >= least}
        ids = sorted(scores)
        for run in view.postings_near(term.text, ids):
            _add(scores, _of(run, ids), term.weight, gains)
    return scores


def _of(run: Run, ids: Sequence[int]) -> Run:
    """Return the part of a run that has the given ids."""
    low, high = bisect_left(ids, run.ids[0]), bisect_right(ids, run.ids[-1])
    places = []
    place = 0
    for id in ids[low:high]:
        place = bisect_left(run.ids, id, place)
        if run.ids[place] == id:
            places.append(place)
    return Run([run.ids[i] for i in places], [run.counts[i] for i in places], [run.lengths[i] for i in places])
