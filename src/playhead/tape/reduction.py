"""Reductions: a state that follows from a tape's entries in order, whoever wrote them and however they were interleaved."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from playhead.entry.entry import TapeEntry
from playhead.errors import InvalidInput
from playhead.store.protocol import EMPTY, Head, WholeStore
from playhead.store.query import TapeQuery

State = TypeVar("State")

Step = Callable[[State, TapeEntry], State]
"""Returns the next state; raises `Ignored` for an entry that would break a constraint. It must not change the state it is given."""


class Ignored(Exception):
    """An entry that a step leaves out, and why, such as "the span is taken"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced(Generic[State]):
    """A state, how many entries it was made of, and of those how many were left out, by reason."""

    state: State
    entries: int = 0
    ignored: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known(Generic[State]):
    """What entries came to, up to a head, and the uid of the last of them."""

    reduced: Reduced[State]
    head: Head = EMPTY
    last: str = ""


def reduce(entries: Iterable[TapeEntry], step: Step[State], start: State) -> Reduced[State]:
    """Return the state that entries come to, one after the other; what a step ignores changes nothing and is counted.

    So any interleaving of what several writers appended gives a valid state, and the same entries always the same one.
    """
    return _reduced(entries, step, Reduced(state=start))


class Reduction(Generic[State]):
    """A state that is kept up to date with a tape: each look reads only what came since the last one."""

    def __init__(self, store: WholeStore, tape: str, step: Step[State], start: Callable[[], State]) -> None:
        if not callable(start):
            raise InvalidInput(f"A reduction starts with what `start()` returns; give a function such as dict, not {start!r}.")
        self._store = store
        self._tape = tape
        self._step = step
        self._start = start
        self._known = _Known(reduced=Reduced(state=start()))

    async def look(self) -> Reduced[State]:
        """Return the state as the tape is now; after a reset, or where another tape has its name, it starts anew. Several may look at the same time."""
        known = self._known
        head = await self._store.head(self._tape)
        fresh = await self._behind(known, head)
        if fresh is None:
            known = _Known(reduced=Reduced(state=self._start()))
            fresh = await self._behind(known, head) or []
        self._known = known = _Known(head=head, last=fresh[-1].uid if fresh else known.last, reduced=_reduced(fresh, self._step, known.reduced))
        return known.reduced

    async def _behind(self, known: _Known[State], head: Head) -> list[TapeEntry] | None:
        """Return the entries behind those known, None where those no longer stand."""
        query = TapeQuery(tape=self._tape, store=self._store).up_to(head.id)
        if not known.reduced.entries:
            return await _listed(query) if head.id else []
        if head.generation != known.head.generation or head.id < known.head.id:
            return None
        found = await _listed(query.after(known.head.id - 1))
        return found[1:] if found and found[0].uid == known.last else None


def _reduced(entries: Iterable[TapeEntry], step: Step[State], before: Reduced[State]) -> Reduced[State]:
    state, number, ignored = before.state, before.entries, dict(before.ignored)
    for entry in entries:
        number += 1
        try:
            state = step(state, entry)
        except Ignored as why:
            ignored[str(why)] = ignored.get(str(why), 0) + 1
    return Reduced(state=state, entries=number, ignored=ignored)


async def _listed(entries: AsyncIterable[TapeEntry]) -> list[TapeEntry]:
    return [entry async for entry in entries]
