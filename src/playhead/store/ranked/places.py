"""Where in a text the words stand that a search looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from playhead.store.ranked.nearness import away
from playhead.store.ranked.tokens import asked, spans, terms
from playhead.store.ranked.typos import typos_in

LOOKED_AT = 5_000
"""How many words of a text are looked at for typos."""


def places(text: str, query: str) -> list[tuple[int, int]]:
    """Return where the words of a query stand in a text, in whatever form; where none does, those that are a typo or two away."""
    wanted = asked(query)
    if found := list(_holding(text, spans(text), wanted)):
        return found
    looked_at = list(islice(spans(text), LOOKED_AT))
    standing = {term for start, stop in looked_at for term in terms(text[start:stop])}
    return list(_holding(text, looked_at, {near for word in wanted.values() if typos_in(word) for near in away(word, standing)}))


def _holding(text: str, words: Iterable[tuple[int, int]], wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    for start, stop in words:
        word = text[start:stop]
        if any(term in wanted for term in terms(word)):
            inside = next(((start + at, start + at + len(pair)) for pair in wanted if not pair.isascii() and (at := word.find(pair)) >= 0), None)
            yield inside or (start, stop)
