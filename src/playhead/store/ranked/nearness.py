"""What is looked for in place of a word that stands nowhere: the terms of a view that are a typo or two away from it.

A term that begins with the word's first or second letter is found by going through those that do. A typo may make another stem of a
word ("classen"), so the word is compared with all forms of these, too. Terms whose first letter is another are looked up one by one,
where nothing else is near.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from playhead.store.ranked.letters import other_beginnings
from playhead.store.ranked.stemming import BACKWARDS, LONGEST_ENDING, forms
from playhead.store.ranked.tokens import term_of
from playhead.store.ranked.typos import compared, distance, typos_in
from playhead.store.ranked.view import View

NEAR_WORDS = 8
"""How many words are looked for in place of one."""

TYPO = 0.5
"""What each typo leaves of a word's weight."""


def nearest(view: View, word: str) -> list[tuple[str, int, float]]:
    """Return the terms that have the fewest typos, the most frequent first, with their frequencies and what the typos leave of their weight.

    `word` is one that `asked` gives.
    """
    most = typos_in(word)
    if not most:
        return []
    shortest, longest = max(1, len(word) - most - LONGEST_ENDING), len(word) + most
    found = _standing(view, away(word, {term for initial in dict.fromkeys(word[:2]) for term in view.vocabulary(initial, shortest, longest)}))
    if not any(typos == 1 for typos, _, _ in found):
        found += _standing(view, dict.fromkeys(map(term_of, other_beginnings(word)), 1))
    fewest = min((typos for typos, _, _ in found), default=0)
    return [(near, -frequency, TYPO**typos) for typos, frequency, near in sorted(found)[:NEAR_WORDS] if typos == fewest]


def away(word: str, terms: Iterable[str]) -> dict[str, int]:
    """Return those terms that a word has no more typos against than it may hold, each with how many: in that form which is nearest, or stem against stem."""
    most, bare, found = typos_in(word), term_of(word), dict[str, int]()
    ends = _ends(word, most=most) if word.isascii() else []
    letters = {*word, *bare}
    likely = sorted(term for term in terms if len({*term[:-1]}.difference(letters)) <= most)  # a last "y" is an "i" in other forms
    for term, rows in compared(likely, word, most=most):
        typos = rows[-1][len(bare)] if word.startswith(bare) else distance(term, bare, most=most)
        if typos > 1 and _may_be_near(term, rows, ends, most=most):
            typos = min((typos, *_typos_of_forms(word, term, most=most)))
        if typos <= most:
            found[term] = typos
    return found


def _ends(word: str, *, most: int) -> list[int]:
    """Return for each place of a word how many typos lie at least between an ending and what stands from there on; `most` + 1 where there are more."""
    ends = [most + 1] * (len(word) + 2)
    for _, rows in compared(BACKWARDS, word[::-1], most=most):
        for length, typos in enumerate(rows[-1]):
            ends[len(word) - length] = min(ends[len(word) - length], typos)
    return ends


def _may_be_near(term: str, rows: Sequence[Sequence[int]], ends: Sequence[int], *, most: int) -> bool:
    """Return whether a word can be one of a term's forms but for some typos: those within the term and those behind it are not too many."""
    if term.endswith("y") or not ends:
        return True
    if any(typos + min(ends[place], ends[place + 1]) <= most for place, typos in enumerate(rows[-1])):
        return True
    # or its last letter is swapped with the next one
    return any(typos + 1 + end <= most for typos, end in zip(rows[-2], ends[2:], strict=False))


def _typos_of_forms(word: str, term: str, *, most: int) -> Iterator[int]:
    for form in forms(term, range(len(word) - most, len(word) + most + 1)):
        typos = distance(form, word, most=most)
        if typos <= most and term_of(form) == term:
            yield typos


def _standing(view: View, typos: Mapping[str, int]) -> list[tuple[int, int, str]]:
    """Return those terms that stand in the view, each behind its typos and its frequency, which is negative so that the most frequent sort first."""
    return [(typos[term], -frequency, term) for term, frequency in view.frequencies(typos).items() if frequency]
