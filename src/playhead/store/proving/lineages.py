"""Proving what a store says of its tapes and branches: numbers, lineages, names and where they were forked from."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.errors import InvalidInput
from playhead.store.change import DISCARDED, MERGED, OPEN, SQUASHED
from playhead.store.condition.flaws import Flaws
from playhead.store.family import Kin, kin_of
from playhead.store.proving.catalogue import HIGHEST, IN_USE, REMOVED, RETIRED, Catalogue, Named, Numbered

_STATES = (OPEN, MERGED, SQUASHED, DISCARDED)

Ends = Mapping[int, int]
"""The last id of each tape number."""


def check_lineages(catalogue: Catalogue, ends: Ends, flaws: Flaws) -> None:
    """Take note of whatever is wrong with the numbers of tapes and what they read through."""
    for row in catalogue.numbered.values():
        for what in _number_faults(row, catalogue, ends):
            flaws.tape(what, tape=catalogue.called(row.tape_no))


def check_names(catalogue: Catalogue, flaws: Flaws) -> None:
    """Take note of whatever is wrong with the names of tapes, branches and sidecars."""
    taken: dict[int, str] = {}
    for row in catalogue.named.values():
        try:
            kin = kin_of(row.name)
        except InvalidInput:
            flaws.tape("no tape can have that name", tape=repr(row.name), severity="damage")
            continue
        faults = [*_name_faults(row, kin, catalogue), *_record_faults(row, kin, catalogue)]
        if row.tape_no in taken:
            faults.append(f"it stands for the same entries as '{taken[row.tape_no]}'")
        taken.setdefault(row.tape_no, row.name)
        for what in faults:
            flaws.tape(what, tape=row.name)


def _number_faults(row: Numbered, catalogue: Catalogue, ends: Ends) -> list[str]:
    faults = []
    if not (type(row.tape_no) is int and 1 <= row.tape_no <= HIGHEST):
        faults.append(f"its number is {row.tape_no!r}, which none can be")
    if row.state not in (IN_USE, RETIRED, REMOVED):
        faults.append(f"its state is {row.state!r}, which this version does not know")
    if row.state == IN_USE and not catalogue.is_named(row.tape_no):
        faults.append("it is in use, but no name stands for it")
    if row.state in (RETIRED, REMOVED) and catalogue.is_named(row.tape_no):
        faults.append("it is out of use, but a name stands for it")
    told = {name: getattr(row, name) for name in ("fork_seq", "low_water", "indexed", "generation", "created_at")}
    faults += [f"its {name} is told as {value!r}" for name, value in told.items() if type(value) is not int or (value < 0 and name != "created_at")]
    return faults if row.state == REMOVED else [*faults, *_lineage_faults(row, catalogue, ends)]


def _lineage_faults(row: Numbered, catalogue: Catalogue, ends: Ends) -> list[str]:
    inherited = row.inherited()
    if inherited is None:
        return [f"its lineage cannot be read: {str(row.lineage)[:80]!r}"]
    faults, reached = [], 0
    for number, last in inherited:
        elder = catalogue.numbered.get(number)
        if elder is None or elder.state == REMOVED:
            faults.append(f"it reads through tape number {number}, which is not there")
        elif last > ends.get(number, 0):
            faults.append(f"it reads through tape number {number} up to entry {last}, which ends at {ends.get(number, 0)}")
        if last <= reached:
            faults.append(f"its lineage does not rise: entry {last} of tape number {number} behind entry {reached}")
        reached = max(reached, last)
    nearest = inherited[-1][0] if inherited else None
    if row.parent_no != nearest:
        faults.append(f"its parent number is {row.parent_no!r}, but its lineage ends with {nearest!r}")
    if row.fork_seq != reached:
        faults.append(f"its own entries stand behind entry {row.fork_seq!r}, but its lineage ends at {reached}")
    return faults


def _name_faults(row: Named, kin: Kin, catalogue: Catalogue) -> list[str]:
    faults, root = [], catalogue.named.get(kin.root)
    if row.tape_no not in catalogue.numbered:
        faults.append(f"it stands for tape number {row.tape_no!r}, which is not there")
    if root is None:
        faults.append(f"its family has no tape '{kin.root}'")
    elif row.root_no != root.root_no:
        faults.append(f"its family is {row.root_no!r}, that of '{kin.root}' is {root.root_no!r}")
    if row.listed != int(kin.is_root):
        faults.append(f"it is {'' if row.listed else 'not '}listed, unlike its name says")
    if type(row.created_at) is not int:
        faults.append(f"when it was made is told as {row.created_at!r}")
    return faults


def _record_faults(row: Named, kin: Kin, catalogue: Catalogue) -> list[str]:
    """Return what is wrong with where it was forked from; a sidecar that was begun in a branch was not."""
    is_branch, forked = kin.is_branch, row.parent is not None
    if is_branch != (row.branch_no is not None):
        return ["it is a branch without a number among the branches" if is_branch else "it has a number among the branches, but is none"]
    if not forked:
        told = [name for name in ("base_generation", "base_seq", "state", "closed_at") if getattr(row, name) is not None]
        return [f"nothing says what it was forked from{', but its ' + ' and '.join(told) + ' does' if told else ''}"] if is_branch or told else []
    return [] if kin.is_root else _base_faults(row, kin, catalogue)


def _base_faults(row: Named, kin: Kin, catalogue: Catalogue) -> list[str]:
    faults, parent = [], catalogue.named.get(row.parent)
    if row.parent not in catalogue.named or parent is None:
        faults.append(f"it was forked from {row.parent!r}, which is not there")
    elif kin_of(row.parent).root != kin.root or kin_of(row.parent).sidecar != kin.sidecar:
        faults.append(f"it was forked from '{row.parent}', which is not of its kind")
    if type(row.base_generation) is not int or type(row.base_seq) is not int or min(row.base_generation, row.base_seq) < 0:
        faults.append(f"where it was forked is told as generation {row.base_generation!r}, entry {row.base_seq!r}")
    own = catalogue.numbered.get(row.tape_no)
    if own is not None and own.generation == row.base_generation and own.fork_seq != row.base_seq:
        faults.append(f"it was forked at entry {row.base_seq!r}, but its own entries stand behind {own.fork_seq!r}")
    if row.state not in _STATES:
        faults.append(f"its state is {row.state!r}, which a branch never has")
    if (row.state == OPEN) != (row.closed_at is None):
        faults.append(f"it is {row.state}, and {'nothing says when it was closed' if row.closed_at is None else 'closed all the same'}")
    return faults
