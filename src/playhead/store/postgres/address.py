"""Where the entries of a tape are, remembered between statements: each statement proves it anew."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from json import loads
from typing import NamedTuple
from uuid import UUID

from playhead.store.family import kin_of
from playhead.store.postgres.keys import NONE, name_key

_REMEMBERED = 4096


class Segment(NamedTuple):
    """A range of ids of one tape number, both ends included."""

    tape_no: int
    low: int
    high: int


class Address(NamedTuple):
    """Where a tape is: its family, its number there, and the ranges of others that it stands behind. All of it but `turn` never changes."""

    root_id: UUID
    tape_no: int
    name_key: bytes
    generation: int
    before: int
    lineage: str
    turn: int
    main_key: bytes

    def inherited(self) -> tuple[Segment, ...]:
        """Return the ranges that it stands behind, oldest first."""
        return inherited(self.lineage)

    def pieces(self, ids: range, *, head: int, descending: bool = False) -> Iterator[Segment]:
        """Yield the parts of what it shows whose ids lie in a range, from the end or from the front."""
        segments = (*self.inherited(), Segment(self.tape_no, self.before + 1, head))
        for tape_no, low, high in reversed(segments) if descending else segments:
            piece = Segment(tape_no, max(low, ids.start), min(high, ids.stop - 1))
            if piece.low <= piece.high:
                yield piece


@lru_cache(maxsize=1024)
def inherited(lineage: str) -> tuple[Segment, ...]:
    """Return the ranges of a lineage, which never changes."""
    segments, before = [], 0
    for tape_no, last in loads(lineage):
        segments.append(Segment(tape_no, before + 1, last))
        before = last
    return tuple(segments)


def part_of(root_id: UUID, tape_no: int) -> Address:
    """Return the address of a tape number alone, whatever it is called and whatever it stands behind."""
    return Address(root_id, tape_no, NONE, 0, 0, "[]", 0, NONE)


class Book:
    """Addresses and families by name, and the last id that each tape was seen with."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}
        self.roots: dict[str, UUID] = {}
        self.seen: dict[str, int] = {}

    def get(self, tape: str) -> Address | None:
        """Return the address of a tape, None where it is not known."""
        return self._addresses.get(tape)

    def note(self, tape: str, row: tuple[UUID, int, int, int, str, int]) -> Address:
        """Remember where a tape is, given its family, number, generation, the id it begins behind, lineage and turn."""
        if len(self._addresses) >= _REMEMBERED:
            self._addresses.clear()
            self.roots.clear()
            self.seen.clear()
        root_id, tape_no, generation, before, lineage, turn = row
        kin = kin_of(tape)
        address = Address(root_id, tape_no, name_key(tape), generation, before, lineage, turn, NONE if kin.sidecar is None else name_key(kin.main))
        self._addresses[tape] = address
        self.roots[kin.root] = root_id
        return address

    def forget(self, *tapes: str) -> None:
        """Forget where tapes are, as they are not there any more."""
        for tape in tapes:
            self._addresses.pop(tape, None)
            self.seen.pop(tape, None)
