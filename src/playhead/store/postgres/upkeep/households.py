"""The families of a PostgreSQL store as its tables say, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from playhead.errors import InvalidInput
from playhead.store.change import OPEN
from playhead.store.condition.flaws import Flaws
from playhead.store.family import kin_of
from playhead.store.postgres.keys import name_key
from playhead.store.postgres.session import Row
from playhead.store.proving.catalogue import IN_USE, RETIRED, Catalogue, Named, Numbered
from playhead.store.proving.lineages import check_lineages, check_names

_FAMILY = 0
"""Stands for the one family that a catalogue is of."""


class Household(NamedTuple):
    """A family: its id, the name of its first tape, and all its tapes."""

    root_id: UUID
    name: str
    tapes: Catalogue

    def ends(self) -> dict[int, int]:
        """Return the last id of each tape number."""
        return {number: row.indexed for number, row in self.tapes.numbered.items()}

    def is_shown(self, tape_no: int) -> bool:
        """Return whether somebody can read what stands under a number; all else waits to be removed."""
        return tape_no in self.tapes.numbered and self.tapes.is_read(tape_no)


def household(root_id: UUID, name: str, rows: Iterable[Row]) -> Household:
    """Return a family, given the rows of its tapes."""
    numbered, named = [], []
    for tape_no, parent_no, fork_seq, lineage, generation, in_use, low_water, head, created_at, *about in rows:
        numbered.append(Numbered(tape_no, parent_no, fork_seq, lineage, generation, IN_USE if in_use else RETIRED, low_water, head, created_at))
        if in_use:
            named.append(_named(name, tape_no, created_at, about[:-2]))
    return Household(root_id, name, Catalogue(numbered, named))


def check(family: Household, rows: Iterable[Row], facts: Row | None, flaws: Flaws) -> None:
    """Take note of whatever is wrong with what is said of a family and its tapes; `facts` is the family's own row."""
    if facts is None:
        flaws.tape("there is no family of that name, so nobody can write to it", tape=family.name)
    else:
        key, last_no = facts
        if key != name_key(family.name):
            flaws.tape("its family is known under another name", tape=family.name)
        if last_no < max(family.tapes.numbered, default=0):
            flaws.tape(f"its family has a tape with a higher number than the last that was given, {last_no}", tape=family.name)
    for row in rows:
        for what in _key_faults(family, row):
            flaws.tape(what, tape=row[9])
    check_lineages(family.tapes, family.ends(), flaws)
    check_names(family.tapes, flaws)


def _named(family: str, tape_no: int, created_at: int, about: Sequence[Any]) -> Named:
    name, branch_no, parent, generation, id, outcome, owner, closed_at = about
    state = OPEN if outcome is None and parent is not None else outcome
    return Named(name, tape_no, _FAMILY, int(name == family), branch_no, parent, generation, id, state, owner, created_at, closed_at)


def _key_faults(family: Household, row: Row) -> Iterable[str]:
    tape_no, head, fork_seq, in_use, name, key, main_key = row[0], row[7], row[2], row[5], row[9], row[-2], row[-1]
    if head < fork_seq:
        yield f"tape number {tape_no} ends at entry {head}, before it begins behind {fork_seq}"
    if not in_use:
        return
    if key != name_key(name):
        yield "it is not found under its name"
    try:
        kin = kin_of(name)
    except InvalidInput:
        return
    if kin.root != family.name:
        yield f"it is kept in the family of '{family.name}'"
    if main_key != (None if kin.sidecar is None else name_key(kin.main)):
        yield "it is not found beside its main tape" if kin.sidecar is not None else "it is kept as a sidecar and is none"
