"""Making, closing and removing the branches of a family."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from playhead.errors import NameTaken
from playhead.store.change import OPEN, BranchRecord, Close, Fork, check_close, check_cuts, collectable, cut_point, fork_names, fork_point
from playhead.store.family import kin_of
from playhead.store.postgres.family import Family, Tail
from playhead.store.postgres.keys import Numbers, Texts, name_key
from playhead.store.protocol import Head
from playhead.store.rows.row import SEQ_BITS, date_text, microseconds
from playhead.store.rules.lineage import cut
from playhead.store.rules.tails import expect, main_of, writable


def fork(family: Family, change: Fork, *, at: datetime) -> None:
    """Make a branch, and one of each sidecar that shows something. Raises InvalidInput, BranchNotFound, NameTaken."""
    fork_names(change)
    parent = main_of(family, change.parent)
    last = fork_point(change, end=0 if parent is None else parent.seq)
    if family.tail(change.tape) is not None:
        raise NameTaken(change.tape)
    head = Head(parent.generation if parent else 0, last)
    sidecars = {str(kin_of(tail.name).sidecar): tail for tail in family.sidecars(change.parent) if tail.seq}
    check_cuts(change, sidecars)
    beside = [(tail, end) for name, tail in sidecars.items() if (end := _end(family, change, name, tail, head)) is not None]
    for tail, end in ((parent or family.begin(change.parent), last), *beside):
        _branch_off(family, change, tail, end, mark=min(tail.mark, head.generation << SEQ_BITS | head.id), at=microseconds(at))


def close(family: Family, change: Close, *, at: datetime) -> None:
    """End a branch and its sidecars. Raises InvalidInput, BranchNotFound, BranchClosed, Conflict."""
    check_close(change)
    tail = writable(family, change.tape)
    expect(change.expected_head, tail)
    members = [*([tail] if tail else []), *family.sidecars(change.tape)]
    family.send("close", outcome=change.outcome, at=microseconds(at), tapes=Numbers(member.tape_no for member in members))
    for member in members:
        family.touched.add(member.name)
    if tail is not None:
        tail.closed = change.outcome


def collect(family: Family | None, *, tape: str, before: datetime) -> list[str]:
    """Remove the branches of a family (or only the one that `tape` names) that were closed before an instant and that none was forked from.

    Return their names, the newest first; those that are kept as they hold what stands nowhere else are left alone.
    """
    if family is None:
        return []
    gone = collectable(family.rows("branches"), tape=tape, before=microseconds(before))
    if gone:
        family.load(*gone)
    for name in gone:
        remove(family, [member for member in (family.tail(name), *family.sidecars(name)) if member is not None])
    return gone


def remove(family: Family, tails: list[Tail]) -> None:
    """Take tapes away, with their leases and cursors; what they stood for goes once nobody reads through it."""
    for tail in tails:
        family.send("retire", tape=tail.tape_no)
    keys = Texts(name_key(tail.name) for tail in tails)
    family.send("forget_lease", names=keys)
    family.send("forget_cursors", names=keys)
    family.forget(tail.name for tail in tails)


def _branch_off(family: Family, change: Fork, tail: Tail, end: int, *, mark: int, at: int) -> None:
    """Make a branch of the parent, or of a sidecar of it, that is shown up to an id."""
    name = kin_of(change.tape)._replace(sidecar=kin_of(tail.name).sidecar).name
    record = BranchRecord(name=name, parent=tail.name, base=Head(tail.generation, end), state=OPEN, owner=change.owner, created_at=date_text(at))
    family.branch_off(record, lineage=cut(tail.shown(), end), mark=mark, at=at)


def _end(family: Family, change: Fork, name: str, tail: Tail, head: Head) -> int | None:
    """Return the last id of a sidecar that a branch takes with it, None where it takes none of it."""
    return cut_point(change, name, end=tail.seq, marked_up_to=partial(_marked_up_to, family, tail, head))


def _marked_up_to(family: Family, tail: Tail, head: Head) -> int:
    """Return the id of the last entry of a sidecar that was written when its main tape ended at a head or before: marks rise."""
    wanted = head.generation << SEQ_BITS | head.id
    for tape_no, last in reversed(tail.shown()):
        found = family.rows("marked_up_to", tape=tape_no, mark=wanted, last=last)
        if found:
            return int(found[0][0])
    return 0
