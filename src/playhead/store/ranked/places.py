"""Where in a text the words stand that a search looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from playhead.store.ranked.tokens import asked, spans, terms
from playhead.store.ranked.typos import distance, typos_in

LOOKED_AT = 5_000
"""How many words of a text are looked at for typos."""


def places(text: str, query: str) -> list[tuple[int, int]]:
    """Return where the words of a query stand in a text, in whatever form; where none does, those that are a typo or two away."""
    wanted = asked(query)
    return list(_holding(text, wanted)) or [(start, stop) for start, stop in islice(spans(text), LOOKED_AT) if any(_is_near(word, text[start:stop].lower()) for word in wanted.values())]


def _holding(text: str, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    for start, stop in spans(text):
        word = text[start:stop]
        if any(term in wanted for term in terms(word)):
            inside = next(((start + at, start + at + len(pair)) for pair in wanted if not pair.isascii() and (at := word.find(pair)) >= 0), None)
            yield inside or (start, stop)


def _is_near(word: str, other: str) -> bool:
    most = typos_in(word)
    return most > 0 and distance(word, other, most=most) <= most
