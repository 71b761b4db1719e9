"""Removing the files of tapes and sidecars that hold nothing, and the directories and locks that only they had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from playhead.store.family import Kin
from playhead.store.file.family.family import Family
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.household import Household
from playhead.store.file.family.ledger import CURSORS, LEASES, Ledger
from playhead.store.file.family.redo import change
from playhead.store.file.family.steps import Step, dropping
from playhead.store.file.members import family_directory, member_stem
from playhead.store.file.names import SUFFIX
from playhead.store.file.place import Place
from playhead.store.file.record.stretch import opened


def forget_sidecar(household: Household, kin: Kin) -> None:
    """Remove the file of a sidecar that holds nothing, was not forked, and that nothing was forked from. Raises StoreDamaged, OSError."""
    family, place = household.family, household.place
    stem = member_stem(family.stem, kin)
    if not _is_blank(place, stem) or any(kin.sidecar in branch.header.sidecars and branch.header.sidecars[str(kin.sidecar)].parent == kin.branch for branch in family.branches()):
        return
    household.let_go()
    steps = list(_removal(place, stem))
    with family.roster.changing(family.roster.named_by(steps)):
        change(place, family.stem, steps)
    place.clear_family(family.stem)


def forget_family(place: Place, root: str) -> None:
    """Remove what is there of a tape whose whole family holds nothing. Raises StoreBusy, StoreDamaged, OSError."""
    family = Family(place, root)
    with closing(Guard(place, family.stem)) as guard, guard:
        stems = [family.stem, *(f"{family_directory(family.stem)}/{name.removesuffix(SUFFIX)}" for name, _ in family.files())]
        kept = place.disk.names(f"{place.hidden}/{family_directory(family.stem)}")
        if family.branches() or any(name.endswith(SUFFIX) for name in kept) or not all(_is_blank(place, stem) for stem in stems if place.disk.exists(place.path(stem))):
            return
        steps = [step for stem in stems for step in _removal(place, stem)]
        change(place, family.stem, [*steps, ("remove", Ledger(place, family.stem, CURSORS).below())])
        place.clear_family(family.stem)
        if not place.disk.exists(Ledger(place, family.stem, LEASES).path):
            guard.remove()


def _is_blank(place: Place, stem: str) -> bool:
    """Return whether a file holds no entry and goes on from no other one."""
    with opened(place, stem) as stretch:
        return stretch is not None and not stretch.recording.tail.id and (stretch.header is None or stretch.header.origin is None)


def _removal(place: Place, stem: str) -> Iterator[Step]:
    yield "forget", stem
    yield "remove", f"{stem}{SUFFIX}"
    yield from dropping(place, stem)
