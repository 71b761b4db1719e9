"""The steps in which a family is made again: what is written when, what is reset, and where each branch is forked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from playhead.store.protocol import EMPTY, Head
from playhead.store.transfer.outline import Member, Outline, Strip


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Write a strip up to an id; those behind its last entry are only counted."""

    member: Member
    strip: Strip
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Reset a member until it is in a generation."""

    member: Member
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Fork a branch, and with it the sidecars of its parent that `cuts` names, each behind an entry."""

    branch: Member
    cuts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Close a branch."""

    branch: Member


Step = Write | Turn | Part | End


def steps_of(outline: Outline) -> Iterator[Step]:
    """Yield the steps that make a family again.

    A mark is given as how far behind the head of the main tape it lies, so what a sidecar wrote while its main tape was in one
    generation is written before the main tape goes on in it; a branch is forked as soon as its parent and the sidecars of that are
    in the generations it left, and have the entries it shares.
    """
    groups = (list(group) for _, group in groupby(outline.members, key=lambda member: member.label))
    units = {main.label: _Unit(main, beside) for main, *beside in groups}
    mains = [unit.member for unit in units.values()]
    for branch in mains[1:]:
        yield from units[branch.parent].part(units[branch.label])
    for unit in units.values():
        yield from unit.rest()
    yield from (End(branch=main) for main in mains[1:] if main.closed_at is not None)


@dataclass(slots=True)
class _Progress:
    """How far a member is: which of its strips is next, the generation it is in, and its last id there."""

    member: Member
    head: Head = EMPTY
    next: int = 0

    @property
    def strip(self) -> Strip:
        """The strip that is written, or comes next."""
        return self.member.strips[self.next]

    @property
    def following(self) -> Strip:
        """The strip behind that one."""
        return self.member.strips[self.next + 1]

    @property
    def is_last(self) -> bool:
        """Whether no other strip comes behind it."""
        return self.next == len(self.member.strips) - 1

    def turn(self, generation: int) -> Iterator[Step]:
        """Go to a generation."""
        if self.head.generation < generation:
            self.head = Head(generation, 0)
            yield Turn(member=self.member, generation=generation)

    def write(self, upto: int) -> Iterator[Step]:
        """Write what is still to write of the strip up to an id, all that it ever had where that is the last that is known."""
        reach = self.strip.reach if upto >= self.strip.last else upto
        if self.head.generation == self.strip.generation and reach > self.head.id:
            self.head = self.head._replace(id=reach)
            yield Write(member=self.member, strip=self.strip, upto=reach)


@dataclass(slots=True)
class _Unit:
    """A tape or branch and its sidecars, as far as they are made."""

    member: Member
    beside: list[Member]
    main: _Progress = field(init=False)
    sides: dict[str, _Progress] = field(init=False)

    def __post_init__(self) -> None:
        self.main = _Progress(self.member, self.member.base or EMPTY)
        self.sides = {str(side.sidecar): _Progress(side, side.base or EMPTY) for side in self.beside}

    def part(self, branch: _Unit) -> Iterator[Step]:
        """Bring all to where a branch left it, and fork that."""
        base = branch.member.base or EMPTY
        cuts = {name: side.member.base for name, side in branch.sides.items() if side.member.base is not None}
        yield from self._main_to(base.generation)
        for name, cut in cuts.items():
            yield from self._side_to(self.sides[name], cut.generation)
        for side in self.sides.values():
            yield from self._written_meanwhile(side)
            if side.member.sidecar in cuts:
                yield from side.write(max(cuts[str(side.member.sidecar)].id, 1))
        yield from self.main.write(base.id)
        yield Part(branch=branch.member, cuts={name: cut.id for name, cut in cuts.items()})

    def rest(self) -> Iterator[Step]:
        """Make all that is left."""
        yield from self._main_to(self.member.head.generation)
        for side in self.sides.values():
            yield from self._side_to(side, side.member.head.generation)
        yield from self.main.write(self.main.strip.last)

    def _main_to(self, generation: int) -> Iterator[Step]:
        """Take the main tape to a generation, stopping at each in which something was written."""
        while self.main.head.generation < generation:
            now = self.main.head.generation
            for side in self.sides.values():
                yield from self._side_over(side, now)
            if self.main.strip.generation == now:
                yield from self.main.write(self.main.strip.last)
                self.main.next += 1
            yield from self.main.turn(min([at for at in self._stops() if at > now] + [generation]))

    def _stops(self) -> set[int]:
        written = {main for side in self.beside for strip in side.strips for main, _ in strip.spans}
        return {strip.generation for strip in self.member.strips} | written

    def _side_over(self, side: _Progress, main: int) -> Iterator[Step]:
        """Write all that a sidecar wrote while its main tape was in a generation, in whatever generations of its own."""
        if side.head.generation < side.strip.generation and side.strip.begins_by(main):
            yield from side.turn(side.strip.generation)
        yield from self._written_meanwhile(side)
        while not side.is_last and side.following.begins_by(main):
            side.next += 1
            yield from side.turn(side.strip.generation)
            yield from self._written_meanwhile(side)

    def _side_to(self, side: _Progress, generation: int) -> Iterator[Step]:
        """Take a sidecar to a generation of its own."""
        while side.strip.generation < generation:
            yield from side.turn(side.strip.generation)
            yield from side.write(side.strip.last)
            side.next += 1
        yield from side.turn(generation)
        yield from self._written_meanwhile(side)

    def _written_meanwhile(self, side: _Progress) -> Iterator[Step]:
        """Write what a sidecar wrote in its present generation while its main tape was in the present one of that, or before."""
        upto = side.strip.upto(self.main.head.generation)
        if upto >= side.strip.first:
            yield from side.write(upto)
