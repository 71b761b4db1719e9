"""Runs: stretches of entry ids, those that need not be loaded and those between them that are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from playhead.errors import InvalidInput

Run = tuple[int, int]
"""The first and the last entry id of a stretch of a tape, both included."""


def checked_runs(what: str, value: object) -> tuple[Run, ...]:
    """Return runs as a tuple. Raises InvalidInput for anything but pairs of entry ids, first and last."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{what} holds pairs of entry ids, first and last, not {value!r:.80}.")
    return tuple(checked_run(what, run) for run in value)


def checked_run(what: str, value: object) -> Run:
    """Return one run. Raises InvalidInput for anything but two entry ids, the first one not behind the last."""
    if isinstance(value, Sequence) and len(value) == 2 and all(type(id) is int for id in value) and 1 <= value[0] <= value[1]:
        return value[0], value[1]
    raise InvalidInput(f"{what} holds pairs of entry ids, first and last, such as (1, 40), not {value!r:.80}.")


def folded_runs(folded: Iterable[Run], *, start: int, end: int) -> list[Run]:
    """Return those runs that lie whole among the entries `start` to `end`, in order, touching ones as one."""
    return joined(run for run in folded if start <= run[0] and run[1] <= end)


def joined(runs: Iterable[Run]) -> list[Run]:
    """Return runs in order, those that overlap or touch as one."""
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def meets(runs: Sequence[Run], first: int, last: int) -> bool:
    """Return whether anything from one entry to another, both included, lies in runs that `joined` has put in order."""
    index = bisect_right(runs, last, key=lambda run: run[0]) - 1
    return index >= 0 and runs[index][1] >= first


def runs_between(folded: Iterable[Run], *, start: int, end: int) -> list[Run]:
    """Return what is left of the entries `start` to `end` beside runs in order: the stretches to load, none of them empty."""
    left: list[Run] = []
    for first, last in folded:
        if start < first:
            left.append((start, first - 1))
        start = last + 1
    return [*left, (start, end)] if start <= end else left
