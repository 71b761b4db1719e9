"""Removing the branches that ended and that nothing rests on, and the earlier generations that no branch shows any more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from playhead.entry.entry import parse_date
from playhead.store.change import DISCARDED, MERGED
from playhead.store.family import SIDECAR, Kin, branch_name
from playhead.store.file.family.family import Branch, Family
from playhead.store.file.family.household import Household
from playhead.store.file.family.ledger import Ledger, name_in_family
from playhead.store.file.family.redo import change
from playhead.store.file.family.steps import Step, dropping
from playhead.store.file.members import HIDDEN, family_directory, generation_kept, kept_stem
from playhead.store.file.names import SUFFIX

_COLLECTED = (MERGED, DISCARDED)


def collect(household: Household, label: str | None, before: datetime) -> list[str]:
    """Remove branches that were closed before an instant and that no other was forked from, or that one of a label; return their names."""
    family = household.family
    remaining = family.branches()
    gone = [branch for branch in reversed(remaining) if label in (None, branch.label) and _is_done(family, branch, before) and _drop(branch, remaining)]
    steps = [*(step for branch in gone for step in _removal(family, branch.label)), *_unshown(family, remaining)]
    if steps:
        household.let_go()
        names = {name_in_family(Kin(family.root, branch.label)) for branch in gone}
        steps += [step for ledger in (household.leases.ledger, household.cursors.ledger) for step in _forgetting(ledger, names)]
        with family.roster.changing(family.roster.named_by(steps)):
            change(family.place, family.stem, steps)
    return [branch_name(family.root, branch.label) for branch in gone]


def _is_done(family: Family, branch: Branch, before: datetime) -> bool:
    closed_at = None if branch.state not in _COLLECTED else family.closed_at(branch)
    return closed_at is not None and parse_date(closed_at) < before


def _drop(branch: Branch, remaining: list[Branch]) -> bool:
    """Take a branch out of those that remain, unless one of them names it."""
    if any(other.header.names(branch.label) for other in remaining):
        return False
    remaining.remove(branch)
    return True


def _removal(family: Family, label: str) -> Iterator[Step]:
    directory = family_directory(family.stem)
    for name, _ in family.files_of(label):
        stem = f"{directory}/{name.removesuffix(SUFFIX)}"
        yield "forget", stem
        yield "remove", f"{directory}/{name}"
        yield from dropping(family.place, stem)


def _unshown(family: Family, remaining: list[Branch]) -> Iterator[Step]:
    """Yield what removes earlier generations that none of the remaining branches shows."""
    needed = {kept_stem(family.stem, kin, generation) for kin, generation in family.shown(remaining)}
    directory = f"{HIDDEN}/{family_directory(family.stem)}"
    for name in family.place.disk.names(f"{family.place.directory}/{directory}"):
        stem = f"{directory}/{name.removesuffix(SUFFIX)}"
        if generation_kept(name) is not None and stem not in needed:
            yield "forget", stem
            yield "remove", f"{directory}/{name}"
            yield from dropping(family.place, stem)


def _forgetting(ledger: Ledger, names: set[str]) -> Iterator[Step]:
    """Yield what removes branches and their sidecars from a ledger."""
    known = ledger.read()
    kept = {name: what for name, what in known.items() if name.partition(SIDECAR)[0] not in names}
    if kept != known:
        yield "write", ledger.below(), ledger.text(kept)
