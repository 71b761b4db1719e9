"""Renaming a family or a branch, and removing branches: copies under new names, and tapes emptied."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from playhead.entry.entry import TapeEntry, parse_date
from playhead.errors import NameTaken, TapeNotFound
from playhead.store.adapted import events
from playhead.store.adapted.family import Family, begins_with
from playhead.store.adapted.state import FamilyState, control_tape, within
from playhead.store.change import DISCARDED, MERGED, BranchRecord
from playhead.store.family import kin_of

_COLLECTED = (MERGED, DISCARDED)


async def collect(family: Family, tape: str, before: datetime) -> list[str]:
    """Remove the branches that ended before an instant and that none was forked from, or that one that `tape` names; return their names."""
    state = await family.state()
    asked = kin_of(tape)
    gone = _without_need(state.branches, only=None if asked.branch is None else asked.main, before=parse_date(before.isoformat()))
    if gone:
        await family.note(events.collected(gone))
    for name in await family.members():
        main = kin_of(name).main
        if main in state.made and main not in state.records:
            await family.tapes.clear(name)
    return gone


def _without_need(records: Iterable[BranchRecord], *, only: str | None, before: datetime) -> list[str]:
    """Return the names of closed branches, those forked from others first, that no branch which stays names as its parent."""
    left = list(records)
    gone: list[str] = []
    for record in reversed(list(left)):
        is_old = record.closed_at is not None and parse_date(record.closed_at) < before
        if is_old and record.state in _COLLECTED and only in (None, record.name) and not any(other.parent == record.name for other in left):
            left.remove(record)
            gone.append(record.name)
    return gone


async def rename_branch(family: Family, tape: str, name: str) -> None:
    """Copy a branch and its sidecars to another name, then empty the tapes of the old one. Raises BranchNotFound, NameTaken."""
    await family.check(tape)
    state = await family.state()
    if name in state.records:
        raise NameTaken(name)
    old = [member for member in await family.members() if kin_of(member).main == tape]
    await family.copy({within(member, tape, name): await family.tapes.whole(member) for member in old}, name)
    starts = {within(member, tape, name): await family.moved_start(member, within(member, tape, name)) for member in {*old, *_of(state, tape)}}
    await family.note(events.renamed(tape, name, starts))
    for member in old:
        await family.tapes.clear(member)


async def rename_family(here: Family, there: Family) -> None:
    """Copy a family to another root, then empty the tapes of the old one; what an earlier try has done is not done again.

    Raises TapeNotFound, NameTaken.
    """
    state, target = await here.state(), await there.state()
    members = await here.members()
    known = await here.known()
    if not known:
        raise TapeNotFound(here.root)
    await _check_free(here, there)
    if state.leaving is None or state.leaving[0] != there.root:
        await here.settle(*known)
        await here.note(events.leaves(there.root))
    if not _has_arrived(state, target):
        for member in members:
            await there.copy_tape(within(member, here.root, there.root), await here.tapes.whole(member))
        await there.note(await _arrival(here, there, known))
    for member in members:
        await here.tapes.clear(member)
    if state.leases:
        await here.note(events.left())
    else:
        await here.tapes.clear(control_tape(here.root))


def _has_arrived(state: FamilyState, target: FamilyState) -> bool:
    return state.leaving is not None and state.leaving[1] == target.came_by


async def _check_free(here: Family, there: Family) -> None:
    """Raise NameTaken where tapes of the new root are more than an unfinished renaming has left there."""
    state, target, names = await here.state(), await there.state(), await there.members()
    if not names and not target.records:
        return
    has_arrived = _has_arrived(state, target)
    if state.leaving is None or state.leaving[0] != there.root or (target.records and not has_arrived):
        raise NameTaken(there.root)
    for name in {*names, *(within(member, here.root, there.root) for member in await here.members())}:
        old, new = await here.tapes.whole(within(name, there.root, here.root)), await there.tapes.whole(name)
        if not (begins_with(new, old) if has_arrived else begins_with(old, new)):
            raise NameTaken(there.root)


async def _arrival(here: Family, there: Family, known: Iterable[str]) -> TapeEntry:
    state = await here.state()
    by = "" if state.leaving is None else state.leaving[1]
    starts = {within(name, here.root, there.root): await here.moved_start(name, within(name, here.root, there.root)) for name in known}
    moved = state.renamed(here.root, there.root)
    return events.arrived(by, records=moved.records.values(), counted={**moved.starts, **starts}, leases=moved.leases.values(), cursors=moved.cursors)


def _of(state: FamilyState, branch: str) -> list[str]:
    return [name for name in state.records if kin_of(name).main == branch]
