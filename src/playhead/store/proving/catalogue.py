"""The tapes of a store and what they are called, read to be proved or saved: nothing in it is taken for granted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from playhead.errors import InvalidInput
from playhead.store.family import kin_of

IN_USE, RETIRED, REMOVED = 0, 3, 4
"""What a tape number can be: in use, out of use, or out of use and its entries removed."""

HIGHEST = (1 << 31) - 1
"""The highest tape number."""


class Numbered(NamedTuple):
    """What stands for one generation of a tape; `indexed` is up to where its entries surely are there."""

    tape_no: Any
    parent_no: Any
    fork_seq: Any
    lineage: Any
    generation: Any
    state: Any
    low_water: Any
    indexed: Any
    created_at: Any

    @property
    def before(self) -> int:
        """The id that its own entries stand behind."""
        return max(whole(self.fork_seq), whole(self.low_water))

    def inherited(self) -> list[tuple[int, int]] | None:
        """Return the numbers it reads through, each with the last id of it, the oldest first; None where that is unreadable."""
        try:
            pairs = [(number, last) for number, last in json.loads(self.lineage)]
        except (TypeError, ValueError):
            return None
        return pairs if all(type(part) is int for pair in pairs for part in pair) else None


class Named(NamedTuple):
    """What is called by a name, and where it was forked from."""

    name: Any
    tape_no: Any
    root_no: Any
    listed: Any
    branch_no: Any
    parent: Any
    base_generation: Any
    base_seq: Any
    state: Any
    owner: Any
    created_at: Any
    closed_at: Any


class Catalogue:
    """All tape numbers and all names of a store."""

    def __init__(self, numbered: Iterable[Numbered], named: Iterable[Named]) -> None:
        self.numbered = {row.tape_no: row for row in numbered}
        self.named = {row.name: row for row in named}
        self._names: dict[Any, str] = {row.tape_no: row.name for row in self.named.values()}
        self._readers: dict[Any, str] = {}
        for row in self.numbered.values():
            for number, _ in row.inherited() or () if row.tape_no in self._names else ():
                self._readers.setdefault(number, self._names[row.tape_no])

    def called(self, tape_no: int) -> str:
        """Return the name of a tape number; for an earlier generation also which branch reads through it."""
        if tape_no in self._names:
            return self._names[tape_no]
        return f"no. {tape_no}" + (f", read through by {self._readers[tape_no]}" if tape_no in self._readers else "")

    def is_named(self, tape_no: int) -> bool:
        """Return whether a name stands for a tape number."""
        return tape_no in self._names

    def is_read(self, tape_no: int) -> bool:
        """Return whether a name stands for a tape number, or for one that reads through it."""
        return tape_no in self._names or tape_no in self._readers

    def is_marked(self, tape_no: int) -> bool:
        """Return whether a tape number is that of a sidecar, whose entries have marks."""
        name = self._names.get(tape_no) or self._readers.get(tape_no, "")
        try:
            return kin_of(name).sidecar is not None
        except InvalidInput:
            return False


def whole(value: Any) -> int:
    """Return a number that counts something, 0 for anything else."""
    return value if type(value) is int and value >= 0 else 0
