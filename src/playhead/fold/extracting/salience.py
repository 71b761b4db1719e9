"""Salience: which pieces of what was said tell most, judged by the run that they stand in alone."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain, islice
from math import log, sqrt

from playhead.fold.extracting.remarks import Remark, RemarkKind
from playhead.fold.extracting.sentences import sentences, size, stem, terms

WHOLE = 480
"""A remark of people, or a call, of no more bytes is one piece; of others each sentence is one."""

WEIGHTS: Mapping[RemarkKind, float] = {"user": 1.0, "assistant": 1.0, "note": 1.0, "error": 0.5, "call": 0.35, "result": 0.2}
"""What a term weighs by who names it: what people say, then what failed, what was asked of tools, and last what they print, which is long and can be printed again."""

TAKEN_UP = (0.5, 0.25)
"""How much more a term weighs for a neighbour that has it, too: one beside, one that is two away."""

HEARD = 0.5
"""What a term still weighs each time it was kept elsewhere."""

MIDDLE = 1_200
"""So many characters from both ends of its remark a piece weighs half: what matters is said first or last."""

SPOKEN: frozenset[RemarkKind] = frozenset({"user", "assistant", "note", "call"})

LOOKS = 4
"""How often a piece is judged anew on average, as others are kept that say some of it; it bounds the time that ranking takes."""

DECIDED, FAILED, COUNTED, OPEN = 1.2, 1.4, 1.1, 1.5
"""How much more a piece weighs that decides or demands something, that tells of a failure, that has a number, that asks and is the last said."""

_NUMBER = re.compile(r"\d")
FAILURES = frozenset(stem(word) for word in ("cannot", "crash", "denied", "error", "exception", "failed", "failure", "fatal", "panic", "traceback", "错误", "失败", "异常", "エラ", "失敗", "오류"))
DECISIONS = frozenset(
    stem(word) for word in ("agreed", "always", "because", "decided", "decision", "important", "instead", "must", "never", "prefer", "remember", "决定", "必须", "应该", "不要", "记住", "总是", "因为")
)
"""Terms that tell of a failure, and of a decision or a demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The characters `first` to `last` of a remark, kept or left out as a whole. `cost` is about how many tokens it is, `factor` what a term in it weighs."""

    remark: int
    first: int
    last: int
    terms: tuple[str, ...]
    cost: float
    factor: float


def pieces_of(remarks: Sequence[Remark]) -> list[Piece]:
    """Return what remarks may be cut into, in order."""
    end = len(remarks) - 1
    return [_piece(remark, bounds, index=index, is_last=index == end) for index, remark in enumerate(remarks) for bounds in _bounds(remark)]


def _bounds(remark: Remark) -> Sequence[tuple[int, int]]:
    text = remark.text
    if remark.kind not in SPOKEN or len(text) > WHOLE or size(text) > WHOLE:
        return sentences(text)
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    return ((first, last),) if first < last else ()


def _piece(remark: Remark, bounds: tuple[int, int], *, index: int, is_last: bool) -> Piece:
    first, last = bounds
    words = remark.text[first:last]
    factor = WEIGHTS[remark.kind] / (1 + min(first, len(remark.text) - last) / MIDDLE)
    told = terms(words)
    factor *= 1.0 if FAILURES.isdisjoint(told) else FAILED
    factor *= 1.0 if DECISIONS.isdisjoint(told) else DECIDED
    factor *= COUNTED if _NUMBER.search(words) else 1.0
    factor *= OPEN if is_last and words.endswith(("?", "？", "؟")) else 1.0
    return Piece(remark=index, first=first, last=last, terms=told, cost=2 + size(words) / 4, factor=factor)


class Salience:
    """Ranks the pieces of a run by what they tell for the square root of what they cost.

    A piece tells the sum of its terms. A term weighs the more the fewer pieces have it, by the square of its inverse document frequency;
    the more where neighbours take it up; and the less the more often it is kept already.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._weights = _weights(pieces)
        self._kept: Counter[str] = Counter()

    def keep(self, index: int) -> None:
        """Note that a piece is kept, so that others tell less by what it says."""
        self._kept.update(self._pieces[index].terms)

    def ranked(self, among: Iterable[int]) -> Iterator[int]:
        """Yield the indexes of pieces, the most telling first, given what is kept by then; those that say what another says come last."""
        heap: list[tuple[float, int]] = []
        said: set[tuple[str, ...]] = set()
        again: list[int] = []
        for index in among:
            if self._pieces[index].terms in said:
                again.append(index)
            else:
                said.add(self._pieces[index].terms)
                heap.append((-self._value(index), index))
        heapify(heap)
        spare = LOOKS * len(heap)
        while heap:
            _, index = heappop(heap)
            if spare and heap and (now := -self._value(index)) > heap[0][0]:
                spare -= 1
                heappush(heap, (now, index))
            else:
                yield index
        yield from again

    def _value(self, index: int) -> float:
        piece, kept = self._pieces[index], self._kept
        return piece.factor / sqrt(piece.cost) * sum([weight * HEARD ** kept[term] for term, weight in zip(piece.terms, self._weights[index], strict=True)])


def _weights(pieces: Sequence[Piece]) -> list[tuple[float, ...]]:
    """Return what each term of each piece weighs: its rarity, smoothed over the pieces around it."""
    counts = Counter(term for piece in pieces for term in piece.terms)
    rarity = {term: log(1 + (len(pieces) - count + 0.5) / (count + 0.5)) ** 2 for term, count in counts.items()}
    none: frozenset[str] = frozenset()
    ahead = chain((frozenset(piece.terms) for piece in pieces), (none, none))
    around = deque((none, none, none, *islice(ahead, 2)), maxlen=5)
    weights: list[tuple[float, ...]] = []
    for piece, coming in zip(pieces, ahead, strict=True):
        around.append(coming)
        near = [(around[2 + step], more) for distance, more in enumerate(TAKEN_UP, start=1) for step in (-distance, distance)]
        weights.append(tuple([rarity[term] * (1 + sum([more for terms, more in near if term in terms])) for term in piece.terms]))
    return weights
