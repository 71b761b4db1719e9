"""Giving tapes and branches other names, and taking away names under which nothing is kept."""

from __future__ import annotations

from playhead.errors import NameTaken, TapeNotFound
from playhead.store.family import BRANCH, SIDECAR, kin_of, renaming
from playhead.store.rows.statements import statements
from playhead.store.rules.tails import main_of
from playhead.store.sqlite.branching import remove
from playhead.store.sqlite.records import between
from playhead.store.sqlite.tails import Tails

Parents = dict[str, str | None]
"""The names of a family, each with that of its parent, None where it was not forked."""


def rename(tails: Tails, tape: str, name: str) -> None:
    """Rename a tape and its family, or a branch and its sidecars. Raises NameTaken, TapeNotFound, BranchNotFound, InvalidInput."""
    old, new = renaming(tape, name)
    main_of(tails, tape)
    family = _family(tails, old.root)
    renamed = {kin.name: kin.moved_to(new) for kin in map(kin_of, family) if old.branch is None or kin.branch == old.branch}
    if not _holds_something(tails, family):
        raise TapeNotFound(tape)
    there = _family(tails, new.root)
    if any(target in there and _is_taken(tails, target, there) for target in (there if old.branch is None else renamed.values())):
        raise NameTaken(name)
    for target in there if old.branch is None else ():
        remove(tails, target)
    _give_names(tails, family, renamed)


def forget(tails: Tails, tape: str) -> None:
    """Take away a sidecar that holds nothing and has nothing to do with a fork, or a family that is only such."""
    kin = kin_of(tape)
    family = _family(tails, kin.root)
    gone = [name for name in family if name == tape or kin.is_root]
    if kin.is_branch or tape in family.values() or any(_is_taken(tails, name, family) for name in gone):
        return
    for name in gone:
        remove(tails, name)
        tails.execute(statements("family")["forget_cursors"], (name,))
    tails.forget()


def _give_names(tails: Tails, family: Parents, renamed: dict[str, str]) -> None:
    sql = statements("family")
    for before, parent in family.items():
        after, of = renamed.get(before, before), None if parent is None else renamed.get(parent, parent)
        if (after, of) != (before, parent):
            tails.execute(sql["rename"], (after, of, before))
    for before, after in renamed.items():
        tails.execute(sql["rename_lease"], (after, before))
        tails.execute(sql["free_lease"], (before,))
        tails.execute(sql["rename_cursors"], (after, before))
    tails.forget()


def _family(tails: Tails, root: str) -> Parents:
    sql, prefixes = statements("family")["parents"], (root + BRANCH, root + SIDECAR)
    found = dict(row for prefix in prefixes for row in tails.execute(sql, between(prefix)) if kin_of(row[0]).root == root)
    return found if tails.tail(root) is None else {root: None, **found}


def _holds_something(tails: Tails, family: Parents) -> bool:
    """Return whether there is more than the empty tape of a family whose branches are gone."""
    return len(family) > 1 or any((tail := tails.tail(name)) is not None and tuple(tail.head) != (0, 0) for name in family)


def _is_taken(tails: Tails, name: str, there: Parents) -> bool:
    tail = tails.tail(name)
    return there[name] is not None or (tail is not None and tail.seq > 0)
