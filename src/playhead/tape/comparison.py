"""Comparing two tapes, such as a branch and what it was forked from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playhead.entry.entry import TapeEntry
from playhead.store.query import TapeQuery
from playhead.store.search import payload_text

_SHOWN = 20
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeDiff:
    """What two tapes share and what one alone has.

    `shared` is how many entries both begin with; `removed` are those behind that only the first has, `added` those that only the
    second has, each in order. An entry is the same where its uid is, so what was merged is on both.
    """

    first: str
    second: str
    shared: int
    removed: tuple[TapeEntry, ...]
    added: tuple[TapeEntry, ...]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)

    def __str__(self) -> str:
        head = f"{self.shared:,} {'entry' if self.shared == 1 else 'entries'} shared; {len(self.removed):,} only on {self.first}, {len(self.added):,} only on {self.second}"
        return "\n".join([head, *_lines("-", self.removed), *_lines("+", self.added)])


async def compared(first: TapeQuery, second: TapeQuery) -> TapeDiff:
    """Return what two tapes share and what one alone has, each given as the query for its entries.

    Costs what differs, and some twenty lookups: tapes that have the same entry at the same place are the same before it.
    """
    shared = await _shared(first, second)
    one, other = [e async for e in first.after(shared)], [e async for e in second.after(shared)]
    return TapeDiff(first=first.tape, second=second.tape, shared=shared, removed=_without(one, other), added=_without(other, one))


async def _shared(first: TapeQuery, second: TapeQuery) -> int:
    """Return the highest id at which both have the same entry, by halving."""
    low, high = 0, min(await _last(first), await _last(second))
    while low < high:
        middle = (low + high + 1) // 2
        if await _uid(first, middle) == await _uid(second, middle):
            low = middle
        else:
            high = middle - 1
    return low


async def _last(query: TapeQuery) -> int:
    found = await query.newest_first().limit(1).all()
    return found[0].id if found else 0


async def _uid(query: TapeQuery, id: int) -> str:
    found = await query.after(id - 1).limit(1).all()
    return found[0].uid if found else ""


def _without(entries: Sequence[TapeEntry], others: Sequence[TapeEntry]) -> tuple[TapeEntry, ...]:
    known = {entry.uid for entry in others}
    return tuple(entry for entry in entries if entry.uid not in known)


def _lines(sign: str, entries: Sequence[TapeEntry]) -> Iterator[str]:
    for entry in entries[:_SHOWN]:
        said = " ".join(payload_text(entry).split())
        yield f"{sign} {entry.id} {entry.kind}: {said[:_WIDTH]}{'...' if len(said) > _WIDTH else ''}"
    if len(entries) > _SHOWN:
        yield f"{sign} ... and {len(entries) - _SHOWN:,} more"
