"""Extracts: summaries picked from what was said, word for word, without any model; the same for the same run, and always there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from playhead.entry.frozen import FrozenDict
from playhead.fold.config import EXTRACTIVE, AutobiographicalConfig
from playhead.fold.extracting.identifiers import SEPARATOR, identifiers, index_within, merged_index
from playhead.fold.extracting.remarks import LEFT_OUT, SPEAKERS, Remark, remarks_of, remarks_told, told
from playhead.fold.extracting.salience import Piece, Salience, pieces_of
from playhead.fold.writing.job import Job, Surroundings, Written
from playhead.fold.writing.summarizer import Note
from playhead.view.tokens import Counter
from playhead.view.units import Unit

VERSION = 1
"""Which rules picked, as the `how` of a summary says."""

USERS_SHARE = 0.6
"""The share of the room that users' words may take before anything else is looked at."""

LEAST = 200
"""The fewest tokens that an extract aims at, unless the settings ask for fewer."""

RAW_FOR_ONE, TOLD_FOR_ONE = 5, 3
"""How many tokens of raw, and of summaries that are merged, become one."""

MISSES = 64
"""After so many pieces in a row that do not fit, no more are tried."""

WORDLESS = "[Nothing was said in words.]"


class ExtractiveSummarizer:
    """Writes extracts. It asks nobody, takes a moment and never fails; the settings say how long they are."""

    name = EXTRACTIVE

    def __init__(self, config: AutobiographicalConfig) -> None:
        self._config = config

    @property
    def regime(self) -> str:
        """One for all settings: nothing is ever given up."""
        return self.name

    async def write(self, job: Job, surroundings: Surroundings, *, note: Note) -> Written:
        """Return the extract of a run: of its raw where the job has that, else of the summaries that are merged."""
        config, counter = self._config, surroundings.counter
        target = min(config.summary_target_tokens, max(LEAST, _merged(job, counter) // TOLD_FOR_ONE if job.is_merge else sum(unit.tokens for unit in job.units) // RAW_FOR_ONE))
        names = identifiers(job.units) if job.units else merged_index(job.sources)
        index = index_within(names, tokens=min(config.identifier_index_tokens, target // 2), counter=counter) if config.identifier_index else ()
        remarks = tuple(remarks_of(job.units, sources=job.sources, since=job.since) if job.units else remarks_told(job.sources))
        room = target - _price(index, counter)
        kept = picked(remarks, tokens=room, counter=counter)
        text = told(kept) or (WORDLESS if not remarks and counter.count(WORDLESS) <= room else LEFT_OUT)
        speakers = {remark.label: remark.kind for remark in kept if remark.kind in {"user", "assistant"}}
        return Written(text=text, index=index, tools=job.tools, how=FrozenDict({EXTRACTIVE: VERSION, SPEAKERS: FrozenDict(speakers)}))


def extract(units: Sequence[Unit], *, tokens: int, counter: Counter, index_tokens: int | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the extract of any number of units and the list of what they name, together no more than `tokens`.

    The list takes up to `index_tokens`, and never more than half.
    """
    most = tokens // 2 if index_tokens is None else min(index_tokens, tokens // 2)
    index = index_within(identifiers(units), tokens=most, counter=counter)
    return told(picked(tuple(remarks_of(units)), tokens=tokens - _price(index, counter), counter=counter)), index


def picked(remarks: Sequence[Remark], *, tokens: int, counter: Counter) -> tuple[Remark, ...]:
    """Return the most telling of remarks, in order, shortened at ends of sentences; told, they cost no more than `tokens`.

    Users' words are picked first, up to a share, then whatever tells most (`Salience`).
    """
    picking = _Picking(remarks, tokens=tokens, counter=counter)
    picking.take_users()
    picking.take_any()
    return picking.fitting()


class _Picking:
    """Pieces picked so far, in the order in which they were, and what they cost."""

    def __init__(self, remarks: Sequence[Remark], *, tokens: int, counter: Counter) -> None:
        self._remarks = remarks
        self._pieces = pieces_of(remarks)
        self._salience = Salience(self._pieces)
        self._counter = counter
        self._tokens = tokens
        self._kept: dict[int, int] = {}
        self._begun: set[int] = set()
        self._cost = 0

    def take_users(self) -> None:
        """Take the words of users, up to their share."""
        self._take([index for index, piece in enumerate(self._pieces) if self._remarks[piece.remark].kind == "user"], room=int(self._tokens * USERS_SHARE))

    def take_any(self) -> None:
        """Take whatever tells most of the rest, and where nothing fits a part of that."""
        self._take(range(len(self._pieces)), room=self._tokens)
        if not self._kept and self._pieces and self._tokens > 0:
            first = next(self._salience.ranked(range(len(self._pieces))))
            self._keep(first, self._price(self._pieces[first]))

    def fitting(self) -> tuple[Remark, ...]:
        """Return what was taken, less what was taken last where counts did not add up."""
        while True:
            remarks = self._shortened()
            over = self._counter.count(told(remarks)) - self._tokens
            if over <= 0 or not remarks:
                return remarks
            if len(self._kept) == 1:
                self._halve(next(iter(self._kept)))
            while over > 0 and len(self._kept) > 1:
                over -= self._kept.popitem()[1]

    def _take(self, among: Iterable[int], *, room: int) -> None:
        misses = 0
        for index in self._salience.ranked([index for index in among if index not in self._kept]):
            cost = self._price(self._pieces[index])
            if self._cost + cost <= room:
                self._keep(index, cost)
                misses = 0
            elif (misses := misses + 1) == MISSES:
                return

    def _keep(self, index: int, cost: int) -> None:
        self._kept[index] = cost
        self._cost += cost
        self._begun.add(self._pieces[index].remark)
        self._salience.keep(index)

    def _price(self, piece: Piece) -> int:
        """Return what a piece costs, with the mark of what is left out beside it, and with the label where it is the first of its remark."""
        remark = self._remarks[piece.remark]
        label = 0 if piece.remark in self._begun else self._counter.count(f"\n{remark.label}: ")
        return self._counter.count(remark.text[piece.first : piece.last]) + label + 1

    def _halve(self, index: int) -> None:
        """Shorten the only piece, or leave it out where it is a character long."""
        piece = self._pieces[index]
        if piece.last - piece.first < 2:
            self._kept.clear()
        self._pieces[index] = replace(piece, last=(piece.first + piece.last) // 2)

    def _shortened(self) -> tuple[Remark, ...]:
        by_remark: dict[int, list[Piece]] = {}
        for index in sorted(self._kept):
            by_remark.setdefault(self._pieces[index].remark, []).append(self._pieces[index])
        return tuple(replace(self._remarks[index], text=_joined(self._remarks[index].text, pieces)) for index, pieces in by_remark.items())


def _joined(text: str, pieces: Iterable[Piece]) -> str:
    """Return pieces of a text as they stand there, with a mark where something is left out."""
    told = ""
    end = 0
    for piece in pieces:
        words = text[piece.first : piece.last]
        gap = text[end : piece.first]
        if _says(gap):
            gap = " " if told.endswith(LEFT_OUT) or words.startswith(LEFT_OUT) else f" {LEFT_OUT} "
        told += gap + words
        end = piece.last
    return told.lstrip() + (f" {LEFT_OUT}" if _says(text[end:]) and not told.endswith(LEFT_OUT) else "")


def _says(gap: str) -> bool:
    return bool(gap.strip(f" \n\r\t{LEFT_OUT}"))


def _price(index: Sequence[str], counter: Counter) -> int:
    return counter.count(SEPARATOR.join(index))


def _merged(job: Job, counter: Counter) -> int:
    return sum(counter.count(node.text) + _price(node.index, counter) for node in job.sources)
