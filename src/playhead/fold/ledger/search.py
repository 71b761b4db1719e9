"""Searching what a memory tells: by words, by pattern, and by time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from heapq import heappush, heappushpop

from playhead.entry.entry import parse_date
from playhead.errors import InvalidInput
from playhead.fold.ledger.memory import FoldMemory
from playhead.fold.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryHit:
    """A summary that was found, and how often what was looked for stands in it."""

    node: Node
    matches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A summary and the id of the one that it is part of, None for one that is part of none."""

    node: Node
    parent: str | None


async def search_summaries(
    memory: FoldMemory, *, text: str | None = None, regex: str | re.Pattern[str] | None = None, levels: Collection[int] | None = None, limit: int = 50, include_merged: bool = False
) -> list[SummaryHit]:
    """Return the summaries that hold a text, upper and lower case alike, or match a regex, which wins over the text; with neither all.

    The most matches come first, then the newest. What is searched is the prose and the names listed below it. Only summaries that
    are part of no other, unless `include_merged`; then all there are, which reads each of them.
    Raises InvalidInput for a regex that is none, and for a limit below 1.
    """
    matches = _matcher(text, regex)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidInput(f"A search's limit is a whole number from 1, not {limit!r}.")
    best: list[tuple[tuple[int, int, int], str, SummaryHit]] = []
    async for node in _searched(memory, include_merged=include_merged):
        count = matches(node) if levels is None or node.level in levels else 0
        if count:
            found = (count, node.last, node.level), node.uid, SummaryHit(node=node, matches=count)
            if len(best) < limit:
                heappush(best, found)
            else:
                heappushpop(best, found)
    return [hit for _, _, hit in sorted(best, key=lambda found: found[:2], reverse=True)]


async def get_summaries_in_range(memory: FoldMemory, *, since: datetime | str | None = None, until: datetime | str | None = None, level: int | None = None) -> list[Placed]:
    """Return the summaries of what happened between two instants, both included, by when it began; all levels or one.

    An instant is a datetime or ISO text, without a zone in UTC; a date without a time is its whole day. A summary may come beside
    the one it is part of: leave out what has a `parent` that came too to see each instant once. Reads every summary there is.
    Raises InvalidDate, and InvalidInput where `since` is later than `until`.
    """
    start, end = _instant(since, time.min), _instant(until, time.max)
    if start is not None and end is not None and start > end:
        raise InvalidInput(f"A range of time begins before it ends, not {since!r} to {until!r}.")
    found = []
    async for node, parent in memory.walk():
        if (level is None or node.level == level) and (start is None or node.until >= start) and (end is None or node.since <= end):
            found.append(Placed(node=node, parent=None if parent is None else parent.id))
    return sorted(found, key=lambda placed: (placed.node.since, placed.node.first, -placed.node.level))


async def _searched(memory: FoldMemory, *, include_merged: bool) -> AsyncIterator[Node]:
    if include_merged:
        async for node in memory.nodes():
            yield node
        return
    for root in (await memory.look()).roots:
        yield root


def _matcher(text: str | None, regex: str | re.Pattern[str] | None) -> Callable[[Node], int]:
    """Return what counts how often a summary holds what is looked for."""
    if regex is not None:
        pattern = _compiled(regex)
        return lambda node: sum(1 for told in _told(node) for _ in pattern.finditer(told))
    if text:
        wanted = text.casefold()
        return lambda node: sum(told.casefold().count(wanted) for told in _told(node))
    return lambda _: 1


def _told(node: Node) -> Iterator[str]:
    yield node.text
    yield from node.index


def _compiled(regex: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        found = re.compile(regex)
        found.search("")
    except (re.error, TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise InvalidInput(f"{regex!r:.200} is no regular expression: {exc}. Write one as Python's re does, or search for text=.") from exc
    return found


def _instant(value: datetime | str | None, at: time) -> datetime | None:
    """Return the instant that is meant, at a time of day where only a date is given."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value
    try:
        return datetime.combine(date.fromisoformat(value), at, UTC)
    except (ValueError, TypeError):
        return parse_date(value)
