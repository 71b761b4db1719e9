"""Answers to a search: which entries of a view are most about a text, the same ids in the same order from every index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.errors import InvalidInput
from playhead.store.query import TapeQuery
from playhead.store.ranked.best import Ranked, Term, best, ordered, scored
from playhead.store.ranked.bm25 import Gains, weight
from playhead.store.ranked.nearness import nearest
from playhead.store.ranked.protocol import Document, Stretch, Totals
from playhead.store.ranked.smoothing import GIVERS, shares
from playhead.store.ranked.tokens import asked
from playhead.store.ranked.view import View
from playhead.store.rows.row import microseconds

LIMIT = 20
"""How many entries are returned where no limit is set."""

_WIDER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for, and which entries may be returned: ids, kinds, instants in microseconds since 1970 (both included)."""

    text: str
    within: range
    kinds: frozenset[str] | None = None
    since: int | None = None
    until: int | None = None
    limit: int = LIMIT
    smoothed: bool = False

    def admits(self, document: Document) -> bool:
        """Return whether an entry may be returned."""
        if self.kinds is not None and document.kind not in self.kinds:
            return False
        return (self.since is None or document.at >= self.since) and (self.until is None or document.at <= self.until)


def question_of(query: TapeQuery, text: str, within: range, *, smoothed: bool) -> Question:
    """Return what a search asks in the ids that its query's window and bounds leave. Raises InvalidInput where the query looks for a text itself."""
    if query.text is not None:
        raise InvalidInput("A search ranks entries by the words they share with a text; leave out query(...), which keeps those that hold one as it stands.")
    return Question(
        text=text,
        within=within,
        kinds=None if query.only is None else frozenset(query.only),
        since=None if query.since is None else microseconds(query.since),
        until=None if query.until is None else microseconds(query.until),
        limit=LIMIT if query.count is None else query.count,
        smoothed=smoothed,
    )


def answer(stretches: Sequence[Stretch], question: Question) -> list[Ranked]:
    """Return the entries that are most about a text, the best first, of equally good ones the newest; of equal payloads one."""
    view = View(stretches, question.within)
    totals = view.totals()
    terms = _terms(view, question.text, totals)
    if not terms:
        return []
    gains = Gains(totals)
    wanted = max(question.limit, GIVERS) if question.smoothed else question.limit
    number = wanted
    while True:
        found = best(view, terms, gains, number=number)
        hits = _admitted(view, question, found)
        if len(found) < number or (len(hits) >= wanted and len(_once(view, hits)) >= question.limit):
            return _once(view, _smoothed(view, question, terms, gains, hits) if question.smoothed else hits)[: question.limit]
        number *= _WIDER


def _smoothed(view: View, question: Question, terms: Sequence[Term], gains: Gains, hits: Sequence[Ranked]) -> list[Ranked]:
    given = shares(hits, lambda ids: _known(view, question, ids))
    scores = {hit.id: hit.score for hit in hits}
    scores |= scored(view, terms, gains, sorted(given.keys() - scores.keys()))
    return ordered({id: score + given.get(id, 0.0) for id, score in scores.items()})


def _admitted(view: View, question: Question, found: Sequence[Ranked]) -> list[Ranked]:
    admitted = {document.id for document in _known(view, question, (hit.id for hit in found))}
    return [hit for hit in found if hit.id in admitted]


def _known(view: View, question: Question, ids: Iterable[int]) -> list[Document]:
    return [document for document in view.documents(ids) if question.admits(document)]


def _once(view: View, hits: Sequence[Ranked]) -> list[Ranked]:
    """Return the best of all hits whose payloads hold the same text."""
    seen: dict[int, Ranked] = {}
    for document, hit in zip(view.documents(hit.id for hit in hits), hits, strict=True):
        seen.setdefault(document.digest, hit)
    return list(seen.values())


def _terms(view: View, text: str, totals: Totals) -> list[Term]:
    """Return the terms to look for: those of the text, and in place of such as stand nowhere those nearest to them."""
    words = asked(text)
    found = {term: (frequency, 1.0) for term, frequency in view.frequencies(words).items() if frequency}
    for term, word in words.items():
        for near, frequency, share in nearest(view, word) if term not in found else ():
            found.setdefault(near, (frequency, share))
    return [Term(term, share * weight(frequency, totals.documents), frequency) for term, (frequency, share) in found.items()]
