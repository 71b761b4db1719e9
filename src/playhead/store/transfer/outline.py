"""The outline of a family: which tapes, branches and sidecars it has, where each was forked, and which entries are whose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any

from playhead.entry import codec
from playhead.errors import InvalidInput
from playhead.store.change import DISCARDED, MERGED, OPEN, SQUASHED
from playhead.store.family import Kin
from playhead.store.protocol import Head

VERSION = 1
"""The form of what is written of a family."""

State = frozenset[tuple[str | None, int]]
"""In which generations a parent (None) and its sidecars were when a branch left them."""

_STATES = (OPEN, MERGED, SQUASHED, DISCARDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The entries that a member wrote itself in one generation, `first` to `last`; `uid` is that of the last, "" where there is none.

    Ids up to `reach` were given: what stood behind `last` is shown nowhere any more. On a sidecar `spans` says, in order, in which
    generation of the main tape it was written up to which id.
    """

    generation: int
    first: int
    last: int
    reach: int
    uid: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        """How many entries it has."""
        return self.last - self.first + 1

    def begins_by(self, generation: int) -> bool:
        """Return whether any of it was written while the main tape was in a generation or an earlier one."""
        return bool(self.spans) and self.spans[0][0] <= generation

    def upto(self, generation: int) -> int:
        """Return the last id that was written while the main tape was in a generation or an earlier one."""
        return max((last for main, last in self.spans if main <= generation), default=self.first - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A tape (neither label nor sidecar), a branch or a sidecar: its strips by generation, the last of which it shows now.

    `base` is where it was forked from the branch `parent` (None: from the tape itself), or from the sidecar beside that; None where
    it was not forked. `state` to `closed_at` are those of a branch.
    """

    label: str | None
    sidecar: str | None
    strips: tuple[Strip, ...]
    parent: str | None = None
    base: Head | None = None
    state: str = OPEN
    owner: str | None = None
    created_at: str = ""
    closed_at: str | None = None

    @property
    def key(self) -> tuple[str | None, str | None]:
        """What tells it from the others of its family."""
        return self.label, self.sidecar

    @property
    def is_branch(self) -> bool:
        """Whether it is a branch, and not one of its sidecars."""
        return self.label is not None and self.sidecar is None

    @property
    def head(self) -> Head:
        """Where it ends."""
        return Head(self.strips[-1].generation, self.strips[-1].last)

    def name(self, root: str) -> str:
        """Return its name in the family of a tape."""
        return Kin(root, self.label, self.sidecar).name

    def said(self) -> dict[str, object]:
        """Return it as JSON."""
        facts: dict[str, object] = {"branch": self.label, "sidecar": self.sidecar, "strips": [_strip_said(strip) for strip in self.strips]}
        if self.base is not None:
            facts |= {"parent": self.parent, "base": [*self.base]}
        if self.is_branch:
            facts |= {"state": self.state, "owner": self.owner, "created_at": self.created_at, "closed_at": self.closed_at}
        return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The members of a family: the tape, its sidecars, then each branch, its sidecars behind it, in an order in which they can be made again."""

    members: tuple[Member, ...]

    @property
    def entries(self) -> int:
        """How many entries all strips have."""
        return sum(strip.count for member in self.members for strip in member.strips)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but names."""
        return not self.entries and not any(member.base is not None for member in self.members)

    def strips(self) -> Iterator[tuple[Member, Strip]]:
        """Yield each strip that has entries, and whose it is."""
        return ((member, strip) for member in self.members for strip in member.strips if strip.count)

    def lines(self) -> list[bytes]:
        """Return the lines that say it: what follows, then a line for each member."""
        head = {"playhead": "tape", "version": VERSION, "members": len(self.members), "entries": self.entries}
        return [codec.encode_sorted(said) + b"\n" for said in (head, *(member.said() for member in self.members))]


def outline_in(lines: Iterable[Mapping[str, Any]]) -> Outline:
    """Return the outline that lines say, the first left out. Raises InvalidInput where they are no family's."""
    try:
        members = tuple(map(_member_in, lines))
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise InvalidInput(f"A line that should say what is known of a tape, branch or sidecar says something else ({type(exc).__name__}: {exc}).") from exc
    made: dict[tuple[str | None, str | None], Member] = {}
    for member in members:
        if not _fits(member, made):
            raise InvalidInput(f"What is said of {Kin('the tape', *member.key).name} does not fit what is said before it.")
        made[member.key] = member
    if not made:
        raise InvalidInput("Nothing is said of any tape.")
    return Outline(members=members)


def _fits(member: Member, made: Mapping[tuple[str | None, str | None], Member]) -> bool:
    """Return whether a member can be made behind others: the tape itself first, each sidecar behind its tape, each branch behind its parent."""
    is_in_place = member.key == (None, None) if not made else member.key not in made and (member.is_branch or (member.label, None) in made)
    if not is_in_place or not member.strips or (member.is_branch and member.base is None):
        return False
    base = member.base
    if base is None:
        return all(strip.first == 1 for strip in member.strips)
    parent = made.get((member.parent, member.sidecar))
    left = None if parent is None else next((strip for strip in parent.strips if strip.generation == base.generation), None)
    firsts = all(strip.first == (base.id + 1 if strip.generation == base.generation else 1) for strip in member.strips)
    return member.label is not None and left is not None and left.reach >= base.id and member.strips[0].generation >= base.generation and firsts


def in_order(members: Iterable[Member]) -> tuple[Member, ...]:
    """Return the members of a family, given in the order the branches were made, in the one in which they can be made again.

    Parents come before their branches, and of the branches of one parent those that left earlier generations of it, or of its
    sidecars, before those that left later ones; else they come by date, then as given.
    """
    of_main = {label: list(group) for label, group in groupby(members, key=lambda member: member.label)}
    ranks = _ranks(of_main)
    waiting: dict[str | None, list[list[tuple[str, int, str]]]] = {}
    for number, (label, rank) in enumerate(ranks.items()):
        buckets = waiting.setdefault(of_main[label][0].parent, [])
        buckets += [[] for _ in range(rank + 1 - len(buckets))]
        buckets[rank].append((of_main[label][0].created_at, number, label))
    ordered, ready = list(of_main[None]), _next(waiting, None)
    left: dict[str | None, int] = {None: len(ready)}
    heapify(ready)
    while ready:
        label = heappop(ready)[2]
        ordered += of_main[label]
        parent = of_main[label][0].parent
        left[parent] -= 1
        for main in ([parent] if not left[parent] else []) + [label]:
            more = _next(waiting, main)
            left[main] = len(more)
            for branch in more:
                heappush(ready, branch)
    return tuple(ordered)


def _next(waiting: Mapping[str | None, list[list[tuple[str, int, str]]]], main: str | None) -> list[tuple[str, int, str]]:
    """Return the branches of a tape that can be made next, and take them off the list."""
    buckets = waiting.get(main, [])
    return buckets.pop(0) if buckets else []


def _ranks(of_main: Mapping[str | None, list[Member]]) -> dict[str, int]:
    """Return for each branch how many other states its parent was in before, as the generations it left tell."""
    left: dict[str, tuple[str | None, State]] = {}
    for label, (main, *sides) in of_main.items():
        if label is not None and main.base is not None:
            gone = {(side.sidecar, side.base.generation) for side in sides if side.base is not None}
            left[label] = main.parent, frozenset({(None, main.base.generation), *gone})
    states: dict[str | None, set[State]] = {}
    for parent, state in left.values():
        states.setdefault(parent, set()).add(state)
    ranks = {(parent, state): rank for parent, its in states.items() for rank, layer in enumerate(_layers(its)) for state in layer}
    return {label: ranks[state] for label, state in left.items()}


def _layers(states: Iterable[State]) -> Iterator[list[State]]:
    """Yield states in layers, each behind all that precede its own; what only damage can make precede itself comes last."""
    behind = {state: [other for other in states if _precedes(state, other)] for state in states}
    counts = Counter(other for others in behind.values() for other in others)
    layer = [state for state in states if not counts[state]]
    while layer:
        yield layer
        following = []
        for other in (other for state in layer for other in behind[state]):
            counts[other] -= 1
            if not counts[other]:
                following.append(other)
        layer = following
    if rest := [state for state, count in counts.items() if count > 0]:
        yield rest


def _precedes(one: State, other: State) -> bool:
    generations = dict(other)
    return any(generation < generations.get(name, -1) for name, generation in one)


def _strip_said(strip: Strip) -> dict[str, object]:
    facts: dict[str, object] = {"generation": strip.generation, "first": strip.first, "last": strip.last, "uid": strip.uid}
    facts |= {} if strip.reach == strip.last else {"reach": strip.reach}
    return facts | ({"spans": [list(span) for span in strip.spans]} if strip.spans else {})


def _member_in(said: Mapping[str, Any]) -> Member:
    base = said.get("base")
    member = Member(
        label=_text(said["branch"]),
        sidecar=_text(said["sidecar"]),
        strips=tuple(map(_strip_in, said["strips"])),
        parent=_text(said.get("parent")),
        base=None if base is None else Head(*map(_number, base)),
        state=said.get("state", OPEN),
        owner=_text(said.get("owner")),
        created_at=_text(said.get("created_at")) or "",
        closed_at=_text(said.get("closed_at")),
    )
    generations = [strip.generation for strip in member.strips]
    if generations != sorted(set(generations)) or member.state not in _STATES or (member.state != OPEN) != (member.closed_at is not None):
        raise ValueError("its generations do not rise, or its state is none")
    return member


def _strip_in(said: Mapping[str, Any]) -> Strip:
    spans = tuple((_number(generation), _number(last)) for generation, last in said.get("spans", ()))
    last = _number(said["last"])
    strip = Strip(generation=_number(said["generation"]), first=_number(said["first"]), last=last, reach=_number(said.get("reach", last)), uid=_text(said["uid"]) or "", spans=spans)
    if not 1 <= strip.first <= strip.last + 1 or strip.reach < strip.last or (spans and (list(spans) != sorted(spans) or spans[-1][1] != strip.last)):
        raise ValueError("its ids do not fit each other")
    return strip


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is no whole number from 0")
    return value


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
