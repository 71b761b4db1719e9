"""A family that another one has gone on from: what stands in one store is the front of what the other one has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from playhead.store.protocol import EMPTY, Head
from playhead.store.transfer.original import Page
from playhead.store.transfer.outline import Member, Outline, Strip
from playhead.store.transfer.rebuilding import RESETS, Source

Members = Mapping[tuple[str | None, str | None], Member]


class Front:
    """A source up to where another family ends, to be compared with that."""

    def __init__(self, source: Source, outline: Outline) -> None:
        self.outline = outline
        self._source = source

    async def page(self, member: Member, strip: Strip, *, after: int, upto: int) -> Page:
        """Return the first entries of a strip behind an id, none behind `upto`."""
        return await self._source.page(member, strip, after=after, upto=upto)


def is_front(front: Outline, whole: Outline) -> bool:
    """Return whether a family can come to be another one by appends, forks and ends of branches alone, as far as outlines tell.

    A reset takes away what stands, so it is none of these. Whatever part of the way was gone, the rest of it can be gone.
    """
    standing = {member.key: member for member in front.members}
    wanted = {member.key: member for member in whole.members}
    return all(_goes_on(member, standing, wanted) for member in front.members) and all(_is_addable(member, standing, wanted) for member in whole.members if member.key not in standing)


def added(front: Outline, whole: Outline) -> list[tuple[Member, int]]:
    """Return the sidecars beside tapes and branches of the front that go on, each with the last id that stands."""
    lasts = {member.key: member.strips[-1].last for member in front.members}
    sides = [(member, lasts.get(member.key, 0)) for member in whole.members if member.sidecar is not None and (member.label, None) in lasts]
    return [(member, last) for member, last in sides if member.strips[-1].last > last]


def heads(front: Outline, whole: Outline, root: str) -> dict[str, Head]:
    """Return where each member ends that stands, and where each begins that does not."""
    standing = {member.key: member.head for member in front.members}
    return {member.name(root): standing.get(member.key, member.base or EMPTY) for member in whole.members}


def _goes_on(member: Member, standing: Members, wanted: Members) -> bool:
    whole = wanted.get(member.key)
    if whole is None or replace(member, strips=whole.strips, state=whole.state, closed_at=whole.closed_at) != whole:
        return False
    if standing[member.label, None].closed_at is not None:
        return member == whole
    *before, now = member.strips
    *earlier, end = whole.strips
    return before == earlier and (now.generation, now.first) == (end.generation, end.first) and now.last <= end.last


def _is_addable(member: Member, standing: Members, wanted: Members) -> bool:
    """Return whether a member can be made where others stand: in one generation, which its parent is in, too."""
    main = standing.get((member.label, None))
    strip = member.strips[-1]
    if len(member.strips) > 1 or strip.reach > strip.last:
        return False
    if member.base is None:
        return strip.generation <= RESETS and (main is None or main.closed_at is None)
    parent = wanted.get((member.parent, member.sidecar))
    return main is None and parent is not None and strip.generation == member.base.generation == parent.head.generation
