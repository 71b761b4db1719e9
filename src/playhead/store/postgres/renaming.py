"""Giving tapes and branches other names, and taking away names under which nothing is kept."""

from __future__ import annotations

from typing import NamedTuple

from playhead.errors import BranchNotFound, NameTaken, TapeNotFound
from playhead.store.family import Kin, kin_of, renaming
from playhead.store.postgres.family import Family, new_id
from playhead.store.postgres.keys import NONE, Texts, name_key


class _Member(NamedTuple):
    """A tape of a family that is in use; `parent` is the name it was forked from, None where it was not."""

    name: str
    parent: str | None
    tape_no: int
    generation: int
    seq: int

    @property
    def is_taken(self) -> bool:
        """Whether its name may not be given to another tape."""
        return self.parent is not None or self.seq > 0


Leases = dict[bytes, tuple[bytes, int, int]]
"""By the key of a name: owner, epoch, until."""


def rename(family: Family | None, *, tape: str, name: str) -> None:
    """Rename a tape and its family, or a branch and its sidecars. Raises NameTaken, TapeNotFound, BranchNotFound, InvalidInput."""
    old, new = renaming(tape, name)
    members = {} if family is None else _members(family)
    if old.branch is not None and old.main not in members:
        raise BranchNotFound(old.main)
    if family is None or not _hold_something(members):
        raise TapeNotFound(tape)
    renamed = {kin.name: kin.moved_to(new) for kin in map(kin_of, members) if old.branch is None or kin.branch == old.branch}
    if old.branch is None:
        _move_family(family, old, new, members, renamed)
    else:
        if any(target in members and members[target].is_taken for target in renamed.values()):
            raise NameTaken(name)
        kept, left = _leases_apart(family, renamed)
        _keep_leases(family, {**left, **kept})
        _give_names(family, members, renamed)


def forget(family: Family | None, *, tape: str) -> None:
    """Take away a sidecar that holds nothing and has nothing to do with a fork, or all of a family that is only such."""
    kin, members = kin_of(tape), {} if family is None else _members(family)
    gone = [member for name, member in members.items() if name == tape or kin.is_root]
    if family is None or kin.is_branch or any(member.parent == tape for member in members.values()) or any(member.is_taken for member in gone):
        return
    for member in gone:
        family.send("retire", tape=member.tape_no)
    family.send("forget_cursors", names=Texts(name_key(member.name) for member in gone))
    family.forget(member.name for member in gone)


def _move_family(family: Family, old: Kin, new: Kin, members: dict[str, _Member], renamed: dict[str, str]) -> None:
    """Give a family the name of another one, which must be empty: that one has the old name from here on, and remembers its leases."""
    other = _there(family, new.root)
    if new.root == old.root or (other is not None and any(member.is_taken for member in _members(other).values())):
        raise NameTaken(new.name)
    kept, left = _leases_apart(family, renamed)
    if other is None and left:
        other = Family(family.session, root_id=new_id(), last_no=0, tenant=family.tenant, label=family.label)
        other.send("begin_family", name=name_key(old.root), work=new_id())
    if other is not None:
        kept = _empty(other, family, kept)
    for key in (old.root, new.root):
        family.send("give_name_up", tenant=family.tenant, name=name_key(key))
    for name, its in ((new.root, family), (old.root, other)):
        if its is not None:
            its.send("take_name", tenant=family.tenant, key=name_key(name), name=name)
            its.send("rename_family", name=name_key(name))
    family.send("forget_leases")
    _keep_leases(family, kept)
    if other is not None:
        _keep_leases(other, left)
    _give_names(family, members, renamed)


def _empty(other: Family, family: Family, kept: Leases) -> Leases:
    """Take everything from a family that holds nothing: cursors and leases under its names go on with who has these names now."""
    for member in _members(other).values():
        other.send("retire", tape=member.tape_no)
    theirs = _leases(other)
    other.send("forget_leases")
    other.send("move_cursors", to=family.root_id)
    both = {key: (owner, max(epoch, theirs[key][1] if key in theirs else 0), until) for key, (owner, epoch, until) in kept.items()}
    return {**theirs, **both}


def _there(family: Family, root: str) -> Family | None:
    """Return the family of a name, held, None where there is none."""
    found = family.rows("find_family", tenant=family.tenant, name=name_key(root))
    if not found:
        return None
    other = Family(family.session, root_id=found[0][0], last_no=0, tenant=family.tenant, label=family.label)
    other.rows("works")
    return other


def _give_names(family: Family, members: dict[str, _Member], renamed: dict[str, str]) -> None:
    for before, member in members.items():
        after, of = renamed.get(before, before), None if member.parent is None else renamed.get(member.parent, member.parent)
        if (after, of) != (before, member.parent):
            kin = kin_of(after)
            main = NONE if kin.sidecar is None else name_key(kin.main)
            family.send("rename", tape=member.tape_no, name=after, key=name_key(after), main=main, parent=of or "")
    for before, after in renamed.items():
        family.send("rename_cursors", name=name_key(before), to=name_key(after))
    for key, (_, epoch, _) in _leases(family).items():
        family.send("note_epoch", name=key, epoch=epoch)
    family.forget((*members, *renamed.values()))


def _leases_apart(family: Family, renamed: dict[str, str]) -> tuple[Leases, Leases]:
    """Return the leases under their new names, and what stays under the old ones: their epochs, for a holder who has not heard of the new ones."""
    found = _leases(family)
    keys = {name_key(before): name_key(after) for before, after in renamed.items()}
    kept = {keys[key]: (owner, max(epoch, found[keys[key]][1] if keys[key] in found else 0), until) for key, (owner, epoch, until) in found.items() if key in keys}
    left = {key: (b"", epoch, 0) if key in keys else (owner, epoch, until) for key, (owner, epoch, until) in found.items()}
    return kept, left


def _leases(family: Family) -> Leases:
    return {key: (owner, epoch, until) for key, owner, epoch, until in family.rows("leases")}


def _keep_leases(family: Family, leases: Leases) -> None:
    for key, (owner, epoch, until) in leases.items():
        family.send("keep_lease", name=key, owner=owner, epoch=epoch, until=until)


def _members(family: Family) -> dict[str, _Member]:
    return {row[0]: _Member(*row) for row in family.rows("family")}


def _hold_something(members: dict[str, _Member]) -> bool:
    """Return whether there is more than the empty tape of a family whose branches are gone."""
    return len(members) > 1 or any((member.generation, member.seq) != (0, 0) for member in members.values())
