"""The backlog: what of a tape no summary tells yet and may be told, found without reading what is told already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from playhead.fold.choosing.chunks import Chunk
from playhead.fold.choosing.lateness import late_answers, late_entries
from playhead.fold.choosing.windows import head_end, recent_start
from playhead.fold.config import AutobiographicalConfig
from playhead.fold.forest import Forest, held_raw
from playhead.fold.resolvers.protocol import Produce
from playhead.tape.tape import Tape
from playhead.view.units import Unit

Chunked = tuple[tuple[Chunk, ...], tuple[Unit, ...]]
"""Closed chunks, oldest first, and the units that wait for more."""


class Cut(Protocol):
    """Cuts a run of units that nothing owns into closed chunks and the rest that waits."""

    def __call__(self, units: Sequence[Unit], /, *, after: int, before: int, closes_at_end: bool, is_whole: bool, is_wanted: bool) -> Chunked:
        """Return both. The run starts behind entry `after` and ends before entry `before`.

        `is_whole` where the units are all that there is of it now, `is_wanted` where few messages may close a chunk.
        """
        ...


PAGE = 128
"""How many entries of the backlog are read at first; four times as many each time that no chunk closes in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of entries that no summary tells; `is_closed` where something that stays as it is follows, so that it never grows."""

    first: int
    last: int
    is_closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Where the parts of a view lie: the units it opens with (the head window among them), the runs that no summary tells, and `border`, the first entry that stays raw."""

    forest: Forest
    head: tuple[Unit, ...]
    start: int
    border: int
    runs: tuple[Run, ...]

    def raw_before(self, entry: int, told: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return the runs of entries between the head and `entry` that none of `told` covers."""
        return tuple((run.first, run.last) for run in free_runs(self.start, entry - 1, told))


class Backlog:
    """Reads what may be summarised next of one tape."""

    def __init__(self, tape: Tape, *, config: AutobiographicalConfig, cut: Cut) -> None:
        self._tape = tape
        self._config = config
        self._cut = cut

    async def survey(self, forest: Forest, *, frozen_from: int | None, room: int | None = None) -> Survey:
        """Return where the parts of the view lie; `frozen_from` is the first entry that a hold bars, `room` what was compiled for last, None for what the forest was folded for."""
        recent = self._config.recent_tokens(forest.cut.room if room is None and forest.cut is not None else room)
        tail = await self._tape.read(tail_tokens=recent, head_tokens=self._config.head_window_tokens)
        begins = 1 if tail.before is None else tail.before.id + 1
        front = min((gap.at for gap in tail.gaps if gap.at >= tail.lead), default=len(tail))
        ends = max(tail.lead, head_end(tail[:front], tokens=self._config.head_window_tokens))
        head = tail[:ends]
        at = recent_start(tail, tokens=recent, start=ends, frozen_from=frozen_from)
        if at == len(tail) and at > ends:
            at -= 1
        border = tail[at].first if at < len(tail) else tail.end + 1
        if tail.gaps and at <= tail.gaps[-1].at - 1:
            border = tail.gaps[-1].first
        if frozen_from is not None:
            border = min(border, frozen_from)
        inside = sorted(id for unit in head for id in unit.ids)
        goes_on = inside and ends < len(tail) and all(gap.at != ends for gap in tail.gaps)
        start = max(begins, tail[ends].first if goes_on else max(inside, default=0) + 1)
        held = [*(node.span for node in forest.roots), *((o.first, o.last) for o in forest.stuck if o.level == 1), *((id, id) for id in inside if id >= start)]
        for first, last in (run for run in held_raw(forest) if run[0] < border):
            held += [(first, last), *((id, id) for id in await late_entries(self._tape, first=first, last=last))]
        return Survey(forest=forest, head=head, start=start, border=border, runs=tuple(free_runs(start, border - 1, held)))

    async def chunks(self, survey: Survey, *, enough: int, demands: Iterable[Produce] = ()) -> tuple[tuple[Chunk, ...], bool]:
        """Return closed chunks, oldest first, at least `enough` of them where there are so many, and whether there may be more.

        In a run for which there is a demand a few long messages are a chunk too: something was refused for want of it.
        """
        wanted = [demand for demand in demands if demand.level == 1]
        found: list[Chunk] = []
        runs = list(survey.runs)
        while runs:
            if len(found) >= enough:
                return tuple(found), True
            run = runs.pop(0)
            is_wanted = any(demand.first <= run.last and run.first <= demand.last for demand in wanted)
            closed, is_all, late = await self._closed(run, survey.forest, enough=enough - len(found), is_wanted=is_wanted)
            found += closed
            if not is_all:
                return tuple(found), True
            runs = [part for run in runs for part in _without(run, late)]
        return tuple(found), False

    async def _closed(self, run: Run, forest: Forest, *, enough: int, is_wanted: bool) -> tuple[Sequence[Chunk], bool, frozenset[int]]:
        """Return the closed chunks at the front of a run, whether these are all of it, and the results that calls in it wait for.

        A round whose result stands behind the run, and is told by no summary there, keeps itself and what follows from being told without
        it.
        """
        size = PAGE
        while True:
            last = min(run.last, run.first + size - 1)
            is_whole = last == run.last
            units = await self._tape.read_range(run.first, last)
            late = await self._late(units, forest, last=last)
            inside = [answer for answer in chain.from_iterable(late.values()) if answer <= run.last]
            if inside:
                size = max(inside) - run.first + 1
                continue
            if late:
                before = [unit for unit in units if unit.first < min(late)]
                closed, _ = self._cut(before, after=run.first - 1, before=min(late), closes_at_end=False, is_whole=False, is_wanted=is_wanted)
                return closed, True, frozenset(chain.from_iterable(late.values()))
            closed, rest = self._cut(units, after=run.first - 1, before=last + 1, closes_at_end=is_whole and run.is_closed, is_whole=is_whole, is_wanted=is_wanted)
            if is_whole and run.is_closed and closed and not rest:
                closed = (*closed[:-1], _widened(closed[-1], run.last))
            if is_whole or len(closed) >= enough:
                return closed, is_whole, frozenset()
            size *= 4

    async def _late(self, units: Sequence[Unit], forest: Forest, *, last: int) -> dict[int, tuple[int, ...]]:
        """Return, by the first entry of rounds that wait for results, those behind entry `last` that no summary tells."""
        waiting = [unit.first for unit in units if unit.is_open]
        found = await late_answers(self._tape, first=waiting[0], last=last) if waiting else {}
        return {turn: free for turn in waiting if (free := tuple(answer for answer in found.get(turn, ()) if forest.root_at(answer) is None))}


def _without(run: Run, entries: Iterable[int]) -> Iterable[Run]:
    """Yield what is left of a run without some entries of it."""
    held = [(entry, entry) for entry in entries if run.first <= entry <= run.last]
    return (replace(part, is_closed=part.is_closed or run.is_closed) for part in free_runs(run.first, run.last, held))


def _widened(chunk: Chunk, last: int) -> Chunk:
    """Return the last chunk of a run that cannot grow, with what shows nothing behind it: else that would belong to nobody."""
    return chunk if chunk.last == last else replace(chunk, last=last, last_uid="")


def free_runs(first: int, last: int, held: Iterable[tuple[int, int]]) -> Iterable[Run]:
    """Yield the runs between two entries, both included, that no held run covers, in order."""
    at = first
    for begin, end in sorted(held):
        if begin > last:
            break
        if begin > at:
            yield Run(first=at, last=begin - 1, is_closed=True)
        at = max(at, end + 1)
    if at <= last:
        yield Run(first=at, last=last, is_closed=False)
