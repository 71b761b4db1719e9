"""Search without an index: all entries of a tape are read, and their words taken in, for one answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery
from playhead.store.ranked.answering import answer, question_of
from playhead.store.ranked.hit import Hit
from playhead.store.ranked.protocol import Stretch
from playhead.store.ranked.words import Words


def search(entries: Sequence[TapeEntry], query: TapeQuery, text: str, *, smoothed: bool) -> list[Hit]:
    """Return the entries of a whole tape, given in order, that are most about a text. Raises NoAnchors, AnchorNotFound, InvalidInput.

    Ids may have gaps: what counts is how entries follow each other.
    """
    whole = [entry for entry in entries if query.ceiling is None or entry.id <= query.ceiling]
    question = question_of(query, text, _within(whole, query), smoothed=smoothed)
    words = Words()
    for entry in whole:
        words.add(entry)
    stretches = [Stretch(words, 1, len(whole))] if whole else []
    return [Hit(entry=whole[place - 1], score=score) for place, score in answer(stretches, question)]


def _within(whole: Sequence[TapeEntry], query: TapeQuery) -> range:
    """Return the places, from 1 on, of the entries that a query's window and bounds leave."""
    left = replace(query, only=None, since=None, until=None, text=None, count=None, descending=False).apply(whole)
    first = bisect_left(whole, left[0].id, key=lambda entry: entry.id) + 1 if left else 1
    return range(first, first + len(left))
