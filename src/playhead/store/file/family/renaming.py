"""Giving a tape another name with all of its family, or a branch another label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any

from playhead.errors import NameTaken, TapeNotFound
from playhead.store.family import SIDECAR, Kin
from playhead.store.file.family.family import Family
from playhead.store.file.family.guard import Guard
from playhead.store.file.family.household import Household
from playhead.store.file.family.ledger import CURSORS, LEASES, Ledger, name_in_family
from playhead.store.file.family.redo import change, discard_drafts, write_draft
from playhead.store.file.family.rewriting import rewritten
from playhead.store.file.family.steps import Step, dropping
from playhead.store.file.members import HIDDEN, family_directory, generation_kept, member_in
from playhead.store.file.names import SUFFIX, is_cut, label_stem
from playhead.store.file.place import Place
from playhead.store.file.record.header import Header
from playhead.store.file.record.stretch import header_at, opened


def rename_tape(place: Place, old: str, new: str) -> None:
    """Give a tape another name, and its branches and sidecars with it; what there is of that name holds nothing. Raises NameTaken, TapeNotFound, InvalidInput, StoreError."""
    before, after = Family(place, old), Family(place, new)
    with ExitStack() as stack:
        guards = {stem: stack.enter_context(closing(Guard(place, stem))) for stem in sorted({before.stem, after.stem})}
        for guard in guards.values():
            stack.enter_context(guard)
        if not (_is_begun(before) or before.files()):
            raise TapeNotFound(old)
        if old == new or _holds(after):
            raise NameTaken(new)
        discard_drafts(place, before.stem)
        place.make_family(after.stem)
        change(place, before.stem, [*_moves(before, after), *_ledgers(before, after)], together_with=after.stem)
        place.clear_family(before.stem)
        guards[before.stem].remove()


def rename_branch(household: Household, *, old: Kin, new: Kin) -> None:
    """Give a branch another label. Those that were forked from it are written anew, as they name it. Raises NameTaken, BranchNotFound, StoreError."""
    family, place = household.family.known(old), household.place
    before, after = str(old.branch), str(new.branch)
    if family.is_made(after):
        raise NameTaken(new.name)
    discard_drafts(place, family.stem)
    steps = [step for name, directory in _members(family) for step in _relabelled(family, name, directory, before, after)]
    household.let_go()
    leases, cursors = household.leases.ledger, household.cursors.ledger
    standing, read = leases.read(), cursors.read()
    moved = {name: what for name, what in standing.items() if _renamed(name, old, new) != name}
    kept = {**standing, **_freed(moved), **_raised({_renamed(name, old, new): what for name, what in moved.items()}, standing)}
    renamed = {_renamed(name, old, new): what for name, what in read.items()}
    steps += [("write", ledger.below(), ledger.text(after)) for ledger, before, after in ((leases, standing, kept), (cursors, read, renamed)) if after != before]
    change(place, family.stem, steps)


def _is_begun(family: Family) -> bool:
    with opened(family.place, family.stem) as stretch:
        return stretch is not None and stretch.recording.tail.begun


def _holds(family: Family) -> bool:
    with family.newest(Kin(family.root)) as stretch:
        return stretch.recording.tail.id > 0 or bool(family.branches()) or bool(family.sidecars(None))


def _moves(before: Family, after: Family) -> Iterator[Step]:
    place = before.place
    header = Header(kin=Kin(after.root), date="") if is_cut(after.stem) else None
    if not place.disk.exists(place.path(before.stem)):
        if header is not None:
            yield "replace", write_draft(place, before.stem, [header.dump()]), after.stem
    elif header is not None or is_cut(before.stem):
        yield "replace", write_draft(place, before.stem, rewritten(place, before.stem, header)), after.stem
        yield "remove", f"{before.stem}{SUFFIX}"
        yield from dropping(place, before.stem)
    else:
        yield "rename", f"{before.stem}{SUFFIX}", f"{after.stem}{SUFFIX}"
    yield "forget", before.stem
    for name, source in _members(before):
        yield "forget", f"{source}/{name.removesuffix(SUFFIX)}"
        yield "move", f"{source}/{name}", f"{source.removesuffix(family_directory(before.stem))}{family_directory(after.stem)}/{name}"


def _ledgers(before: Family, after: Family) -> Iterator[Step]:
    """Yield what moves leases and cursors; epochs never fall, under either name."""
    place = before.place
    leases, taken = (Ledger(place, family.stem, LEASES) for family in (before, after))
    known, standing = leases.read(), taken.read()
    if known:
        yield "write", taken.below(), taken.text({**standing, **_raised(known, standing)})
        yield "write", leases.below(), leases.text(_freed(known))
    cursors, others = (Ledger(place, family.stem, CURSORS) for family in (before, after))
    if known := cursors.read():
        yield "write", others.below(), others.text(known)
        yield "remove", cursors.below()


def _raised(leases: Mapping[str, Any], standing: Mapping[str, Any]) -> dict[str, Any]:
    """Return leases that come to names under which others stand: none gets an epoch that a name had before."""
    return {name: [owner, max(epoch, standing.get(name, (0, 0))[1]), until] for name, (owner, epoch, until) in leases.items()}


def _freed(leases: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stays of leases under the names they left: the epochs, for a holder who has not heard of the new ones."""
    return {name: ["", epoch, 0] for name, (_, epoch, _) in leases.items()}


def _members(family: Family) -> Iterator[tuple[str, str]]:
    """Yield the names of the files of a family, of earlier generations too, each with the directory it is in."""
    for hidden in ("", f"{HIDDEN}/"):
        directory = f"{hidden}{family_directory(family.stem)}"
        for name in family.place.disk.names(f"{family.place.directory}/{directory}"):
            if member_in(name) is not None or generation_kept(name) is not None:
                yield name, directory


def _relabelled(family: Family, name: str, directory: str, old: str, new: str) -> Iterator[Step]:
    """Yield what gives a file its new name, where it is one of the branch's, and names the branch by its new label in it."""
    stem, target = f"{directory}/{name.removesuffix(SUFFIX)}", f"{directory}/{_target(name, old, new)}"
    header = header_at(family.place, stem)
    named = None if header is None else header.with_label(old, new)
    if named != header:
        yield "replace", write_draft(family.place, family.stem, rewritten(family.place, stem, named)), target.removesuffix(SUFFIX)
        if target != f"{directory}/{name}":
            yield "remove", f"{directory}/{name}"
        yield "forget", stem
        yield from dropping(family.place, stem)
    elif target != f"{directory}/{name}":
        yield "rename", f"{directory}/{name}", target
        yield "forget", stem


def _target(name: str, old: str, new: str) -> str:
    front, part = label_stem(old), label_stem(new)
    kept = generation_kept(name)
    member = member_in(name) if kept is None else kept[0]
    return f"{part}{name.removeprefix(front)}" if member is not None and member.branch == front else name


def _renamed(name: str, old: Kin, new: Kin) -> str:
    before, after = name_in_family(old), name_in_family(new)
    return f"{after}{name.removeprefix(before)}" if name == before or name.startswith(f"{before}{SIDECAR}") else name
