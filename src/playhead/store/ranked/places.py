"""Where in a text the words stand that a search looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from playhead.store.ranked.tokens import asked, spans, terms
from playhead.store.ranked.typos import distance, typos_in


def places(text: str, query: str) -> list[tuple[int, int]]:
    """Return where the words of a query stand in a text, in whatever form; where none does, those that are a typo or two away."""
    wanted = asked(query)
    exactly = list(_matching(text, wanted, lambda term: term in wanted))
    return exactly or list(_matching(text, wanted, lambda term: any(_is_near(word, term) for word in wanted)))


def _matching(text: str, wanted: list[str], matches: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    for start, stop in spans(text):
        word = text[start:stop]
        if any(map(matches, terms(word))):
            inside = next(((start + at, start + at + len(pair)) for pair in wanted if not pair.isascii() and (at := word.find(pair)) >= 0), None)
            yield inside or (start, stop)


def _is_near(word: str, term: str) -> bool:
    most = typos_in(word)
    return most > 0 and distance(word, term, most=most) <= most
