"""Queries over what a tape shows: what the end of the tape can answer is read from there, the rest is passed through."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile

from playhead.entry.entry import ANCHOR, TapeEntry, event_name
from playhead.errors import AnchorNotFound, NoAnchors
from playhead.store.file.record.lineage import Lineage
from playhead.store.file.record.lines import Line
from playhead.store.file.record.recording import Found
from playhead.store.query import AfterAnchor, BetweenAnchors, TapeQuery
from playhead.store.scan import stands_as_written


def fetch(tape: Lineage, query: TapeQuery) -> list[TapeEntry]:
    """Return the entries a query asks for. Raises NoAnchors or AnchorNotFound where its window has no edge."""
    first, last = bounds(tape, query)
    return list(islice(_admitted(_lines(tape, query, first, last), query), query.count))


def count(tape: Lineage, query: TapeQuery) -> int:
    """Return how many entries a query returns; ids are dense, so without a filter nothing is read."""
    first, last = bounds(tape, query)
    is_plain = query.only is None and query.text is None and query.since is None and query.until is None
    if not is_plain or not tape.is_dense:
        return sum(1 for _ in islice(_admitted(_lines(tape, query, first, last), query), query.count))
    number = max(0, last - first + 1)
    return number if query.count is None else min(number, query.count)


def bounds(tape: Lineage, query: TapeQuery) -> tuple[int, int]:
    """Return the lowest and the highest id that a query's window, cursor and bounds leave."""
    end = tape.tail.id if query.ceiling is None else min(tape.tail.id, query.ceiling)
    low, high = _window(tape, query, end)
    return max(low, query.cursor + 1, 1), high if query.stop is None else min(high, query.stop - 1)


def _window(tape: Lineage, query: TapeQuery, end: int) -> tuple[int, int]:
    match query.window:
        case None:
            return 1, end
        case AfterAnchor(name):
            for _, anchor in tape.anchors(end):
                if name is None or event_name(anchor.entry()) == name:
                    return anchor.id + 1, end
            raise NoAnchors if name is None else AnchorNotFound(name)
        case BetweenAnchors(start, stop):
            closing = None
            for _, anchor in tape.anchors(end):
                name = event_name(anchor.entry())
                if name == start:
                    if closing is None:
                        raise AnchorNotFound(stop)
                    return anchor.id + 1, closing - 1
                closing = anchor.id if name == stop else closing
            raise AnchorNotFound(start)


def _lines(tape: Lineage, query: TapeQuery, first: int, last: int) -> Iterator[Found]:
    """Yield the lines of a range of ids in the query's order; where only anchors are wanted, those alone."""
    if last < first:
        return iter(())
    if query.only is not None and set(query.only) == {ANCHOR}:
        anchors = takewhile(lambda found: found[1].id >= first, tape.anchors(last))
        return anchors if query.descending else reversed(list(anchors))
    return tape.backwards(first, last) if query.descending else tape.forwards(first, last)


def _admitted(found: Iterator[Found], query: TapeQuery) -> Iterator[TapeEntry]:
    """Yield the entries of lines that pass the filters; most others are passed over before they are decoded."""
    kinds = None if query.only is None else frozenset(query.only)
    wanted = None if query.text is None else _as_written(query.text)
    for _, line in found:
        if kinds is not None and line.kind not in kinds:
            continue
        if wanted is not None and not _may_hold(line, wanted):
            continue
        entry = line.entry()
        if query.admits(entry):
            yield entry


def _as_written(text: str) -> str | None:
    """Return a text as it must occur in JSON that holds it, None where it may be written in another way."""
    folded = text.casefold()
    return folded if stands_as_written(folded) else None


def _may_hold(line: Line, wanted: str) -> bool:
    return line.moved is not None or wanted in bytes(line.payload).decode().casefold()
