"""What is looked for in place of a word that stands nowhere: the terms of a view that are a typo or two away from it.

A term that begins with the word's first or second letter is found by going through those that do. A typo may make another stem of a
word ("classen"), so all words that are one typo away are made, too, and their stems looked for among these; those whose first letter
is another are looked up one by one, where nothing else is near.
"""

from __future__ import annotations

from collections.abc import Iterable

from playhead.store.ranked.stemming import stem
from playhead.store.ranked.tokens import terms
from playhead.store.ranked.typos import distance, other_beginnings, typed_otherwise, typos_in
from playhead.store.ranked.view import View

NEAR_WORDS = 8
"""How many words are looked for in place of one."""

TYPO = 0.5
"""What each typo leaves of a word's weight."""

_LONGEST_ENDING = 5


def nearest(view: View, term: str, word: str) -> list[tuple[str, int, float]]:
    """Return the terms that have the fewest typos, the most frequent first, with their frequencies and what the typos leave of their weight.

    `word` is what `term` was made of.
    """
    most = typos_in(word)
    if not most:
        return []
    shortest, longest = max(1, len(term) - _LONGEST_ENDING), len(term) + most
    known = {near for initial in dict.fromkeys(word[:2]) for near in view.vocabulary(initial, shortest, longest)}
    away = {near: typos for near in known if (typos := distance(term, near, most=most)) <= most}
    away |= dict.fromkeys(known & _stems(typed_otherwise(word)), 1)
    found = _standing(view, away)
    if not any(typos == 1 for typos, _, _ in found):
        found += _standing(view, dict.fromkeys(_stems(other_beginnings(word)), 1))
    fewest = min((typos for typos, _, _ in found), default=0)
    return [(near, -frequency, TYPO**typos) for typos, frequency, near in sorted(found)[:NEAR_WORDS] if typos == fewest]


def _stems(words: Iterable[str]) -> set[str]:
    return {term for word in words for term in ((stem(word),) if word.isascii() else terms(word))}


def _standing(view: View, away: dict[str, int]) -> list[tuple[int, int, str]]:
    """Return those terms that stand in the view, each behind its typos and its frequency, which is negative so that the most frequent sort first."""
    return [(away[term], -frequency, term) for term, frequency in view.frequencies(away).items() if frequency]
